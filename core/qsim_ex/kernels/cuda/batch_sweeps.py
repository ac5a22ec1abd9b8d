"""Sweeps over every row of a batch: compiled or interpreted, their numbers and their launches.

The rule is that of `policy`, for all amplitudes of the batch. All numbers are in the device's memory and are made
there (see `tables.TableRecipe`): a row's numbers of all sweeps behind one another, then the next row's.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from qsim_ex.kernels import fork
from qsim_ex.kernels.cuda.compile.choosing import KEPT, KernelChooser, remember, text_of
from qsim_ex.kernels.cuda.interpret import interpreter
from qsim_ex.kernels.cuda.interpret.packing import CONSTANTS
from qsim_ex.kernels.cuda.interpret.programs import program_of
from qsim_ex.kernels.cuda.interpret.sweep_program import SweepProgram
from qsim_ex.kernels.cuda.launch.loading import in_buffer, laid_out
from qsim_ex.kernels.cuda.launch.tables import HostEntries, TableRecipe
from qsim_ex.kernels.cuda.runtime import Array, LoadedKernel, Runtime
from qsim_ex.kernels.cuda.sweeps import Packed
from qsim_ex.kernels.cuda.write.emit import emit_rows
from qsim_ex.kernels.cuda.write.kernel import Kernel
from qsim_ex.precision import Precision
from qsim_ex.steps.coefficients import Bound, Coefficients
from qsim_ex.steps.compiled import key_of
from qsim_ex.steps.plan_arrays import Key
from qsim_ex.steps.step import Step, Sweep

Places = NDArray[np.int64]

NOTHING = np.zeros(0, dtype=np.int64)


class BatchSweepLaunch(Protocol):
    """A sweep that is ready to run over rows."""

    @property
    def take(self) -> Places:
        """The numbers of one row, as positions in its packed array (see `packing`)."""

    def __call__(self, runtime: Runtime, buffer: Array, num_bits: int, numbers: Array | None, stride: int) -> None:
        """Apply the sweep to every row; stride: reals from a row's numbers to the next row's, 0 if all share them."""


@dataclass(frozen=True, eq=False, slots=True)
class RowNumbers:
    """The numbers of one sweep for all rows, on the device, and the launch that they are laid out for."""

    launch: BatchSweepLaunch
    numbers: Array | None
    stride: int


@dataclass(frozen=True, eq=False)
class CompiledBatchSweep:
    """A sweep that runs as its own kernel."""

    kernel: Kernel
    function: LoadedKernel

    @property
    def take(self) -> Places:
        """The numbers of one row."""
        return self.kernel.table

    def __call__(self, runtime: Runtime, buffer: Array, num_bits: int, numbers: Array | None, stride: int) -> None:
        """Apply the sweep to every row."""
        tiles = num_bits - self.kernel.skipped_bits
        count = int(buffer.size) >> num_bits << tiles
        blocks = -(-count // self.kernel.tiles)
        shape = np.uint64(count), np.uint32(tiles), np.uint32(num_bits)
        runtime.launch(self.function, blocks, self.kernel.threads, buffer, numbers, np.uint64(stride), *shape)


@dataclass(frozen=True, eq=False)
class InterpretedBatchSweep:
    """A sweep that runs in the interpreter; its program stays on the device."""

    program: SweepProgram
    words: Array
    function: LoadedKernel
    threads: int

    @property
    def take(self) -> Places:
        """The numbers of one row."""
        return self.program.numbers

    def __call__(self, runtime: Runtime, buffer: Array, num_bits: int, numbers: Array | None, stride: int) -> None:
        """Apply the sweep to every row."""
        program = self.program
        lanes, threads = program.threads.bit_length() - 1, self.threads
        tiles = num_bits - program.skipped_bits
        count = int(buffer.size) >> num_bits << tiles
        shape = np.uint64(count), np.uint32(tiles), np.uint32(num_bits), np.uint32(lanes)
        blocks = -(-(count << lanes) // threads)
        given = (buffer, numbers, self.words, np.uint64(0), np.uint64(stride // 2), *shape)
        runtime.launch(self.function, blocks, threads, *given)


class BatchNumberLoader:
    """Makes the numbers of all sweeps of a plan on the device, for every row.

    launches: for each step the launch of its sweep, None if it is no sweep.
    """

    def __init__(
        self, launches: Sequence[BatchSweepLaunch | None], numbers: Coefficients, real: type[np.floating]
    ) -> None:
        self.numbers = numbers
        self._launches = launches
        size = numbers.size()
        takes = [
            in_buffer(launch.take, places, size) if launch else NOTHING
            for launch, places in zip(launches, numbers.packed, strict=True)
        ]
        far, self._cuts = laid_out(takes)
        self._recipe = TableRecipe(far, numbers, real) if far.size else None
        self._stride = len(far)
        packed = [places for launch, places in zip(launches, numbers.packed, strict=True) if launch is None]
        on_host = np.unique(np.concatenate([NOTHING, *packed]))
        self._first_table = numbers.tables_at()
        self._entries = on_host[on_host >= self._first_table]
        self._few = HostEntries(self._entries, numbers)

    def __call__(self, runtime: Runtime, numbers: Bound) -> list[RowNumbers | Packed]:
        """Return for each sweep its `RowNumbers`, for each other step its packed arrays, [rows or 1, count]."""
        made = self._recipe.make_rows(runtime, numbers) if self._recipe else None
        stride = self._stride if numbers.rows > 1 else 0
        found: list[RowNumbers | Packed] = []
        for launch, cut, places in zip(self._launches, self._cuts, numbers.numbers.packed, strict=True):
            if launch:
                mine = made[cut] if made is not None and cut.stop > cut.start else None
                found.append(RowNumbers(launch, mine, stride))
            else:
                found.append(self._packed(np.atleast_2d(numbers.given), places))
        return found

    def _packed(self, given: Packed, places: Places) -> Packed:
        """Return numbers at some places of each row's coefficient buffer; places behind its end are table entries."""
        table = places >= self._first_table
        found = np.empty((len(given), len(places)), dtype=np.complex128)
        found[:, ~table] = given[:, places[~table]]
        if table.any():
            found[:, table] = self._few.of_rows(given)[:, np.searchsorted(self._entries, places[table])]
        return found


