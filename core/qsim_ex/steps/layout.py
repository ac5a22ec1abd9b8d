"""The use of the bits of an index: which wire each one holds (`Layout`), and which memory it divides (`Levels`).

`Levels` are the memories above the tile; `Shape` is the tile and below: the machine as planning sees it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from qsim_ex.errors import OptionError
from qsim_ex.options.network import Layer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from qsim_ex.options.network import Layers

BLOCK_BITS = 4
"""The number of bits of a dense block's matrix (see `Shape.block`)."""

_MOST_BITS = 64
"""The most bits of any kind in a file."""

CX_RATIO = 1.5
"""From so many CX on for each matrix that mixes bits a CNOT frame may pay (see `Shape.cx_ratio`)."""

_SMALL_TABLE = 3
"""A table of this many parities is always worth its entries (see `Shape.thin`)."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The index bit of each wire, and which wires are stored inverted.

    address: ``address[wire]`` is the wire's index bit; a permutation of 0 … n − 1.
    flip: mask of index bits; a wire whose bit is in it is stored inverted (bit = wire value XOR 1).
    """

    address: tuple[int, ...]
    flip: int = 0

    @staticmethod
    @lru_cache(maxsize=64)
    def identity(num_wires: int) -> Layout:
        """Return the layout with wire w on index bit w and nothing inverted."""
        return Layout(tuple(range(num_wires)))

    def __len__(self) -> int:
        return len(self.address)

    def wires(self) -> tuple[int, ...]:
        """Return the wire on each index bit, least significant first: the wire ordering."""
        order = [0] * len(self.address)
        for wire, bit in enumerate(self.address):
            order[bit] = wire
        return tuple(order)

    def index(self, value: int) -> int:
        """Return the index of the amplitude of basis state `value` (bit w = wire w)."""
        stored = 0
        for wire, bit in enumerate(self.address):
            stored |= (value >> wire & 1) << bit
        return stored ^ self.flip

    def moved(self, to: Sequence[int]) -> Layout:
        """Return the layout after index bit b has become index bit ``to[b]``."""
        flip = sum(1 << to[bit] for bit in range(len(to)) if self.flip >> bit & 1)
        return Layout(tuple(to[bit] for bit in self.address), flip)

    def is_identity(self) -> bool:
        """Return whether the amplitudes are stored in the order of the wires."""
        return self.flip == 0 and self.address == tuple(range(len(self.address)))


