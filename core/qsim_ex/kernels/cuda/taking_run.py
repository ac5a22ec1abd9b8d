"""The first run of a structure, if it takes kernels: from disk, and those that are compiled while it runs."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

from qsim_ex import thresholds
from qsim_ex.kernels.cuda.compile import policy
from qsim_ex.kernels.cuda.compile.choosing import KernelChooser, text_of
from qsim_ex.kernels.cuda.launch.launches import LaunchList
from qsim_ex.kernels.cuda.launch.layout import laid_out
from qsim_ex.kernels.cuda.launch.portions import PortionedLaunches
from qsim_ex.kernels.cuda.runtime import Runtime
from qsim_ex.kernels.cuda.sweep_launch import CompiledSweep
from qsim_ex.precision import Precision
from qsim_ex.steps.plan_arrays import FRESH, TILE, PlanArrays
from qsim_ex.steps.step import Step, Sweep


class TakingRun:
    """Lays out portions of a plan that native code made.

    from_disk: the number of sweeps whose kernels were loaded from disk. compiled: of those that ran by a kernel.
    """

    def __init__(
        self,
        runtime: Runtime,
        choosing: KernelChooser,
        arrays: PlanArrays,
        steps: Sequence[Step],
        num_bits: int,
        precision: Precision,
    ) -> None:
        self.from_disk = self.compiled = 0
        self._runtime, self._choosing, self._arrays = runtime, choosing, arrays
        self._steps, self._num_bits, self._precision = steps, num_bits, precision
        rows = zip(arrays.steps[:, FRESH].tolist(), arrays.steps[:, TILE].tolist(), strict=True)
        visited = [num_bits - (fresh & ~tile).bit_count() for fresh, tile in rows]
        # As long as a pass over what a step visits takes.
        self._until = [0.0, *accumulate(policy.extra_seconds(bits, precision) for bits in visited)]
        self._large = [number for number, bits in enumerate(visited) if policy.loads(bits, precision)]
        self._ahead = 0  # the first step that is not laid out
        self._awaited = 2e6 * self._until[-1] > thresholds.now.awaited_microseconds
        self._begun = False

    def launches(self) -> PortionedLaunches | None:
        """Return the launches of the run; None if it takes no kernels, or portions of it cannot be laid out."""
        if not (self._awaited or self._kept()):
            return None
        portions = self._portions()
        first = self._laid_out(portions[0])
        return PortionedLaunches(self._runtime, portions, first, self) if first else None

    def lay_out(self, steps: range) -> LaunchList:
        """Return the launches of some steps, with the kernels that are there."""
        made = self._laid_out(steps)
        assert made is not None  # since the first portion could be laid out
        return made

    def _laid_out(self, steps: range) -> LaunchList | None:
        self._ahead = steps.stop
        mine = [step for step in self._steps[steps.start : steps.stop] if isinstance(step, Sweep)]
        self._choosing.load(mine, self._num_bits, self._precision)
        found = iter(self._choosing.ready(mine, self._precision))
        places = self._arrays.sweep_places
        kernels: list[CompiledSweep | None] = [None] * len(places)
        for number in steps:
            if number in places and (kernel := next(found)) is not None:
                (function,) = self._runtime.kernels([text_of(kernel)])
                kernels[places[number]] = CompiledSweep(kernel, function)
                self.compiled += 1
                self.from_disk += bool(kernel.file)
        return laid_out(self._runtime, self._arrays, self._precision, self._num_bits, kernels, steps)

    def waits(self) -> bool:
        """Return whether kernels of steps that are not laid out may still come."""
        if not self._awaited:
            return False
        if not self._begun:
            return True
        left = [step for step in self._steps[self._ahead :] if isinstance(step, Sweep)]
        return None in self._choosing.ready(left, self._precision)

    def follow(self, steps: int, seconds: float) -> None:
        """Begin to make kernels if what is left takes longer than they need, by the speed so far."""
        done, needed = self._until[steps], 1e-3 * thresholds.now.compiled_milliseconds
        rate = seconds / done if done else 0.0
        if self._begun or rate * (self._until[-1] - done) < needed:
            return
        self._begun = True
        ready = done + needed / rate if rate else done
        late = max(self._ahead, bisect_left(self._until, ready))  # the first step for which they may be there in time
        ordered = *self._steps[late:], *self._steps[self._ahead : late]
        self._choosing.make([step for step in ordered if isinstance(step, Sweep)], self._num_bits, self._precision)

    def _kept(self) -> bool:
        """Return whether kernels of large sweeps seem to be on disk, after a look at three: most runs have none."""
        large = self._large
        some = [self._steps[large[at]] for at in (0, len(large) // 2, -1)] if large else []
        sweeps = [step for step in some if isinstance(step, Sweep)]
        return self._choosing.kept(sweeps, self._num_bits, self._precision) > 0

    def _portions(self) -> list[range]:
        """Return the steps in portions that each take some time."""
        found, first = [], 0
        for number in range(1, len(self._steps) + 1):
            taken = 1e6 * (self._until[number] - self._until[first])
            if taken >= thresholds.now.portion_microseconds or number == len(self._steps):
                found.append(range(first, number))
                first = number
        return found
