"""The sweeps of a plan backwards on a GPU: which are written and which interpreted, and their launches.

All are queued before the first sum is read, so the GPU does not wait for the host between them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from qsim_ex.kernels.cuda.adjoint import sweep as interpreter
from qsim_ex.kernels.cuda.adjoint.derivatives import Derivatives
from qsim_ex.kernels.cuda.adjoint.sweep import AdjointSweep, Complex, CotangentRows
from qsim_ex.kernels.cuda.adjoint.write.kernel import CollectingKernel, CollectingSweep, emit, is_written
from qsim_ex.kernels.cuda.adjoint.write.pieces import pieces
from qsim_ex.kernels.cuda.adjoint.write.tangents import KernelNumbers
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
    return CollectingSweep(*given, one.dropped, wanted.tobytes(), tangents=True)


class _Ready(NamedTuple):
    """A written kernel, and what the driver calls it."""

    kernel: CollectingKernel
    function: LoadedKernel

    @property
    def width(self) -> int:
        """The number of its sums."""
        return self.kernel.sums // (self.kernel.threads >> 5)


class ReversedKernels:
    """The kernels of sweeps backwards that a GPU has written, and the rule of `policy` that says of which."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._chooser = KernelChooser(
            runtime, lambda sweep, precision: emit(cast(CollectingSweep, sweep), precision, runtime.room)
        )

    def of(
        self, sweeps: Sequence[CollectingSweep], num_bits: int, precision: Precision, compile: str
    ) -> list[list[_Ready]]:
        """Return the kernels of each sweep, one behind another; none for those that are to be interpreted."""
        parts = [pieces(sweep) if is_written(sweep, precision) else () for sweep in sweeps]
        every = [piece for some in parts for piece in some]
        found = iter(self._chooser.kernels([*every], num_bits, precision, compile))
        grouped = [[cast(CollectingKernel | None, next(found)) for _ in some] for some in parts]
        kernels = [[kernel for kernel in some if kernel] if None not in some else [] for some in grouped]
        functions = iter(self._runtime.kernels([text_of(kernel) for some in kernels for kernel in some]))
        return [[_Ready(kernel, next(functions)) for kernel in some] for some in kernels]


class _Launch(NamedTuple):
    """A kernel with its numbers for each row, or for all alike."""

    ready: _Ready
    bound: list[KernelNumbers]


