"""The backend: what Qiskit's users run circuits on."""

from __future__ import annotations

import concurrent.futures
import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property, partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from qiskit.circuit import QuantumCircuit
from qiskit.providers import BackendV2
from qiskit.providers import Options as QiskitOptions
from qiskit.result import Result
from qiskit.transpiler import Target

from qsim_ex import Circuit
from qsim_ex.circuit.noise.model import Noise
from qsim_ex.circuit.ops import Measure, Save
from qsim_ex.errors import CircuitError, MeasurementError
from qsim_ex_provider import options as run_options
from qsim_ex_provider import results
from qsim_ex_provider.job import CancelFlag, OneThread, Outcome, QsimExJob, Task
from qsim_ex_provider.noise import basis_gates_of, noise_of
from qsim_ex_provider.results import Experiments, Head, Place
from qsim_ex_provider.target import build_target
from qsim_ex_provider.work import binds_of, job_checkpoint, translated


class QsimExBackend(BackendV2):
    """Runs circuits on qsim-ex's state vectors.

    Any field of `options.RunOptions` may be given as a default for all runs; raises `AttributeError` for a field that
    does not exist and `OptionError` for a value that it cannot take.
    """

    def __init__(self, provider: Any = None, name: str = "qsim_ex", **fields: Any) -> None:
        self._targets: dict[frozenset[str] | None, Target] = {}
        super().__init__(
            provider,
            name,
            description="qsim-ex: an open engine for quantum state vectors on GPUs and CPUs",
            backend_version=_version(),
        )
        self.set_options(**fields)

    @property
    def target(self) -> Target:
        """Every standard gate and more on any number of qubits, or the basis gates of the backend's noise model.

        A gate that a noise model does not name is ideal, so what is transpiled for a noisy backend has gates that it
        names, as for Aer's simulators.
        """
        basis_gates = basis_gates_of(self.options.noise_model)
        if basis_gates not in self._targets:
            self._targets[basis_gates] = build_target(basis_gates)
        return self._targets[basis_gates]

    @property
    def max_circuits(self) -> None:
        """There is no limit to the number of circuits of a job."""
        return

    @classmethod
    def _default_options(cls) -> QiskitOptions:
        return QiskitOptions(**run_options.defaults())

    def set_options(self, **fields: Any) -> None:
        """Change defaults of this backend; raises `AttributeError` for an unknown field, `OptionError` for a value."""
        for name in fields:
            if name not in run_options.KNOWN:
                raise AttributeError(run_options.unknown(name))
        run_options.run_options(self.options, fields)  # all values are checked before one is taken
        self.options.update_options(**fields)

    def run(
        self,
        run_input: QuantumCircuit | Iterable[QuantumCircuit],
        parameter_binds: Sequence[Mapping[Any, Any]] | None = None,
        **options: Any,
    ) -> QsimExJob:
        """Run a circuit or several in the background.

        parameter_binds: values for the circuits' parameters, a dictionary for each circuit, as Aer takes them: see
        `work.binds_of`. Each binding gives an experiment of its own, circuit by circuit and binding by binding.
        Circuits need not be transpiled. Those that differ in numbers alone are planned once and run together.
        With a checkpoint, a job that was killed goes on with the circuits at which it was; its files are there until
        its result was asked for, and it has the seed that they name unless one is given.
        What is wrong with circuits, with options or with a checkpoint is raised here; what shows only when they run
        (memory, a missing device) is raised by `QsimExJob.result`.
        """
        chosen = run_options.run_options(self.options, options)
        circuits = [run_input] if isinstance(run_input, QuantumCircuit) else _circuits(run_input)
        work = translated(circuits, binds_of(circuits, parameter_binds), _noise_of(chosen))
        shots, engine, cancel = int(chosen.shots), chosen.engine, CancelFlag()
        kept = None if engine.checkpoint is None else job_checkpoint(engine, work.key(shots), len(work.families))
        base = engine.seed if kept is None else kept.seed
        base = fresh_seed() if base is None else base
        seeds = circuit_seeds(base, len(work.owners))
        tasks = []
        for part, family in enumerate(work.families):
            names = tuple((number, circuits[number].name) for number in work.circuits(family))
            first, name = names[0]
            wanted = shots if _measures(family.template, name) else None
            own = tuple(seeds[place] for place in family.place.tolist())
            own_options = engine if kept is None else engine.with_({"checkpoint": kept.part(part)})
            tasks.append(Task(names, family, work.readout_errors[first], own_options, wanted, own, cancel))
        job_id = str(uuid.uuid4())
        build = partial(
            self._result,
            job_id=job_id,
            heads=work.heads,
            places=_places(tasks, work.owners),
            shots=shots,
            memory=bool(chosen.memory),
            base_seed=base,
        )
        job = QsimExJob(self, job_id, tasks, chosen.executor or self._thread, build, kept)
        job.submit()
        return job

    @cached_property
    def _thread(self) -> concurrent.futures.Executor:
        """One thread, so that jobs of a backend run in the order of their submission and share no memory."""
        return OneThread()

    def _result(
        self,
        outcomes: Sequence[Outcome],
        *,
        job_id: str,
        heads: Sequence[Head],
        places: Sequence[Place],
        shots: int,
        memory: bool,
        base_seed: int,
    ) -> Result:
        return results.assemble(
            Experiments(outcomes, heads, places, shots, memory),
            backend_name=self.name,
            backend_version=self.backend_version,
            job_id=job_id,
            date=datetime.now(UTC).isoformat(),
            base_seed=base_seed,
        )


