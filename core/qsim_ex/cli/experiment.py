"""One circuit through the engine and through every framework; each answer is compared with the definition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex import reference
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.cli import eraser
from qsim_ex.cli.report import Task
from qsim_ex.cli.tolerance import bound, distance
from qsim_ex.frameworks.frontends import Runner
from qsim_ex.options import Options
from qsim_ex.precision import PRECISIONS, Amplitudes
from qsim_ex.result import Result
from qsim_ex.simulator import Simulator


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of the engine or of one framework.

    error: ‖ψ − exact‖ / ‖exact‖. same: how many of the shots are those of the engine for the same seed; where a
    framework makes the engine's seed out of the user's, the engine gets that seed.
    """

    name: str
    error: float
    same: int
    shots: int
    seed: int
    seconds: float
    device: str
    precision: str

    def good(self, limit: float) -> bool:
        """Whether the amplitudes are right and, in double precision, all shots are the engine's."""
        return self.error <= limit and (self.same == self.shots or not PRECISIONS[self.precision].tolerances.same_shots)


@dataclass(frozen=True, eq=False)
class Experiment:
    """The quantum eraser with some options."""

    shots: int
    seed: int
    options: Options
    task: Task

    @cached_property
    def circuit(self) -> Circuit:
        """Return the circuit as the engine runs it."""
        return eraser.circuit()

    @cached_property
    def exact(self) -> NDArray[np.complex128]:
        """Return the amplitudes by definition."""
        return reference.simulate(self.circuit)

    @property
    def limit(self) -> float:
        """The largest error of the amplitudes that counts as right."""
        return bound(self.options.dtype, self.circuit.num_gates)

    def run(self, seed: int) -> Result:
        """Run the circuit in the engine."""
        return Simulator(self.options).run(self.circuit, shots=self.shots, seed=seed, cancel=self.task.cancel)

    @cached_property
    def result(self) -> Result:
        """Return the engine's result."""
        return self.run(self.seed)

    def by_engine(self) -> Answer:
        """Return the engine's answer."""
        result = self.result
        return self._answer("engine", result.saved["statevector"], result.counts(), result.metadata())

    def by(self, frontend: Runner) -> Answer:
        """Return a framework's answer."""
        began = perf_counter()
        psi, counts, metadata = frontend.run_neutral(
            eraser.gates(), eraser.NUM_QUBITS, self.shots, self.seed, self.options
        )
        span = perf_counter() - began
        return self._answer(frontend.name, psi, counts, {**metadata, "timings": {"total": span}})

    def _answer(
        self,
        name: str,
        psi: Amplitudes,
        counts: Mapping[int, int],
        metadata: Mapping[str, Any],
    ) -> Answer:
        seed = int(metadata["seed"])
        wanted = (self.result if seed == self.seed else self.run(seed)).counts()
        return Answer(
            name=name,
            error=distance(psi, self.exact),
            same=sum(min(count, wanted.get(value, 0)) for value, count in counts.items()),
            shots=self.shots,
            seed=seed,
            seconds=metadata["timings"]["total"],
            device=metadata["device"],
            precision=metadata["precision"],
        )
