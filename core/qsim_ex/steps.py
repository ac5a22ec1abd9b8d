"""The plan as data. Planning writes it, placements and devices read it, and nobody below planning thinks in gates.

Everything between `Plan.start` and `Plan.end` is in **index bits** (bit 0 is the least significant bit of an
amplitude's index); wires appear only in those two layouts. Structure is here, numbers are not: a plan says where a
number will stand, and `planning.numbers.bind` fills it in.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.circuit import ZERO_AT
from qsim_ex.circuit.ops import Entry, Pattern, When

NUMBERED = frozenset({Entry.REAL, Entry.IMAG, Entry.COMPLEX})
"""The classes of entries whose number is passed to a kernel; 0, 1 and −1 are written into the code."""


BLOCK_BITS = 4
"""A dense block (see `Shape.block`) is a matrix on so many bits."""


_SMALL_TABLE = 3
"""A table of so many parities is always worth its entries (see `Shape.thin`)."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Which index bit each wire sits on, and which wires are stored inverted.

    address: ``address[wire]`` is the wire's index bit; a permutation of 0 … n − 1.
    flip: mask of index bits; a wire whose bit is in it is stored inverted (bit = wire value XOR 1).
    """

    address: tuple[int, ...]
    flip: int = 0

    @staticmethod
    @lru_cache(maxsize=64)
    def identity(num_wires: int) -> Layout:
        """Wire w on index bit w, nothing inverted."""
        return Layout(tuple(range(num_wires)))

    def __len__(self) -> int:
        return len(self.address)

    def wires(self) -> tuple[int, ...]:
        """The wire on each index bit: the wire ordering, least significant first."""
        order = [0] * len(self.address)
        for wire, bit in enumerate(self.address):
            order[bit] = wire
        return tuple(order)

    def index(self, value: int) -> int:
        """The amplitude's index at which the basis state `value` (bit w = wire w) is stored."""
        stored = 0
        for wire, bit in enumerate(self.address):
            stored |= (value >> wire & 1) << bit
        return stored ^ self.flip

    def is_identity(self) -> bool:
        """Whether the amplitudes lie in the order of the wires."""
        return self.flip == 0 and self.address == tuple(range(len(self.address)))


@dataclass(frozen=True, slots=True)
class Shape:
    """What one sweep may hold near: the machine as planning sees it.

    tile: index bits of one tile (shared memory of a thread block, cache of a core); at least low + near.
    near: index bits that can be mixed in one phase (registers of a thread, rows of SIMD vectors).
    low: the lowest index bits, always in the tile, so that memory is touched in whole cache lines.
    edge: how many of the lowest index bits are never near in the first and in the last phase of a sweep, because
        they lie across the lanes that load and store. A phase without items is put in front or behind where needed.
    phases: most phases in one sweep (at least 3), or None for any number.
    dense: most bits that one matrix inside a sweep may mix; a wider one is a `Wide` step.
    table: most parities that merged tables of phases may be indexed by (a single wider diagonal stays as it is).
    thin: a merged table has at most one entry for 2^thin amplitudes (but it may have 8), where making an entry takes as
        long as multiplying so many; 0 for no such bound.
    start: a sweep over 2^start amplitudes takes about as long as starting one; growing a state below is not worth it.
    balance: multiply-adds per amplitude that take as long as reading and writing it once.
    item_work: multiply-adds per amplitude that every item costs beside its arithmetic, for loads and stores in the
        tile; 0 where amplitudes stay in registers.
    block: multiply-adds per amplitude in whose time units for matrices apply any dense matrix on `BLOCK_BITS` bits;
        None where there are no such units, or where other numbers of bits are near.
    blocks_from: a sweep over fewer than 2^blocks_from amplitudes has no such matrices: to make one takes longer than it
        saves.
    """

    tile: int
    near: int
    low: int
    edge: int
    phases: int | None
    dense: int
    table: int = 10
    thin: int = 0
    item_work: float = 0.0
    start: int = 14
    balance: float = 60.0
    block: float | None = None
    blocks_from: int = 0

    def plain(self) -> Shape:
        """The shape without units for matrices."""
        return replace(self, block=None)

    def fit(self, num_bits: int) -> Shape:
        """The shape for a state of `num_bits` index bits: every sweep of a plan keeps exactly to it.

        A sweep's tile has exactly ``fit(n).tile`` bits and every phase exactly ``fit(n).near`` near bits.
        """
        near = min(self.near, num_bits)
        whole = near == BLOCK_BITS and self.dense >= BLOCK_BITS
        return replace(
            self,
            tile=min(self.tile, num_bits),
            near=near,
            low=min(self.low, num_bits),
            edge=min(self.edge, num_bits - near),
            dense=min(self.dense, near),
            table=min(self.table, max(_SMALL_TABLE, num_bits - self.thin)) if self.thin else self.table,
            block=self.block if whole else None,
        )


