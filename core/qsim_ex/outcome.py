"""What a batch has found so far: bits, sums of expectation values, saved states."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from qsim_ex import expectation, sampling
from qsim_ex.branches import Branches, uniforms
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.course import Course
from qsim_ex.deployment.assign import Where
from qsim_ex.devices.memory import require_on_host
from qsim_ex.kernels.cpu.host import cores
from qsim_ex.options import Options
from qsim_ex.placement.batch import States
from qsim_ex.placement.bits import pack
from qsim_ex.planning.cost import PlanSummary
from qsim_ex.planning.explain import summary
from qsim_ex.result import BatchResult
from qsim_ex.steps.plan import Plan
from qsim_ex.tasks import Asked, Task

_THREADS = 4
"""Threads that make random numbers for a GPU."""


class Used(Protocol):
    """What a worker says of its work.

    most_rows: how many states it held at a time. states: how many it began.
    """

    where: Where
    plans: tuple[Plan, ...]
    most_rows: int
    states: int


@lru_cache(maxsize=256)
def _summary(plan: Plan, itemsize: int) -> PlanSummary:
    """Counted once for a plan, since it looks at every item."""
    return summary(plan, itemsize)


@dataclass(eq=False, slots=True)
class Outcome:
    """What was found so far; threads write to different bindings or shots, sums are guarded.

    threads: how many of the CPU's make random numbers.
    """

    packed: NDArray[np.uint8] | None
    saved: dict[str, NDArray[np.complexfloating[Any, Any]]]
    masks: list[int]
    recorded: dict[int, int]
    num_clbits: int
    chance: bool
    sums: NDArray[np.complex128]
    squares: NDArray[np.float64]
    threads: int = 1
    done: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def empty(
        cls, circuit: Circuit, course: Course, asked: Asked, count: int, dtype: np.dtype[Any], where: Where
    ) -> Outcome:
        """Room for everything; raises `OutOfMemory` if there is none."""
        width = -(-circuit.num_clbits // 8)
        if asked.shots is not None:
            require_on_host(
                f"a sample of {asked.shots} shots for each of {count} bindings",
                asked.shots * count * width + sampling.BYTES_PER_SHOT * asked.shots,
                where.host_free,
            )
        states = dtype.itemsize * count * len(course.labels) << circuit.num_qubits
        require_on_host(f"{count * len(course.labels)} saved states", states, where.host_free)
        masks = [0] * circuit.num_qubits
        for clbit, wire in course.measured.items():
            masks[wire] |= 1 << clbit
        size = count, 1 << circuit.num_qubits
        return cls(
            packed=None if asked.shots is None else np.zeros((count, asked.shots, width), dtype=np.uint8),
            saved={label: np.empty(size, dtype=dtype) for label in course.labels},
            masks=masks,
            recorded=course.recorded,
            num_clbits=circuit.num_clbits,
            chance=bool(course.choices),
            sums=np.zeros((count, len(asked.observables)), dtype=np.complex128),
            squares=np.zeros((count, len(asked.observables))),
            threads=getattr(where.device, "threads", min(cores(), _THREADS)),
        )

    def save(self, task: Task, label: str, states: States, branches: Branches) -> None:
        """Keep states under a label; those of trajectories, which are only near the norm 1, normalised."""
        found = states.read()
        if self.chance:
            _, norms = expectation.in_rows(states, ())
            found = found / np.sqrt(norms)[:, None].astype(found.real.dtype)
        self.saved[label][task.begin + branches.binding] = found

    def finish(self, task: Task, asked: Asked, seeds: Sequence[int], states: States, branches: Branches) -> None:
        """Sample states at the end of the course, and take expectation values."""
        if asked.observables:
            values, norms = expectation.in_rows(states, asked.observables)
            if self.chance:
                values = values / norms[:, None]
            counts = branches.counts[:, None]
            with self.lock:
                np.add.at(self.sums, task.begin + branches.binding, counts * values)
                np.add.at(self.squares, task.begin + branches.binding, counts * np.abs(values) ** 2)
        if self.packed is None:
            return
        shots = asked.shots or 0
        rows = branches.branch_of if self.chance else np.repeat(np.arange(len(branches)), shots)
        bits = np.zeros((len(rows), self.packed.shape[2]), dtype=np.uint8)
        if any(self.masks):
            drawn = self._numbers(task, asked, seeds, branches)
            bits |= pack(sampling.draw_states(states, rows, drawn), self.masks, self.num_clbits)
        for clbit, choice in self.recorded.items():
            bits[:, clbit // 8] |= branches.outcomes[rows, choice] << clbit % 8
        if self.chance:
            self.packed[task.begin + branches.binding[rows], task.first + branches.shots] = bits
        else:  # one branch for each binding stands for all of its shots
            self.packed[task.begin + branches.binding] = bits.reshape(len(branches), shots, -1)

    def _numbers(self, task: Task, asked: Asked, seeds: Sequence[int], branches: Branches) -> NDArray[np.float64]:
        """The random numbers of all shots of all branches."""
        if self.chance:
            return uniforms(branches, seeds, 0, task.first, task.shots)
        mine = [seeds[binding] for binding in branches.binding.tolist()]
        return sampling.uniforms_of(mine, 0, asked.shots or 0, self.threads).reshape(-1)

    def tell(self, task: Task, options: Options) -> None:
        """Report progress: bindings done, and bindings in all."""
        with self.lock:
            self.done += task.end - task.begin if task.first == 0 else 0
        if options.progress is not None:
            options.progress(self.done, len(self.sums))

    def result(
        self,
        circuit: Circuit,
        course: Course,
        asked: Asked,
        seeds: tuple[int, ...],
        options: Options,
        workers: Sequence[Used],
        planned: float,
        total: float,
    ) -> BatchResult:
        """Everything, with where and how it was found."""
        trajectories = asked.trajectories if self.chance else 1
        values: NDArray[Any] = self.sums / trajectories
        spread = np.maximum(self.squares / trajectories - np.abs(values) ** 2, 0)
        errors = np.sqrt(spread / (trajectories - 1)) if trajectories > 1 else np.zeros(spread.shape)
        if all(complex(term.coefficient).imag == 0 for one in asked.observables for term in one.terms):
            values = np.ascontiguousarray(values.real)
        first, where = workers[0], workers[0].where
        summaries = [_summary(plan, options.dtype.itemsize) for plan in first.plans]
        rows = max(worker.most_rows for worker in workers)
        facts: dict[str, Any] = {"bindings": len(seeds), "rows": rows, "states": sum(w.states for w in workers)}
        if self.chance:
            facts |= {"trajectories": trajectories, "stops": course.stops}
        if len(workers) > 1:
            facts["devices"] = [worker.where.device.name for worker in workers]
        return BatchResult(
            shots=asked.shots,
            num_clbits=circuit.num_clbits,
            packed=self.packed,
            saved=self.saved,
            values=values,
            errors=errors,
            seeds=seeds,
            trajectories=trajectories if self.chance else None,
            device=where.device.name,
            device_description=where.device.description,
            device_reason=where.reason,
            precision=options.precision,
            placement=where.deployment.kind,
            plan=sum(summaries[1:], summaries[0]),
            timings={"plan": planned, "run": total - planned, "total": total},
            peak_bytes=where.needed * max(1, rows),
            deployment=where.deployment,
            facts=facts,
        )
