"""Matrices among the gates that are written, all of them constants: turns, phases under controls, and blocks."""

from __future__ import annotations

from dataclasses import dataclass

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


def classified(entries: Complex) -> tuple[Pattern, Complex]:
    """Return the classes of entries, known numbers among them, and the entries without what only rounding has made."""
    codes, numbers = np.array(list(_NUMBERS), dtype=np.uint8), np.array(list(_NUMBERS.values()))
    far = np.abs(entries[:, None] - numbers)
    nearest = far.argmin(axis=1)
    known = far[np.arange(len(entries)), nearest] <= TOLERANCE
    real, imag = np.abs(entries.imag) <= TOLERANCE, np.abs(entries.real) <= TOLERANCE
    classes = np.where(real, int(Entry.REAL), np.where(imag, int(Entry.IMAG), int(Entry.COMPLEX)))
    rounded = np.where(real, entries.real, np.where(imag, 1j * entries.imag, entries))
    pattern = np.where(known, codes[nearest], classes).astype(np.uint8).tobytes()
    return pattern, np.where(known, numbers[nearest], rounded)


def _where(conditions: list[Condition]) -> When:
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
        pattern, numbers = classified(entries)
        ops, places, at, new = list[Op](), dict[bytes, int](), 0, tuple.__new__
        rows = np.column_stack([gates, np.cumsum(gates[:, 3])])[gates[:, 0] >= MATRIX]
        for kind, wires, mask, number, behind in rows.tolist():
            is_phase = kind == PHASE
            mixes = wires_of(0 if is_phase else mask)
            reads = tuple(1 << wire for wire in wires_of(0 if is_phase else wires))
            when = When(mask, wires) if is_phase else _where(conditions[behind - number : behind])
            end = at + (1 << 2 * len(mixes) + len(reads))
            own, of = numbers[at:end].tobytes(), pattern[at:end]
            if own not in places:
                places[own] = place
                place += end - at
            of = of if len(mixes) + len(reads) < 2 else of.translate(PLAIN)
            ops.append(new(Op, (mixes, reads, when, of, places[own], "unitary", True)))  # `Op` takes twice as long
            at = end
        distinct = b"".join(places)
        known = np.frombuffer(distinct, dtype=np.complex128) if distinct else np.empty(0, dtype=np.complex128)
        return cls(tuple(ops), known)