@dataclass(frozen=True, slots=True)
class Levels:
    """The memory hierarchy above the tile: how the n bits of an index are divided. `Levels(n)` is one device.

    Positions 0 … local − 1 are **local** bits, the next `peers` are **device** bits, all above are **migration** bits,
    but for the highest `ranks`.
    local: index bits of one sub state vector, which is contiguous in the memory of one device.
    peers: 2^peers devices of this process hold one sub state vector each at the same time.
    slice: the lowest bits, which are contiguous wherever amplitudes are copied, and always local; at most `local`.
    network: 'switch' (any two devices at full speed) or 'mesh' (each pair has a link of its own).
    layers: how far devices are from each other, as far as that differs: the links of the device bits, lowest bits and
        nearest devices first, `peers` bits in all; none where all devices are equally far. Inside a layer is a switch.
    ranks: 2^ranks processes have a part of the state in the memories of their hosts each; a pass leaves these bits
        where they are. Without migration bits a device bit may lead to another process as well, and this is 0.
    """

    local: int
    peers: int = 0
    slice: int = 0
    network: Literal["switch", "mesh"] = "switch"
    layers: Layers = ()
    ranks: int = 0

    def __repr__(self) -> str:
        """Return the fields, without layers and ranks if there are none: digests in checkpoints are made of this."""
        shown = f"Levels(local={self.local}, peers={self.peers}, slice={self.slice}, network={self.network!r}"
        shown += f", layers={self.layers!r}" if self.layers else ""
        return f"{shown}, ranks={self.ranks})" if self.ranks else f"{shown})"

    def migration(self, num_wires: int) -> int:
        """Return the number of migration bits of a state."""
        return num_wires - self.local - self.peers - self.ranks

    def to_json(self) -> dict[str, object]:
        """Return the fields as JSON values."""
        names = ("local", "peers", "slice", "network", "ranks")
        return {name: getattr(self, name) for name in names} | {"layers": [layer.to_json() for layer in self.layers]}

    @staticmethod
    def from_json(told: Mapping[str, Any]) -> Levels:
        """Return the levels of `to_json`; raise `ValueError`, `TypeError`, `KeyError` or `OptionError` for others."""
        local, peers, piece, ranks = (told[name] for name in ("local", "peers", "slice", "ranks"))
        if not all(type(bits) is int and 0 <= bits <= _MOST_BITS for bits in (local, peers, piece, ranks)):
            raise ValueError(f"expected numbers of bits, got {told}")
        if told["network"] not in ("switch", "mesh"):
            raise ValueError(f"expected a network, got {told['network']!r}")
        if type(told["layers"]) is not list:
            raise ValueError(f"expected a list of layers, got {told['layers']!r}")
        layers = tuple(Layer(one["bits"], one["link"], one["bytes_per_second"]) for one in told["layers"])
        return Levels(local, peers, piece, told["network"], layers, ranks)

    def fits(self, num_wires: int) -> bool:
        """Return whether these levels can be those of a state of so many wires."""
        linked = sum(layer.bits for layer in self.layers)
        return self.slice <= self.local and self.migration(num_wires) >= 0 and linked in (0, self.peers)

    def layer_of(self, position: int) -> int:
        """Return the number of the layer of a device position, 0 for the nearest."""
        last = self.local
        for number, layer in enumerate(self.layers):
            last += layer.bits
            if position < last:
                return number
        return 0


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of one sweep's memory levels, and its rates: the machine as planning sees it.

    Plans are named by the representation of their shape, which leaves out the fields from `floats` on: a plan that
    depends on one of these says so in its name.

    tile: index bits of one tile (shared memory of a thread block, cache of a core); at least low + dense.
    registers: index bits that one register block can mix: those of a thread's registers, or of rows of SIMD vectors.
    low: the lowest index bits, always in the tile, so that memory is touched in whole cache lines.
    edge: how many of the lowest index bits are never register bits in the first and in the last register block of a
        sweep, since they number the lanes that load and store. A block without items is added where it is needed.
    most_blocks: most register blocks in one sweep (at least 3), or None for any number.
    dense: most bits that one matrix inside a sweep may mix; a wider one is a `DenseMatrix` step.
    table: most parities that index a merged table of phases (a single wider diagonal stays as it is).
    thin: a merged table has at most one entry per 2^thin amplitudes (but always may have 8), since making an entry
        takes as long as multiplying 2^thin amplitudes; 0 for no such bound.
    start: a sweep over 2^start amplitudes takes about as long as starting one; growing a state below is not worth it.
    balance: multiply-adds per amplitude that take as long as reading and writing it once.
    item_work: multiply-adds per amplitude that every item costs beside its arithmetic, for loads and stores in the
        tile; 0 where amplitudes stay in registers.
    block: the cost, in multiply-adds per amplitude, of any dense matrix on `BLOCK_BITS` bits that matrix units apply;
        None where there are no matrix units, or another number of register bits.
    block_made: until such a matrix is on the device it costs a run as much as 2^block_made multiply-adds, so that
        sweeps over fewer amplitudes have only those that save more, or none.
    floats: whether a sweep may write its tile back permuted, so that other bits are lowest in the next one, and whether
        a plan of a state that is there may so end in another layout than the one in which it begins.
    relabels: whether SWAPs and Xs change the layout; if not, they are work, and a plan ends in the layout in which it
        begins.
    seen: the share of the shorter time of a sweep, of memory and arithmetic, that the longer one does not hide.
    transposed: the multiply-adds per amplitude that take as long as writing a tile back permuted.
    counted: multiply-adds per amplitude that take as long as reading and writing it once, where register blocks
        are counted beside them; 0 where plans are not compared in full.
    exchanged: the multiply-adds per amplitude that take as long as exchanging a tile between two register blocks.
    fewer: a number of lowest bits below `low` that a plan may have instead; 0 if it may not.
    scattered: how many times as long reading and writing takes with that number.
    linear: whether tiles may be linear subspaces, so that CX moves nothing, where a run begins in |0…0⟩ or all
        amplitudes are there.
    elsewhere: by how many passes over a state a sweep takes longer if its tiles are read at sums of directions.
    permute: the multiply-adds per amplitude that take as long as a basis permutation within a tile.
    cx_ratio: plans in a CNOT frame are tried from so many CX on for each matrix, which X under conditions is not.
        Of 27 families those that gain on a CPU have 2.5 and more; of all others only GHZ has more than 1.43.
    cx_ratio_there: the same for a state that is there, which does not grow: of 123 circuits on a CPU none below 5.5
        gains.
    stays: whether a plan of a state in host memory should end in the layout in which it begins, so that a circuit that
        is applied again has the same plan.
    left_out: the rules of planning that plans are made without, see `planning.rules`; none but in tests.
    """

    tile: int
    registers: int
    low: int
    edge: int
    most_blocks: int | None
    dense: int
    table: int = 10
    thin: int = 0
    item_work: float = 0.0
    start: int = 14
    balance: float = 60.0
    block: float | None = None
    block_made: int = 0
    floats: bool = field(default=False, repr=False)
    relabels: bool = field(default=True, repr=False)
    seen: float = field(default=0.4, repr=False)
    transposed: float = field(default=4.0, repr=False)
    linear: bool = field(default=False, repr=False)
    counted: float = field(default=0.0, repr=False)
    exchanged: float = field(default=0.0, repr=False)
    fewer: int = field(default=0, repr=False)
    scattered: float = field(default=1.0, repr=False)
    elsewhere: float = field(default=0.4, repr=False)
    permute: float = field(default=0.0, repr=False)
    cx_ratio: float = field(default=CX_RATIO, repr=False)
    cx_ratio_there: float = field(default=4.5, repr=False)
    stays: bool = field(default=False, repr=False)
    left_out: tuple[str, ...] = field(default=(), repr=False)

    @property
    def slowed(self) -> float:
        """How many times as long reading and writing takes as in whole pieces."""
        return self.scattered if self.low == self.fewer else 1.0

    @property
    def in_vectors(self) -> bool:
        """Whether amplitudes that differ in the lowest bits alone are computed as one vector, and so stay together."""
        return self.item_work > 0

    def narrow(self) -> Shape:
        """Return the shape with fewer lowest bits."""
        return replace(self, low=self.fewer, edge=min(self.edge, self.fewer))

    def staying(self) -> Shape:
        """Return the shape with which plans of a state that is there put each bit back where it was.

        Then a circuit that is applied again and again begins each time in the same layout, and has one plan.
        """
        return replace(self, floats=False, stays=True)

    def ordered(self, low: int) -> Shape:
        """Return the shape whose plans end in the layout in which they begin, with `low` lowest bits in every tile."""
        return replace(self, floats=False, relabels=False, linear=False, low=low)

    def fit(self, num_bits: int) -> Shape:
        """Return the shape for a state of `num_bits` index bits; every sweep of a plan keeps exactly to it.

        A sweep's tile has exactly ``fit(n).tile`` bits and every register block
        exactly ``fit(n).registers`` register bits.
        Raises `OptionError` for tiles that are too small for the lowest bits and a matrix: no plan would end.
        """
        return _fitted(self, num_bits)


@lru_cache(maxsize=256)
def _fitted(shape: Shape, num_bits: int) -> Shape:
    """Return the shape of `Shape.fit`: to make one takes longer than to find it."""
    registers = min(shape.registers, num_bits)
    if shape.tile < min(num_bits, shape.low + min(shape.dense, registers)):
        raise OptionError(
            f"expected tiles of at least low + dense index bits, got tile={shape.tile}, low={shape.low} and "
            f"dense={shape.dense}; make tiles larger, or dense or low smaller."
        )
    whole = registers == BLOCK_BITS and shape.dense >= BLOCK_BITS
    return replace(
        shape,
        tile=min(shape.tile, num_bits),
        registers=registers,
        low=min(shape.low, num_bits),
        edge=min(shape.edge, num_bits - registers),
        dense=min(shape.dense, registers),
        table=min(shape.table, max(_SMALL_TABLE, num_bits - shape.thin)) if shape.thin else shape.table,
        block=shape.block if whole else None,
    )