@dataclass(frozen=True, slots=True)
class Slot:
    """Where an item's numbers begin. What reads nothing is a number, alike for all amplitudes; what reads is a table.

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
        significant); they may be anywhere, also outside the tile and outside the buffer.
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

    Without reads it is one number (a controlled phase or a global phase).
    The slot holds all 2^reads entries; a sole entry of −1 or 1 has no number.
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
    """Work while some bits of the tile are near; `near` ascending, at most `Shape.near` of them."""

    near: tuple[int, ...]
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Sweep:
    """One read and one write of the sub state vector; everything in between happens in tiles.

    A bit that nothing has mixed yet is 0 in every amplitude that is not zero: the state is smaller than its buffer.
    Such bits are *fresh*. Amplitudes at which a fresh bit is 1 are zero and hold anything in memory: the sweep neither
    reads them nor, outside its tile, visits them. It writes its whole tile, so the state grows by the fresh bits in it.

    tile: index bits of one tile, ascending; always includes the low ones (all bits of a small state).
    numbers, tables: how many numbers and table entries there are; see `Slot`.
    fresh: mask of the local index bits that are fresh before the sweep; those in its tile are not fresh after it.
    """

    tile: tuple[int, ...]
    phases: tuple[Phase, ...]
    numbers: int
    tables: int
    fresh: int = 0


@dataclass(frozen=True, slots=True)
class Wide:
    """A matrix wider than a phase, a step of its own: bring its bits low, one matrix product, put them back.

    Fields as in `Mix`; its packed array holds all entries [2^reads, 2^bits, 2^bits].
    """

    bits: tuple[int, ...]
    reads: tuple[int, ...]
    when: When
    label: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Shuffle:
    """A basis permutation on any bits: the amplitude at value x of `bits` moves to ``to[x]``; no numbers."""

    bits: tuple[int, ...]
    to: tuple[int, ...]
    label: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Spread:
    """Bits whose amplitudes all sit at value `held` are put into the state that its packed array of 2^bits holds."""

    bits: tuple[int, ...]
    held: int
    label: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Clear:
    """Write the zeros that a growing state has not written yet: where any of the `fresh` bits, all local, is 1."""

    fresh: int


Step = Sweep | Wide | Shuffle | Spread | Clear


@dataclass(frozen=True, slots=True)
class Levels:
    """The memory hierarchy above the tile: how the n bits of an index are divided. `Levels(n)` is one device.

    Positions 0 … local − 1 are **local** bits, the next `peers` are **device** bits, all above are **migration** bits.
    local: index bits of one sub state vector, which lies in one piece in the memory of one device.
    peers: 2^peers devices of this process hold one sub state vector each at the same time.
    slice: the lowest bits, which are contiguous wherever amplitudes are copied, and always local; at most `local`.
    network: 'switch' (any two devices at full speed) or 'mesh' (each pair has a link of its own).
    """

    local: int
    peers: int = 0
    slice: int = 0
    network: Literal["switch", "mesh"] = "switch"


SPARED_FROM = 12
"""Fresh local positions from here up are left out of an exchange; below, rows would be short: 32 KiB and less."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """Position ``swaps[k][0]`` (local) and position ``swaps[k][1]`` (a device bit) trade places, all pairs at once.

    Half of every sub state vector (with one pair) moves to another device, for good: what was read as a device bit is
    local from now on, and the other way round. Pairs are disjoint; local positions are `Levels.slice` or higher.
    """

    swaps: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Migration:
    """A pass over a state whose home is in host memory begins: which index bits are near during it.

    The window of 2^(local + peers) amplitudes is filled 2^(migration bits) times, worked on, and written back to where
    it came from, so a pass moves no amplitude for good. bits: a permutation; position p of an index, as the steps of
    this pass see it, is index bit ``bits[p]`` at home. ``bits[p] == p`` below `Levels.slice`; the positions of the
    migration bits come last, ascending.
    """

    bits: tuple[int, ...]


Motion = Exchange | Migration


@dataclass(frozen=True, slots=True)
class Stage:
    """Steps that run while sub state vectors are near: they mix local positions only, and may read all.

    motion: what happens before; None where nothing has to move. The stages from one `Migration` up to the next are one
    pass: all of them run on a window before the next window comes.
    fresh: mask of all positions that are fresh after the motion and before the steps (see `Sweep`); a sub state vector
    at which a position from `Levels.local` up is 1 and fresh is zero: it is neither moved nor worked on.
    """

    steps: tuple[Step, ...]
    motion: Motion | None = None
    fresh: int = 0


@dataclass(frozen=True, eq=False, slots=True)
class Product:
    """out = left · right for `count` pairs of matrices; both are gathered from the number buffer.

    left: indices into the buffer, int64 [count, blocks, d, d]. right: likewise [count, blocks, d, columns]. The results
    have the shape of `right` and are appended in C order.
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]

    def pairs(self) -> NDArray[np.int64]:
        """The factors of the terms l·r of each entry, int64 [2, terms, entries], without those that have a factor 0.

        A one-qubit gate among two is half zeros, and a diagonal one three quarters: only their terms are left. Entries
        with fewer terms than others have some of which a factor is 0.
        """
        size, width = self.right.shape[-2:]
        rows = np.repeat(self.left.reshape(-1, size), width, axis=0)  # for each entry its row of the left matrix
        columns = np.swapaxes(self.right, -1, -2)[..., None, :, :]  # and its column of the right one
        columns = np.broadcast_to(columns, (*self.right.shape, size)).reshape(-1, size)
        zero = (rows == ZERO_AT) | (columns == ZERO_AT)
        terms = max(1, int((~zero).sum(axis=1).max(initial=0)))
        first = _terms_first(zero)[:, :terms]
        both = np.take_along_axis(rows, first, axis=1).T, np.take_along_axis(columns, first, axis=1).T
        return np.ascontiguousarray(np.stack(both))


