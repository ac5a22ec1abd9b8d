"""Sweeps on a GPU: compiled or interpreted, and their launches."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from qsim_ex.kernels import fork
from qsim_ex.kernels.cuda.compile import policy
from qsim_ex.kernels.cuda.compile.choosing import KEPT, KernelChooser, remember, text_of
from qsim_ex.kernels.cuda.compile.kernel_index import KernelIndex
from qsim_ex.kernels.cuda.interpret import interpreter
from qsim_ex.kernels.cuda.interpret.programs import program_of
from qsim_ex.kernels.cuda.launch.launches import LaunchList
from qsim_ex.kernels.cuda.launch.layout import laid_out
from qsim_ex.kernels.cuda.launch.loading import Loaded, NumberLoader, SweepNumbers, give
from qsim_ex.kernels.cuda.runtime import Array, ByValue, Runtime
from qsim_ex.kernels.cuda.sweep_launch import CompiledSweep, InterpretedFromMemory, InterpretedSweep, SweepLaunch
from qsim_ex.kernels.cuda.write.kernel import Kernel
from qsim_ex.kernels.cuda.write.register_layout import visited_bits
from qsim_ex.kernels.giving_way import FIRST_RUNS
from qsim_ex.later import later
from qsim_ex.precision import Precision
from qsim_ex.steps.coefficients import Bound, Coefficients
from qsim_ex.steps.compiled import arrays_of, key_of
from qsim_ex.steps.plan_arrays import Key, PlanArrays
from qsim_ex.steps.step import Step, Sweep

if TYPE_CHECKING:
    from qsim_ex.kernels.cuda.write import emit
else:
    emit = later("qsim_ex.kernels.cuda.write.emit")

Packed = NDArray[np.complex128]


@dataclass
class PreparedSweeps:
    """Steps ready to run: for each sweep, by the object's identity, its launch.

    num_bits, precision, compile: the arguments of `Sweeps.prepare`. real: the dtype of the numbers that kernels take.
    interpret: makes the launch of a sweep that is interpreted, when it is asked for.
    settled: whether nothing will change. changes: the kernels that were there (`KernelChooser.changes`) when this was
        made, if all others have been asked for.
    arrays: those of the compiled plan, if these are all its steps: then native code lays out its launches once, and
        kernels are chosen behind the launches of a run. choose: does so for the run that was prepared last, until its
        numbers are loaded. runs: how many so far. numbers: those of the plan that ran last.
    """

    steps: tuple[Step, ...]
    num_bits: int
    precision: Precision
    compile: str
    interpret: Callable[[Sweep], SweepLaunch]
    launches: dict[int, SweepLaunch] = field(default_factory=dict)
    settled: bool = False
    changes: int | None = None
    arrays: PlanArrays | None = None
    choose: Callable[[], None] | None = None
    runs: int = 0
    loader: NumberLoader | None = None
    at_once: LaunchList | None = None
    real: type = field(init=False)
    numbers: Coefficients | None = None

    def __post_init__(self) -> None:
        self.real = self.precision.storage.real.type
        self._sweeps = {id(step) for step in self.steps if isinstance(step, Sweep)}

    @property
    def compiled(self) -> int:
        """The number of sweeps that run as kernels of their own."""
        return sum(isinstance(launch, CompiledSweep) for launch in self.launches.values())

    @property
    def from_disk(self) -> int:
        """The number of those whose machine code was on disk."""
        return sum(isinstance(one, CompiledSweep) and bool(one.kernel.file) for one in self.launches.values())

    def knows(self, sweep: Sweep) -> bool:
        """Return whether a sweep is one of these steps."""
        return id(sweep) in self._sweeps

    def launch(self, step: Step) -> SweepLaunch | None:
        """Return the launch of a sweep; None for another step."""
        if not isinstance(step, Sweep):
            return None
        if id(step) not in self.launches:
            self.launches[id(step)] = self.interpret(step)
        return self.launches[id(step)]

    def load(self, runtime: Runtime, numbers: Bound) -> Loaded:
        """Return the numbers of all steps."""
        choose, self.choose = self.choose, None
        self.lay_out(runtime, numbers.numbers)
        launches = self.at_once if numbers.numbers is self.numbers else None
        if launches is not None:
            return Loaded(runtime, numbers, launches, lambda: self._loader_of(numbers.numbers), choose)
        if choose is not None:
            choose()
        loader = self._loader_of(numbers.numbers)
        return Loaded(runtime, numbers, None, lambda: loader)

    def lay_out(self, runtime: Runtime, numbers: Coefficients | None) -> bool:
        """Lay out all launches for a plan's numbers; return whether that was not done before."""
        arrays = self.arrays
        of_numbers: object = getattr(numbers, "arrays", None)
        if arrays is None or of_numbers is not arrays:
            return False
        self.arrays, self.numbers = None, numbers
        kernels = [_compiled(self.launches.get(id(step))) for step in self.steps if isinstance(step, Sweep)]
        self.at_once = laid_out(runtime, arrays, self.precision, self.num_bits, kernels)
        return True

    def _loader_of(self, numbers: Coefficients) -> NumberLoader:
        """Return what loads a plan's numbers step by step."""
        if self.loader is None or self.loader.numbers is not numbers:
            launches = [self.launch(step) for step in self.steps]
            takes = [launch.takes if launch else None for launch in launches]
            self.loader = NumberLoader(takes, numbers, self.precision)
        return self.loader

    def run(
        self, runtime: Runtime, buffer: Array, num_bits: int, sweep: Sweep, numbers: SweepNumbers | Packed, high: int
    ) -> None:
        """Apply a sweep in place; `numbers` is its packed array, or the result of `load` for it."""
        launch = self.launch(sweep)
        assert launch is not None
        given = numbers if isinstance(numbers, SweepNumbers) else give(runtime, launch.takes, numbers, self.real)
        launch(runtime, buffer, num_bits, given, high)


