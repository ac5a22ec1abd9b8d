"""The sweeps of a plan backwards on a GPU: which are written and which interpreted, and their launches.

All are queued before the first sum is read, so the GPU does not wait for the host between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from qsim_ex.kernels.cuda.adjoint import sweep as interpreted
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
    """A written kernel, and what the driver calls it."""

    kernel: CollectingKernel
    function: LoadedKernel


class _Queued(NamedTuple):
    """The sums of a written sweep in the making: of each row and cotangent, [rows, each, width], on the device."""

    kernel: CollectingKernel
    totals: Array
    width: int


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
        self._found: list[list[_Ready]] = [[] for _ in sweeps]
        self._interpreted: dict[int, AdjointSweep] = {}
        if compile == "always":
            self._choose()

    def _choose(self) -> None:
        kernels = self._kernels.of(self._sweeps, *self._given)
        functions = iter(self._runtime.kernels([text_of(kernel) for some in kernels for kernel in some]))
        self._found = [[_Ready(kernel, next(functions)) for kernel in some] for some in kernels]

    def run(self, rows: CotangentRows, numbers: Sequence[Complex]) -> list[Complex | None]:
        """Run all sweeps on states and cotangents; return derivatives [rows, count, numbers] of each that has some."""
        written = rows.number <= MOST_ROWS
        if written and [] in self._found and self._given[2] == "auto":
            self._choose()
        made = [
            [self._queue(ready, rows, own) for ready in some] if some and written else self._interpret(number, rows, own)
            for number, (some, own) in enumerate(zip(self._found, numbers, strict=True))
        ]
        return [
            _derivatives(self._runtime, one, rows, own) if isinstance(one, list) else one
            for one, own in zip(made, numbers, strict=True)
        ]

    def _interpret(self, number: int, rows: CotangentRows, numbers: Complex) -> Complex | None:
        if number not in self._interpreted:
            sweep = self._sweeps[number]
            wanted = np.frombuffer(sweep.wanted, dtype=np.bool_)
            self._interpreted[number] = interpreted.prepared(self._runtime, sweep, self._precision, wanted)
        return self._interpreted[number](self._runtime, rows, numbers)

    def _queue(self, ready: _Ready, rows: CotangentRows, numbers: Complex) -> _Queued:
        """Queue a written sweep for all rows and cotangents."""
        runtime, real = self._runtime, self._precision.storage.real.type
        kernel, function = ready
        warps = kernel.threads >> 5
        width = kernel.sums // warps
        tiles = rows.num_bits - kernel.skipped_bits
        room = batch_sums.WORKSPACE // (8 * max(1, kernel.sums))
        blocks = 1 << min(tiles, BLOCKS, max(1, room).bit_length() - 1)
        totals = runtime.empty(max(1, rows.number * rows.each * width), np.float64)
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
                    function, blocks, kernel.threads,
                    rows.states[row << rows.num_bits :], rows.cotangents[at << rows.num_bits :], sums, on_device,
                    np.uint64(1 << tiles), np.uint64(which == rows.each - 1), by_value,
                )  # fmt: skip
                if width:
                    _fold(runtime, sums, totals[at * width : (at + 1) * width], blocks * warps, width)
        return _Queued(kernel, totals, width)


def _fold(runtime: Runtime, sums: Array, total: Array, parts: int, width: int) -> None:
    """Queue the sum of [parts, width] over the parts, in two steps, so that enough threads share it."""
    rows = min(1 << _FOLDED, parts)
    between = runtime.empty(rows * width, np.float64)
    over(runtime, "fold_rows", OF_SUMS, rows * width, sums, between, rows * width, parts // rows, width)
    over(runtime, "fold_rows", OF_SUMS, width, between, total, width, rows, width)


def _derivatives(
    runtime: Runtime, queued: Sequence[_Queued], rows: CotangentRows, numbers: Complex
) -> Complex | None:
    """Wait for the sums of a sweep's pieces, and return its derivatives."""
    some = [one for one in queued if one.width]
    if not some:
        return None
    found = np.zeros((rows.number, rows.each, numbers.shape[1]), dtype=np.complex128)
    for kernel, totals, width in some:
        sums = runtime.download(totals).reshape(rows.number, rows.each, width)
        assert kernel.derivatives is not None
        for row in range(rows.number):
            own = numbers[row if len(numbers) > 1 else 0]
            for which in range(rows.each):
                found[row, which] += kernel.derivatives(sums[row, which], own)
    return found
