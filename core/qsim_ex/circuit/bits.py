"""Some bits of a number: gathered into a smaller one, and spread from it again."""

from __future__ import annotations

from collections.abc import Iterable


def gathered(number: int, places: Iterable[int]) -> int:
    """Return the number whose bit k is bit ``places[k]`` of another one."""
    return sum((number >> place & 1) << k for k, place in enumerate(places))


def spread(value: int, places: Iterable[int]) -> int:
    """Return the number that has bit k of a value at ``places[k]``, and 0 elsewhere."""
    return sum((value >> k & 1) << place for k, place in enumerate(places))
