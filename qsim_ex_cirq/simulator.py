"""`QsimExSimulator`: what ``cirq.Simulator`` is to a Cirq program, with qsim-ex behind it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Unpack

import cirq
import numpy as np

import qsim_ex
from qsim_ex import frameworks
from qsim_ex.errors import CircuitError, MeasurementError, NotSupported, OptionError, OutOfMemory, unknown_option
from qsim_ex.frameworks import BY_DTYPE, check, later, shown, with_options
from qsim_ex.options import USUAL, EngineKeywords, Options
from qsim_ex_cirq.errors import OnlyActs
from qsim_ex_cirq.resolvers import chunks, one_sweep, resolvers_of
from qsim_ex_cirq.results import ResultDict, empty_result, is_zero
from qsim_ex_cirq.runner import SweepRunner
from qsim_ex_cirq.runs import SeedStream
from qsim_ex_cirq.simulates_states import SimulatesStates
from qsim_ex_cirq.simulates_values import SimulatesValues
from qsim_ex_cirq.translation.circuits import order_of, require_circuit, translate
from qsim_ex_cirq.translation.noise import noise_of
from qsim_ex_cirq.variables import has_variables, point_by_point
from qsim_ex_cirq.wires import in_words, levels_of, say_in_qids

if TYPE_CHECKING:
    import pandas as pd
else:
    pd = later("pandas")

_OWN = ("dtype", "noise", "seed", "split_untangled_states", "trajectories")
ENGINE = tuple(field.name for field in fields(Options) if field.name not in ("precision", "seed"))
"""Fields of `qsim_ex.Options` that the simulator takes as they are."""
_KNOWN = (*_OWN, *ENGINE)


@with_options(Options, but=("precision", "seed"))
class QsimExSimulator(SimulatesValues, SimulatesStates):
    """Simulates circuits of qubits and qudits exactly, on a GPU or on all cores of a CPU.

    Noise and measurements on the way are trajectories. A qudit of d levels takes the memory of ⌈log₂ d⌉ qubits.

    Takes the place of ``cirq.Simulator``: the same constructor, the same methods, the same result types. Every
    result has an attribute `qsim_ex` besides, which says where and how it was found. An array of amplitudes is big
    endian by the qubit order, as everywhere in Cirq.

    dtype: complex64, as in Cirq, or complex128. seed: as in Cirq. noise: as in Cirq, a noise model, or a one-qubit
    channel that acts on every qubit after every moment.
    split_untangled_states: as in Cirq, whether qubits that nothing entangles are simulated apart; the engine's option
    `separate`, unless that is given too. Results are the same.
    trajectories: how many an expectation value is the mean of where something in the circuit is random; if None, values
    of few noisy qubits are exact, and others are means over 1,000.
    engine: any other field of `qsim_ex.Options`, such as ``device="gpu"``, ``devices=[0, 1, 2, 3]``,
    ``device_wires=28``, ``max_memory``, ``threads`` or ``progress``.

    Raises `OptionError` for an unknown option and for a value that it cannot take.
    """

    def __init__(
        self,
        *,
        dtype: Any = np.complex64,
        noise: cirq.NOISE_MODEL_LIKE = None,
        seed: cirq.RANDOM_STATE_OR_SEED_LIKE = None,
        split_untangled_states: bool = True,
        trajectories: int | None = None,
        **engine: Unpack[EngineKeywords],
    ) -> None:
        for name in engine:
            if name not in ENGINE:
                raise OptionError(unknown_option(name, _KNOWN, "QsimExSimulator"))
        seeds = self._seeds = SeedStream(seed)
        self._precision = BY_DTYPE[_dtype(dtype)]
        own: dict[str, Any] = {"dtype": self._precision.storage.dtype, "noise": noise_of(noise)}
        # Between moments the state is one: the engine needs no advice on what is entangled.
        super().__init__(**own, seed=seed, split_untangled_states=False)
        engine.setdefault("separate", bool(split_untangled_states))
        self._engine = qsim_ex.Simulator(Options(precision=self._precision.name, **engine))
        known = None if trajectories is None else check.shots(trajectories, "trajectories")
        self._runner = SweepRunner(self._engine, self._noise, known, seeds)

    def __repr__(self) -> str:
        own = {
            "dtype": (np.dtype(self._dtype).name, "complex64"),
            "noise": (None if self._noise is cirq.NO_NOISE else self._noise, None),
            "trajectories": (self._runner.trajectories, None),
        }
        options = self._engine.options
        known = (one for one in fields(Options) if one.name in ENGINE)
        return shown("QsimExSimulator", **own, **{one.name: (getattr(options, one.name), one.default) for one in known})

    def explain(
        self,
        program: cirq.AbstractCircuit,
        param_resolver: cirq.ParamResolverOrSimilarType = None,
        qubit_order: cirq.QubitOrderOrList = cirq.QubitOrder.DEFAULT,
        machine: qsim_ex.Cluster | None = None,
    ) -> frameworks.Explanation:
        """Return the engine's plan of a circuit in words, with the simulator's noise; it runs nothing.

        machine: another machine to plan for, a `qsim_ex.Cluster`, in place of this one and of the options for devices
        and processes. ``print`` shows the text, a notebook a table.
        """
        require_circuit(program)
        resolver, sampled = cirq.ParamResolver(param_resolver), program.has_measurements()
        made = translate(program, resolver, qubit_order, noise=self._noise, sampled=sampled)
        return self._engine.explain(made.circuit, machine)

    def state(
        self,
        program: cirq.AbstractCircuit,
        param_resolver: cirq.ParamResolverOrSimilarType = None,
        qubit_order: cirq.QubitOrderOrList = cirq.QubitOrder.DEFAULT,
    ) -> qsim_ex.StateVector:
        """Return the state after a circuit of gates, as the engine's object: wire 0 is the last qubit of the order.

        So basis values are Cirq's. A qudit of d levels is ⌈log₂ d⌉ wires, the highest of which is its most significant
        bit; values from d on are never reached. The state owns the memory: use it in a ``with`` block, or close it. Of
        a state over several processes its `own_slices` are the amplitudes of this process. Measurements at the end are
        not made. Raises `NotSupported` for others, for resets and for noise.
        """
        made = translate(program, cirq.ParamResolver(param_resolver), qubit_order, noise=self._noise)
        options = self._engine.options.with_({"seed": self._seeds()} if self._seeds.given else {})
        state = qsim_ex.Simulator(options).state(made.circuit)
        return state.remove_wires(made.ancillas) if made.ancillas else state

    @property
    def noise(self) -> cirq.NoiseModel:
        """The noise of every run; `cirq.NO_NOISE` if there is none."""
        return self._noise

    # --- samples -------------------------------------------------------------------------------------------------

    @point_by_point
    def run_sweep_iter(
        self, program: cirq.AbstractCircuit, params: cirq.Sweepable, repetitions: int = 1
    ) -> Iterator[ResultDict]:
        """Sample the measurements of a circuit for each set of parameters.

        Qubits may be measured, reset and prepared anywhere. What is measured at the end of its qubits is drawn from
        one state; shots that found the same on the way share one. Of no repetitions the records are empty. With
        operations that have ``_act_on_`` alone, each repetition goes through the moments, as in Cirq.
        Raises `ShotsError` unless `repetitions` is a whole number from 0 up, and `MeasurementError` if nothing is
        measured.
        """
        _require_measurement(program)
        if is_zero(repetitions):
            for resolver in resolvers_of(params):
                yield empty_result(resolver, translate(program, resolver, noise=self._noise, sampled=True))
            return
        shots = check.shots(repetitions, "repetitions")
        runs = self._runner.runs([params])
        for resolvers in chunks(params, program.all_qubits, self._precision.storage.dtype):
            try:
                yield from self._runner.samples([program], [resolvers], shots, runs)
            except OnlyActs:  # which comes before any result of these
                if USUAL[self._engine.options.method].instead_of_state is not None:
                    raise
                yield from self._followed_runs(program, resolvers, shots)
            except OutOfMemory as error:
                say_in_qids(error, program.all_qubits())
                raise
        runs.job.end()

    def run_batch(
        self,
        programs: Sequence[cirq.AbstractCircuit],
        params_list: Sequence[cirq.Sweepable] | None = None,
        repetitions: int | Sequence[int] = 1,
    ) -> Sequence[Sequence[ResultDict]]:
        """Sample several circuits, each for all points of its sweep; those of one structure run together.

        A circuit, its parameters and its repetitions are paired as in Cirq. Raises what `run_sweep_iter` raises.
        """
        count = len(programs)
        sweeps = [None] * count if params_list is None else params_list
        each = repetitions if isinstance(repetitions, Sequence) else [repetitions] * count
        if len(sweeps) != count or len(each) != count:
            raise CircuitError(
                f"expected as many sweeps and numbers of repetitions as circuits, got {count} circuits, {len(sweeps)} "
                f"sweeps and {len(each)} numbers of repetitions; pass one number of repetitions for all."
            )
        for program in programs:
            _require_measurement(program)
        if any(map(is_zero, each)) or any(map(has_variables, programs)):
            given = zip(programs, sweeps, each, strict=True)
            return [list(self.run_sweep_iter(program, sweep, number)) for program, sweep, number in given]
        shots = [check.shots(one, "repetitions") for one in each]
        points = [list(resolvers_of(sweep)) for sweep in sweeps]
        try:
            return self._runner.batch(programs, points, shots)
        except OnlyActs:
            return [list(self.run_sweep_iter(*given)) for given in zip(programs, points, shots, strict=True)]

    async def run_batch_async(
        self,
        programs: Sequence[cirq.AbstractCircuit],
        params_list: Sequence[cirq.Sweepable] | None = None,
        repetitions: int | Sequence[int] = 1,
    ) -> Sequence[Sequence[ResultDict]]:
        """As `run_batch`."""
        return self.run_batch(programs, params_list, repetitions)

    def sample(
        self, program: cirq.AbstractCircuit, *, repetitions: int = 1, params: cirq.Sweepable = None
    ) -> pd.DataFrame:
        """Sample a circuit for each set of parameters, into a frame with a column for each symbol and key."""
        return super().sample(program, repetitions=repetitions, params=one_sweep(params))

    def _run(
        self, circuit: cirq.AbstractCircuit, param_resolver: cirq.ParamResolver, repetitions: int
    ) -> dict[str, np.ndarray]:
        """Return {key: int8 [repetitions, instances, qubits]}; Cirq's `SimulatesSamples` asks for this one method."""
        (result,) = self.run_sweep_iter(circuit, param_resolver, repetitions)
        return dict(result.records)

    def _followed_runs(
        self, circuit: cirq.AbstractCircuit, resolvers: Sequence[cirq.ParamResolver], repetitions: int
    ) -> Iterator[ResultDict]:
        """Yield the results of a circuit whose moments Cirq's code goes through, for each repetition."""
        for resolver in resolvers:
            yield ResultDict(params=resolver, records=super()._run(circuit, resolver, repetitions))

    def sample_from_amplitudes(
        self,
        circuit: cirq.AbstractCircuit,
        param_resolver: cirq.ParamResolverOrSimilarType,
        seed: cirq.RANDOM_STATE_OR_SEED_LIKE,
        repetitions: int = 1,
        qubit_order: cirq.QubitOrderOrList = cirq.QubitOrder.DEFAULT,
    ) -> dict[int, int]:
        """Sample gate by gate from amplitudes, as in Cirq; `run` is much faster here.

        Every gate is a circuit of its own. Raises `NotSupported` for a simulator with noise, where amplitudes are those
        of another trajectory each time, and `OptionError` for one with a checkpoint, which is of one circuit.
        """
        if self._noise != cirq.NO_NOISE:
            raise NotSupported("sample_from_amplitudes with noise is not supported; use run, which samples with noise.")
        order = order_of(circuit, qubit_order)
        if levels_of(order) is not None:
            raise NotSupported(f"sample_from_amplitudes: expected qubits, got {in_words(order)}; use run.")
        if self._engine.options.checkpoint is not None:
            raise OptionError(
                "sample_from_amplitudes simulates a circuit for every gate, and a checkpoint belongs to one circuit; "
                "leave out checkpoint, or use run."
            )
        return super().sample_from_amplitudes(
            circuit, param_resolver, seed, check.shots(repetitions, "repetitions"), qubit_order
        )


def _require_measurement(program: cirq.AbstractCircuit) -> None:
    """Raise `MeasurementError` for a circuit that has nothing to sample."""
    require_circuit(program)
    if not program.has_measurements():
        raise MeasurementError("the circuit has no measurements to sample; append cirq.measure(...).")


def _dtype(given: Any) -> np.dtype[Any]:
    for dtype in BY_DTYPE:
        with suppress(TypeError):  # what NumPy raises for what is no dtype at all
            if np.dtype(given) == dtype:
                return dtype
    raise OptionError(f"expected dtype=numpy.complex64 or numpy.complex128, got {given!r}.")
