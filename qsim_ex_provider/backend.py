"""The backend, which runs circuits of Qiskit on the engine."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Self, Unpack, get_args

from qiskit.circuit import QuantumCircuit
from qiskit.providers import BackendV2
from qiskit.providers import Options as QiskitOptions
from qiskit.result import Result
from qiskit.transpiler import CouplingMap, Target

import qsim_ex
from qsim_ex import frameworks
from qsim_ex.errors import CircuitError, OptionError, other_circuit
from qsim_ex.frameworks import (
    fresh_job_seed,
    gpu_missing,
    job_checkpoint,
    job_seeds,
    later,
    shown,
    with_options,
)
from qsim_ex.options import Method, Options
from qsim_ex_provider import options as run_options
from qsim_ex_provider import results
from qsim_ex_provider.foreign_executor import refuse_to_be_copied
from qsim_ex_provider.job import CancelFlag, JobTask, QsimExJob
from qsim_ex_provider.keywords import RunKeywords
from qsim_ex_provider.one_thread import OneThread, in_turn
from qsim_ex_provider.results import CircuitHeader, ExperimentPlace, Experiments
from qsim_ex_provider.target import WIDEST, WIDTH, Width, build_target, device_target
from qsim_ex_provider.translation.circuits import translate_job, translate_noisy
from qsim_ex_provider.translation.parameter_binds import NO_BINDS, binds_of

if TYPE_CHECKING:
    from qsim_ex_provider import explain
    from qsim_ex_provider.translation import device_noise, noise
else:
    explain = later("qsim_ex_provider.explain")
    device_noise = later("qsim_ex_provider.translation.device_noise")
    noise = later("qsim_ex_provider.translation.noise")


@with_options(run_options.RunOptions, Options, but=("engine", "noise", "seed"))
class QsimExBackend(BackendV2):
    """Runs circuits on qsim-ex's state vectors.

    Any option of `options.KNOWN` may be given as a default for all runs; raises `AttributeError` for a field that
    does not exist and `OptionError` for a value that it cannot take.
    """

    simulator = True
    """Whether circuits may have gates that the target does not name; qiskit-ibm-runtime's local mode asks this."""

    def __init__(self, provider: object = None, name: str = "qsim_ex", **fields: Unpack[RunKeywords]) -> None:
        if isinstance(provider, str):
            raise OptionError(
                f"expected a provider or None, got {provider!r}; pass options by their names, as in "
                "QsimExBackend(device='cpu')."
            )
        self._thread = OneThread()  # so that jobs run in the order of their submission and share no memory
        self._width = WIDTH
        self._device_target: Target | None = None
        self._targets: dict[tuple[int, frozenset[str] | None], Target] = {}
        super().__init__(
            provider,
            name,
            description="qsim-ex: an open engine for quantum state vectors on GPUs and CPUs",
            backend_version=qsim_ex.__version__,
        )
        self.set_options(**fields)

    def __repr__(self) -> str:
        given = {name: (self.options[name], default) for name, default in run_options.defaults().items()}
        return shown("QsimExBackend", self.name, **given)

    @classmethod
    def from_backend(cls, backend: Any, **fields: Any) -> Self:
        """Return a backend that simulates another one of Qiskit's, which may be a fake or a real one.

        Its target is the other's: number and coupling of qubits, basis gates, durations, dt. Its noise model is the
        one in the other's options, or else what the target says of the device's errors, see `DeviceNoise`; another
        `noise_model`, or None, may be given among the fields. Raises `OptionError` for what is no such backend.
        """
        target = device_noise.target_of(backend)
        if "noise_model" not in fields:
            noise = getattr(backend.options, "noise_model", None) or device_noise.DeviceNoise.from_backend(backend)
            fields["noise_model"] = None if isinstance(noise, device_noise.DeviceNoise) and noise.is_ideal() else noise
        made = cls(None, f"qsim_ex_from({backend.name})", **fields)
        made._device_target = device_target(target)
        return made

    @property
    def target(self) -> Target:
        """Every standard gate and more between any qubits, or the basis gates of the backend's noise model.

        `run` takes circuits of any width. `transpile` widens the target for a circuit that is wider, see `num_qubits`.
        A gate that a noise model does not name is ideal, so what is transpiled for a noisy backend has gates that it
        names, as for Aer's simulators.
        """
        if self._device_target is not None:
            return self._device_target
        made_for = self._width, noise.basis_gates_of(run_options.noise_of(self.options.noise_model))
        if made_for not in self._targets:
            self._targets[made_for] = build_target(*made_for)
        return self._targets[made_for]

    @property
    def coupling_map(self) -> CouplingMap | None:
        """The pairs of qubits that gates may join; None if all may be."""
        refuse_to_be_copied()
        return super().coupling_map

    @property
    def num_qubits(self) -> int:
        """The number of qubits of the target; a comparison with a wider circuit widens the target, see `Width`."""
        return Width(self._width, self._widen) if self._device_target is None else self._device_target.num_qubits

    def _widen(self, num_qubits: int) -> None:
        self._width = max(self._width, num_qubits)

    @property
    def max_circuits(self) -> None:
        """There is no limit to the number of circuits of a job."""
        return

    @classmethod
    def _default_options(cls) -> QiskitOptions:
        return QiskitOptions(**run_options.defaults())

    def set_options(self, **fields: Unpack[RunKeywords]) -> None:
        """Change defaults of this backend; raises `AttributeError` for an unknown field, `OptionError` for a value.

        Aer's `n_qubits` is the width of the target, as there, but a circuit that is wider runs and widens it.
        """
        own = run_options.own_names(fields)
        for name in own:
            if name not in run_options.KNOWN:
                raise AttributeError(run_options.unknown(name))
        run_options.RunOptions.of({**self.options, **own})  # all values are checked before one is taken
        self.options.update_options(**own)
        width: Any = dict(fields).get("n_qubits")
        if isinstance(width, int) and 0 < width <= WIDEST:
            self._width = width

    def available_devices(self) -> tuple[str, ...]:
        """Return the kinds of devices that this machine has for states, by Aer's names; `device` takes them."""
        return ("CPU",) if gpu_missing() else ("CPU", "GPU")

    def available_methods(self) -> tuple[str, ...]:
        """Return the values of the option `method`, which are Aer's."""
        return get_args(Method)

    def run(
        self,
        run_input: QuantumCircuit | Iterable[QuantumCircuit],
        parameter_binds: Sequence[Mapping[Any, Any]] | None = None,
        **options: Unpack[RunKeywords],
    ) -> QsimExJob:
        """Run a circuit or several in the background.

        parameter_binds: values for the circuits' parameters, a dictionary for each circuit, as Aer takes them: see
        `parameter_binds.binds_of`. Each binding gives an experiment of its own, circuit by circuit and binding by
        binding. Circuits need not be transpiled. Those that differ in numbers alone are planned once and run together.
        With a checkpoint, a job that was killed goes on with the circuits at which it was; its files stay until its
        result is asked for, and it has the seed that they name unless one is given.
        Errors in circuits, options or a checkpoint are raised here; those that show only when circuits run (memory, a
        missing device) are raised by `QsimExJob.result`.
        """
        chosen = run_options.run_options(self.options, options)
        circuits = [run_input] if isinstance(run_input, QuantumCircuit) else _circuits(run_input)
        binds = [NO_BINDS] * len(circuits) if parameter_binds is None else binds_of(circuits, parameter_binds)
        translated = translate_job(circuits, binds, chosen.noise)
        shots, engine, cancel = int(chosen.shots), chosen.engine, CancelFlag()
        count = len(translated.groups)
        kept = None if engine.checkpoint is None else job_checkpoint(engine, translated.key(shots), count, engine.seed)
        base = engine.seed if kept is None else kept.seed
        base = fresh_job_seed() if base is None else base
        seeds = job_seeds(base, len(translated.owners))
        tasks = []
        for part, (group, named) in enumerate(zip(translated.groups, translated.circuits, strict=True)):
            own_seeds = tuple(map(seeds.__getitem__, group.places))
            own_options = engine if kept is None else engine.with_({"checkpoint": kept.part(part)})
            tasks.append(JobTask(named, group, own_options, shots, own_seeds, cancel))
        job_id = str(uuid.uuid4())
        build = partial(
            self._result,
            job_id=job_id,
            headers=translated.headers,
            places=_places(tasks, translated.owners),
            shots=shots,
            memory=bool(chosen.memory),
            base_seed=base,
        )
        where = chosen.executor or in_turn(engine) or self._thread
        job = QsimExJob(self, job_id, tasks, where, build, kept, chosen.noise_model)
        job.submit()
        return job

    def explain(
        self,
        run_input: QuantumCircuit | Iterable[QuantumCircuit],
        parameter_binds: Sequence[Mapping[Any, Any]] | None = None,
        machine: qsim_ex.Cluster | None = None,
        **options: Unpack[RunKeywords],
    ) -> frameworks.Explanation:
        """Return the engine's plan of a run in words, with the noise of the backend; it runs nothing.

        machine: another machine to plan for, a `qsim_ex.Cluster`, in place of this one and of the options for devices
        and processes. All other arguments are those of `run`. ``print`` shows the text, a notebook a table.
        """
        chosen = run_options.run_options(self.options, options)
        circuits = [run_input] if isinstance(run_input, QuantumCircuit) else _circuits(run_input)
        binds = [NO_BINDS] * len(circuits) if parameter_binds is None else binds_of(circuits, parameter_binds)
        return explain.explain_job(circuits, binds, chosen.noise, chosen.engine, machine)

    def state(self, circuit: QuantumCircuit, **options: Unpack[RunKeywords]) -> qsim_ex.StateVector:
        """Return the state after a circuit of gates, as the engine's object: wire w is ``circuit.qubits[w]``.

        It owns the memory: use it in a ``with`` block, or close it. Of a state over several processes its `own_slices`
        are the amplitudes of this process. Measurements at the end are not made. Raises `NotSupported` for others, for
        resets and for noise.
        """
        chosen = run_options.run_options(self.options, options)
        return qsim_ex.Simulator(chosen.engine).state(translate_noisy(circuit, chosen.noise).circuit)

    def _result(
        self,
        task_results: Sequence[qsim_ex.BatchResult],
        *,
        job_id: str,
        headers: Sequence[CircuitHeader],
        places: Sequence[ExperimentPlace],
        shots: int,
        memory: bool,
        base_seed: int,
    ) -> Result:
        return results.assemble(
            Experiments(task_results, headers, places, shots, memory),
            backend_name=self.name,
            backend_version=self.backend_version,
            job_id=job_id,
            date=datetime.now(UTC).isoformat(),
            base_seed=base_seed,
        )


def _places(tasks: Sequence[JobTask], owners: Sequence[tuple[int, int]]) -> list[ExperimentPlace]:
    """Return where each experiment of a job is found; owners: the circuit of each, and which of its bindings."""
    places: list[Any] = [None] * len(owners)
    for k, task in enumerate(tasks):
        for member, number in enumerate(task.group.places):
            places[number] = ExperimentPlace(k, member, *owners[number])
    return places


def _circuits(run_input: object) -> list[QuantumCircuit]:
    """Return the circuits of a list; raises `CircuitError` for what is none."""
    of_cirq = hasattr(run_input, "all_qubits")  # which is a sequence of moments
    if of_cirq or isinstance(run_input, str) or not isinstance(run_input, Iterable):
        raise other_circuit(run_input, "a QuantumCircuit or a list of them")
    circuits = list(run_input)
    for number, circuit in enumerate(circuits):
        if isinstance(circuit, QuantumCircuit):
            continue
        if isinstance(circuit, tuple) or isinstance(run_input, tuple):
            raise CircuitError("expected a list of QuantumCircuits, got a PUB; run PUBs with SamplerV2 or EstimatorV2.")
        raise other_circuit(circuit, f"a QuantumCircuit as item {number} of the list")
    return circuits
