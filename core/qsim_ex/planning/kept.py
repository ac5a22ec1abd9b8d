"""Results that are kept for the next call: many of small circuits, few of large ones, so that memory is bounded."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar

LARGE = 1 << 13
"""A plan of more instructions than this is large; it takes about half a KiB for each of them."""

_MANY, _FEW = 256, 4

Given = ParamSpec("Given")
Made = TypeVar("Made")


class Kept(Generic[Given, Made]):
    """A function that keeps its results; `size_of` says how many instructions its first argument has."""

    def __init__(self, make: Callable[Given, Made], size_of: Callable[[Any], int]) -> None:
        self._size_of = size_of
        self._many = lru_cache(maxsize=_MANY)(make)
        self._few = lru_cache(maxsize=_FEW)(make)
        update_wrapper(self, make)

    def __call__(self, *given: Given.args, **named: Given.kwargs) -> Made:
        """Return the result, made now or before."""
        kept = self._few if self._size_of(given[0]) > LARGE else self._many
        return kept(*given, **named)  # type: ignore[arg-type]  # all arguments are hashable

    def cache_info(self) -> Any:
        """Return the counts of `functools.lru_cache`, of small circuits and large ones together."""
        many, few = self._many.cache_info(), self._few.cache_info()
        return many._replace(hits=many.hits + few.hits, misses=many.misses + few.misses, currsize=many.currsize + few.currsize)

    def cache_clear(self) -> None:
        """Forget all results."""
        self._many.cache_clear()
        self._few.cache_clear()


def kept(size_of: Callable[[Any], int]) -> Callable[[Callable[Given, Made]], Kept[Given, Made]]:
    """Return a decorator for functions whose results are kept; see `Kept`."""
    return lambda make: Kept(make, size_of)
