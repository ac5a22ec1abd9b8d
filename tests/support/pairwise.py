"""Cases in which each pair of values occurs, where all values of all axes together would be too many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def pairwise(one: Sequence[Any], two: Sequence[Any], *more: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return every pair of the first two axes, with values of the others in turn, as in a Latin square."""
    return [
        (a, b, *(axis[(i + j * (k + 1)) % len(axis)] for k, axis in enumerate(more)))
        for i, a in enumerate(one)
        for j, b in enumerate(two)
    ]
