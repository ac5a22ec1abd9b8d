"""`QsimExDensityMatrixSimulator`: what ``cirq.DensityMatrixSimulator`` is to a Cirq program, with qsim-ex behind it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Unpack

import cirq
import numpy as np
from numpy.typing import NDArray

from qsim_ex.errors import OptionError
from qsim_ex.frameworks import later, shown, with_options
from qsim_ex.options import EngineKeywords, Options
from qsim_ex_cirq.density_states import QsimExDensityMatrixState, matrix_of
from qsim_ex_cirq.resolvers import one_sweep, together_or_each
from qsim_ex_cirq.results import ResultDict
from qsim_ex_cirq.simulator import ENGINE, QsimExSimulator
from qsim_ex_cirq.translation.circuits import order_of
from qsim_ex_cirq.translation.observables import PauliSumLike, pauli_sums, require_no_end, value_of
from qsim_ex_cirq.variables import point_by_point

if TYPE_CHECKING:
    import pandas as pd
else:
    pd = later("pandas")


class QsimExDensityMatrixTrialResult(cirq.DensityMatrixTrialResult):
    """Cirq's result of a simulation, and `qsim_ex`: device, placement and precision."""

    @property
    def qsim_ex(self) -> Mapping[str, object]:
        """Where the density matrix was found."""
        state = self._get_merged_sim_state()
        assert isinstance(state, QsimExDensityMatrixState)
        where = state.engine_state.now().where
        return {
            "device": where.device.name,
            "device_description": where.device.description,
            "precision": state.engine_state.now().options.precision,
            "placement": where.deployment.kind,
            "deployment": where.deployment.to_json(),
            "method": "density_matrix",
        }


