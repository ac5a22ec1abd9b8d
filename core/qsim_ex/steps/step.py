"""The steps of a plan: sweeps, with their phases and items, and the steps that are not sweeps."""

from __future__ import annotations

from collections.abc import Iterable
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

    A tile may be a linear subspace: items see an amplitude at another index than memory has it at. `load` and `store`
    are linear maps over GF(2) from the one to the other, before and after the items, given by their columns: the index
    bits that flip in memory with each index bit that items see. So the next sweep finds other directions, or only other
    bits, lowest in memory, where it is contiguous. Both lead a tile to the same place, so it is written where it was
    read; a bit outside the tile stays as it is, but for what the maps add to it within the tile.

    tile: index bits of one tile, ascending; always includes the low ones (all bits of a small state).
    numbers, tables: the count of numbers and of table entries; see `Slot`.
    fresh: mask of the local index bits that are fresh before the sweep; those in its tile are not fresh after it.
    load: the columns of the map by which the state is read; bits from its length up stay. () for the identity.
    store: the columns of the map by which it is written; () for those of `load`.
    """

    tile: tuple[int, ...]
    phases: tuple[Phase, ...]
    numbers: int
    tables: int
    fresh: int = 0
    store: tuple[int, ...] = ()
    load: tuple[int, ...] = ()

    def loads(self, bits: Iterable[int]) -> tuple[int, ...]:
        """Return the columns of `load` for some index bits."""
        known = len(self.load)
        return tuple([self.load[bit] if bit < known else 1 << bit for bit in bits])

    def stores(self, bits: Iterable[int]) -> tuple[int, ...]:
        """Return the columns of `store` for some index bits."""
        used = self.store or self.load
        return tuple([used[bit] if bit < len(used) else 1 << bit for bit in bits])

    @property
    def stored(self) -> tuple[int, ...]:
        """The index bit on which each bit of the tile is written back, where a tile is bits alone."""
        if self.load or any(mask & mask - 1 for mask in self.store):
            from qsim_ex.errors import PlanError

            raise PlanError(
                f"expected a sweep over index bits, got the maps {self.load} and {self.store}; only kernels follow "
                "linear layouts. This is a bug of qsim-ex; please report it."
            )
        return tuple([mask.bit_length() - 1 for mask in self.stores(self.tile)])


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
