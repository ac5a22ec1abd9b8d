"""What was made of objects that users may change: it is used again only while what it was made from is the same."""

from __future__ import annotations

import weakref
from collections.abc import Hashable
from typing import Any, NamedTuple

MOST = 200_000
"""So many instructions are kept in all, of the circuits that were used last; one takes some 500 bytes."""


class _Entry(NamedTuple):
    """What was made of an object, what it was made from, and how many instructions that has."""

    of: weakref.ref[Any]
    made_from: Any
    made: Any
    size: int


class Remembered:
    """What was made of some objects, by their identity; an object that ends is forgotten, and none is kept alive.

    most: the most instructions of all objects together.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._entries: dict[tuple[int, Hashable], _Entry] = {}  # in the order in which they were used

    def get(self, of: object, how: Hashable, made_from: Any) -> Any:
        """Return what was made of an object from an equal reading of it; None if there is nothing.

        how: further arguments on which it depends.
        """
        key = id(of), how
        known = self._entries.get(key)
        if known is None or known.of() is not of or known.made_from != made_from:
            return None
        if self._entries.pop(key, None) is not None:  # another thread may have removed it
            self._entries[key] = known
        return known.made

    def put(self, of: object, how: Hashable, made_from: Any, made: Any, size: int) -> None:
        """Remember what was made of an object; what was used longest ago makes room."""
        key = id(of), how
        self._entries.pop(key, None)
        if size > self._most:
            return
        self._entries[key] = _Entry(weakref.ref(of, lambda _: self._entries.pop(key, None)), made_from, made, size)
        while sum(entry.size for entry in list(self._entries.values())) > self._most:
            self._entries.pop(next(iter(list(self._entries)), key), None)

    def __len__(self) -> int:
        """Return of how many objects something is remembered."""
        return len(self._entries)