@with_options(Options, but=("precision", "seed", "method", "checkpoint", "checkpoint_every"))
class QsimExDensityMatrixSimulator(cirq.DensityMatrixSimulator):
    """Simulates noisy circuits of qubits exactly, by their density matrix, on a GPU or on all cores of a CPU.

    Takes the place of ``cirq.DensityMatrixSimulator``: the same constructor, the same methods, the same result types.
    `run` computes the distribution of all measurements, also of those on the way and of what depends on them, and draws
    from it; `simulate` projects on one outcome of each measurement, as in Cirq.

    dtype: complex64, as in Cirq, or complex128. noise, seed: as in Cirq.
    split_untangled_states: as in Cirq; the engine's option `separate`. Results are the same.
    engine: any other field of `qsim_ex.Options`, such as ``device="gpu"``, ``device_wires=28`` or ``max_memory``.

    Raises `OptionError` for an unknown option and for a value that it cannot take.
    """

    def __init__(
        self,
        *,
        dtype: object = np.complex64,
        noise: cirq.NOISE_MODEL_LIKE = None,
        seed: cirq.RANDOM_STATE_OR_SEED_LIKE = None,
        split_untangled_states: bool = True,
        **engine: Unpack[EngineKeywords],
    ) -> None:
        for name in ("method", "trajectories", "checkpoint", "checkpoint_every"):
            if name in engine:
                raise OptionError(f"expected no {name} for a simulator of density matrices, got one; leave it out.")
        engine["method"] = "density_matrix"
        how: dict[str, Any] = {"seed": seed, "split_untangled_states": split_untangled_states}
        self._samples = QsimExSimulator(dtype=dtype, noise=noise, **how, **engine)
        self._options = self._samples._engine.options
        super().__init__(dtype=self._options.dtype.type, noise=self._samples.noise, **how)

    def __repr__(self) -> str:
        own = {
            "dtype": (np.dtype(self._dtype).name, "complex64"),
            "noise": (None if self._noise is cirq.NO_NOISE else self._noise, None),
        }
        known = (one for one in fields(Options) if one.name in ENGINE and one.name != "method")
        given = {one.name: (getattr(self._options, one.name), one.default) for one in known}
        return shown("QsimExDensityMatrixSimulator", **own, **given)

    # --- samples -------------------------------------------------------------------------------------------------

    def run_sweep_iter(
        self, program: cirq.AbstractCircuit, params: cirq.Sweepable, repetitions: int = 1
    ) -> Iterator[ResultDict]:
        """Sample the measurements of a circuit for each set of parameters; see `QsimExSimulator.run_sweep_iter`."""

        def followed(resolver: cirq.ParamResolver) -> ResultDict:
            records = super(QsimExDensityMatrixSimulator, self)._run(program, resolver, repetitions)
            return ResultDict(params=resolver, records=records)

        return together_or_each(
            lambda points: self._samples.run_sweep_iter(program, points, repetitions), params, followed
        )

    def sample(
        self, program: cirq.AbstractCircuit, *, repetitions: int = 1, params: cirq.Sweepable = None
    ) -> pd.DataFrame:
        """Sample a circuit for each set of parameters; see `QsimExSimulator.sample`."""
        return super().sample(program, repetitions=repetitions, params=one_sweep(params))

    def run_batch(
        self,
        programs: Sequence[cirq.AbstractCircuit],
        params_list: Sequence[cirq.Sweepable] | None = None,
        repetitions: int | Sequence[int] = 1,
    ) -> Sequence[Sequence[ResultDict]]:
        """Sample several circuits, each for all points of its sweep; see `QsimExSimulator.run_batch`."""
        return self._samples.run_batch(programs, params_list, repetitions)

    def _run(
        self, circuit: cirq.AbstractCircuit, param_resolver: cirq.ParamResolver, repetitions: int
    ) -> dict[str, NDArray[Any]]:
        return self._samples._run(circuit, param_resolver, repetitions)

    # --- states --------------------------------------------------------------------------------------------------

    @point_by_point
    def simulate_sweep_iter(
        self,
        program: cirq.AbstractCircuit,
        params: cirq.Sweepable,
        qubit_order: cirq.QubitOrderOrList = cirq.QubitOrder.DEFAULT,
        initial_state: object = None,
    ) -> Iterator[cirq.DensityMatrixTrialResult]:
        """Return the final density matrix for each set of parameters, as in Cirq."""
        return super().simulate_sweep_iter(program, params, order_of(program, qubit_order), initial_state)

    @point_by_point
    def simulate_moment_steps(
        self,
        circuit: cirq.AbstractCircuit,
        param_resolver: cirq.ParamResolverOrSimilarType = None,
        qubit_order: cirq.QubitOrderOrList = cirq.QubitOrder.DEFAULT,
        initial_state: object = None,
    ) -> Iterator[cirq.DensityMatrixStepResult]:
        """Yield the density matrix after each moment, as in Cirq."""
        return super().simulate_moment_steps(circuit, param_resolver, order_of(circuit, qubit_order), initial_state)

    def _create_partial_simulation_state(
        self, initial_state: object, qubits: Sequence[cirq.Qid], classical_data: cirq.ClassicalDataStore
    ) -> QsimExDensityMatrixState:
        """Return the state that Cirq leads through the moments."""
        how: dict[str, Any] = {"prng": self._prng, "classical_data": classical_data}
        return QsimExDensityMatrixState(self._options, qubits, initial_state=initial_state, **how)

    def _create_simulation_state(self, initial_state: object, qubits: Sequence[cirq.Qid], **more: Any) -> Any:
        """Return the state with which a simulation begins; that of one of Cirq's simulators is taken over.

        more: what later versions of Cirq give as well, such as a resolver.
        """
        if isinstance(initial_state, int | np.integer):
            matrix_of(initial_state, tuple(qubits))  # which checks it, before it is divided among qubits
            initial_state = int(initial_state)
        known = isinstance(initial_state, QsimExDensityMatrixState)
        if isinstance(initial_state, cirq.DensityMatrixSimulationState) and not known:
            initial_state = initial_state.transpose_to_qubit_order(tuple(qubits)).target_tensor
        return super()._create_simulation_state(initial_state, qubits, **more)

    def _create_simulator_trial_result(
        self, params: cirq.ParamResolver, measurements: dict[str, NDArray[Any]], final_simulator_state: Any
    ) -> QsimExDensityMatrixTrialResult:
        return QsimExDensityMatrixTrialResult(
            params=params, measurements=measurements, final_simulator_state=final_simulator_state
        )

    # --- numbers -------------------------------------------------------------------------------------------------

    def simulate_expectation_values_sweep(
        self,
        program: cirq.AbstractCircuit,
        observables: PauliSumLike | list[PauliSumLike],
        params: cirq.Sweepable,
        qubit_order: cirq.QubitOrderOrList = cirq.QubitOrder.DEFAULT,
        initial_state: object = None,
        permit_terminal_measurements: bool = False,
    ) -> list[list[float]]:
        """Return the expectation value of each observable for each set of parameters, exact but for rounding.

        Measurements at the end are refused with `MeasurementError`, as in Cirq; if they are permitted, and where
        measurements stand on the way, the values are those of the outcomes that were found.
        """
        order = order_of(program, qubit_order)
        require_no_end(program, permitted=permit_terminal_measurements)
        sums = pauli_sums(observables, order)
        found: list[list[Any]] = []
        for result in self.simulate_sweep_iter(program, params, order, initial_state):
            state = result._get_merged_sim_state()
            assert isinstance(state, QsimExDensityMatrixState)
            values = state.engine_state.expectation(sums).tolist() if sums else []
            found.append([value_of(value, one) for value, one in zip(values, sums, strict=True)])
        return found
