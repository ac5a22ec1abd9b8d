"""Matrices among the gates that are written, all of them constants: turns, phases under controls, and blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import ALWAYS, PLAIN, Entry, Known, Op, Pattern, When, wires_of
from qsim_ex.planning.form import TOLERANCE
from qsim_ex.planning.written.rotations import Condition

Complex = NDArray[np.complex128]

FLIP, MATRIX, PHASE = 10, 11, 12
"""The kinds of gates that are X under controls, matrices and phases; see `Gate` in planner/form/write/writer.hpp."""

_ROOT = np.sqrt(0.5)
_NUMBERS: dict[int, complex] = {
    Entry.ZERO: 0,
    Entry.ONE: 1,
    Entry.MINUS_ONE: -1,
    Known.I: 1j,
    Known.MINUS_I: -1j,
    Known.ROOT: _ROOT,
    Known.MINUS_ROOT: -_ROOT,
    Known.I_ROOT: 1j * _ROOT,
    Known.MINUS_I_ROOT: -1j * _ROOT,
    Known.EIGHTH: _ROOT + 1j * _ROOT,
    Known.MINUS_EIGHTH: _ROOT - 1j * _ROOT,
    Known.THREE_EIGHTHS: -_ROOT + 1j * _ROOT,
    Known.MINUS_THREE_EIGHTHS: -_ROOT - 1j * _ROOT,
}


_PARTS = np.array([-1.0, -_ROOT, 0.0, _ROOT, 1.0])
"""What real and imaginary parts of known numbers may be."""


@lru_cache(maxsize=1)
def _known() -> tuple[Complex, NDArray[np.uint8]]:
    """Return the known number with each real and imaginary part, none where there is no such one, and its class."""
    numbers, codes = np.full((5, 5), np.nan, dtype=np.complex128), np.zeros((5, 5), dtype=np.uint8)
    for code, number in _NUMBERS.items():
        at = _nearest(np.real(number)), _nearest(np.imag(number))
        numbers[at], codes[at] = number, code
    return numbers, codes


def _nearest(parts: NDArray[np.float64]) -> NDArray[np.intp]:
    return np.searchsorted((_PARTS[1:] + _PARTS[:-1]) / 2, parts)


def classified(entries: Complex) -> tuple[Pattern, Complex]:
    """Return the classes of entries, known numbers among them, and the entries without what only rounding has made."""
    numbers, codes = _known()
    at = _nearest(entries.real), _nearest(entries.imag)
    nearest = numbers[at]
    known = np.abs(entries - nearest) <= TOLERANCE
    real, imag = np.abs(entries.imag) <= TOLERANCE, np.abs(entries.real) <= TOLERANCE
    classes = np.where(real, int(Entry.REAL), np.where(imag, int(Entry.IMAG), int(Entry.COMPLEX)))
    rounded = np.where(real, entries.real, np.where(imag, 1j * entries.imag, entries))
    pattern = np.where(known, codes[at], classes).astype(np.uint8).tobytes()
    return pattern, np.where(known, nearest, rounded)


def _where(conditions: Sequence[Condition]) -> When:
    if not conditions:
        return ALWAYS
    mask = value = 0
    for parity, is_one in conditions:
        mask |= parity
        value |= parity * is_one
    return When(mask, value)


@dataclass(frozen=True, eq=False, slots=True)
class WrittenMatrices:
    """The operations of matrices in the order of their gates, and the numbers of all, each matrix once."""

    ops: tuple[Op, ...]
    numbers: Complex

    @classmethod
    def of(cls, gates: NDArray[np.int64], entries: Complex, conditions: list[Condition], place: int) -> WrittenMatrices:
        """Return those of gates as native code writes them; place: that of the first number among the operands.

        conditions: those of all gates, one behind the other; a matrix has them on single wires.
        """
        chosen = gates[:, 0] >= MATRIX
        if not chosen.any():
            return cls((), entries)
        rows = np.column_stack([gates, np.cumsum(gates[:, 3])])[chosen].tolist()
        pattern, numbers = classified(entries)
        raw, end, ops = numbers.tobytes(), 0, list[Op]()
        entry = len(raw) // len(numbers)
        made, places = dict[tuple[int, int, int, bytes, tuple[Condition, ...]], Op](), dict[bytes, int]()
        for kind, wires, mask, number, behind in rows:
            begin, end = end, end + (1 if kind == PHASE else 1 << 2 * mask.bit_count() + wires.bit_count())
            own = raw[entry * begin : entry * end]
            under = tuple(conditions[behind - number : behind]) if number else ()
            key = kind, wires, mask, own, under
            if key not in made:
                if own not in places:
                    places[own] = place
                    place += end - begin
                made[key] = _op(kind, wires, mask, pattern[begin:end], places[own], under)
            ops.append(made[key])
        return cls(tuple(ops), np.frombuffer(b"".join(places), dtype=np.complex128))


def _op(kind: int, wires: int, mask: int, pattern: Pattern, place: int, under: tuple[Condition, ...]) -> Op:
    """Return a phase, or a matrix under conditions, whose entries are at a place."""
    if kind == PHASE:
        return Op((), (), When(mask, wires), pattern, place, "unitary")
    mixes, reads = wires_of(mask), tuple(1 << wire for wire in wires_of(wires))
    plain = pattern if len(mixes) + len(reads) < 2 else pattern.translate(PLAIN)
    return Op(mixes, reads, _where(under), plain, place, "unitary")
