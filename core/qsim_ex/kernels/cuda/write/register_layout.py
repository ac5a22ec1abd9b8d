"""The place of a tile's index bits during a register block: in the number of a register or in that of a thread.

The tile's bits are counted by **position** (position j holds index bit ``sweep.tile[j]``). A thread holds 16
amplitudes, so four positions are register bits, at least all that the register block mixes; the others are thread bits.
Between two register blocks the amplitudes are exchanged through shared memory. Each thread writes only the slots that
it has read in the same register block, so one barrier for each exchange is enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from qsim_ex.circuit.ops import mask_of
from qsim_ex.precision import Precision
from qsim_ex.steps.step import RegisterBlock, Sweep

REGISTERS = 4
"""The number of register bits: a thread holds 2^4 amplitudes."""

LANES = 4
"""The lowest index bits, which are spread over the lanes of a warp for memory access: 128 bytes of complex64."""

WARP = 5
"""log2 of the threads that run an instruction together."""

LINE_BYTES = 128
"""A line of a GPU's cache, and as much as all banks of shared memory give at once."""


@dataclass(frozen=True)
class RegisterLayout:
    """The places of a tile's positions in one register block.

    registers: positions whose values make the register's number, least significant first.
    threads: positions whose values make the thread's number, least significant first.
    """

    block: RegisterBlock
    registers: tuple[int, ...]
    threads: tuple[int, ...]


def banks(precision: Precision) -> int:
    """Return the bits of the number of a shared-memory bank, counted in amplitudes: 16 of 8 bytes, or 8 of 16 bytes."""
    return (LINE_BYTES // precision.storage.computed_bytes).bit_length() - 1


def swizzle(position_mask: int, precision: Precision) -> int:
    """Return the shared-memory slot of an amplitude: higher groups of bits are XORed into the lowest, the bank.

    It is linear over XOR, so that slots of registers are constants that are XORed to the thread's slot.
    """
    width = banks(precision)
    low = (1 << width) - 1
    slot = position_mask
    rest = position_mask >> width
    while rest:
        slot ^= rest & low
        rest >>= width
    return slot


def slot_of(position: str, size: int, precision: Precision) -> str:
    """Return the expression of `swizzle` for a thread's position in the tile."""
    step = banks(precision)
    low = (1 << step) - 1
    return " ^ ".join([position, *(f"({position} >> {shift} & {low:#x})" for shift in range(step, size, step))])


def places(sweep: Sweep, precision: Precision, read: tuple[int, ...] = ()) -> tuple[RegisterLayout, ...]:
    """Return the places of each register block; blocks without items are added at the ends if memory access needs them.

    read: the positions in the order in which they are read, () for ascending ones.

    A tile that is written back permuted has two register blocks or more: threads write where others have read, so a
    barrier has to be between.
    """
    size = len(sweep.tile)
    register_blocks = [*sweep.register_blocks] or [RegisterBlock((), ())]
    empty = RegisterBlock((), ())
    written, read = stored_order(sweep), read or tuple(range(size))
    if size >= LANES + REGISTERS:
        if _touches(register_blocks[0], sweep.tile, read[:LANES]):
            register_blocks.insert(0, empty)
        if _touches(register_blocks[-1], sweep.tile, written[:LANES]):
            register_blocks.append(empty)
    if sweep.store and len(register_blocks) == 1:
        register_blocks.append(empty)
    last = len(register_blocks) - 1
    orders = {0: read, last: written}
    return tuple(_place(block, sweep.tile, precision, orders.get(k)) for k, block in enumerate(register_blocks))


def stored_order(sweep: Sweep) -> tuple[int, ...]:
    """Return the positions of a tile in the order of the index bits on which they are written back.

    Over a subspace the lowest bits have a position each, and the others follow.
    """
    return tuple(sorted(range(len(sweep.tile)), key=sweep.stores(sweep.tile).__getitem__))


def loaded_order(sweep: Sweep) -> tuple[int, ...]:
    """Return the positions of a tile in the order of the index bits on which they are read."""
    return tuple(sorted(range(len(sweep.tile)), key=sweep.loads(sweep.tile).__getitem__))


def _touches(block: RegisterBlock, tile: tuple[int, ...], lanes: Sequence[int]) -> bool:
    return any(tile.index(bit) in lanes for bit in block.registers)


def _place(
    block: RegisterBlock, tile: tuple[int, ...], precision: Precision, order: tuple[int, ...] | None
) -> RegisterLayout:
    """Put register bits into registers, filled up with the highest positions; the others into threads.

    order: the positions from the lowest bit in memory up, where the register block loads or stores.
    """
    size = len(tile)
    every = order or tuple(range(size))
    near = [tile.index(bit) for bit in block.registers]
    spare = [position for position in reversed(every) if position not in near]
    registers = sorted(near + spare[: max(0, min(REGISTERS, size) - len(near))])
    rest = [position for position in every if position not in registers]
    return RegisterLayout(block, tuple(registers), tuple(rest if order else _without_conflicts(rest, precision)))


def _without_conflicts(positions: list[int], precision: Precision) -> list[int]:
    """Put positions first whose bank bits differ, so that lanes served together use different banks."""
    width = banks(precision)
    lanes = []
    for bank in range(width):
        lanes += [position for position in positions if position % width == bank][:1]
    return lanes + [position for position in positions if position not in lanes]


@dataclass(frozen=True)
class BitRun:
    """Consecutive bits of a number that are on consecutive bits of another one."""

    source: int
    target: int
    length: int


def runs(targets: Iterable[int | None]) -> tuple[BitRun, ...]:
    """Group a mapping (bit k is on ``targets[k]``) into runs, which a kernel moves by one shift and one mask.

    Bits that are on None are left out.
    """
    found: list[BitRun] = []
    for source, target in enumerate(targets):
        if target is None:
            continue
        last = found[-1] if found else None
        if last and (source, target) == (last.source + last.length, last.target + last.length):
            found[-1] = BitRun(last.source, last.target, last.length + 1)
        else:
            found.append(BitRun(source, target, 1))
    return tuple(found)


def outside(sweep: Sweep) -> tuple[BitRun, ...]:
    """Map a block's number to the index bits outside its tile that are not fresh; the last run has no end."""
    skipped = mask_of(sweep.tile) | sweep.fresh
    top = skipped.bit_length()
    below = runs([bit for bit in range(top) if not skipped >> bit & 1])
    return (*below, BitRun(top - skipped.bit_count(), top, 64))


def skipped_bits(sweep: Sweep) -> int:
    """Return how many index bits do not number blocks: those of the tile, and the fresh ones, which are all 0."""
    return (mask_of(sweep.tile) | sweep.fresh).bit_count()


def visited_bits(sweep: Sweep, num_bits: int) -> int:
    """Return log2 of the amplitudes that a sweep visits: of bits that stay fresh only the half where they are 0."""
    return num_bits - (sweep.fresh & ~mask_of(sweep.tile)).bit_count()