class Sweeps:
    """Prepares sweeps on one GPU and keeps the prepared plans."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._plans: OrderedDict[tuple[object, ...], PreparedSweeps] = OrderedDict()
        index = KernelIndex(runtime.arch, runtime.room, runtime.tensor) if runtime.arch else None
        self._choosing = KernelChooser(runtime, self._emitted, self._take_over, index)
        self._interpreted: OrderedDict[tuple[Key, Precision], InterpretedSweep | InterpretedFromMemory] = OrderedDict()
        self._lock = fork.reentrant_lock()

    def prepare(self, steps: Sequence[Step], num_bits: int, precision: Precision, compile: str) -> PreparedSweeps:
        """Choose kernels or the interpreter for each sweep, and return the prepared sweeps.

        What was prepared before is returned again until a kernel is there that it does not use.
        """
        steps = tuple(steps)
        key = (tuple(map(id, steps)), num_bits, precision, compile)
        with self._lock:
            known = self._plans.get(key)
            if known is not None and (known.settled or known.changes == self._choosing.changes):
                self._plans.move_to_end(key)
                return known
            prepared = self._prepare(steps, num_bits, precision, compile, known)
            remember(self._plans, key, prepared)
            return prepared

    def kept(self, steps: Sequence[Step], num_bits: int, precision: Precision) -> int:
        """Return how many kernels a run of these steps would load from disk."""
        return self._choosing.kept(_sweeps_of(steps), num_bits, precision)

    def _prepare(
        self, steps: tuple[Step, ...], num_bits: int, precision: Precision, compile: str, known: PreparedSweeps | None
    ) -> PreparedSweeps:
        sweeps = _sweeps_of(steps)
        changes = self._choosing.changes
        if compile == "auto" and (known is None or known.arrays is not None or known.at_once is not None):
            made = known or self._with_kernels(steps, num_bits, precision, compile, [None] * len(sweeps))
            if known is None and (made.arrays is None or self._on_disk(sweeps, num_bits, precision)):
                self._choosing.load(sweeps, num_bits, precision)
            if (made.arrays or made.at_once) and not any(self._choosing.ready(sweeps, precision)):
                made.choose = lambda: self._choose(made, sweeps, changes)  # the GPU need not wait for that
                return made
        kernels = self._choosing.kernels(sweeps, num_bits, precision, compile)
        waits = self._choosing.waits(sweeps, precision)
        if known is None or known.compiled != sum(kernel is not None for kernel in kernels):
            known = self._with_kernels(steps, num_bits, precision, compile, kernels)
        known.changes = changes if waits else None
        return known

    def _on_disk(self, sweeps: list[Sweep], num_bits: int, precision: Precision) -> bool:
        """Return whether kernels of large sweeps seem to be on disk, after a look at three: most runs have none."""
        if not policy.loads(num_bits, precision):
            return False
        large = [sweep for sweep in sweeps if policy.loads(visited_bits(sweep, num_bits), precision)]
        some = [large[at] for at in (0, len(large) // 2, -1)] if large else []
        return self._choosing.kept(some, num_bits, precision) > 0

    def _choose(self, made: PreparedSweeps, sweeps: list[Sweep], changes: int) -> None:
        """Choose kernels behind a run's launches; changes: the kernels that were there when it was prepared.

        Most circuits come once, so sweeps for which one run can be worth no kernel are asked for when they come again.
        """
        with self._lock:
            made.runs += 1
            waits = made.runs <= 2 and not policy.may_choose(0, made.num_bits, made.precision)
            if waits and made.runs == 1:
                return
            self._choosing.kernels(sweeps, made.num_bits, made.precision, made.compile, before=int(waits))
            made.changes = changes if self._choosing.waits(sweeps, made.precision) else None

    def _with_kernels(
        self, steps: tuple[Step, ...], num_bits: int, precision: Precision, compile: str, kernels: list[Kernel | None]
    ) -> PreparedSweeps:
        """Return steps ready to run by these kernels; None for a sweep that is interpreted."""
        prepared = PreparedSweeps(
            steps, num_bits, precision, compile, lambda sweep: self._interpret(sweep, precision),
            settled=compile == "never" or all(kernels),
        )  # fmt: skip
        prepared.arrays = arrays_of(steps)
        if not any(kernels):
            return prepared
        texts = [text_of(kernel) for kernel in kernels if kernel]
        functions = iter(self._runtime.kernels(texts))
        for sweep, kernel in zip(_sweeps_of(steps), kernels, strict=True):
            if kernel:
                prepared.launches[id(sweep)] = CompiledSweep(kernel, next(functions))
        return prepared

    def _take_over(self) -> None:
        """Lay out anew the plans for which kernels are there now, so that no run does it.

        The background thread calls this before runs look for the kernels.
        """
        with self._lock:
            waiting = [(key, known) for key, known in self._plans.items() if known.changes is not None]
        for key, known in waiting:
            FIRST_RUNS.give_way()
            kernels = self._choosing.ready(_sweeps_of(known.steps), known.precision)
            made = known
            if known.compiled != sum(kernel is not None for kernel in kernels):
                made = self._with_kernels(known.steps, known.num_bits, known.precision, known.compile, kernels)
                if made.lay_out(self._runtime, known.numbers):
                    self._runtime.synchronize()  # what was sent on this thread's stream is there for others
            with self._lock:
                made.changes = self._choosing.changes + 1
                if self._plans.get(key) is known:
                    self._plans[key] = made

    def _emitted(self, sweep: Sweep, precision: Precision) -> Kernel:
        return emit.emit(sweep, precision, self._runtime.room, tensor=self._runtime.tensor)

    def _interpret(self, sweep: Sweep, precision: Precision) -> InterpretedSweep | InterpretedFromMemory:
        key = (key_of(sweep), precision)
        with self._lock:
            if key not in self._interpreted:
                remember(self._interpreted, key, self._interpretation(sweep, precision), 16 * KEPT)
            return self._interpreted[key]

    def _interpretation(self, sweep: Sweep, precision: Precision) -> InterpretedSweep | InterpretedFromMemory:
        program = program_of(sweep, precision, self._runtime.tensor)
        capacity = interpreter.capacity_for(program, precision, self._runtime.room)
        function = self._runtime.kernels([interpreter.text(precision, capacity)])[0]
        if capacity is None:
            return InterpretedFromMemory(program, self._runtime.upload(program.words), function)
        words = np.zeros(capacity.words, dtype=np.uint32)
        words[: program.words.size] = program.words
        room = capacity.numbers // precision.storage.real_bytes
        return InterpretedSweep(program, ByValue(words, words.ctypes.data), room, function)


def _compiled(launch: SweepLaunch | None) -> CompiledSweep | None:
    return launch if isinstance(launch, CompiledSweep) else None


def _sweeps_of(steps: Sequence[Step]) -> list[Sweep]:
    """Return the sweeps among some steps, each once."""
    return list({id(step): step for step in steps if isinstance(step, Sweep)}.values())
