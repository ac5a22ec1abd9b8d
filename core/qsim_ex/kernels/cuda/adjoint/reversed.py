"""The sweeps of a plan backwards on a GPU: which are written and which interpreted, and their launches.

All are queued before the first sum is read, so the GPU does not wait for the host between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from qsim_ex.kernels.cuda.adjoint import sweep as interpreter
from qsim_ex.kernels.cuda.adjoint.derivatives import Derivatives
from qsim_ex.kernels.cuda.adjoint.sweep import AdjointSweep, Complex, CotangentRows
from qsim_ex.kernels.cuda.adjoint.write.kernel import CollectingKernel, CollectingSweep, emit, is_written
from qsim_ex.kernels.cuda.adjoint.write.pieces import pieces
from qsim_ex.kernels.cuda.compile.choosing import KernelChooser, text_of
from qsim_ex.kernels.cuda.fixed import batch_sums
from qsim_ex.kernels.cuda.fixed.fixed import OF_SUMS, over
from qsim_ex.kernels.cuda.interpret.packing import pack
from qsim_ex.kernels.cuda.runtime import Array, ByValue, LoadedKernel, Runtime
from qsim_ex.precision import Precision
from qsim_ex.steps.reversed import ReversedSweep

MOST_ROWS = 8
"""With more states than that all are interpreted: a written kernel is launched for each."""

BLOCKS = 10
"""log2 of the thread blocks that share the tiles of a state, at most."""

_FOLDED = 7
"""log2 of the rows that are added up at a time."""


def collecting(one: ReversedSweep, wanted: NDArray[np.bool_]) -> CollectingSweep:
    """Return a sweep backwards with what its kernel depends on; wanted: which of its numbers are differentiated."""
    sweep = one.sweep
    given = sweep.tile, sweep.register_blocks, sweep.numbers, sweep.tables, sweep.fresh, sweep.store, sweep.load
    return CollectingSweep(*given, one.dropped, wanted.tobytes())


class ReversedKernels:
    """The kernels of sweeps backwards that a GPU has written, and the rule of `policy` that says of which."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._chooser = KernelChooser(
            runtime, lambda sweep, precision: emit(cast(CollectingSweep, sweep), precision, runtime.room)
        )

    def of(
        self, sweeps: Sequence[CollectingSweep], num_bits: int, precision: Precision, compile: str
    ) -> list[list[CollectingKernel]]:
        """Return the kernels of each sweep, one behind another; none for those that are to be interpreted."""
        parts = [pieces(sweep) if is_written(sweep, precision) else () for sweep in sweeps]
        every = [piece for some in parts for piece in some]
        found = iter(self._chooser.kernels([*every], num_bits, precision, compile))
        grouped = [[cast(CollectingKernel | None, next(found)) for _ in some] for some in parts]
        return [[kernel for kernel in some if kernel] if None not in some else [] for some in grouped]


class _Ready(NamedTuple):
    """A written kernel, what the driver calls it, and where its sums begin among those of all."""

    kernel: CollectingKernel
    function: LoadedKernel
    first: int

    @property
    def width(self) -> int:
        """The number of its sums."""
        return self.kernel.sums // (self.kernel.threads >> 5)


