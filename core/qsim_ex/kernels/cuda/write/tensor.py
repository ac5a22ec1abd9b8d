"""Dense matrices on four bits by the tensor cores: the places of numbers for `mma.sync`, and the lines of a kernel.

A tile is a matrix of 16 rows (the values of the four register bits) and many columns, its groups. A warp multiplies
eight columns at a time. Column bits go to lanes as the instruction requires; the register bits of a lane's number are
free, and
so are the others: they are chosen so that neither reading nor writing has bank conflicts.

A register block of this kind reads its amplitudes from the tile in shared memory and writes them back, or the last of a
sweep to memory. It is never the first: all loads of a thread would come before its first product, and its registers
would spill. A warp writes only the slots that it has read itself, all of them before the product: one barrier is enough
here too. Where a condition does not hold, nothing is written, so a block under a condition is not the last register
block.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib import resources
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import ALWAYS, When, mask_of
from qsim_ex.kernels.cuda.write.arithmetic import reals
from qsim_ex.kernels.cuda.write.register_layout import banks
from qsim_ex.precision import Precision
from qsim_ex.steps.layout import BLOCK_BITS
from qsim_ex.steps.step import Diagonal, Item, Mix, RegisterBlock, Sweep

Numbers = NDArray[np.int64]

SMALLEST_TILE = 9
"""The bits of a tile that keeps a warp busy: four that are mixed, three for its columns, two that are looped over."""

_GROUPS, _LOOPS = 3, 2

_WORTH = 32
"""The multiply-adds per amplitude from which a matrix is faster on the tensor cores, whatever entries are zero."""


def _is_block(item: Item) -> bool:
    """Return whether an item is for the tensor cores."""
    if not isinstance(item, Mix) or item.reads or len(item.bits) != BLOCK_BITS:
        return False
    return 2 * reals(item.pattern) >> BLOCK_BITS > _WORTH


def dense_block(block: RegisterBlock) -> Mix | None:
    """Return the matrix of a register block for the tensor cores; None for another register block."""
    item = block.items[0] if len(block.items) == 1 else None
    return item if isinstance(item, Mix) and _is_block(item) else None


def parted(sweep: Sweep, *, stores: bool = True) -> Sweep:
    """Return the sweep with register blocks of their own for the tensor cores, the first register block not being one.

    Nor is the last one if it has a condition. stores: whether it may be the last one else.
    Their register blocks' other items go before and behind them; diagonals go to register blocks that exist anyway.
    """
    if len(sweep.tile) < SMALLEST_TILE or not any(any(map(_is_block, block.items)) for block in sweep.register_blocks):
        return sweep
    register_blocks: list[RegisterBlock] = []
    for block in sweep.register_blocks:
        if not any(map(_is_block, block.items)):
            _append(register_blocks, block)
            continue
        others: list[Item] = []
        for item in block.items:
            if _is_block(item):
                _append(register_blocks, _of(block, others))
                register_blocks.append(RegisterBlock(block.registers, (item,)))
                others = []
            else:
                others.append(item)
        _append(register_blocks, _of(block, others))
    if dense_block(register_blocks[0]):
        register_blocks.insert(0, RegisterBlock((), ()))
    last = dense_block(register_blocks[-1])
    if last and (last.when.mask or not stores):
        register_blocks.append(RegisterBlock((), ()))
    return replace(sweep, register_blocks=tuple(register_blocks))


def _of(block: RegisterBlock, items: list[Item]) -> RegisterBlock:
    """Return a register block of some of the items of another; diagonals need no register bits."""
    return RegisterBlock(() if all(isinstance(item, Diagonal) for item in items) else block.registers, tuple(items))


def _append(register_blocks: list[RegisterBlock], block: RegisterBlock) -> None:
    """Append a register block, merged with the last if one of the two needs no register bits."""
    last = register_blocks[-1] if register_blocks else None
    if last and not dense_block(last) and not (last.registers and block.registers):
        register_blocks[-1] = RegisterBlock(last.registers or block.registers, last.items + block.items)
    elif block.items:
        register_blocks.append(block)


@dataclass(frozen=True)
class FragmentLayout:
    """The position of the tile for each bit of a lane, a register, a loop and a warp.

    near: the mixed positions, least significant first. columns: those that number a matrix column: two lane bits, two
    register bits. rows: three lane bits, a register bit. groups: the eight columns of an instruction. loops, warps:
    the other positions.
    """

    near: tuple[int, ...]
    columns: tuple[int, ...]
    rows: tuple[int, ...]
    groups: tuple[int, ...]
    loops: tuple[int, ...]
    warps: tuple[int, ...]

    @property
    def reading(self) -> tuple[int, ...]:
        """The positions of the bits of a thread's number when it reads."""
        return (*self.columns[:2], *self.groups, *self.warps)

    @property
    def writing(self) -> tuple[int, ...]:
        """The positions of the bits of a thread's number when it writes."""
        return (*self.groups[1:], *self.rows[:3], *self.warps)

    @property
    def size(self) -> int:
        """The bits of the tile."""
        return len(self.near) + len(self.groups) + len(self.loops) + len(self.warps)


