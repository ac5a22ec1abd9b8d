"""The frame around the register blocks of a generated kernel: its arguments, and how threads find tiles and numbers.

There is a frame for one state and one for many, with the same members:

whole: a thread's index in the whole state, made of `here`, its index in the buffer as items see it.
around: the same for its tile, made of `outside`.
live: whether some threads may have no amplitudes; they neither load nor store.
types, arguments: the declarations before the kernel, and its parameters.
opening: lines that define a thread's number `t` in its tile, and its tile's number `b`.
numbers: lines that define `v`, the numbers that all amplitudes share, and move `table` to the others.
slot: the term that is XORed to a thread's slot in shared memory, with its operator.
"""

from __future__ import annotations

from dataclasses import dataclass

from qsim_ex.kernels.cuda.write.register_layout import banks
from qsim_ex.kernels.cuda.write.slots import TileSlots
from qsim_ex.precision import Precision

ALIGNED = 4
"""The numbers that are loaded at once."""


@dataclass(frozen=True)
class SingleFrame:
    """The frame for one state: a block has one tile.

    values: numbers given by value; before: numbers at the beginning of the table, where they do not fit by value.
    """

    values: int
    before: int
    whole: str = "high | here"
    around: str = "high | outside"
    live: bool = False

    def types(self) -> list[str]:
        """Return the struct of numbers that are passed by value."""
        return [f"struct Numbers {{ real v[{max(self.values, 1)}]; }};"]

    def arguments(self) -> list[str]:
        """Return state, table, the rest of the index, and numbers by value."""
        return [
            "    mem* __restrict__ state,         // all amplitudes, in place",
            "    const real* __restrict__ table,  // numbers that differ between amplitudes",
            "    const u64 high,                  // the index bits outside this buffer",
            "    const __grid_constant__ Numbers n)",
        ]

    def opening(self, size: int, shared: bool, slots: TileSlots) -> list[str]:
        """Return the lines for a tile of 2^size amplitudes a block; shared: whether shared memory is used."""
        return [
            *([f"    __shared__ amp tile[{slots.count(size)}];"] if shared else []),
            "    unsigned t = threadIdx.x;",
            "    const u64 b = blockIdx.x;",
        ]

    def numbers(self, parted: bool) -> list[str]:
        """Return the lines for numbers by value, or before the table; parted: see `KernelBody.apart`."""
        return [
            *(["    unsigned on = !(high >> 63);  // always 1, which keeps blocks apart"] if parted else []),
            f"    const real* const v = {'n.v' if not self.before else 'table'};",
            *([f"    table += {self.before};"] if self.before else []),
        ]

    def slot(self, size: int, precision: Precision) -> str:  # noqa: ARG002  (as that of rows)
        """Return nothing, since a block has one tile."""
        return ""


@dataclass(frozen=True)
class BatchFrame:
    """The frame for a batch of states (rows): blocks count the tiles of all rows, those of a row one after another.

    Every row has numbers of its own in memory, or all rows share them. Several small tiles share a block: the
    low bits of a thread's number count threads of a tile, the high ones tiles of the block.

    before: numbers in front of each row's table. lanes: 2^lanes threads work on a tile. together: tiles of a block.
    """

    before: int
    lanes: int
    together: int
    whole: str = "here"
    around: str = "outside"

    @property
    def live(self) -> bool:
        """Whether the last block may have more tiles than are left."""
        return self.together > 1

    def types(self) -> list[str]:
        """Return no declarations."""
        return []

    def arguments(self) -> list[str]:
        """Return states, numbers, and the batch's shape."""
        return [
            "    mem* __restrict__ state,         // the amplitudes of all rows, in place",
            "    const real* __restrict__ table,  // the numbers of the first row",
            "    const u64 stride,                // from a row's numbers to the next row's; 0 if all share them",
            "    const u64 count,                 // tiles of all rows",
            "    const unsigned tiles,            // a row has 2^tiles of them",
            "    const unsigned bits)             // and 2^bits amplitudes",
        ]

    def opening(self, size: int, shared: bool, slots: TileSlots) -> list[str]:
        """Return the lines that find the row, and the tile in it."""
        if not self.live:
            return [
                *([f"    __shared__ amp tile[{slots.count(size)}];"] if shared else []),
                "    unsigned t = threadIdx.x;",
                "    const u64 b = blockIdx.x & ((1ull << tiles) - 1);",
                "    const u64 row = blockIdx.x >> tiles;",
                "    state += row << bits;",
            ]
        memory = [
            f"    __shared__ amp near[{self.together * slots.count(size)}];",
            f"    amp* const tile = near + e * {slots.count(size)};",
        ]
        return [
            f"    unsigned t = threadIdx.x & {(1 << self.lanes) - 1:#x};",
            f"    const unsigned e = threadIdx.x >> {self.lanes};",
            *(memory if shared else []),
            f"    const u64 which = (u64)blockIdx.x * {self.together} + e;",
            "    const bool live = which < count;  // the others take part in the barriers alone",
            "    const u64 b = which & ((1ull << tiles) - 1);",
            "    const u64 row = live ? which >> tiles : 0;",
            "    state += row << bits;",
        ]

    def numbers(self, parted: bool) -> list[str]:
        """Return the lines for numbers in memory: threads of a row read the same address at the same time."""
        return [
            *(["    unsigned on = !(count >> 63);  // always 1, which keeps blocks apart"] if parted else []),
            "    table += row * stride;",
            "    const real* const v = table;",
            *([f"    table += {self.before};"] if self.before else []),
        ]

    def slot(self, size: int, precision: Precision) -> str:
        """Return the term that gives each of several small tiles of a block its own banks.

        Threads of a tile differ in the low bits of the bank's number, so tiles differ in the high bits.
        """
        width = min(banks(precision), size)
        used = min(width - self.lanes, self.together.bit_length() - 1)
        return "".join(f" ^ (e {_shift(width - 1 - 2 * k)} & {1 << width - 1 - k:#x})" for k in range(used))


def _shift(left: int) -> str:
    return f"<< {left}" if left >= 0 else f">> {-left}"


Frame = SingleFrame | BatchFrame