class ReversedSweeps:
    """The sweeps of a plan backwards, ready to run."""

    def __init__(
        self,
        runtime: Runtime,
        kernels: ReversedKernels,
        sweeps: Sequence[CollectingSweep],
        num_bits: int,
        precision: Precision,
        compile: str,
    ) -> None:
        self._runtime, self._kernels, self._sweeps = runtime, kernels, sweeps
        self._given = num_bits, precision, compile
        self._precision = precision
        self._ready: list[list[_Ready]] = [[] for _ in sweeps]
        self._interpreted: dict[int, AdjointSweep] = {}
        self._begins = np.cumsum([0, *[len(sweep.wanted) for sweep in sweeps]]).tolist()
        self._width, self._derivatives = 0, Derivatives.joined([])
        if compile == "always":
            self._choose()

    def _choose(self) -> None:
        kernels = self._kernels.of(self._sweeps, *self._given)
        functions = iter(self._runtime.kernels([text_of(kernel) for some in kernels for kernel in some]))
        self._ready, self._width, parts = [], 0, []
        for some, begin in zip(kernels, self._begins, strict=False):
            self._ready.append([])
            for kernel in some:
                self._ready[-1].append(_Ready(kernel, next(functions), self._width))
                parts.append((kernel.derivatives, begin, self._width))
                self._width += self._ready[-1][-1].width
        self._derivatives = Derivatives.joined(parts)

    def run(self, rows: CotangentRows, numbers: Sequence[Complex]) -> list[Complex | None]:
        """Run all sweeps on states and cotangents; return derivatives [rows, count, numbers] of each."""
        written = rows.number <= MOST_ROWS
        if written and [] in self._ready and self._given[2] == "auto":
            self._choose()
        sums = self._runtime.empty(max(1, rows.number * rows.each * self._width), np.float64)
        interpreted = [False] * len(numbers)
        found: list[Complex | None] = [None] * len(numbers)
        for number, (some, own) in enumerate(zip(self._ready, numbers, strict=True)):
            interpreted[number] = not (some and written)
            if interpreted[number]:
                found[number] = self._interpret(number, rows, own)
                continue
            for ready in some:
                self._queue(ready, rows, own, sums)
        if all(interpreted):
            return found
        derivatives = self._derived(self._runtime.download(sums).reshape(rows.number, rows.each, -1), numbers)
        for number, (begin, end) in enumerate(pairwise(self._begins)):
            if not interpreted[number]:
                found[number] = derivatives[:, :, begin:end]
        return found

    def _derived(self, sums: NDArray[np.float64], numbers: Sequence[Complex]) -> Complex:
        """Return the derivatives with respect to the numbers of all sweeps, those of interpreted ones 0."""
        every = [np.concatenate([own[row if len(own) > 1 else 0] for own in numbers]) for row in range(len(sums))]
        found = np.zeros((*sums.shape[:2], self._begins[-1]), dtype=np.complex128)
        for row, some in enumerate(sums):
            for which, one in enumerate(some):
                found[row, which, : self._derivatives.count] = self._derivatives(
                    one, every[row][: self._derivatives.count]
                )
        return found

    def _interpret(self, number: int, rows: CotangentRows, numbers: Complex) -> Complex | None:
        if number not in self._interpreted:
            sweep = self._sweeps[number]
            wanted = np.frombuffer(sweep.wanted, dtype=np.bool_)
            self._interpreted[number] = interpreter.prepared(self._runtime, sweep, self._precision, wanted)
        return self._interpreted[number](self._runtime, rows, numbers)

    def _queue(self, ready: _Ready, rows: CotangentRows, numbers: Complex, to: Array) -> None:
        """Queue a written kernel for all rows and cotangents; to: the sums of all kernels, [rows, each, width]."""
        runtime, real, kernel = self._runtime, self._precision.storage.real.type, ready.kernel
        warps, tiles = kernel.threads >> 5, rows.num_bits - kernel.skipped_bits
        room = batch_sums.WORKSPACE // (8 * max(1, kernel.sums))
        blocks = 1 << min(tiles, BLOCKS, max(1, room).bit_length() - 1)
        for row in range(rows.number):
            own = numbers[row if len(numbers) > 1 else 0]
            values, table = pack(own, kernel.values, real), pack(own, kernel.table, real)
            by_value = ByValue(values if values.size else np.zeros(1, dtype=real))
            on_device = runtime.upload(table) if table.size else None
            for which in range(rows.each):
                at = row * rows.each + which
                sums = runtime.empty(max(1, blocks * kernel.sums), np.float64)
                runtime.clear(sums)
                runtime.launch(
                    ready.function, blocks, kernel.threads,
                    rows.states[row << rows.num_bits :], rows.cotangents[at << rows.num_bits :], sums, on_device,
                    np.uint64(1 << tiles), np.uint64(which == rows.each - 1), by_value,
                )  # fmt: skip
                if ready.width:
                    begin = at * self._width + ready.first
                    _fold(runtime, sums, to[begin : begin + ready.width], blocks * warps, ready.width)


def _fold(runtime: Runtime, sums: Array, total: Array, parts: int, width: int) -> None:
    """Queue the sum of [parts, width] over the parts, in two steps, so that enough threads share it."""
    rows = min(1 << _FOLDED, parts)
    between = runtime.empty(rows * width, np.float64)
    over(runtime, "fold_rows", OF_SUMS, rows * width, sums, between, rows * width, parts // rows, width)
    over(runtime, "fold_rows", OF_SUMS, width, between, total, width, rows, width)