def _terms_first(zero: NDArray[np.bool_]) -> NDArray[np.int64]:
    """For each row of flags the numbers of those that are not set, then of those that are; few flags are looked up."""
    size = zero.shape[1]
    if size > _LOOKED_UP:
        return np.argsort(zero, axis=1, kind="stable")
    return _orders(size)[zero @ (1 << np.arange(size))]


_LOOKED_UP = 4


@lru_cache(maxsize=_LOOKED_UP + 1)
def _orders(size: int) -> NDArray[np.int64]:
    """The same for all values of so many flags, flag 0 being the least significant bit of a value."""
    return np.argsort(np.arange(1 << size)[:, None] >> np.arange(size) & 1, axis=1, kind="stable")


@dataclass(frozen=True, eq=False, slots=True)
class Euler:
    """Unitary 2×2 matrices as e^{iγ} · diag(1, e^{iα}) · R · diag(1, e^{iβ}) with a real rotation R.

    places: indices into the buffer, int64 [count, 4], of matrices in C order. For each matrix seven results are
    appended: the four entries of R, then e^{iα}, e^{iβ}, e^{iγ}.
    """

    places: NDArray[np.int64]


@dataclass(frozen=True, eq=False, slots=True)
class Fold:
    """Tables of products of phases: entry t of a table is the product of the factors f with incidence[t, f] = 1.

    incidence: float64 [count, entries, factors], of zeros and ones; factors: indices into the buffer, int64
    [count, factors]. The results are appended in C order.
    """

    incidence: NDArray[np.float64]
    factors: NDArray[np.int64]


@dataclass(frozen=True, eq=False, slots=True)
class Numbers:
    """A short program over a growing buffer of numbers that begins with the circuit's operands.

    num_operands: how many of the circuit's operands the buffer begins with.
    program: runs in order, each appending to the buffer; folds come last, smaller tables first.
    packed: for each step, in the order of the plan, which entries of the buffer it is given.
    """

    num_operands: int
    program: tuple[Product | Euler | Fold, ...]
    packed: tuple[NDArray[np.int64], ...]

    def tables_at(self) -> int:
        """Where the tables of folds begin in the number buffer: behind all that is made from matrices."""
        at = self.num_operands
        for instruction in self.program:
            match instruction:
                case Product(right=right):
                    at += right.size
                case Euler(places):
                    at += 7 * len(places)
                case Fold():
                    pass
        return at

    def size(self) -> int:
        """How long the number buffer is."""
        folds = [instruction.incidence.shape for instruction in self.program if isinstance(instruction, Fold)]
        return self.tables_at() + int(sum(tables * entries for tables, entries, _ in folds))


