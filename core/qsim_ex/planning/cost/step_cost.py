"""The cost of a step, as data that adds up: bytes and multiply-adds, counted and not measured."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import assert_never

from qsim_ex.circuit.ops import mask_of
from qsim_ex.native.library import function
from qsim_ex.precision import Precision
from qsim_ex.steps.compiled import native_of
from qsim_ex.steps.layout import Shape
from qsim_ex.steps.step import (
    BasisPermutation,
    DenseMatrix,
    InitialAmplitudes,
    Step,
    Sweep,
    ZeroFill,
)
from qsim_ex.steps.unmixed import count_unmixed

DENSE_BLOCK = 0.72
"""The interpreter's cost of a matrix on tensor cores, as a share of `Shape.block`, besides its register block."""

REGISTER_BLOCK, TABLE, PHASE, PERMUTE, READING, CONDITION = 18.0, 10.0, 5.5, 3.7, 7.0, 9.0
"""By how much the interpreter takes longer than a compiled kernel, in multiply-adds per amplitude: for a register block
with its exchange, for a table, for a phase without reads, for a basis permutation, for a matrix whose entries are
chosen by other bits, for a matrix under a condition, which counts twice for each bit more. Fitted to 919 sweeps of 198
circuits at 24 to 28 wires, off by 19 % in the mean (decision 0008)."""

INTERPRETED = struct.pack("6d", REGISTER_BLOCK, TABLE, PHASE, PERMUTE, READING, CONDITION)
"""The same for native code, in the order of core/native/planner/tiles/interpreted.cpp."""


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


def interpreted_work(sweep: Sweep, block: float | None = None) -> float:
    """Return the multiply-adds per amplitude that take as long as the interpreter's work in a sweep.

    block: the highest cost of a matrix on tensor cores (`Shape.block`), which the interpreter has, too.
    """
    arrays, number = native_of(sweep)
    most = struct.pack("d", -1.0 if block is None else DENSE_BLOCK * block)
    function("sweep_interpreted")(arrays.handle, number, INTERPRETED, most, ctypes.byref(work := ctypes.c_double()))
    return work.value


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
