"""Angles that are quarter or eighth turns become structure: RZ(π/2) is S and a global phase, P(π/4) is T.

Structure knows no numbers, so an RZ is a phase by any angle. But transpilers write H as RZ(π/2)·√X·RZ(π/2), and fusing
has to know that these are quarter turns to see that H is real and what cancels between two of it. A Toffoli they write
as H, seven phases by π/4 (an eighth of a turn), and H, and the planner has to know these. So where
the angle of a row of `QUARTERS` is a multiple of π/4, but for rounding, another row stands in its place, which has no
angle.

RZ(0) stays what it is: loops over angles begin with zeros. In circuits of few wires all angles stay angles: there a
sweep takes less time than another plan, and circuits that differ in such turns share theirs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_PHASES = ("", "t", "s", "p_3_eighths", "z", "p_5_eighths", "sdg", "tdg") * 2
QUARTERS: dict[str, tuple[str, ...]] = {
    "rz": tuple("" if k % 8 == 0 else f"rz_{k}_eighths" if k % 2 else f"rz_{k // 2}_quarters" for k in range(16)),
    "p": _PHASES,
    "u1": _PHASES,
}
"""The rows that stand for those with one angle, by its eighth turns modulo 16; "" where the row stays what it is."""

_GATES = ("t", "s", "z", "sdg", "tdg")
"""Those of these rows that are gates of their own."""

_WRITTEN = {row: name for name, rows in reversed(QUARTERS.items()) for row in rows if row not in _GATES}

LEAST = 16
"""The fewest wires of circuits whose quarter and eighth turns are structure: in narrower ones a sweep takes less time
than planning does."""

_ROUNDING = 2e-15
"""How far an angle up to 1 is from such a turn at most, and a larger one times as much: transpilers leave some units
in the last place, and what is dropped changes an amplitude by 1e-15 of it, less than its own rounding in a circuit."""

_EIGHTH = math.pi / 4


def written(row: str) -> str:
    """Return the name that people know: that of RZ or P for a row that only stands for turns of it."""
    return _WRITTEN.get(row, row)


def quarter(name: str, parameters: Sequence[Any]) -> str:
    """Return the row that stands for a row with one angle; "" if it stays what it is, as what is wrong does."""
    rows = QUARTERS.get(name)
    if rows is None or len(parameters) != 1:
        return ""
    given = parameters[0]
    if not isinstance(given, (float, int, np.number)) or not math.isfinite(given):  # arrays are the angles of a sweep
        return ""
    angle = float(given)
    turns = round(angle / _EIGHTH)
    near = abs(angle - turns * _EIGHTH) <= _ROUNDING * max(1.0, abs(angle))
    return rows[turns & 15] if near else ""


def without_quarters(
    names: Sequence[str], parameters: Sequence[Sequence[float]]
) -> tuple[Sequence[str], Sequence[Sequence[float]]]:
    """Return the rows and parameters of gates, with other rows in place of quarter turns."""
    if QUARTERS.keys().isdisjoint(names):
        return names, parameters
    others = [quarter(name, given) if name in QUARTERS else "" for name, given in zip(names, parameters, strict=True)]
    if not any(others):
        return names, parameters
    return (
        [other or name for other, name in zip(others, names, strict=True)],
        [() if other else given for other, given in zip(others, parameters, strict=True)],
    )


class QuarterKeys:
    """Quarter turns among gates whose rows are numbers, the lowest bits of a key; see `frameworks.read_gates`.

    rows: by number, those that gates are read as. `added` are the rows behind them that stand for quarter turns.
    """

    def __init__(self, rows: Sequence[str], row_bits: int) -> None:
        self.added = tuple(dict.fromkeys(row for name in rows for row in QUARTERS.get(name, ()) if row))
        self._mask = np.uint64((1 << row_bits) - 1)
        number_of = {name: len(rows) + k for k, name in enumerate(self.added)}
        self._turned = np.zeros((1 << row_bits, 16), dtype=np.uint64)
        for number, name in enumerate(rows):
            self._turned[number] = [number_of.get(row, 0) for row in QUARTERS.get(name, ("",) * 16)]
        self._has_angle = np.asarray(self._turned.any(axis=1))

    def replaced(
        self,
        keys: NDArray[np.uint64],
        numbers: NDArray[np.uint32],
        parameters: NDArray[np.float64],
        starts: NDArray[np.int64],
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.float64]]:
        """Return keys, numbers and parameters of gates, with other keys in place of those that are quarter turns.

        starts: where the parameters of each gate begin.
        """
        of_key = keys & self._mask
        gates = np.flatnonzero(self._has_angle[of_key][numbers])
        places = starts[gates]
        angles = parameters[places]
        turns = np.rint(angles / _EIGHTH)
        near = np.abs(angles - turns * _EIGHTH) <= _ROUNDING * np.maximum(1.0, np.abs(angles))
        if not near.any():
            return keys, numbers, parameters
        which = np.flatnonzero(near)
        gates, places, turned = gates[which], places[which], turns.take(which).astype(np.int64) & 15
        own = keys[numbers[gates]]
        rows = self._turned[own & self._mask, turned]
        stay = rows == 0
        new, which = np.unique((own & ~self._mask | rows)[~stay], return_inverse=True)
        numbers = numbers.copy()
        numbers[gates[~stay]] = (len(keys) + which).astype(np.uint32)
        return np.concatenate((keys, new)), numbers, np.delete(parameters, places[~stay])