MakeTables = Callable[[NDArray[np.complex128]], NDArray[np.complex128]]
"""Gives a number buffer with its tables, or the buffers of all rows, from one without; in place where there is room."""


class Bound:
    """The numbers of one run: a packed array [count] for each of a plan's steps, cut when it is asked for.

    numbers: the plan's. given: the number buffer, complex128 [total], in which the tables of folds are not made yet; it
    may end where they begin. fold: gives the whole buffer. A device that makes its tables itself asks for `given`
    alone.
    For a batch all arrays have one more axis, in front: `given` is [rows, total], a packed array [rows, count].
    operands: for a device that runs the whole number program itself: `given` is made from them when it is asked for.
    """

    __slots__ = ("_fold", "_given", "_make", "numbers", "operands")

    def __init__(
        self,
        numbers: Numbers,
        given: NDArray[np.complex128] | Callable[[], NDArray[np.complex128]],
        fold: MakeTables | None,
        operands: NDArray[np.complex128] | None = None,
    ) -> None:
        self.numbers = numbers
        self.operands = operands
        self._fold = fold
        self._make = given if callable(given) else None
        self._given: NDArray[np.complex128] | None = None if callable(given) else given

    @property
    def given(self) -> NDArray[np.complex128]:
        """The number buffer as far as it is made."""
        if self._given is None:
            assert self._make is not None
            self._given = self._make()
        return self._given

    @property
    def buffer(self) -> NDArray[np.complex128]:
        """The whole number buffer."""
        if self._fold is not None:
            self._given = self._fold(self.given)
            self._fold = None
        return self.given

    @property
    def rows(self) -> int:
        """How many rows a batch has; 1 where all are alike."""
        known = self.given if self.operands is None else self.operands
        return len(known) if known.ndim > 1 else 1

    def __len__(self) -> int:
        return len(self.numbers.packed)

    def __iter__(self) -> Iterator[NDArray[np.complex128]]:
        buffer = self.buffer
        return (buffer.take(places, axis=-1) for places in self.numbers.packed)


@dataclass(frozen=True, eq=False)
class Plan:
    """Straight-line unitary work, ready for any operands of the right structure.

    start, end: layouts before and after; SWAPs and Xs are in their difference and cost nothing.
    fresh: index bits that are fresh at the start (see `Sweep`).
    left: index bits that are still fresh at the end: bits from `Levels.local` up that nothing has mixed.
    levels: how the index bits are divided. Without migration bits, exchanges are in the difference of `start` and
        `end`; with them, layouts are those at home, and no pass changes them but by relabelling.
    made_from: all that the plan was made from.
    """

    num_wires: int
    stages: tuple[Stage, ...]
    start: Layout
    end: Layout
    numbers: Numbers
    shape: Shape
    num_gates: int
    made_from: tuple[Any, ...]
    levels: Levels
    fresh: int = 0
    left: int = 0

    @cached_property
    def key(self) -> str:
        """A digest of all that the plan was made from, the same in every process; made when it is asked for."""
        return hashlib.blake2b(repr(self.made_from).encode(), digest_size=8).hexdigest()

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """All steps of all stages, in order; `Numbers.packed` has one array for each."""
        return tuple(step for stage in self.stages for step in stage.steps)

    @property
    def sweeps(self) -> tuple[Sweep, ...]:
        """The sweeps among the steps."""
        return tuple(step for step in self.steps if isinstance(step, Sweep))

    def to_json(self) -> dict[str, Any]:
        """The plan as plain lists, numbers and strings."""
        import dataclasses

        def plain(value: Any) -> Any:
            if dataclasses.is_dataclass(value) and not isinstance(value, type):
                fields = {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
                return {"type": type(value).__name__, **fields}
            if isinstance(value, When):
                return list(value)
            if isinstance(value, bytes):
                return value.hex()
            if isinstance(value, tuple | list):
                return [plain(v) for v in value]
            return value

        names = ("num_wires", "stages", "start", "end", "shape", "num_gates", "key", "levels", "fresh", "left")
        return {name: plain(getattr(self, name)) for name in names}
