"""What is made of structures and programs is kept, so that the circuits of a job find theirs when it comes again.

A job may have thousands of circuits: a cache of so many results, whatever they are, would either forget all of them
before they come again, or keep too much of large ones. So instructions are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import lru_cache, update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar

from qsim_ex import thresholds

MOST = 200_000
"""So many instructions are kept in all, of the circuits that came last; one takes some 500 bytes."""

_MANY, _FEW, _OWN = 256, 4, 64
"""The results that are kept however large they are, of small circuits and of large ones; and what a result takes beside
its instructions, in as many of these."""

Arguments = ParamSpec("Arguments")
Made = TypeVar("Made")


class Kept(Generic[Arguments, Made]):
    """A function of a structure, or of a program, that keeps its results: a job that comes again finds its own.

    Of small circuits the last 256 results are kept, and more as long as these have `MOST` instructions together; of
    large ones the last four.
    """

    __wrapped__: Callable[Arguments, Made]

    def __init__(self, make: Callable[Arguments, Made]) -> None:
        self._many: dict[Hashable, tuple[Made, int]] = {}  # in the order in which they were made
        self._few = lru_cache(maxsize=_FEW)(make)
        self._room, self._hits, self._misses = MOST, 0, 0
        update_wrapper(self, make)
        thresholds.depends(self)

    def __call__(self, *given: Arguments.args, **named: Arguments.kwargs) -> Made:
        """Return the result, made now or before."""
        of: Any = given[0]
        size = len(of.instructions)
        if size > thresholds.now.large_plan:
            return self._few(*given, **named)  # type: ignore[arg-type]  # all arguments are hashable
        key = (given, *named.items()) if named else given
        found = self._many.get(key)
        if found is not None:
            self._hits += 1
            return found[0]
        self._misses += 1
        made, _ = self._many.setdefault(key, (self.__wrapped__(*given, **named), size + _OWN))  # of the first thread
        self._room -= size + _OWN
        if self._room < 0:
            self._make_room()
        return made

    def _make_room(self) -> None:
        """Forget what was made first, down to seven eighths of what there is room for."""
        entries = list(self._many.items())
        total = sum(size for _, (_, size) in entries)
        for key, (_, size) in entries[:-_MANY] if total > MOST else ():
            if total <= MOST - MOST // 8:
                break
            self._many.pop(key, None)
            total -= size
        self._room = MOST - total

    def cache_info(self) -> Any:
        """Return the counts of `functools.lru_cache`, of small circuits and large ones together."""
        few = self._few.cache_info()
        return few._replace(
            hits=self._hits + few.hits, misses=self._misses + few.misses, currsize=len(self._many) + few.currsize
        )

    def cache_clear(self) -> None:
        """Forget all results."""
        self._many.clear()
        self._few.cache_clear()
        self._room, self._hits, self._misses = MOST, 0, 0
