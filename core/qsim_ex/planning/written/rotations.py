"""Rotations about Pauli strings as operations, and how the entries of their matrices follow from angles."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.derivatives import add_at
from qsim_ex.circuit.ops import ALWAYS, Entry, Known, Op, Pattern, When, wires_of

Complex = NDArray[np.complex128]
Floats = NDArray[np.float64]


class _Matrices(NamedTuple):
    """The matrices of a rotation: in each entry a number, and what the cosine and the sine of half the angle count."""

    pattern: Pattern
    cos: Floats
    sin: Complex
    number: Complex


class Condition(NamedTuple):
    """That the parity of some wires, a mask, has a value."""

    parity: int
    value: bool


def conditions_of(rows: NDArray[np.int64], begin: int, count: int) -> tuple[Condition, ...]:
    """Return some conditions as native code writes them, a row for each."""
    return tuple([Condition(parity, bool(value)) for parity, value in rows[begin : begin + count].tolist()])


class _Block(NamedTuple):
    """A rotation on some wires: of X, or Y where a mask says so, times ±1 by a parity if one is read.

    On no wire it is the sign of the parity alone. half: 1 or −1 for an angle of π or −π without its phase, which on one
    wire is X or Y, and on none the phase −i or i.
    """

    num_wires: int = 0
    ys: int = 0
    reads: bool = False
    half: int = 0


def _half(block: _Block) -> _Matrices:
    """Return X, −iY or iY, or −i or i."""
    if not block.num_wires:
        pattern, numbers = bytes([Known.MINUS_I if block.half > 0 else Known.I]), [-1j * block.half]
    elif not block.ys:
        pattern, numbers = bytes([Entry.ZERO, Entry.ONE, Entry.ONE, Entry.ZERO]), [0, 1, 1, 0]
    else:
        signs = (Entry.MINUS_ONE, Entry.ONE) if block.half > 0 else (Entry.ONE, Entry.MINUS_ONE)
        pattern, numbers = bytes([Entry.ZERO, *signs, Entry.ZERO]), [0, -block.half, block.half, 0]
    none = np.zeros(len(pattern))
    return _Matrices(pattern, none, none.astype(np.complex128), np.array(numbers, dtype=np.complex128))


@lru_cache(maxsize=64)
def _matrices(block: _Block) -> _Matrices:
    """Return cos − i sin P, or what an angle of ±π makes of it."""
    if block.half:
        return _half(block)
    num_wires, ys, reads, _ = block
    size = 1 << num_wires
    cos = np.zeros((1 + reads, size, size))
    cos[:, range(size), range(size)] = 1
    sin = np.zeros(cos.shape, dtype=np.complex128)
    for column in range(size):
        sin[:, size - 1 - column, column] = -1j * 1j ** ys.bit_count() * (-1) ** (column & ys).bit_count()
    sin[1:] *= -1
    if num_wires:
        mixing = Entry.REAL if ys.bit_count() % 2 else Entry.IMAG
        kinds = np.where(cos != 0, Entry.REAL, np.where(sin != 0, mixing, Entry.ZERO))
    else:
        kinds = np.full(cos.shape, Entry.COMPLEX)
    return _Matrices(
        kinds.astype(np.uint8).tobytes(), cos.ravel(), sin.ravel(), np.zeros(cos.size, dtype=np.complex128)
    )


@lru_cache(maxsize=256)
def _where(of: _Block, own: int, values: tuple[bool, ...]) -> _Matrices:
    """Return matrices where further parities have some values, and 1 elsewhere. own: how many parities are read."""
    one = _matrices(of)
    size = len(one.pattern) >> own
    side = math.isqrt(size)
    chosen = sum(value << place for place, value in enumerate(values))
    shape = (1 << len(values), 1 << own, side, side)
    pattern, cos = np.empty(shape, dtype=np.uint8), np.zeros(shape)
    sin, number = np.zeros(shape, dtype=np.complex128), np.empty(shape, dtype=np.complex128)
    number[:], pattern[:] = np.eye(side), np.where(np.eye(side) == 1, Entry.ONE, Entry.ZERO)
    pattern[chosen] = np.frombuffer(one.pattern, dtype=np.uint8).reshape(shape[1:])
    for to, entries in ((cos, one.cos), (sin, one.sin), (number, one.number)):
        to[chosen] = entries.reshape(shape[1:])
    return _Matrices(pattern.tobytes(), cos.ravel(), sin.ravel(), number.ravel())


class RotationPart(NamedTuple):
    """A part of a rotation: its operation, whose entries begin at 0, and what they are."""

    op: Op
    matrices: _Matrices


@lru_cache(maxsize=1)
def _phases() -> tuple[_Matrices, _Matrices]:
    """Return the phase of a bit that is 1, by half of an angle, and behind it those of a parity that is 0 and 1."""
    cos, sin, number = np.array([0.0, 1.0]), np.array([0, 1j]), np.array([1, 0j])
    pattern = bytes([Entry.ONE, Entry.COMPLEX])
    return _Matrices(pattern[1:], cos[1:], sin[1:], number[1:]), _Matrices(pattern, cos, sin, number)


def _phase(mask: int) -> tuple[RotationPart, ...]:
    """Return the phase of a parity that is 1."""
    of_bit, of_parity = _phases()
    if mask.bit_count() == 1:
        return (RotationPart(Op((), (), When(mask, mask), of_bit.pattern, 0, "pauli_rotation"), of_bit),)
    return (RotationPart(Op((), (mask,), ALWAYS, of_parity.pattern, 0, "pauli_rotation"), of_parity),)


@lru_cache(maxsize=1 << 14)
def rotation(x: int, z: int, conditions: tuple[Condition, ...] = (), half: int = 0) -> tuple[RotationPart, ...]:
    """Return a rotation about the string with X on the wires of a mask and Z on those of another one, not both 0.

    About Z alone, under no conditions, it is the phase by half of its angle where the parity is 1: which a caller gives
    twice the angle, and a global phase.

    conditions: under which it acts. half: 1 or −1 if its angle is π or −π, which makes it X or Y and a phase, if it
    flips one wire and reads nothing.
    """
    read, wires = z & ~x, wires_of(x)
    if not x and not conditions:
        return _phase(z)
    ys = sum([(z >> wire & 1) << place for place, wire in enumerate(wires)]) if z & x else 0
    if not conditions:
        matrices = _matrices(_Block(len(wires), ys, bool(read)))
        fields = wires, (read,) if read else (), ALWAYS, matrices.pattern, 0, "pauli_rotation", True
        return (RotationPart(tuple.__new__(Op, fields), matrices),)  # a named tuple's own `__new__` takes twice as long
    if half and len(wires) == 1 and not read:
        phases = [_Block(half=half)] if not ys else []
        blocks = [(wires, _Block(1, ys, half=half)), *(((), one) for one in phases)]
    else:
        blocks = [(wires, _Block(len(wires), ys, bool(read)))]
    ones = [one for one in conditions if one.parity.bit_count() == 1]
    others = [one for one in conditions if one.parity.bit_count() > 1]
    when = When(sum(one.parity for one in ones), sum(one.parity for one in ones if one.value))
    found = []
    for mixes, block in blocks:
        matrices = _where(block, int(block.reads), tuple(one.value for one in others)) if others else _matrices(block)
        reads = (*((read,) if block.reads else ()), *(one.parity for one in others))
        found.append(RotationPart(Op(mixes, reads, when, matrices.pattern, 0, "pauli_rotation"), matrices))
    return tuple(found)


@dataclass(frozen=True, eq=False, slots=True)
class RotationEntries:
    """The entries of the matrices of some rotations, one behind the other.

    angles: the angle of each entry. number: each but for that; cos, sin: what the cosine and the sine of half of it
    count.
    """

    angles: NDArray[np.int64]
    cos: Floats
    sin: Complex
    number: Complex

    @classmethod
    def of(cls, parts: Iterable[tuple[int, RotationPart]]) -> RotationEntries:
        """Return those of parts of rotations; each comes with the number of its angle."""
        rows, known = list[int](), dict[int, tuple[int, _Matrices]]()  # few matrices are distinct
        for number, part in parts:
            rows += number, known.setdefault(id(part.matrices), (len(known), part.matrices))[0]
        numbers, which = np.array(rows, dtype=np.int64).reshape(-1, 2).T
        distinct = [one for _, one in known.values()]
        sizes = np.array([len(one.cos) for one in distinct], dtype=np.int64)
        counts, begins = sizes[which], (np.cumsum(sizes) - sizes)[which]
        places = np.repeat(begins - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        cos = np.concatenate([np.empty(0), *(one.cos for one in distinct)])[places]
        sin = np.concatenate([np.empty(0, dtype=np.complex128), *(one.sin for one in distinct)])[places]
        fixed = np.concatenate([np.empty(0, dtype=np.complex128), *(one.number for one in distinct)])[places]
        return cls(np.repeat(numbers, counts), cos, sin, fixed)

    def pull_back(self, angles: Floats, cotangents: Complex) -> Floats:
        """Return cotangents [bindings, values, angles] of angles [bindings, angles] for those of the entries."""
        half = 0.5 * angles
        slopes = 0.5 * (np.cos(half)[:, self.angles] * self.sin - np.sin(half)[:, self.angles] * self.cos)
        found = np.zeros((*cotangents.shape[:2], angles.shape[1]))
        if len(self.angles):
            add_at(found, self.angles, (cotangents * slopes[:, None]).real)
        return found
