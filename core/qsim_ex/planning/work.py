"""A piece of work: the data that each step of planning passes to the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import Pattern, When, mask_of, wires_of

Kind = Literal["mix", "diagonal", "rename", "dense_matrix", "basis_permutation", "initial_amplitudes"]


@dataclass(slots=True, eq=False)
class Work:
    """One operation on index bits, with the places of its numbers in the number buffer.

    kind: "mix" (dense on near bits), "diagonal", "rename" (a permutation of near bits), or a step of its own:
        "dense_matrix" (matrix), "basis_permutation" (permutation), "initial_amplitudes" (initial state).
    bits, reads, when, pattern: as in `steps.Mix`.
    source: int64, the place of each entry of the pattern in the number buffer.
    to: where each value moves to, for renames and shuffles; `held`: for spreads, as in `steps.InitialAmplitudes`.
    order: position in the program, by which earlier and later work are compared.
    work: multiply-adds per amplitude.
    known: the pattern with the numbers that are known, where fusing has put classes for them; None if there are none.
    trial: a product at trial numbers, if something may cancel in products with it; see `rewrite.trial`.
    unitary: whether the operation is unitary: only then can it be split into a rotation between phases.
    mix, touch: masks of the bits that are mixed, and of all that are mixed or read; touched: the bits of the latter.
    parities: masks of all parities that the operation depends on: its reads, and each bit of its condition.
    weight: how much the work counts when bits are chosen; diagonals run wherever the work before them runs.
    thousandths: the same as an integer, where sums have to be exact.
    """

    kind: Kind
    bits: tuple[int, ...]
    reads: tuple[int, ...]
    when: When
    pattern: Pattern
    source: NDArray[np.int64]
    label: str
    order: int = 0
    to: tuple[int, ...] = ()
    held: int = 0
    level: int = 0
    work: float = 0.0
    known: Pattern | None = None
    trial: NDArray[np.complex128] | None = None
    unitary: bool = True
    mix: int = field(init=False)
    touch: int = field(init=False)
    touched: tuple[int, ...] = field(init=False)
    parities: tuple[int, ...] = field(init=False)
    weight: float = field(init=False)
    thousandths: int = field(init=False)

    def __post_init__(self) -> None:
        self.mix = mask_of(self.bits)
        touch = self.mix | self.when.mask
        for mask in self.reads:
            touch |= mask
        self.touch = touch
        self.touched = bits_of_mask(touch)
        self.parities = self.reads + _each_bit(self.when.mask)
        self.weight = 0.1 if self.kind == "diagonal" else 1.0
        self.thousandths = 100 if self.kind == "diagonal" else 1000


bits_of_mask = wires_of
"""`wires_of` under the name that fits planning, where masks are of index bits: the bits in a mask, ascending."""


@lru_cache(maxsize=65536)
def _each_bit(mask: int) -> tuple[int, ...]:
    """Return the bits in a mask, ascending, as masks of one bit."""
    return tuple(1 << bit for bit in wires_of(mask))


def moved(piece: Work, at: Sequence[int]) -> Work:
    """Return a piece of work on other positions: its bit b becomes bit ``at[b]``."""

    def places(mask: int) -> int:
        return mask_of(tuple(at[bit] for bit in bits_of_mask(mask)))

    if all(at[bit] == bit for bit in piece.touched):
        return piece
    return replace(
        piece,
        bits=tuple(at[bit] for bit in piece.bits),
        reads=tuple(places(mask) for mask in piece.reads),
        when=When(places(piece.when.mask), places(piece.when.value)),
    )


NOTHING = np.zeros(0, dtype=np.int64)
NOTHING.setflags(write=False)
