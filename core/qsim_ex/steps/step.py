"""The steps of a plan: sweeps, with their phases and items, and the steps that are not sweeps."""

from __future__ import annotations

from dataclasses import dataclass, field

from qsim_ex.circuit.ops import Entry, Pattern, When

NUMBERED = frozenset({Entry.REAL, Entry.IMAG, Entry.COMPLEX})
"""The classes of entries whose number is passed to a kernel; 0, 1 and −1 are written into the code."""


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of an item's numbers: numbers that are alike for all amplitudes without reads, a table with reads.

    Both parts of a sweep are one packed array: first `Sweep.numbers` numbers, then `Sweep.tables` table entries;
    `at` counts from the beginning of that array.
    """

    at: int
    count: int


@dataclass(frozen=True, slots=True)
class Mix:
    """A dense matrix on near bits.

    bits: mixed index bits, least significant first; all are near.
    reads: masks of index bits, none of them mixed, whose parities select the block (``reads[0]`` least
        significant); the bits may be outside the tile and outside the buffer.
    when: index bits and the values at which the item acts; disjoint from `bits`.
    pattern: classes of the entries [2^reads, 2^bits, 2^bits].
    slot: without reads, the entries of the classes in `NUMBERED`, in C order; with reads, all entries.
    """

    bits: tuple[int, ...]
    reads: tuple[int, ...]
    when: When
    pattern: Pattern
    slot: Slot
    label: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Diagonal:
    """A table of phases, one factor for each value of the parities; fields as in `Mix`.

    Without reads the table is one number (a controlled phase or a global phase).
    The slot holds all 2^reads entries; a single entry of −1 or 1 has no number.
    """

    reads: tuple[int, ...]
    when: When
    pattern: Pattern
    slot: Slot
    label: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Rename:
    """A permutation of near bits without numbers: the amplitude at value x of `bits` moves to ``to[x]``."""

    bits: tuple[int, ...]
    when: When
    to: tuple[int, ...]
    label: str = field(default="", compare=False)


Item = Mix | Diagonal | Rename


@dataclass(frozen=True, slots=True)
class Phase:
    """Work while some bits of the tile are near; `near` is ascending and has at most `Shape.near` bits."""

    near: tuple[int, ...]
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Sweep:
    """One read and one write of the sub state vector; everything in between happens in tiles.

    A bit that nothing has mixed yet is 0 in every amplitude that is not zero: the state is smaller than its buffer.
    Such bits are *fresh*. Amplitudes at which a fresh bit is 1 are zero, and their memory is undefined: the sweep does
    not read them and, outside its tile, does not visit them. It writes its whole tile, so the state grows by the fresh
    bits in it.

    A tile may be written back with its bits permuted, so that the next sweep finds others on the low index bits, where
    memory is contiguous. Items name bits as the tile is read.

    tile: index bits of one tile, ascending; always includes the low ones (all bits of a small state).
    numbers, tables: the count of numbers and of table entries; see `Slot`.
    fresh: mask of the local index bits that are fresh before the sweep; those in its tile are not fresh after it.
    store: for each bit of the tile the bit of the tile that it is on afterwards; () if all stay.
    """

    tile: tuple[int, ...]
    phases: tuple[Phase, ...]
    numbers: int
    tables: int
    fresh: int = 0
    store: tuple[int, ...] = ()

    @property
    def stored(self) -> tuple[int, ...]:
        """The index bit on which each bit of the tile is written back."""
        return self.store or self.tile


@dataclass(frozen=True, slots=True)
class DenseMatrix:
    """A matrix wider than a phase, as a step of its own: its bits are brought low, multiplied, and put back.

    Fields as in `Mix`; its packed array holds all entries [2^reads, 2^bits, 2^bits].
    """

    bits: tuple[int, ...]
    reads: tuple[int, ...]
    when: When
    label: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class BasisPermutation:
    """A basis permutation on any bits: the amplitude at value x of `bits` moves to ``to[x]``; no numbers."""

    bits: tuple[int, ...]
    to: tuple[int, ...]
    label: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class InitialAmplitudes:
    """Bits that all hold the value `held` are put into the state in the packed array of 2^bits amplitudes."""

    bits: tuple[int, ...]
    held: int
    label: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class ZeroFill:
    """Write the zeros that a growing state has not written yet: where any of the `fresh` bits, all local, is 1."""

    fresh: int


Step = Sweep | DenseMatrix | BasisPermutation | InitialAmplitudes | ZeroFill
