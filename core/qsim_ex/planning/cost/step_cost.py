"""The cost of a step, as data that adds up: bytes and multiply-adds, counted and not measured."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import assert_never

from qsim_ex.circuit.ops import mask_of
from qsim_ex.native.library import function
from qsim_ex.planning.cost.pattern_work import diagonal_work, mix_work
from qsim_ex.precision import Precision
from qsim_ex.steps.compiled import native_of
from qsim_ex.steps.layout import BLOCK_BITS, Shape
from qsim_ex.steps.step import (
    BasisPermutation,
    DenseMatrix,
    Diagonal,
    InitialAmplitudes,
    Item,
    Mix,
    Permute,
    Step,
    Sweep,
    ZeroFill,
)
from qsim_ex.steps.unmixed import count_unmixed

DENSE_BLOCK = 0.72
"""The interpreter's cost of a matrix on tensor cores, as a share of `Shape.block`, besides its register block."""

REGISTER_BLOCK, TABLE, PHASE, PERMUTE, READING, CONDITION = 13.0, 10.0, 2.5, 4.0, 8.0, 2.5
"""By how much the interpreter takes longer than a compiled kernel, in multiply-adds per amplitude: for a register block
with its exchange, for a table, for a phase without reads, for a basis permutation, for a matrix whose entries are
chosen by other bits, for a matrix under a condition. The first two and `Rates.interpreted` were fitted to 15 families
at 28 wires, the others are those of sweeps of one kind of item (decision 0027)."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The bytes and the arithmetic of a step.

    bytes: read and written in the memory of the sub state vector. fma: real multiply-adds. exchanged: multiply-adds
        that take as long as all else in tiles: moves between register blocks, permutations, lookups; below 0 where
        kernels need fewer than a matrix has. slowed: bytes that take as long as memory is slower where tiles are short
        pieces, or are read at sums of directions.
    """

    bytes: float = 0.0
    fma: float = 0.0
    exchanged: float = 0.0
    slowed: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        more = self.exchanged + other.exchanged, self.slowed + other.slowed
        return Cost(self.bytes + other.bytes, self.fma + other.fma, *more)

    def seconds(self, bytes_per_second: float, fma_per_second: float, seen: float = 0.0) -> float:
        """Return the longer of the times of memory and arithmetic, plus the share `seen` of the shorter one."""
        memory = (self.bytes + self.slowed) / bytes_per_second
        work = (self.fma + self.exchanged) / fma_per_second
        return max(memory, work) + seen * min(memory, work)


def added(values: Iterable[float]) -> float:
    """Return a sum as native code rounds it, each value added to those before; from Python 3.12 on `sum` does not."""
    total = 0.0
    for value in values:
        total += value
    return total


def item_work(item: Item, registers: int, block: float | None = None) -> float:
    """Return the multiply-adds per amplitude; a condition on k bits leaves one in 2^k amplitudes.

    registers: mask of the index bits that number registers.
    block: the highest cost of a matrix on `BLOCK_BITS` bits (`steps.Shape`).
    """
    match item:
        case Mix(bits, reads, when, of):
            work = mix_work(of, 1 << len(bits)) * 0.5 ** when.mask.bit_count()
            if block is None or len(bits) != BLOCK_BITS or reads:
                return work
            return min(work, block)
        case Diagonal(reads, when, of):
            looked_up = sum(1 << k for k, mask in enumerate(reads) if mask & ~registers)
            return diagonal_work(of, looked_up) * 0.5 ** when.mask.bit_count()
        case Permute():
            return 0.0
        case _:
            assert_never(item)


def interpreted_work(sweep: Sweep, block: float | None = None) -> float:
    """Return the multiply-adds per amplitude that take as long as the interpreter's work in a sweep.

    block: as in `item_work`.
    """
    items = [item for each in sweep.register_blocks for item in each.items]
    permutes = sum(isinstance(item, Permute) for item in items)
    diagonals = [bool(item.reads) for item in items if isinstance(item, Diagonal)]
    mixes = [item for item in items if isinstance(item, Mix)]
    chosen = sum(READING if item.reads else CONDITION for item in mixes if item.reads or item.when.mask)
    work = sum(
        item_work(item, mask_of(each.registers), None if item.when.mask else block and DENSE_BLOCK * block)
        for each in sweep.register_blocks
        for item in each.items
    )
    work += TABLE * sum(diagonals) + PHASE * (len(diagonals) - sum(diagonals)) + PERMUTE * permutes + chosen
    return work + REGISTER_BLOCK * len(sweep.register_blocks)


def sweep_work(sweep: Sweep, shape: Shape) -> tuple[float, float]:
    """Return the multiply-adds per amplitude of a sweep, and as how many all of it counts where plans are compared.

    The rule is that of native code (core/native/planner/tiles/step_time.hpp).
    """
    arrays, number = native_of(sweep)
    block = -1.0 if shape.block is None else shape.block
    rates = struct.pack("5d", shape.item_work, block, shape.exchanged, shape.transposed, shape.permute)
    function("sweep_work")(arrays.handle, number, shape.low, rates, out := (ctypes.c_double * 2)())
    arithmetic, counted = out
    return arithmetic, counted


def step_cost(step: Step, num_bits: int, precision: Precision, shape: Shape, *, interpreted: bool = False) -> Cost:
    """Return the cost of a step of a plan of some shape, on a state of 2^num_bits amplitudes of a precision.

    interpreted: whether sweeps run in a GPU's interpreter, which computes on all bits of a tile.
    """
    amplitudes = float(1 << num_bits)
    bytes_each = precision.storage.bytes
    passes = 2.0 * amplitudes * bytes_each  # one read and one write
    match step:
        case Sweep(tile, _, _, _, fresh):
            work, counted = sweep_work(step, shape)
            if interpreted:
                counted = interpreted_work(step, shape.block)
            before = amplitudes / (1 << fresh.bit_count())
            after = amplitudes / (1 << (fresh & ~mask_of(tile)).bit_count())
            leaves_out = not shape.in_vectors and not interpreted
            computed = after / (1 << count_unmixed(step)) if leaves_out else after
            touched = (before + after) * bytes_each
            slowed = (shape.slowed - 1) * touched + (shape.elsewhere * 2 * after * bytes_each if step.load else 0.0)
            return Cost(touched, work * computed, (counted - work) * computed, slowed)
        case ZeroFill(fresh):
            return Cost((amplitudes - amplitudes / (1 << fresh.bit_count())) * bytes_each)
        case DenseMatrix(bits, _, when):
            share = 0.5 ** when.mask.bit_count()
            return Cost(passes * share, 4.0 * (1 << len(bits)) * amplitudes * share)
        case BasisPermutation() | InitialAmplitudes():
            return Cost(passes)
        case _:
            assert_never(step)