@lru_cache(maxsize=4096)
def arrange(
    near: tuple[int, ...], size: int, precision: Precision, *, order: tuple[int, ...] | None = None
) -> FragmentLayout:
    """Choose the lanes of a tile of `size` bits so that the fewest of them meet in one bank, mostly none.

    order: the positions from the lowest bit in memory up, if amplitudes go to memory instead of the tile; then the
    first of them are not near, and are those of the eight columns, so that memory is touched in pieces of 64 bytes or
    more.
    """
    stores = order is not None
    others = [position for position in order or range(size) if position not in near]
    bits = banks(precision)

    def conflicts(*lanes: int) -> int:
        return bits - len({position % bits for position in lanes[:bits]})

    best: FragmentLayout | None = None
    least = 2 * bits
    for groups in permutations(others[:_GROUPS] if stores else others, _GROUPS):
        if stores and groups[0] != others[0]:
            continue  # a lane stores two neighbours at once
        columns = min(permutations(near), key=lambda p: conflicts(*p[:2], *groups))
        rows = min(permutations(near), key=lambda p: conflicts(*groups[1:], *p[:3]))
        found = conflicts(*columns[:2], *groups) + (0 if stores else conflicts(*groups[1:], *rows[:3]))
        if best is None or found < least:
            rest = [position for position in others if position not in groups]
            best = FragmentLayout(near, columns, rows, groups, tuple(rest[:_LOOPS]), tuple(rest[_LOOPS:]))
            least = found
        if not least:
            break
    assert best is not None
    return best


# --- The matrix, as lanes load it ---


def column_of(lane: int, register: int) -> int:
    """Return the matrix column (row of the second factor) that a lane's register 0 … 3 holds."""
    return (lane & 3) + 4 * register


