"""The parts of a kernel's source while it is written: numbers, tables, functions, lines of each register block."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from qsim_ex.circuit.ops import Entry, When, letters
from qsim_ex.kernels.cuda.write.register_layout import RegisterLayout
from qsim_ex.kernels.cuda.write.slots import TileSlots
from qsim_ex.precision import Precision
from qsim_ex.steps.step import Permute, Sweep

if TYPE_CHECKING:
    from qsim_ex.kernels.cuda.write.pivots import Pivot


@dataclass
class BlockText:
    """One register block being written.

    lines: its statements, `names`: the variable of each register's amplitude (a permutation moves nothing),
    reads, around: whether `i` and `around` are used,
    shared: whether the thread's slots in shared memory are used by its items,
    work: multiply-adds since the block's warps last waited for one another, if they are kept in step,
    tensor: whether the lines are for the tensor cores, and read and write the tile themselves.
    usual: the statements if all its pairs of rotations are as usual, see `pivots`; the number at `told` in `v` says so.
    pivots: the rotations among its items, by their number; ratios: the pairs whose ratio of scales an item takes;
        carried: those whose ratio is a factor beside its own.
    first, last: the parities of register bits when amplitudes come and when they leave; see `register_frame`.
    """

    place: RegisterLayout
    tile: tuple[int, ...]
    bits: tuple[int, ...]
    names: list[int]
    lines: list[str] = field(default_factory=list)
    reads: bool = False
    around: bool = False
    shared: bool = False
    tensor: bool = False
    usual: list[str] = field(default_factory=list)
    told: int = -1
    pivots: dict[int, Pivot] = field(default_factory=dict)
    ratios: dict[int, list[Pivot]] = field(default_factory=dict)
    carried: dict[int, list[Pivot]] = field(default_factory=dict)
    first: tuple[int, ...] = ()
    last: tuple[int, ...] = ()

    @property
    def mask(self) -> int:
        """The index bits that are register bits."""
        return sum(1 << bit for bit in self.bits)

    @property
    def tile_mask(self) -> int:
        """The index bits of the tile."""
        return sum(1 << bit for bit in self.tile)

    def source(self, masks: Iterable[int]) -> str:
        """Return the name of a number that has all bits under some masks, and let the block define it.

        Of bits outside of the tile it is the same in all threads, and so the compiler knows.
        """
        if any(mask & self.tile_mask for mask in masks):
            self.reads = True
            return "i"
        self.around = True
        return "around"

    def add(self, lines: Iterable[str], usual: Sequence[str] | None = None) -> None:
        """Append statements; usual: others, for pairs of rotations that are as usual."""
        lines = list(lines)
        self.lines += lines
        if self.told >= 0:
            self.usual += lines if usual is None else usual

    def register(self, mask: int) -> int:
        """Return a mask of index bits as a mask of register bits; other bits are left out."""
        return sum([1 << k for k, bit in enumerate(self.bits) if mask >> bit & 1])

    def a(self, register: int) -> str:
        """Return the variable of a register's amplitude."""
        return f"a{self.names[register]}"

    def selected(self, when: When) -> list[int]:
        """Return the registers at which the register bits of a condition hold."""
        if not when.mask:
            return list(range(len(self.names)))
        mask, value = self.register(when.mask), self.register(when.value)
        return [r for r in range(len(self.names)) if r & mask == value]

    def constants(self, reads: Sequence[int]) -> list[int]:
        """Return for each register the contribution of its own bits to the number of the parities (by XOR)."""
        found = [0]
        for bit in self.bits:  # twice as many with each register bit, since parities are linear
            own = sum([1 << k for k, mask in enumerate(reads) if mask >> bit & 1])
            found += [constant ^ own for constant in found]
        return found

    def renamed(self, item: Permute, register: int) -> int:
        """Return the register to which a permutation moves this one."""
        place = [self.register(1 << bit) for bit in item.bits]
        x = sum((register & bit != 0) << k for k, bit in enumerate(place))
        return register & ~sum(place) | sum(bit for k, bit in enumerate(place) if item.to[x] >> k & 1)

    def elsewhere(self, reads: Sequence[int]) -> list[int]:
        """Return the reads without their register bits."""
        return [mask & ~self.mask for mask in reads]


