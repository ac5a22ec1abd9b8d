"""`QsimExQubit`: the device ``qsim_ex.qubit`` of PennyLane."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Literal, Unpack

import numpy as np
from numpy.typing import NDArray
from pennylane.devices import Device, ExecutionConfig
from pennylane.devices.modifiers import simulator_tracking, single_tape_support
from pennylane.devices.preprocess import (
    decompose,
    no_sampling,
    validate_adjoint_trainable_params,
    validate_device_wires,
    validate_measurements,
    validate_observables,
)
from pennylane.devices.qubit import measure, measure_with_samples
from pennylane.exceptions import DecompositionUndefinedError, DeviceError
from pennylane.measurements import (
    ClassicalShadowMP,
    ExpectationMP,
    MidMeasureMP,
    SampleMeasurement,
    ShadowExpvalMP,
    StateMeasurement,
)
from pennylane.tape import QuantumScript
from pennylane.transforms import broadcast_expand, defer_measurements
from pennylane.transforms.core import CompilePipeline, transform
from pennylane.typing import Result

from qsim_ex import PauliSum, Simulator
from qsim_ex.options import EngineKeywords
from qsim_ex_pennylane.translation import (
    TranslatedTape,
    is_differentiable,
    is_supported,
    pauli_sums,
    together,
    translated,
)

NAME = "qsim_ex.qubit"
METHODS = frozenset({"adjoint", "device", "best"})
"""The values of `diff_method` for which the device has gradients of its own."""


@simulator_tracking
@single_tape_support
class QsimExQubit(Device):
    """A state vector simulator on CPUs and GPUs: ``qml.device("qsim_ex.qubit", wires=20)``.

    wires, shots: as of any device of PennyLane. seed: of samples, as NumPy takes it. precision, options: those of
    `qsim_ex.Options`, such as ``device="cpu"`` and ``threads=4``.
    ``diff_method="adjoint"`` (or ``"device"``, or ``"best"``) differentiates all expectation values of Pauli sums
    exactly, in little more than three runs; tapes of one structure, such as those of a broadcast, are one call.
    Mid-circuit measurements are deferred, and none may be postselected. Raises `OptionError`.
    """

    def __init__(
        self,
        wires: object = None,
        shots: object = None,
        seed: np.random.Generator | int | None = None,
        precision: Literal["single", "double"] = "double",
        **options: Unpack[EngineKeywords],
    ) -> None:
        super().__init__(wires=wires, shots=shots)
        self._simulator = Simulator(precision=precision, **options)
        self._random = np.random.default_rng(seed)

    @property
    def name(self) -> str:
        """The name by which PennyLane finds the device."""
        return NAME

    # --- what it can do ------------------------------------------------------------------------------------------

    def supports_derivatives(
        self, execution_config: ExecutionConfig | None = None, circuit: QuantumScript | None = None
    ) -> bool:
        """Return whether the device has gradients: of expectation values of Pauli sums, without shots."""
        if execution_config is not None and execution_config.gradient_method not in METHODS:
            return False
        if circuit is None:
            return True
        if circuit.shots or not all(isinstance(one, ExpectationMP) for one in circuit.measurements):
            return False
        pipeline = CompilePipeline()
        self._add_adjoint(pipeline)
        try:
            pipeline((circuit,))
        except (DecompositionUndefinedError, DeviceError, AttributeError):
            return False
        return True

    def setup_execution_config(
        self, config: ExecutionConfig | None = None, circuit: QuantumScript | None = None
    ) -> ExecutionConfig:
        """Return a configuration with the device's choices for all that is left open."""
        config = config or ExecutionConfig()
        method = config.gradient_method
        if method in ("best", "device"):
            method = "adjoint" if self.supports_derivatives(config, circuit) else method
        own = method == "adjoint" if config.use_device_gradient is None else config.use_device_gradient
        mcm = replace(config.mcm_config, mcm_method="deferred")
        return replace(
            config,
            gradient_method=method,
            use_device_gradient=own,
            use_device_jacobian_product=False,
            grad_on_execution=own if config.grad_on_execution is None else config.grad_on_execution,
            mcm_config=mcm,
        )

    def preprocess_transforms(self, execution_config: ExecutionConfig | None = None) -> CompilePipeline:
        """Return the transforms that make tapes of what the device runs."""
        config = execution_config or ExecutionConfig()
        pipeline = CompilePipeline()
        pipeline.add_transform(validate_device_wires, self.wires, name=NAME)
        pipeline.add_transform(transform(_refuse_postselection))
        pipeline.add_transform(defer_measurements, allow_postselect=False)
        pipeline.add_transform(
            decompose, stopping_condition=is_supported, skip_initial_state_prep=True, device_wires=self.wires, name=NAME
        )
        pipeline.add_transform(
            validate_measurements,
            analytic_measurements=lambda one: isinstance(one, StateMeasurement),
            sample_measurements=lambda one: isinstance(one, SampleMeasurement | ClassicalShadowMP | ShadowExpvalMP),
            name=NAME,
        )
        pipeline.add_transform(broadcast_expand)
        if config.gradient_method == "adjoint" and config.use_device_gradient:
            self._add_adjoint(pipeline)
        return pipeline

    def _add_adjoint(self, pipeline: CompilePipeline) -> None:
        name = f"adjoint + {NAME}"
        pipeline.add_transform(no_sampling, name=name)
        pipeline.add_transform(
            decompose,
            stopping_condition=is_differentiable,
            skip_initial_state_prep=True,
            device_wires=self.wires,
            name=name,
        )
        pipeline.add_transform(validate_observables, lambda observable: observable.pauli_rep is not None, name=name)
        pipeline.add_transform(
            validate_measurements, analytic_measurements=lambda one: isinstance(one, ExpectationMP), name=name
        )
        pipeline.add_transform(broadcast_expand)
        pipeline.add_transform(validate_adjoint_trainable_params)

    # --- runs ----------------------------------------------------------------------------------------------------

    def execute(
        self,
        circuits: Sequence[QuantumScript],
        execution_config: ExecutionConfig | None = None,  # noqa: ARG002  (the base class's)
    ) -> tuple[Result, ...]:
        """Return the results of tapes."""
        return tuple(self._result(_standard(tape)) for tape in circuits)

    def compute_derivatives(
        self,
        circuits: Sequence[QuantumScript],
        execution_config: ExecutionConfig | None = None,  # noqa: ARG002  (the base class's)
    ) -> tuple[Result, ...]:
        """Return the derivatives of tapes with respect to their trainable parameters."""
        return tuple(derivatives for _, derivatives in self._gradients(circuits))

    def execute_and_compute_derivatives(
        self,
        circuits: Sequence[QuantumScript],
        execution_config: ExecutionConfig | None = None,  # noqa: ARG002  (the base class's)
    ) -> tuple[tuple[Result, ...], tuple[Result, ...]]:
        """Return the results of tapes and their derivatives, which are made of the same runs."""
        found = self._gradients(circuits)
        return tuple(values for values, _ in found), tuple(derivatives for _, derivatives in found)

    def _result(self, tape: QuantumScript) -> Result:
        """Return what the measurements of a tape with standard wires find."""
        num_wires = max(1, tape.num_wires)
        made = translated(tape, num_wires, differentiated=False)
        sums = None if tape.shots else pauli_sums(tape, num_wires)
        if sums is not None:
            values = self._simulator.run_batch(made.sweep.template, observables=sums).values[0]
            return _one_or_all([np.float64(value) for value in values])
        with self._simulator.state(made.sweep.template) as state:
            amplitudes = state.to_numpy().reshape((2,) * num_wires)
        if tape.shots:
            found = measure_with_samples(list(tape.measurements), amplitudes, shots=tape.shots, rng=self._random)
            if tape.shots.has_partitioned_shots:
                return tuple(_one_or_all(some) for some in found)
            return _one_or_all(found)
        return _one_or_all([measure(one, amplitudes) for one in tape.measurements])

    def _gradients(self, circuits: Sequence[QuantumScript]) -> list[tuple[Result, Result]]:
        """Return values and derivatives of each tape; those that differ in parameters alone are one call."""
        tapes = [_standard(tape) for tape in circuits]
        made = [translated(tape, max(1, tape.num_wires), differentiated=True) for tape in tapes]
        groups: dict[tuple[object, ...], list[int]] = {}
        sums = [_sums(one) for one in made]
        for number, one in enumerate(made):
            groups.setdefault((one.sweep.template.structure, one.key(), sums[number]), []).append(number)
        found: list[Result] = [None] * len(tapes)
        for members in groups.values():
            sweep = together([made[number] for number in members])
            result = self._simulator.gradient(sweep, sums[members[0]])
            for row, number in enumerate(members):
                found[number] = _shaped(made[number], result.values[row], result.jacobian[row])
        return found