def _noise_of(chosen: run_options.RunOptions) -> Noise | None:
    return None if chosen.noise_model is None else noise_of(chosen.noise_model)


def _places(tasks: Sequence[Task], owners: Sequence[tuple[int, int]]) -> list[Place]:
    """Where each experiment of a job is found; owners: the circuit of each, and which of its bindings."""
    places: list[Any] = [None] * len(owners)
    for k, task in enumerate(tasks):
        for member, number in enumerate(task.family.place.tolist()):
            places[number] = Place(k, member, *owners[number])
    return places


def _version() -> str:
    try:
        return version("qsim-ex")
    except PackageNotFoundError:
        return "not installed"  # a checkout on the path


def _circuits(run_input: Any) -> list[QuantumCircuit]:
    """The circuits of a list; raises `CircuitError` for what is none."""
    if not isinstance(run_input, Iterable):
        raise CircuitError(f"a QuantumCircuit or a list of them is wanted, got {run_input!r}.")
    circuits = list(run_input)
    for number, circuit in enumerate(circuits):
        if not isinstance(circuit, QuantumCircuit):
            raise CircuitError(f"a QuantumCircuit is wanted, item {number} is a {type(circuit).__name__}.")
    return circuits


def _measures(circuit: Circuit, name: str) -> bool:
    """Whether a circuit measures; raises `MeasurementError` if it gives nothing at all."""
    if any(isinstance(instruction, Measure) for instruction in reversed(circuit.instructions)):
        return True
    if any(isinstance(instruction, Save) for instruction in circuit.instructions):
        return False
    raise MeasurementError(
        f"circuit {name!r} measures nothing and saves nothing, so it has no result. Add measure_all(), or "
        "save_statevector(circuit) of qsim_ex_provider."
    )


def fresh_seed() -> int:
    """A base seed from the operating system's entropy, below 2^63."""
    return int(np.random.SeedSequence().generate_state(1, np.uint64)[0]) >> 1


def circuit_seeds(base: int, count: int) -> list[int]:
    """The seeds of a job's circuits: the base seed for the first one, numbers below 2^63 made of it for the others.

    However many circuits there are, the seed of one of them is the same.
    """
    seeds: list[int] = (np.random.SeedSequence(base).generate_state(count, np.uint64) >> np.uint64(1)).tolist()
    return [base, *seeds[1:]][:count]