class KernelBody:
    """The parts of a kernel's source, in the making.

    in_memory: whether `v` is in global memory, from where several numbers are loaded at once.
    pivoted: whether pairs of rotations are pivoted; see `pivots`.
    pivots: the rotations, and pairs of them, whose scale is left.
    products: numbers in `v` that the host multiplies, as records; see core/native/kernels/pivots.hpp.
    slots: where a tile's amplitudes are in shared memory; padded: whether these have gaps.
    """

    def __init__(
        self,
        sweep: Sweep,
        precision: Precision,
        *,
        in_memory: bool = False,
        pivoted: bool = False,
        padded: bool = False,
    ) -> None:
        self.sweep = sweep
        self.precision = precision
        self.in_memory = in_memory
        self.pivoted = pivoted
        self.values: list[int] = []
        self.table: list[int] = []
        self.called: set[str] = set()
        self.matrices: dict[tuple[tuple[Entry, ...], int], str] = {}
        self.register_blocks: list[BlockText] = []
        self.parted = False
        self.pivots: list[Pivot] = []
        self.products: list[tuple[int, ...]] = []
        self.slots = TileSlots(precision, padded)

    def begin(self, place: RegisterLayout) -> BlockText:
        """Open the next register block."""
        bits = tuple(self.sweep.tile[position] for position in place.registers)
        self.register_blocks.append(BlockText(place, self.sweep.tile, bits, list(range(1 << len(bits)))))
        return self.register_blocks[-1]

    @property
    def zero(self) -> int:
        """The position of a 0 among the packed numbers, see `packing`; that of a 1 is behind it."""
        return 2 * (self.sweep.numbers + self.sweep.tables)

    @property
    def shared(self) -> bool:
        """Whether items use shared memory besides the changes of places."""
        return any(block.shared for block in self.register_blocks)

    def by_value(self, taken: Sequence[int]) -> int:
        """Pass numbers by value, each item's in slots of its own; return where they begin in `v`."""
        if self.in_memory:
            self.values += [0] * (-len(self.values) % self.vector)
        at = len(self.values)
        self.values += taken
        return at

    def in_table(self, taken: Sequence[int], aligned: int = 2) -> int:
        """Put numbers into the table, by default aligned to pairs; return where they begin."""
        self.table += [0] * (-len(self.table) % aligned)
        at = len(self.table)
        self.table += taken
        self.table += [0] * (len(taken) % 2)
        return at

    def call(self, name: str, *arguments: str) -> str:
        """Return a call of one of the `FACTORS`."""
        self.called.add(name)
        return f"{name}({', '.join(arguments)});"

    def apart(self, statement: str) -> str:
        """Put a statement, or the brace that begins some, under a condition that always holds.

        The compiler cannot know that it holds, so the statement is a block of its own. Without it the numbers of
        large matrices are loaded for all groups of registers at once, and spill.
        """
        self.parted = True
        return f'asm volatile("" : "+r"(on)); if (on) {statement}'

    @property
    def vector(self) -> int:
        """The real numbers in 16 bytes, the most that is loaded at once."""
        return 16 // self.precision.storage.real_bytes

    def matrix(self, classes: tuple[Entry, ...], fetched: int = 0) -> str:
        """Return the name of the function for a matrix of these classes; fetched: see `matrix_function`."""
        key = classes, fetched
        if key not in self.matrices:
            text = letters(bytes(classes)).replace("-", "m")
            name = f"mix_{text if len(text) <= 16 else len(self.matrices)}"
            self.matrices[key] = f"{name}_by_{fetched}" if fetched else name
        return self.matrices[key]
