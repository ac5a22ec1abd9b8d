"""Measured qids: their classical bits as digits, in records, in conditions and in readout errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from qsim_ex.frameworks import Expression
from qsim_ex_cirq.qudits.levels import Digits, Levels, width_of

if TYPE_CHECKING:
    from qsim_ex_cirq.translation.measurements import MeasuredKey


def looped(bits: NDArray[np.uint8], shape: tuple[int, ...]) -> Digits:
    """Return the digits [shots, rounds, qids] of records in loops [shots, rounds, wires], inverted already."""
    flat = Levels(shape).digits_of_bits(bits.reshape(-1, bits.shape[-1]))
    return flat.reshape(*bits.shape[:2], len(shape))


def records(bits: NDArray[np.uint8], shape: tuple[int, ...], invert: Sequence[bool]) -> Digits:
    """Return the digits [shots, qids] of measured bits [shots, wires]; of a digit that is inverted 0 and 1 change."""
    digits = Levels(shape).digits_of_bits(bits)
    return digits ^ (np.array(invert, dtype=digits.dtype) & (digits < 2))


def digit(key: MeasuredKey, index: int) -> Expression:
    """Return the record of one qid of a key, inverted if it is asked to be."""
    assert key.levels is not None
    clbits = key.clbits[key.levels.bits[index]]
    bits = Expression.of_bits(clbits[::-1])
    if not key.invert[index]:
        return bits
    if len(clbits) == 1:
        return bits.binary("xor", Expression.constant(1, 1))
    return bits.binary("xor", bits.binary("less", Expression.constant(2, bits.width), 1).cast(bits.width))


def number(key: MeasuredKey) -> Expression:
    """Return the record of a key as a number, whose digits have the bases of their qids, the first most significant."""
    assert key.levels is not None
    return _joined(key, key.levels.shape, width_of(key.levels.size))


def packed(key: MeasuredKey) -> Expression:
    """Return the record of a key as bits, those of the first qid the most significant."""
    assert key.levels is not None
    return _joined(key, [1 << width for width in key.levels.widths], key.levels.num_wires)


def _joined(key: MeasuredKey, bases: Sequence[int], width: int) -> Expression:
    """Return the digits of a key as one number of a width that it fits into."""
    value = Expression.constant(0, width)
    for place, base in enumerate(bases):
        # A base that does not fit multiplies 0 alone.
        moved = value.binary("multiply", Expression.constant(base % (1 << width), width))
        value = moved.binary("add", digit(key, place).cast(width))
    return value


def recorded(value: int, key: MeasuredKey) -> list[int] | None:
    """Return the record of a key whose bits have a value, ``clbits[0]`` lowest; None for one that is never reached."""
    assert key.levels is not None
    bits = np.array([[value >> k & 1 for k in range(len(key.clbits))]], dtype=np.uint8)
    digits = records(bits, key.levels.shape, key.invert)[0].tolist()
    reached = all(one < levels for one, levels in zip(digits, key.levels.shape, strict=True))
    return digits if reached else None


def confused(matrix: NDArray[np.float64], levels: Levels, positions: Sequence[int]) -> NDArray[np.float64]:
    """Return the probabilities [true, read] of values of wires; a value that is never reached is read as it is."""
    return levels.of(positions).matrix(np.asarray(matrix)).real