@cache
def _places(precision: Precision) -> tuple[Numbers, Numbers]:
    """Return rows and columns of the first factor's numbers: arrays [step, lane, numbers of a lane in one load]."""
    lane = np.arange(32)[None, :, None]
    g, q = lane >> 2, lane & 3
    depth = precision.tensor.depth
    step, number = np.arange(16 // depth)[:, None, None], np.arange(depth // 2)[None, None, :]
    row, column = g + 8 * (number & 1), depth * step + q + 4 * (number >> 1)
    shape = np.broadcast_shapes(step.shape, lane.shape, number.shape)
    return np.broadcast_to(row, shape).astype(np.int64), np.broadcast_to(column, shape).astype(np.int64)


def in_order(place: FragmentLayout, places: tuple[Numbers, Numbers], columns: list[int]) -> Numbers:
    """Return the entry (16 · row + column) of a matrix that each lane loads: [steps, lanes, numbers].

    places: the instruction's rows and columns. columns: its column for each number that column bits make.
    """
    rows = np.array([_value(place.near, place.rows, row) for row in range(16)])
    number = np.argsort(columns)
    values = np.array([_value(place.near, place.columns, int(number[column])) for column in range(16)])
    taken: Numbers = 16 * rows[places[0]] + values[places[1]]
    return taken


def entries(place: FragmentLayout, precision: Precision) -> Numbers:
    """Return the entry of the matrix that each lane loads, in the order of the numbers in memory, of one part."""
    columns = [column_of(number & 3, number >> 2) for number in range(16)]
    return in_order(place, _places(precision), columns).reshape(-1)


def _value(near: tuple[int, ...], order: tuple[int, ...], number: int) -> int:
    """Return the index whose bits are `near`, of the number whose bits are `order`."""
    return sum((number >> k & 1) << near.index(position) for k, position in enumerate(order))


# --- The text ---


@cache
def part(file: str) -> str:
    """Return the text of a file of this folder's `tensor_kernels`."""
    return resources.files(__package__).joinpath("tensor_kernels", file).read_text(encoding="utf-8")


@cache
def functions(precision: Precision) -> str:
    """Return the structs and functions that the lines of a register block use."""
    return "\n".join(map(part, precision.tensor.files))


def lines(
    place: FragmentLayout,
    together: int,
    read: Callable[[int], str],
    write: Callable[[int], str],
    *,
    pair: str | None,
    when: When = ALWAYS,
) -> list[str]:
    """Return the lines that read columns, multiply them by the matrix `m`, and write them.

    together: how many times a warp reads eight columns before it multiplies. read, write: the amplitude whose positions
    differ from the thread's in a mask. pair: the type as which two neighbours are written at once, if they are. when: a
    condition on positions outside the block; where it does not hold, nothing is written. `q` is then the position at
    which a thread writes.
    """
    text: list[str] = []
    threads = when.mask & mask_of((*place.groups[1:], *place.warps))
    where = f"if ((q & {threads:#x}) == {when.value & threads:#x}) " if threads else ""

    def holds(positions: tuple[int, ...], at: int) -> bool:
        return not (at ^ when.value) & when.mask & mask_of(positions)

    def written(offset: int) -> list[str]:
        outputs = [write(offset | mask((place.groups[0], place.rows[3]), r)) for r in range(4)]
        if pair:
            numbers = [f"{{c[{r}].x, c[{r}].y, c[{r + 1}].x, c[{r + 1}].y}}" for r in (0, 2)]
            return [f"*({pair}*)&{outputs[r]} = {number};" for r, number in zip((0, 2), numbers, strict=True)]
        held = [r for r in range(4) if holds(place.groups[:1], mask(place.groups[:1], r & 1))]
        return [f"{where}{outputs[r]} = c[{r}];" for r in held]

    loops = [mask(place.loops, loop) for loop in range(1 << len(place.loops))]
    loops = [offset for offset in loops if holds(place.loops, offset)]
    for first in range(0, len(loops), together):
        offsets = loops[first : first + together]
        inputs = [read(offset | mask(place.columns[2:], r)) for offset in offsets for r in range(4)]
        # The compiler would otherwise load what is read together next as well, and spill.
        text += ['asm volatile("" ::: "memory");'] if first else []
        text += [
            "{",
            f"    const amp a[{len(inputs)}] = {{{', '.join(inputs)}}};",
            "    const Scale s = scale_of(m, a);",
        ]
        for number, offset in enumerate(offsets):
            text += ["    {", "        amp c[4];", f"        multiply(m, s, a + {4 * number}, c);"]
            # Lanes write what others of their warp have read. The products wait for all of them; this says so.
            text += [] if number else ["        __syncwarp();"]
            text += [f"        {line}" for line in written(offset)]
            text.append("    }")
        text.append("}")
    return text


def mask(positions: tuple[int, ...], number: int) -> int:
    """Return the positions at which a number has its bits, as a mask."""
    return sum(1 << position for k, position in enumerate(positions) if number >> k & 1)
