"""Matrices among the gates that are written, all of them constants: turns, phases under controls, and blocks."""

from __future__ import annotations

from collections.abc import Sequence
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
    mask = value = 0
    for parity, is_one in conditions:
        mask |= parity
        value |= parity * is_one
    return When(mask, value)


class WrittenMatrices:
    """Matrices among the gates that are written, and where the numbers of each are among the operands.

    entries: of all matrices, one behind the other, without what only rounding has made. place: that of the first number
    among the operands.
    """

    def __init__(self, entries: Complex, place: int) -> None:
        self._pattern, self.entries = classified(entries) if len(entries) else (b"", entries)
        self._raw, self._place, self._places = self.entries.tobytes(), place, dict[bytes, int]()
        self._bytes = len(self._raw) // max(1, len(entries))  # of an entry

    def op(self, kind: int, wires: int, mask: int, under: Sequence[Condition], entry: int) -> Op:
        """Return the operation of a gate as native code writes it, whose entries begin at one of them.

        under: its conditions, which are on single wires.
        """
        end = entry + (1 if kind == PHASE else 1 << 2 * mask.bit_count() + wires.bit_count())
        own = self._raw[self._bytes * entry : self._bytes * end]
        place = self._places.get(own)
        if place is None:
            place = self._places[own] = self._place
            self._place += end - entry
        return _op(kind, wires, mask, self._pattern[entry:end], place, under)

    def numbers(self) -> Complex:
        """Return the numbers of all operations so far, those of each matrix once."""
        return np.frombuffer(b"".join(self._places), dtype=np.complex128)


def _op(kind: int, wires: int, mask: int, pattern: Pattern, place: int, under: Sequence[Condition]) -> Op:
    """Return a phase, or a matrix under conditions, whose entries are at a place."""
    mixes: tuple[int, ...] = ()
    reads: tuple[int, ...] = ()
    if kind == PHASE:
        when = tuple.__new__(When, (mask, wires))  # a named tuple's own `__new__` takes twice as long
    else:
        mixes, when = wires_of(mask), _where(under) if under else ALWAYS
        reads = tuple([1 << wire for wire in wires_of(wires)]) if wires else ()
        pattern = pattern if len(mixes) + len(reads) < 2 else pattern.translate(PLAIN)
    return tuple.__new__(Op, (mixes, reads, when, pattern, place, "unitary", True))
