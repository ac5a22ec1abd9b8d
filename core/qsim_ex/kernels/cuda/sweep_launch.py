"""A sweep that is ready to run on a GPU: as its own kernel, or interpreted, with its launch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from qsim_ex.kernels.cuda.interpret.sweep_program import SweepProgram
from qsim_ex.kernels.cuda.launch.loading import NumberTakes, SweepNumbers
from qsim_ex.kernels.cuda.runtime import Array, ByValue, LoadedKernel, Runtime
from qsim_ex.kernels.cuda.write.kernel import Kernel
from qsim_ex.later import later

if TYPE_CHECKING:
    from qsim_ex.kernels.cuda.write import emit
else:
    emit = later("qsim_ex.kernels.cuda.write.emit")


class SweepLaunch(Protocol):
    """A sweep that is ready to run."""

    @property
    def takes(self) -> NumberTakes:
        """The numbers that it takes, and where."""

    def __call__(self, runtime: Runtime, buffer: Array, num_bits: int, given: SweepNumbers, high: int) -> None:
        """Apply the sweep in place."""


@dataclass(frozen=True, eq=False)
class CompiledSweep:
    """A sweep that runs as its own kernel; numbers are passed by value, tables are on the device."""

    kernel: Kernel
    function: LoadedKernel

    @property
    def takes(self) -> NumberTakes:
        """The numbers that it takes, and where."""
        return NumberTakes(self.kernel.values, self.kernel.table, pivots=self.kernel.pivots)

    def __call__(self, runtime: Runtime, buffer: Array, num_bits: int, given: SweepNumbers, high: int) -> None:
        """Apply the sweep in place."""
        kernel = self.kernel
        blocks = 1 << num_bits - kernel.skipped_bits
        whole = np.uint64(high << num_bits)
        runtime.launch(self.function, blocks, kernel.threads, buffer, given.on_device, whole, given.by_value)


@dataclass(frozen=True, eq=False)
class InterpretedSweep:
    """A sweep that runs in the interpreter; its program and its numbers are arguments, but for entries of tables.

    words: the program, as long as the kernel's argument. room: the reals of the other one.
    """

    program: SweepProgram
    words: ByValue
    room: int
    function: LoadedKernel

    @property
    def takes(self) -> NumberTakes:
        """The numbers that it takes, and where."""
        return NumberTakes(self.program.shared, self.program.tables, self.room)

    def __call__(self, runtime: Runtime, buffer: Array, num_bits: int, given: SweepNumbers, high: int) -> None:
        """Apply the sweep in place."""
        program, whole = self.program, np.uint64(high << num_bits)
        arguments = buffer, given.on_device, whole, self.words, given.by_value
        runtime.launch(self.function, 1 << num_bits - program.skipped_bits, program.threads, *arguments)


@dataclass(frozen=True, eq=False)
class InterpretedFromMemory:
    """A sweep that runs in the interpreter and has more numbers than a kernel may take by value."""

    program: SweepProgram
    words: Array
    function: LoadedKernel

    @property
    def takes(self) -> NumberTakes:
        """The numbers that it takes, and where."""
        return NumberTakes(np.zeros(0, dtype=np.int64), self.program.numbers)

    def __call__(self, runtime: Runtime, buffer: Array, num_bits: int, given: SweepNumbers, high: int) -> None:
        """Apply the sweep in place."""
        program, tiles = self.program, num_bits - self.program.skipped_bits
        whole, lanes = np.uint64(high << num_bits), program.threads.bit_length() - 1
        shape = np.uint64(1 << tiles), np.uint32(tiles), np.uint32(num_bits), np.uint32(lanes)
        arguments = buffer, given.on_device, self.words, whole, np.uint64(0), *shape
        runtime.launch(self.function, 1 << tiles, program.threads, *arguments)
