"""Comparisons that every kind uses; each says in words what differs, or None."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tools.fuzz import likelihood

SHOTS = 400
"""Shots of the first look."""

FEWER = 120
"""The same where every shot takes a run of its own through a divided state."""


def shots_of(options: Mapping[str, Any]) -> int:
    """Shots of the first look with some options."""
    return FEWER if "virtual_peers" in options or "device_wires" in options else SHOTS


def rounded(expected: Mapping[int, float], options: Mapping[str, Any]) -> Mapping[int, float]:
    """A distribution in which rounding in single precision makes possible what is not."""
    if options.get("precision", "double") == "double":
        return expected
    return {value: max(p, 1e-9) for value, p in expected.items()}


def arrays(name: str, found: Any, expected: Any, tolerance: float) -> str | None:
    """Whether two arrays agree, entry by entry."""
    found, expected = np.asarray(found), np.asarray(expected)
    if found.shape != expected.shape:
        return f"{name}: shape {found.shape}, expected {expected.shape}"
    if not found.size:
        return None
    off = np.abs(found - expected)
    if np.isfinite(off).all() and off.max() <= tolerance:
        return None
    at = np.unravel_index(np.argmax(np.where(np.isfinite(off), off, np.inf)), off.shape)
    place = ", ".join(map(str, at))
    return f"{name}[{place}]: {found[at]}, expected {expected[at]} (tolerance {tolerance:g})"


def samples(
    name: str,
    draw: Callable[[int, int], Mapping[int, int]],
    expected: Mapping[int, float],
    bits: int,
    seed: int,
    first: int = SHOTS,
) -> str | None:
    """Whether counts come from a distribution; what looks unlikely is drawn again with more shots.

    draw: called with shots and a seed, gives counts by the value of the classical bits. first: shots of the first look.
    """
    counts = draw(first, seed)
    if sum(counts.values()) != first:
        return f"{name}: {sum(counts.values())} shots, expected {first}"
    if likelihood.of_counts(counts, expected, bits) >= likelihood.SUSPICION:
        return None
    shots = likelihood.MORE * first
    counts = draw(shots, seed + 1_000_003)
    chance = likelihood.of_counts(counts, expected, bits)
    if chance >= likelihood.PROOF:
        return None
    kept = {f"{value:0{bits}b}": round(p, 4) for value, p in sorted(expected.items()) if p > likelihood.IMPOSSIBLE}
    seen = {f"{value:0{bits}b}": round(count / shots, 4) for value, count in sorted(counts.items())}
    return f"{name}: frequencies {seen} of {shots} shots, expected {kept} (p < {chance:.1e})"


def means(
    name: str, draw: Callable[[int, int], float], expected: float, largest: float, seed: int, slack: float = 1e-9
) -> str | None:
    """Whether a mean of values within ±largest is near what is expected.

    draw: called with a number of trajectories and a seed.
    """
    for count, limit, own in (
        (SHOTS, likelihood.SUSPICION, seed),
        (likelihood.MORE * SHOTS, likelihood.PROOF, seed + 1_000_003),
    ):
        found = draw(count, own)
        if not np.isfinite(found):
            return f"{name}: {found}"
        near = max(abs(found - expected) - slack, 0.0)
        if likelihood.of_mean(near, 0.0, largest + slack, count) >= limit:
            return None
    return f"{name}: mean {found} of {count} values, expected {expected}"


def equal(name: str, found: Any, expected: Any) -> str | None:
    """Whether two arrays of whole numbers are the same."""
    found, expected = np.asarray(found), np.asarray(expected)
    if found.shape != expected.shape:
        return f"{name}: shape {found.shape}, expected {expected.shape}"
    rows = np.flatnonzero((found != expected).reshape(len(found), -1).any(axis=1)) if found.size else []
    if len(rows):
        return f"{name}: row {rows[0]} is {found[rows[0]]}, expected {expected[rows[0]]} ({len(rows)} rows differ)"
    return None
