"""Sweeps of adjoint differentiation over the rows of a batch: their launches, and the sums that they leave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.derivatives import add_at
from qsim_ex.kernels.cuda.adjoint import interpreter
from qsim_ex.kernels.cuda.adjoint.program import AdjointProgram, Flags, adjoint_program
from qsim_ex.kernels.cuda.fixed import batch_sums
from qsim_ex.kernels.cuda.interpret.interpreter import MANY, Capacity
from qsim_ex.kernels.cuda.interpret.packing import CONSTANTS
from qsim_ex.kernels.cuda.interpret.programs import program_of
from qsim_ex.kernels.cuda.runtime import Array, ByValue, HostArray, Runtime
from qsim_ex.precision import Precision
from qsim_ex.steps.step import Sweep

Complex = NDArray[np.complex128]

BLOCKS = 1024
"""The thread blocks that share the tiles of all rows, as far as their sums fit into the workspace."""

_WARP = 32
_QUAD = 16
"""The bytes that the kernel loads at a time."""


class CotangentRows(NamedTuple):
    """States, their cotangents, and the index bits of each state; high: the value of those outside of it."""

    states: Array
    cotangents: Array
    num_bits: int
    high: int = 0

    @property
    def number(self) -> int:
        """The number of states."""
        return int(self.states.size) >> self.num_bits

    @property
    def each(self) -> int:
        """The number of cotangents of a state."""
        return int(self.cotangents.size) // int(self.states.size)

    def some(self, first: int, count: int) -> CotangentRows:
        """Return some of the states, with their cotangents."""
        begin, end = first << self.num_bits, first + count << self.num_bits
        return self._replace(
            states=self.states[begin:end], cotangents=self.cotangents[begin * self.each : end * self.each]
        )


class _Numbers(NamedTuple):
    """The numbers of a sweep as its kernel takes them: those that amplitudes of a row share, and tables.

    capacity: of the kernel, None where it reads all from memory. stride: reals from a row's to the next row's.
    """

    capacity: Capacity | None
    shared: Array | ByValue
    tables: Array
    stride: int

    def of_rows(self, first: int) -> _Numbers:
        """Return the numbers from a row on."""
        if not self.stride:
            return self
        shift = first * self.stride
        return self._replace(shared=self.shared[shift:], tables=self.tables[shift:])


@dataclass(frozen=True, eq=False)
class AdjointSweep:
    """A sweep that is ready to run backwards; by_value: its words as an argument, on_device: in memory."""

    made: AdjointProgram
    by_value: ByValue
    on_device: Array
    precision: Precision

    def __call__(self, runtime: Runtime, rows: CotangentRows, numbers: Complex) -> Complex | None:
        """Apply the sweep to states and cotangents; return derivatives [rows, count, numbers], None if not needed."""
        collected = self.made.collected
        found = np.zeros((rows.number, rows.each, numbers.shape[1]), dtype=np.complex128) if collected else None
        given = self._numbers(runtime, numbers)
        for first, count in batch_sums.pieces(rows.number, self._width):
            some, own = rows.some(first, count), given.of_rows(first)
            for which in range(rows.each):
                sums = self._launch(runtime, some, which, own)
                if found is not None:
                    found[first : first + count, which] = self._derivatives(sums, numbers.shape[1])
        return found

    @property
    def _threads(self) -> int:
        return max(_WARP, self.made.program.threads)

    @property
    def _width(self) -> int:
        """The sums of a thread block: of each warp for numbers that all amplitudes share, and for entries of tables."""
        program = self.made.program
        return max(1, self._threads // _WARP * program.shared.size + program.tables.size)

    def _numbers(self, runtime: Runtime, numbers: Complex) -> _Numbers:
        """Return the numbers of all rows, [rows or 1, count], where the kernel looks for them."""
        program, storage = self.made.program, self.precision.storage
        parts = np.ascontiguousarray(numbers).view(np.float64).reshape(len(numbers), -1)
        parts = np.concatenate([parts, np.broadcast_to(CONSTANTS, (len(parts), len(CONSTANTS)))], axis=1)
        take = np.append(program.numbers, np.zeros(4 + -program.numbers.size % 4, dtype=np.int64))  # none is empty
        made: HostArray = parts.take(take, axis=1).astype(storage.real, copy=False)
        size, cut = self.made.words.size, program.shared.size
        capacity = interpreter.capacity_for(size, storage.real_bytes * cut, runtime.room) if len(made) == 1 else None
        if capacity is None:
            sent = runtime.upload(made)
            return _Numbers(None, sent, sent[cut:], take.size if len(made) > 1 else 0)
        shared = np.zeros(capacity.numbers // storage.real_bytes, dtype=storage.real)
        shared[:cut] = made[0, :cut]
        return _Numbers(capacity, ByValue(shared), runtime.upload(made[0, cut:]), 0)

    def _launch(self, runtime: Runtime, rows: CotangentRows, which: int, numbers: _Numbers) -> NDArray[np.float64]:
        """Run the sweep on states and one cotangent of each; return the sums of each row, [rows, width]."""
        program, num_bits, width = self.made.program, rows.num_bits, self._width
        tiles, lanes = num_bits - program.skipped_bits, program.threads.bit_length() - 1
        parts = self._parts(rows.number, tiles)
        sums = runtime.empty(rows.number * width << parts, np.float64)
        if self.made.collected:
            runtime.clear(sums)
        sizes = (
            numbers.stride // 2, rows.each << num_bits, width, program.shared.size, self.made.records, tiles, num_bits,
            lanes, parts, which == rows.each - 1, rows.high << num_bits,
        )  # fmt: skip
        (kernel,) = runtime.kernels([interpreter.text(self.precision, numbers.capacity, self.made.seldom)])
        runtime.launch(
            kernel, rows.number << parts, self._threads,
            rows.states, rows.cotangents[which << num_bits :], sums, numbers.tables,
            ByValue(np.array(sizes, dtype=np.uint64)),
            self.on_device if numbers.capacity is None else self.by_value, numbers.shared,
        )  # fmt: skip
        if not self.made.collected:
            return np.zeros((rows.number, 0))
        return batch_sums.folded(runtime, sums, rows.number, 1 << parts, width)

    def _parts(self, rows: int, tiles: int) -> int:
        """Return log2 of the thread blocks that share a row."""
        room = batch_sums.WORKSPACE // (8 * self._width)
        return min(tiles, max(1, min(BLOCKS, room) // rows).bit_length() - 1)

    def _derivatives(self, sums: NDArray[np.float64], count: int) -> Complex:
        """Return the sums [rows, width] as derivatives with respect to packed numbers, [rows, count]."""
        program, warps = self.made.program, self._threads // _WARP
        cut = warps * program.shared.size
        shared = sums[:, :cut].reshape(len(sums), warps, -1).sum(axis=1)
        out = np.zeros((len(sums), 2 * count + len(CONSTANTS)))
        add_at(out, program.numbers, np.concatenate([shared, sums[:, cut:]], axis=1))
        return np.ascontiguousarray(out[:, : 2 * count]).view(np.complex128)


def prepared(runtime: Runtime, sweep: Sweep, precision: Precision, wanted: Flags) -> AdjointSweep:
    """Return a sweep that is ready to run; wanted: which of its packed numbers derivatives are needed for."""
    program = program_of(sweep, precision, False, bodies=False)
    made = adjoint_program(program, _QUAD // precision.storage.real_bytes, wanted)
    words = np.zeros(max(MANY.words, made.words.size), dtype=np.uint32)
    words[: made.words.size] = made.words
    return AdjointSweep(made, ByValue(words, words.ctypes.data), runtime.upload(made.words), precision)
