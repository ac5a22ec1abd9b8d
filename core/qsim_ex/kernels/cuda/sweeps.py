"""Sweeps on a GPU: which are compiled and which interpreted, and their launches."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from qsim_ex.kernels.cuda import emit, interpreter, policy
from qsim_ex.kernels.cuda.compile import cores
from qsim_ex.kernels.cuda.packing import pack
from qsim_ex.kernels.cuda.runtime import Array, ByValue, Runtime, Text
from qsim_ex.steps import Step, Sweep

KEPT = 256
"""Prepared plans, and structures whose runs are counted, that a device remembers."""


class Launch(Protocol):
    """A sweep that is ready to run."""

    def __call__(
        self, runtime: Runtime, buffer: Array, num_bits: int, numbers: NDArray[np.complex128], high: int
    ) -> None:
        """Apply the sweep in place."""


@dataclass(frozen=True, eq=False)
class Compiled:
    """A sweep by its own kernel; numbers are passed by value, tables are uploaded."""

    kernel: emit.Kernel
    function: Any
    real: Any

    def __call__(
        self, runtime: Runtime, buffer: Array, num_bits: int, numbers: NDArray[np.complex128], high: int
    ) -> None:
        """Apply the sweep in place."""
        kernel = self.kernel
        values = pack(numbers, kernel.values, self.real) if kernel.values.size else np.zeros(1, self.real)
        table = runtime.upload(pack(numbers, kernel.table, self.real)) if kernel.table.size else None
        blocks = 1 << num_bits - kernel.skipped_bits
        whole = np.uint64(high << num_bits)
        runtime.launch(self.function, blocks, kernel.threads, buffer, table, whole, ByValue(values))


@dataclass(frozen=True, eq=False)
class Interpreted:
    """A sweep by the interpreter; its program stays on the device, its numbers are uploaded."""

    program: interpreter.Program
    words: Array
    function: Any
    real: Any

    def __call__(
        self, runtime: Runtime, buffer: Array, num_bits: int, numbers: NDArray[np.complex128], high: int
    ) -> None:
        """Apply the sweep in place."""
        program = self.program
        entries = runtime.upload(pack(numbers, program.numbers, self.real)) if program.numbers.size else None
        blocks = 1 << num_bits - program.skipped_bits
        whole, size = np.uint64(high << num_bits), np.uint64(1 << num_bits)
        runtime.launch(self.function, blocks, program.threads, buffer, entries, self.words, whole, size)


@dataclass
class Prepared:
    """Steps ready to run: for each sweep, by the object's identity, how it is launched."""

    steps: tuple[Step, ...]
    launches: dict[int, Launch] = field(default_factory=dict)
    settled: bool = False

    @property
    def compiled(self) -> int:
        """How many of the sweeps run by kernels of their own."""
        return sum(isinstance(launch, Compiled) for launch in self.launches.values())


class Sweeps:
    """Prepares sweeps on one GPU and remembers what it has prepared."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._plans: OrderedDict[tuple[Any, ...], Prepared] = OrderedDict()
        self._runs: OrderedDict[tuple[Sweep, int], int] = OrderedDict()
        self._interpreted: OrderedDict[tuple[Sweep, int], Interpreted] = OrderedDict()
        self._lock = threading.RLock()

    def prepare(self, steps: Sequence[Step], num_bits: int, itemsize: int, compile: str) -> Prepared:
        """Choose for each sweep, compile what is to be compiled, and return what runs it."""
        steps = tuple(steps)
        key = (tuple(map(id, steps)), num_bits, itemsize, compile)
        with self._lock:
            known = self._plans.get(key)
            if known is not None and known.settled:
                self._plans.move_to_end(key)
                return known
            prepared = self._prepare(steps, num_bits, itemsize, compile)
            _remember(self._plans, key, prepared)
            return prepared

    def _prepare(self, steps: tuple[Step, ...], num_bits: int, itemsize: int, compile: str) -> Prepared:
        sweeps = list({id(step): step for step in steps if isinstance(step, Sweep)}.values())
        kernels = self._kernels(sweeps, num_bits, itemsize, compile)
        real = np.float32 if itemsize == 8 else np.float64
        prepared = Prepared(steps, settled=compile == "never" or all(kernels))
        texts = [_text(kernel) for kernel in kernels if kernel]
        functions = iter(self._runtime.kernels(texts))
        for sweep, kernel in zip(sweeps, kernels, strict=True):
            if kernel:
                prepared.launches[id(sweep)] = Compiled(kernel, next(functions), real)
            else:
                prepared.launches[id(sweep)] = self._interpret(sweep, itemsize, real)
        return prepared

    def _kernels(self, sweeps: list[Sweep], num_bits: int, itemsize: int, compile: str) -> list[emit.Kernel | None]:
        """The kernels of the sweeps that shall have one; None for the others."""
        if compile == "never":
            return [None] * len(sweeps)
        runs = [self._runs.get((sweep, itemsize), 0) for sweep in sweeps]
        looks = [compile == "always" or policy.worth_a_look(num_bits, itemsize, r) for r in runs]
        kernels = [
            emit.emit(sweep, itemsize, self._runtime.room) if look else None
            for sweep, look in zip(sweeps, looks, strict=True)
        ]
        at_hand = [kernel is not None and self._runtime.at_hand(_text(kernel)) for kernel in kernels]
        candidates = [policy.Candidate(hand, count) for hand, count in zip(at_hand, runs, strict=True)]
        chosen = policy.choose(candidates, num_bits, itemsize, cores(), compile)
        for sweep, count, chose in zip(sweeps, runs, chosen, strict=True):
            if not chose:
                _remember(self._runs, (sweep, itemsize), count + 1, 16 * KEPT)
        return [
            (kernel or emit.emit(sweep, itemsize, self._runtime.room)) if chose else None
            for sweep, kernel, chose in zip(sweeps, kernels, chosen, strict=True)
        ]

    def _interpret(self, sweep: Sweep, itemsize: int, real: Any) -> Interpreted:
        key = (sweep, itemsize)
        if key not in self._interpreted:
            program = interpreter.encode(sweep, itemsize)
            words = self._runtime.upload(program.words)
            function = self._runtime.kernels([Text(interpreter.source(itemsize), interpreter.NAME)])[0]
            _remember(self._interpreted, key, Interpreted(program, words, function, real), 16 * KEPT)
        return self._interpreted[key]


def _text(kernel: emit.Kernel) -> Text:
    return Text(kernel.code, emit.NAME)


def _remember(store: OrderedDict[Any, Any], key: Any, value: Any, most: int = KEPT) -> None:
    """Put into a store that forgets what was put in longest ago."""
    store[key] = value
    store.move_to_end(key)
    while len(store) > most:
        store.popitem(last=False)
