"""`AdjointEstimatorGradient` for qiskit-machine-learning: gradients by adjoint differentiation in place of shifts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from qiskit.circuit import Parameter, QuantumCircuit
from qiskit.providers import Options
from qiskit_machine_learning.gradients import BaseEstimatorGradient, EstimatorGradientResult

from qsim_ex.options import OptionKeywords
from qsim_ex_provider.primitives.estimator import EstimatorV2
from qsim_ex_provider.primitives.gradients import gradients_of, simulator_of


class AdjointEstimatorGradient(BaseEstimatorGradient):
    """Exact gradients of expectation values in little more than three runs, however many parameters there are.

    estimator: one of qsim-ex, whose options are taken; options: others in their place, those of `qsim_ex.Options`.
    Options of a run are not used, since derivatives are exact. ``EstimatorQNN(…, gradient=…)`` takes it.
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
        **options: object,
    ) -> EstimatorGradientResult:
        found = gradients_of(self._simulator, circuits, observables, parameter_values, parameters)
        metadata = [{"parameters": some, "derivative_type": self.derivative_type} for some in parameters]
        return EstimatorGradientResult(gradients=found, metadata=metadata, options=Options(**options))
