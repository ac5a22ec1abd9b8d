"""The steps of a plan: sweeps, with their register blocks and items, and the steps that are not sweeps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from qsim_ex.circuit.ops import Entry, Pattern, When
from qsim_ex.errors import PlanError

NUMBERED = frozenset({Entry.REAL, Entry.IMAG, Entry.COMPLEX})
"""The classes of entries whose value is passed to a kernel; 0, 1 and −1 are written into its code."""


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of an item's numbers in the packed array of its sweep.

    The array has `Sweep.numbers` numbers, which are the same for all amplitudes, and then `Sweep.tables` table entries,
    of which an amplitude selects one by the parities that the item reads. `at` counts from the beginning of the array.
    """

    at: int
    count: int


@dataclass(frozen=True, slots=True)
class Mix:
    """A matrix on register bits, which may be another one for each value of some parities.

    bits: the index bits that the matrix mixes, least significant first; all are register bits.
    reads: masks of index bits, none of them mixed, whose parities select the matrix (``reads[0]`` least significant);
        the bits may be outside the tile and outside the sub state vector.
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
    """A diagonal matrix: a table with one factor for each value of some parities; fields as in `Mix`.

    Without reads the table is one number (a controlled phase or a global phase).
    The slot holds all 2^reads entries; a single entry of −1 or 1 has no number.
    """

    reads: tuple[int, ...]
    when: When
    pattern: Pattern
    slot: Slot
    label: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Permute:
    """A basis permutation on register bits: the amplitude at value x of `bits` moves to value ``to[x]``."""

    bits: tuple[int, ...]
    when: When
    to: tuple[int, ...]
    label: str = field(default="", compare=False)


Item = Mix | Diagonal | Permute


@dataclass(frozen=True, slots=True)
class RegisterBlock:
    """Items that are applied to one tile while the same few of its bits number the registers (or rows of vectors).

    registers: these index bits, ascending; at most `Shape.registers`.
    """

    registers: tuple[int, ...]
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Sweep:
    """One pass over the sub state vector, which reads and writes each amplitude once, tile by tile.

    A bit that nothing has mixed yet is 0 in every amplitude that is not zero: the state is smaller than its buffer.
    Such bits are *fresh*. Amplitudes at which a fresh bit is 1 are zero, and their memory is undefined: the sweep does
    not read them and, outside its tile, does not visit them. It writes its whole tile, so the state grows by the fresh
    bits in it.

    A tile may be a linear subspace over GF(2): its items see an amplitude at another index than memory does. `load` and
    `store` are the linear maps from the index that items see to the index in memory, before and after the items. They
    are given by their columns: the index bits in memory that flip with each index bit that items see. So the lowest
    bits in memory, where it is contiguous, may be others for the next sweep, or sums of others. Both maps lead a tile
    to the same place, so that it is written where it was read. A bit outside the tile stays as it is, except for what
    the maps add to it within the tile.

    tile: index bits of one tile, ascending; it always includes the lowest ones (all bits of a small state).
    numbers, tables: the count of numbers and of table entries; see `Slot`.
    fresh: mask of the local index bits that are fresh before the sweep; those in its tile are not fresh after it.
    load: the columns of the map by which the state is read; bits from its length up stay. () for the identity.
    store: the columns of the map by which it is written; () for those of `load`.
    """

    tile: tuple[int, ...]
    register_blocks: tuple[RegisterBlock, ...]
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
            raise PlanError(
                f"expected a sweep over index bits, got the maps {self.load} and {self.store}; only kernels follow "
                "linear layouts. This is a bug of qsim-ex; please report it."
            )
        return tuple([mask.bit_length() - 1 for mask in self.stores(self.tile)])


@dataclass(frozen=True, slots=True)
class DenseMatrix:
    """A matrix on more bits than a register block has: its bits are brought lowest, multiplied, and put back.

    Fields as in `Mix`; its packed array holds all entries [2^reads, 2^bits, 2^bits].
    """

    bits: tuple[int, ...]
    reads: tuple[int, ...]
    when: When
    label: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class BasisPermutation:
    """A basis permutation on any bits: the amplitude at value x of `bits` moves to value ``to[x]``."""

    bits: tuple[int, ...]
    to: tuple[int, ...]
    label: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class InitialAmplitudes:
    """Bits of which only the value `held` occurs are set to a state: the 2^bits amplitudes of the packed array."""

    bits: tuple[int, ...]
    held: int
    label: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class ZeroFill:
    """Zeros are written to all amplitudes at which one of the `fresh` bits, which are local, is 1."""

    fresh: int


Step = Sweep | DenseMatrix | BasisPermutation | InitialAmplitudes | ZeroFill
