"""Angles that are quarter or eighth turns become structure: RZ(π/2) is S and a global phase, P(π/4) is T.

Structure knows no numbers, so an RZ is a phase by any angle. But transpilers write H as RZ(π/2)·√X·RZ(π/2), and fusing
has to know that these are quarter turns to see that H is real and what cancels between two of it. A Toffoli they write
as H, seven phases by π/4 (an eighth of a turn), and H, and the planner has to know these. So where
the angle of a row of `QUARTERS` is a multiple of π/4, but for rounding, another row stands in its place, which has no
angle.

RZ(0) stays what it is: loops over angles begin with zeros. In circuits of few wires (`thresholds.quarter_wires`) all
angles stay angles: there a sweep takes less time than another plan, and circuits that differ in such turns share
theirs.
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

_ROUNDING = 3e-15
"""How far an angle is from such a turn at most, however large it is: transpilers leave some units in the last place,
and what is dropped turns an amplitude by 1.5e-15 one way or the other, less than its own rounding in a circuit."""

_LARGEST = 100.0
"""Larger angles stay angles: the distance of two numbers beside each other is above `_ROUNDING` there."""

_EIGHTH = math.pi / 4
_HIGH = float(np.float32(_EIGHTH))
_LOW = _EIGHTH - _HIGH + 2.4492935982947064e-16 / 8
"""An eighth turn is _HIGH + _LOW to 2e-24, and up to `_LARGEST` a multiple of _HIGH is exact, so that the distance of
an angle from a turn is right to far below `_ROUNDING`."""


def written(row: str) -> str:
    """Return the name that people know: that of RZ or P for a row that only stands for turns of it."""
    return _WRITTEN.get(row, row)


def quarter(name: str, parameters: Sequence[object]) -> str:
    """Return the row that stands for a row with one angle; "" if it stays what it is, as what is wrong does."""
    rows = QUARTERS.get(name)
    if rows is None or len(parameters) != 1:
        return ""
    given = parameters[0]
    if not isinstance(given, (float, int, np.number)) or not math.isfinite(given):  # arrays are the angles of a sweep
        return ""
    angle = float(given)
    if abs(angle) > _LARGEST:
        return ""
    turns = round(angle / _EIGHTH)
    return rows[turns & 15] if abs(_left(angle, turns)) <= _ROUNDING else ""


def _left(angles: Any, turns: Any) -> Any:
    """Return what is left of angles up to `_LARGEST` without their nearest eighth turns."""
    return (angles - turns * _HIGH) - turns * _LOW


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


_STAYS = -1


class QuarterKeys:
    """Quarter turns among gates whose rows are numbers, the lowest bits of a key; see `frameworks.read_gates`.

    rows: by number, those that gates are read as, each once. `added` are the rows behind them that stand for quarter
    turns and are not among them.
    """

    def __init__(self, rows: Sequence[str], row_bits: int) -> None:
        others = dict.fromkeys(row for name in rows for row in QUARTERS.get(name, ()) if row)
        self.added = tuple([row for row in others if row not in rows])
        self._mask = np.uint64((1 << row_bits) - 1)
        number_of = {name: number for number, name in enumerate((*rows, *self.added))} | {"": _STAYS}
        self._turned = np.full((1 << row_bits, 16), _STAYS, dtype=np.int64)
        self._first = np.zeros((1 << row_bits, 16), dtype=np.uint32)  # the first turn for which a row stands, too
        for number, name in enumerate(rows):
            turned = [number_of[row] for row in QUARTERS.get(name, ("",) * 16)]
            self._turned[number], self._first[number] = turned, [*map(turned.index, turned)]
        self._has_angle = np.asarray((self._turned != _STAYS).any(axis=1))

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
        turns = np.rint(np.clip(angles, -_LARGEST, _LARGEST) / _EIGHTH)
        near = np.abs(_left(angles, turns)) <= _ROUNDING
        if not near.any():
            return keys, numbers, parameters
        which = np.flatnonzero(near)
        gates, places, turned = gates[which], places[which], turns.take(which).astype(np.int64) & 15
        own = keys[numbers[gates]]
        rows = self._turned[own & self._mask, turned]
        new_row = rows != _STAYS
        gates, places, own, rows = gates[new_row], places[new_row], own[new_row], rows[new_row]
        # Of each key there may be one for each turn: which of these there are is counted, since sorting takes longer.
        possible = numbers[gates] * np.uint32(16) + self._first[own & self._mask, turned[new_row]]
        found = np.zeros(16 * len(keys), dtype=np.bool_)
        found[possible] = True
        number_of = (len(keys) - 1 + np.cumsum(found)).astype(np.uint32)
        new = np.empty(int(found.sum()), dtype=np.uint64)
        numbers = numbers.copy()
        numbers[gates] = number_of[possible]
        new[numbers[gates] - len(keys)] = own & ~self._mask | rows.astype(np.uint64)
        stays = np.ones(len(parameters), dtype=np.bool_)
        stays[places] = False
        return np.concatenate((keys, new)), numbers, parameters[stays]
