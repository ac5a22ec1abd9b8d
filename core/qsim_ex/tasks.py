"""A batch in pieces: what is wanted of every binding, and which bindings and shots are worked on at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass

from qsim_ex.chance import BLOCK, STEP
from qsim_ex.circuit.bindings import Bindings, Operands
from qsim_ex.circuit.observables import PauliSum
from qsim_ex.course import Course


@dataclass(frozen=True, slots=True)
class Asked:
    """What is wanted of every binding.

    shots: None samples nothing. trajectories: how many are run where the circuit leaves something to chance.
    """

    shots: int | None
    observables: tuple[PauliSum, ...]
    trajectories: int


@dataclass(frozen=True, slots=True)
class Task:
    """Bindings from `begin` up to `end`, and `shots` shots from `first` on."""

    begin: int
    end: int
    first: int
    shots: int


class Tasks:
    """All bindings and shots, in pieces; threads may share it.

    rows: how many states are worked on at a time. workers: who share the pieces, so that each gets some.
    tree: whether shots that choose alike are expected to be many, and go through the circuit together; otherwise only
    as many shots as there are rows do.
    """

    def __init__(self, bound: Bindings, course: Course, asked: Asked, rows: int, workers: int, *, tree: bool) -> None:
        self.bound = bound
        self._lock = threading.Lock()
        shots = asked.trajectories if course.choices else 1
        most = BLOCK if tree else max(STEP, min(BLOCK, rows // STEP * STEP))
        if bound.count < workers:
            most = min(most, -(-shots // workers // STEP) * STEP)
        step = rows if not course.choices else max(1, rows // min(shots, most))
        self._pieces = self._all(min(step, -(-bound.count // workers)), shots, most)

    def _all(self, step: int, shots: int, most: int) -> Iterator[Task]:
        for begin in range(0, self.bound.count, step):
            for first in range(0, shots, most):
                yield Task(begin, min(begin + step, self.bound.count), first, min(most, shots - first))

    def end(self) -> None:
        """Give out no more pieces: somebody has failed, or was interrupted."""
        with self._lock:
            self._pieces = iter(())

    def next(self) -> tuple[Task, Operands] | None:
        """The next piece, with the operands of its bindings."""
        with self._lock:
            task = next(self._pieces, None)
            return None if task is None else (task, self.bound.operands(task.begin, task.end))