def _refuse_postselection(tape: QuantumScript) -> tuple[tuple[QuantumScript], Callable[[Sequence[Result]], Result]]:
    """Return the tape as it is; raises `DeviceError` for a measurement with `postselect`."""
    for op in tape.operations:
        if isinstance(op, MidMeasureMP) and op.postselect is not None:
            raise DeviceError(
                f"{NAME}: expected measurements without postselect, got qml.measure({op.wires[0]!r}, postselect="
                f"{op.postselect}), which is not supported yet; return the outcome, such as qml.probs(op=m) or "
                "qml.sample(m), and choose among the results, or use default.qubit."
            )
    return (tape,), itemgetter(0)


def _standard(tape: QuantumScript) -> QuantumScript:
    """Return a tape on wires 0, 1, …"""
    return tape.map_to_standard_wires()


def _sums(one: TranslatedTape) -> tuple[PauliSum, ...]:
    sums = pauli_sums(one.tape, one.sweep.template.num_qubits)
    if sums is None:
        raise DeviceError("adjoint differentiation: expected expectation values of Pauli sums, got another measurement")
    return tuple(sums)


def _shaped(one: TranslatedTape, values: NDArray[np.float64], jacobian: NDArray[np.float64]) -> tuple[Result, Result]:
    """Return values [observables] and derivatives [observables, columns] as PennyLane has them."""
    parameters = np.zeros((len(values), len(one.tape.trainable_params)))
    for column, (place, factor) in enumerate(one.columns):
        parameters[:, place] += factor * jacobian[:, column]
    derivatives = [_one_or_all(list(map(np.asarray, row))) if len(row) else () for row in parameters]
    return _one_or_all([np.float64(value) for value in values]), _one_or_all(derivatives)


def _one_or_all(found: Sequence[Result]) -> Result:
    """Return the only one of some results, or all of them."""
    return found[0] if len(found) == 1 else tuple(found)
