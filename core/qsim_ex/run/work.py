"""A run in pieces: which bindings and shots are worked on at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass

from qsim_ex.circuit.bindings import Bindings, Operands
from qsim_ex.program.kraus import BLOCK, STEP
from qsim_ex.run.request import Request


@dataclass(frozen=True, slots=True)
class WorkUnit:
    """Bindings from `begin` up to `end`, and `shots` trajectories from `first` on."""

    begin: int
    end: int
    first: int
    shots: int


class WorkQueue:
    """All bindings and trajectories, in pieces; threads may share it.

    branches: whether shots may part. rows: how many states are worked on at a time. workers: who share the pieces, so
    that each gets some. tree: whether shots that choose alike are expected to be many, and go through the circuit
    together; otherwise only as many shots as there are rows do.
    """

    def __init__(
        self, bound: Bindings, request: Request, rows: int, workers: int, *, branches: bool, tree: bool
    ) -> None:
        self.bound = bound
        self._lock = threading.Lock()
        shots = request.trajectories
        most = BLOCK if tree else max(STEP, min(BLOCK, rows // STEP * STEP))
        if bound.count < workers:
            most = min(most, -(-shots // workers // STEP) * STEP)
        step = max(1, rows // min(shots, most)) if branches else rows
        self._pieces = self._all(min(step, -(-bound.count // workers)), shots, most)

    def _all(self, step: int, shots: int, most: int) -> Iterator[WorkUnit]:
        for begin in range(0, self.bound.count, step):
            for first in range(0, shots, most):
                yield WorkUnit(begin, min(begin + step, self.bound.count), first, min(most, shots - first))

    def end(self) -> None:
        """Give out no more pieces: somebody has failed, or was interrupted."""
        with self._lock:
            self._pieces = iter(())

    def next(self) -> tuple[WorkUnit, Operands] | None:
        """The next piece, with the operands of its bindings."""
        with self._lock:
            unit = next(self._pieces, None)
            return None if unit is None else (unit, self.bound.operands(unit.begin, unit.end))
