"""`AdjointEstimatorGradient` for qiskit-algorithms: gradients by adjoint differentiation in place of shifts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from qiskit.circuit import Parameter, QuantumCircuit
from qiskit_algorithms.gradients import BaseEstimatorGradient, EstimatorGradientResult

from qsim_ex.options import OptionKeywords
from qsim_ex_provider.primitives.estimator import EstimatorV2
from qsim_ex_provider.primitives.gradients import gradients_of, simulator_of


class AdjointEstimatorGradient(BaseEstimatorGradient):
    """Exact gradients of expectation values in little more than three runs, however many parameters there are.

    estimator: one of qsim-ex, whose options are taken; options: others in their place, those of `qsim_ex.Options`.
    A precision is not used, since derivatives are exact. ``VQE(estimator, ansatz, optimizer, gradient=…)`` takes it.
    """

    def __init__(self, estimator: EstimatorV2 | None = None, **options: Unpack[OptionKeywords]) -> None:
        self._simulator = simulator_of(estimator, options)
        super().__init__(EstimatorV2(**options) if estimator is None else estimator)

    def _run(
        self,
        circuits: Sequence[QuantumCircuit],
        observables: Sequence[object],
        parameter_values: Sequence[Sequence[float]],
        parameters: Sequence[Sequence[Parameter]],
        *,
        precision: float | Sequence[float] | None = None,  # noqa: ARG002  (the base class's)
    ) -> EstimatorGradientResult:
        found = gradients_of(self._simulator, circuits, observables, parameter_values, parameters)
        metadata = [{"parameters": some, "derivative_type": self.derivative_type} for some in parameters]
        return EstimatorGradientResult(gradients=found, metadata=metadata, precision=0.0)