class _SumPlaces(NamedTuple):
    """Where the sums of kernels begin among those of all, and how derivatives follow."""

    begins: list[int]
    derivatives: Derivatives


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
        self._usual: list[list[_Ready]] = [[] for _ in sweeps]
        self._others: dict[int, list[_Ready]] = {}
        self._interpreted: dict[int, AdjointSweep] = {}
        self._numbers = np.cumsum([0, *[len(sweep.wanted) for sweep in sweeps]]).tolist()
        self._layouts: dict[tuple[tuple[_Ready, ...], ...], _SumPlaces] = {}
        if compile == "always":
            self._usual = self._kernels.of(sweeps, *self._given)

    def run(self, rows: CotangentRows, numbers: Sequence[Complex], tick: Callable[[], object]) -> list[Complex | None]:
        """Run all sweeps on states and cotangents; return derivatives [rows, count, numbers] of each.

        tick: is called before each sweep is queued.
        """
        written = rows.number <= MOST_ROWS
        if written and [] in self._usual and self._given[2] == "auto":
            self._usual = self._kernels.of(self._sweeps, *self._given)
        chosen = [self._chosen(number, own) if written else [] for number, own in enumerate(numbers)]
        layout = self._layout(tuple(tuple(launch.ready for launch in some) for some in chosen))
        sums = self._runtime.empty(max(1, rows.number * rows.each * layout.begins[-1]), np.float64)
        found: list[Complex | None] = [None] * len(numbers)
        begins = iter(layout.begins)
        for number, (some, own) in enumerate(zip(chosen, numbers, strict=True)):
            tick()
            if not some:
                found[number] = self._interpret(number, rows, own)
            for launch in some:
                self._queue(launch, rows, own, sums, next(begins), layout.begins[-1])
        if any(chosen):
            totals = self._runtime.download(sums).reshape(rows.number, rows.each, -1)
            derivatives = self._derived(layout, chosen, totals, numbers)
            for number, (begin, end) in enumerate(pairwise(self._numbers)):
                found[number] = derivatives[:, :, begin:end] if chosen[number] else found[number]
        return found

    def _chosen(self, number: int, numbers: Complex) -> list[_Launch]:
        """Return the kernels of a sweep for some numbers; none if it has to be interpreted."""
        some = self._usual[number]
        launches = [_Launch(ready, bound) for ready in some if (bound := self._bound(ready, numbers)) is not None]
        if not some or len(launches) == len(some):
            return launches
        if not self._others.get(number):
            sweep = replace(self._sweeps[number], tangents=False)
            (self._others[number],) = self._kernels.of([sweep], *self._given)
        others = [(ready, self._bound(ready, numbers)) for ready in self._others[number]]
        return [_Launch(ready, bound) for ready, bound in others if bound is not None]

    def _bound(self, ready: _Ready, numbers: Complex) -> list[KernelNumbers] | None:
        """Return the numbers of a kernel for each row; None if it is not for them."""
        real = self._precision.storage.real.type
        found = [ready.kernel.bind(own, real) for own in numbers]
        some = [one for one in found if one is not None]
        return some if len(some) == len(found) else None

    def _layout(self, chosen: tuple[tuple[_Ready, ...], ...]) -> _SumPlaces:
        """Return where sums are; kept, since most runs choose the same kernels."""
        if chosen not in self._layouts:
            begins, parts = [0], []
            for some, at in zip(chosen, self._numbers, strict=False):
                for ready in some:
                    assert ready.kernel.derivatives is not None
                    parts.append((ready.kernel.derivatives, at, begins[-1]))
                    begins.append(begins[-1] + ready.width)
            self._layouts = {chosen: _SumPlaces(begins, Derivatives.joined(parts))}
        return self._layouts[chosen]

    def _derived(
        self,
        layout: _SumPlaces,
        chosen: Sequence[Sequence[_Launch]],
        sums: NDArray[np.float64],
        numbers: Sequence[Complex],
    ) -> Complex:
        """Return the derivatives with respect to the numbers of all sweeps, those of interpreted ones 0."""
        count = layout.derivatives.count
        found = np.zeros((*sums.shape[:2], self._numbers[-1]), dtype=np.complex128)
        for row, some in enumerate(sums):
            of_row = [launch.bound[row if len(launch.bound) > 1 else 0] for each in chosen for launch in each]
            for bound, begin in zip(of_row, layout.begins, strict=False):
                if bound.factors.size:
                    some[:, begin : begin + bound.factors.size] *= bound.factors
            own = np.concatenate([each[row if len(each) > 1 else 0] for each in numbers])[:count]
            for which, one in enumerate(some):
                found[row, which, :count] = layout.derivatives(one, own)
        return found

    def _interpret(self, number: int, rows: CotangentRows, numbers: Complex) -> Complex | None:
        if number not in self._interpreted:
            sweep = self._sweeps[number]
            wanted = np.frombuffer(sweep.wanted, dtype=np.bool_)
            self._interpreted[number] = interpreter.prepared(self._runtime, sweep, self._precision, wanted)
        return self._interpreted[number](self._runtime, rows, numbers)

    def _queue(self, launch: _Launch, rows: CotangentRows, numbers: Complex, to: Array, first: int, width: int) -> None:
        """Queue a written kernel for all rows and cotangents; to: the sums of all kernels, [rows, each, width]."""
        runtime, real, kernel = self._runtime, self._precision.storage.real.type, launch.ready.kernel
        warps, tiles, own = kernel.threads >> 5, rows.num_bits - kernel.skipped_bits, launch.ready.width
        room = batch_sums.WORKSPACE // (8 * max(1, kernel.sums))
        blocks = 1 << min(tiles, BLOCKS, max(1, room).bit_length() - 1)
        for row in range(rows.number):
            mine = row if len(numbers) > 1 else 0
            table = pack(numbers[mine], kernel.table, real)
            on_device = runtime.upload(table) if table.size else None
            for which in range(rows.each):
                at = row * rows.each + which
                sums = runtime.empty(max(1, blocks * kernel.sums), np.float64)
                runtime.clear(sums)
                runtime.launch(
                    launch.ready.function, blocks, kernel.threads,
                    rows.states[row << rows.num_bits :], rows.cotangents[at << rows.num_bits :], sums, on_device,
                    np.uint64(1 << tiles), np.uint64(which == rows.each - 1), ByValue(launch.bound[mine].values),
                )  # fmt: skip
                if own:
                    begin = at * width + first
                    _fold(runtime, sums, to[begin : begin + own], blocks * warps, own)


def _fold(runtime: Runtime, sums: Array, total: Array, parts: int, width: int) -> None:
    """Queue the sum of [parts, width] over the parts, in two steps, so that enough threads share it."""
    rows = min(1 << _FOLDED, parts)
    between = runtime.empty(rows * width, np.float64)
    over(runtime, "fold_rows", OF_SUMS, rows * width, sums, between, rows * width, parts // rows, width)
    over(runtime, "fold_rows", OF_SUMS, width, between, total, width, rows, width)
