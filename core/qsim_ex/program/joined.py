"""Numbers that are joined in groups, for finding the parts of a circuit."""

from __future__ import annotations

from collections.abc import Iterable


class Joined:
    """Numbers 0 … count − 1, some of which are joined."""

    def __init__(self, count: int, pairs: Iterable[tuple[int, int]] = ()) -> None:
        self._parents = list(range(count))
        for one, other in pairs:
            self.join(one, other)

    def root(self, number: int) -> int:
        """Return the least number that is joined with one."""
        parents = self._parents
        while parents[number] != number:
            parents[number] = parents[parents[number]]
            number = parents[number]
        return number

    def join(self, one: int, other: int) -> None:
        """Join two numbers, and all that are joined with them."""
        first, second = sorted((self.root(one), self.root(other)))
        self._parents[second] = first

    def join_circles(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Join groups that follow each other in a circle; pairs: the second number follows the first.

        These are strongly connected components (Sharir, Computers and Mathematics with Applications 7, 67, 1981).
        """
        after: dict[int, list[int]] = {}
        before: dict[int, list[int]] = {}
        for one, other in pairs:
            first, second = self.root(one), self.root(other)
            if first != second:
                after.setdefault(first, []).append(second)
                before.setdefault(second, []).append(first)
        seen = set[int]()
        for start in reversed(_finished(after)):
            if start not in seen:
                seen.add(start)
                waiting = [start]
                while waiting:
                    group = waiting.pop()
                    self.join(start, group)
                    new = [one for one in before.get(group, ()) if one not in seen]
                    seen.update(new)
                    waiting += new


def _finished(after: dict[int, list[int]]) -> list[int]:
    """Return all numbers, each after those that can be reached from it and were not reached before."""
    found: list[int] = []
    seen = set[int]()
    for start, first in after.items():
        if start in seen:
            continue
        seen.add(start)
        path = [(start, iter(first))]
        while path:
            number, left = path[-1]
            following = next((one for one in left if one not in seen), None)
            if following is None:
                found.append(number)
                path.pop()
            else:
                seen.add(following)
                path.append((following, iter(after.get(following, ()))))
    return found