@dataclass(eq=False)
class PreparedBatch:
    """Steps ready to run over rows: for each sweep, by the object's identity, its launch."""

    steps: tuple[Step, ...]
    real: type[np.floating]
    launches: dict[int, BatchSweepLaunch]
    settled: bool
    changes: int | None = None
    loader: BatchNumberLoader | None = None

    def load(self, runtime: Runtime, numbers: Bound) -> list[RowNumbers | Packed]:
        """Return the numbers of all rows for all steps."""
        loader = self.loader
        if loader is None or loader.numbers is not numbers.numbers:
            launches = [self.launches.get(id(step)) for step in self.steps]
            loader = self.loader = BatchNumberLoader(launches, numbers.numbers, self.real)
        return loader(runtime, numbers)

    def give(self, runtime: Runtime, sweep: Sweep, numbers: Packed) -> RowNumbers:
        """Return the numbers of one sweep, from its packed arrays [rows or 1, count]."""
        launch = self.launches[id(sweep)]
        if not launch.take.size:
            return RowNumbers(launch, None, 0)
        parts = np.ascontiguousarray(numbers, dtype=np.complex128).view(np.float64).reshape(len(numbers), -1)
        parts = np.concatenate([parts, np.broadcast_to(CONSTANTS, (len(parts), len(CONSTANTS)))], axis=1)
        take = np.append(launch.take, np.zeros(-launch.take.size % 4, dtype=np.int64))  # rows begin where vectors may
        made = runtime.upload(parts.take(take, axis=1).astype(self.real, copy=False))
        return RowNumbers(launch, made, take.size if len(parts) > 1 else 0)


class BatchSweeps:
    """Prepares sweeps over rows on one GPU and keeps the prepared batches."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._choosing = KernelChooser(runtime, emit_rows)
        self._plans: OrderedDict[tuple[object, ...], PreparedBatch] = OrderedDict()
        self._interpreted: OrderedDict[tuple[Key, Precision], InterpretedBatchSweep] = OrderedDict()
        self._lock = fork.reentrant_lock()

    def prepare(self, steps: Sequence[Step], num_bits: int, precision: Precision, compile: str) -> PreparedBatch:
        """Choose kernels or the interpreter, and compile; all rows together have about 2^num_bits amplitudes.

        Once every sweep has its kernel, the choice is the same for any number of rows.
        """
        steps = tuple(steps)
        key = (tuple(map(id, steps)), precision, compile)
        with self._lock:
            known = self._plans.get(key)
            if known is not None and (known.settled or known.changes == self._choosing.changes):
                self._plans.move_to_end(key)
                return known
            sweeps = list({id(step): step for step in steps if isinstance(step, Sweep)}.values())
            changes = self._choosing.changes
            kernels = self._choosing.kernels(sweeps, num_bits, precision, compile)
            functions = iter(self._runtime.kernels([text_of(kernel) for kernel in kernels if kernel]))
            launches: dict[int, BatchSweepLaunch] = {
                id(sweep): CompiledBatchSweep(kernel, next(functions)) if kernel else self._interpret(sweep, precision)
                for sweep, kernel in zip(sweeps, kernels, strict=True)
            }
            real = precision.storage.real.type
            prepared = PreparedBatch(steps, real, launches, settled=compile == "never" or all(kernels))
            prepared.changes = changes if self._choosing.waits(sweeps, precision) else None
            remember(self._plans, key, prepared)
            return prepared

    def _interpret(self, sweep: Sweep, precision: Precision) -> InterpretedBatchSweep:
        key = (key_of(sweep), precision)
        if key not in self._interpreted:
            program = program_of(sweep, precision, False)
            function = self._runtime.kernels([interpreter.text(precision, None)])[0]
            words = self._runtime.upload(program.words)
            made = InterpretedBatchSweep(program, words, function, precision.geometry.threads)
            remember(self._interpreted, key, made, 16 * KEPT)
        return self._interpreted[key]
