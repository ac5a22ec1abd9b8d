"""Which bindings are asked for which observables, so that none is asked for much that nobody wants to know."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.intp]

MOST = 4
"""A group of bindings is asked for at most so many times the values that are wanted of it."""


@dataclass(frozen=True, eq=False, slots=True)
class Group:
    """Bindings that are asked for the same observables.

    bindings, observables: their numbers, in increasing order. pairs: which of the pairs given to `groups` are theirs;
    binding_of, observable_of: the numbers in each of these pairs.
    """

    bindings: Numbers
    observables: Numbers
    pairs: Numbers
    binding_of: Numbers
    observable_of: Numbers

    def of(self, bindings: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """The pairs of some of the bindings, and for each its row and column in [bindings, self.observables]."""
        chosen = np.isin(self.binding_of, bindings)
        rows = np.searchsorted(bindings, self.binding_of[chosen])
        columns = np.searchsorted(self.observables, self.observable_of[chosen])
        return self.pairs[chosen], rows, columns


def groups(bindings: Numbers, observables: Numbers) -> list[Group]:
    """Divide the bindings that occur in pairs (bindings[k], observables[k]), each into one group.

    All are one group where that asks for at most `MOST` times the pairs. Otherwise bindings that want the same, and
    those that want similar things, are put together for as long as that holds.
    """
    if not len(bindings):
        return []
    width = int(observables.max()) + 1
    pairs = np.stack(np.divmod(np.unique(bindings * width + observables), width))
    known, first = np.unique(pairs[0], return_index=True)
    wanted = np.unique(pairs[1])
    if len(known) * len(wanted) <= MOST * pairs.shape[1]:
        return [Group(known, wanted, np.arange(len(bindings)), bindings, observables)]
    alike: dict[tuple[int, ...], list[int]] = {}
    for binding, some in zip(known.tolist(), np.split(pairs[1], first[1:]), strict=True):
        alike.setdefault(tuple(some.tolist()), []).append(binding)
    number = np.zeros(int(known[-1]) + 1, dtype=np.intp)  # of the group that a binding belongs to
    merged = _merged(sorted(alike.items()))
    for k, (members, _) in enumerate(merged):
        number[members] = k
    order = np.argsort(number[bindings], kind="stable")
    parts = np.split(order, np.searchsorted(number[bindings][order], np.arange(1, len(merged))))
    return [
        Group(np.sort(members), np.sort(asked), part, bindings[part], observables[part])
        for (members, asked), part in zip(merged, parts, strict=True)
    ]


def _merged(alike: list[tuple[tuple[int, ...], list[int]]]) -> list[tuple[Numbers, Numbers]]:
    """Bindings and observables of each group, from the bindings that want exactly the same."""
    found: list[tuple[list[int], set[int], int]] = []  # bindings, observables, how many values are wanted
    for observables, bindings in alike:
        more = len(bindings) * len(observables)
        if found:
            members, asked, wanted = found[-1]
            union = asked | set(observables)
            if (len(members) + len(bindings)) * len(union) <= MOST * (wanted + more):
                found[-1] = (members + bindings, union, wanted + more)
                continue
        found.append((bindings, set(observables), more))
    return [(np.array(members, dtype=np.intp), np.array([*asked], dtype=np.intp)) for members, asked, _ in found]
