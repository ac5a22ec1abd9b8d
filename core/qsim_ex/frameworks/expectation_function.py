"""Expectation values as functions of arrays, which JAX and torch differentiate (`jax_function`, `torch_function`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from qsim_ex.circuit.observables import PauliSum
from qsim_ex.circuit.parameters.sweep import ParameterSweep, Values
from qsim_ex.errors import ParameterError
from qsim_ex.frameworks.differentiated import DifferentiatedSweep, NamedGradient, NamedProducts
from qsim_ex.simulator import Simulator


class Differentiable(Protocol):
    """A circuit with parameters, whatever framework it is of."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all parameters, in the order of their values."""

    def gradient(self, simulator: Simulator, values: Values, observables: Sequence[PauliSum]) -> NamedGradient:
        """Return values and derivatives at points, float64 [points, names]."""

    def vjp(
        self, simulator: Simulator, values: Values, observables: Sequence[PauliSum], cotangents: Values
    ) -> NamedProducts:
        """Return values and products of cotangents [points, observables] with derivatives at points."""

    def with_values(self, values: Values) -> ParameterSweep:
        """Return the sweep over some points."""


@dataclass(frozen=True, eq=False, slots=True)
class SweepColumns:
    """A sweep of the engine itself, whose columns are the parameters."""

    sweep: ParameterSweep

    @property
    def names(self) -> tuple[str, ...]:
        """Names that say which column it is."""
        return tuple(map(str, range(0 if self.sweep.columns is None else self.sweep.columns.shape[1])))

    def gradient(self, simulator: Simulator, values: Values, observables: Sequence[PauliSum]) -> NamedGradient:
        """Return values and derivatives at points, float64 [points, columns]."""
        found = simulator.gradient(self.with_values(values), observables)
        return NamedGradient(found.values, found.jacobian)

    def vjp(
        self, simulator: Simulator, values: Values, observables: Sequence[PauliSum], cotangents: Values
    ) -> NamedProducts:
        """Return values and products of cotangents [points, observables] with derivatives at points."""
        found = simulator.vjp(self.with_values(values), observables, cotangents)
        return NamedProducts(found.values, found.products)

    def with_values(self, values: Values) -> ParameterSweep:
        """Return the sweep over some points."""
        return replace(self.sweep, count=len(values), columns=values)


@dataclass(frozen=True, eq=False, slots=True)
class ExpectationFunction:
    """The expectation values of some observables after a circuit, as a function of its parameters.

    Arrays [..., parameters] become values [..., observables]; all points of an array are one call of the engine.
    """

    circuit: Differentiable
    observables: tuple[PauliSum, ...]
    simulator: Simulator

    @classmethod
    def of(
        cls,
        circuit: ParameterSweep | DifferentiatedSweep,
        observables: PauliSum | Sequence[PauliSum],
        simulator: Simulator | None,
    ) -> ExpectationFunction:
        """Return the function of a sweep of the engine, or of a framework's circuit."""
        known: Differentiable = SweepColumns(circuit) if isinstance(circuit, ParameterSweep) else circuit
        sums = (observables,) if isinstance(observables, PauliSum) else tuple(observables)
        return cls(known, sums, simulator or Simulator())

    def values(self, points: ArrayLike) -> Values:
        """Return the values, float64 [..., observables]."""
        flat, shape = self._points(points)
        sweep = self.circuit.with_values(flat)
        found = self.simulator.run_batch(sweep.template, sweep.bindings(), observables=self.observables).values
        return np.asarray(found.real, dtype=np.float64).reshape(*shape, -1)

    def values_and_jacobian(self, points: ArrayLike) -> tuple[Values, Values]:
        """Return the values and their derivatives, float64 [..., observables, parameters]."""
        flat, shape = self._points(points)
        found = self.circuit.gradient(self.simulator, flat, self.observables)
        return found.values.reshape(*shape, -1), found.jacobian.reshape(*shape, *found.jacobian.shape[1:])

    @property
    def keeps_jacobian(self) -> bool:
        """Whether derivatives should be taken with the values: those of one observable need no further run."""
        return len(self.observables) == 1

    def products(self, points: ArrayLike, cotangents: ArrayLike) -> Values:
        """Return the products of cotangents [..., observables] with the derivatives, float64 [..., parameters]."""
        flat, shape = self._points(points)
        weights = np.asarray(cotangents, dtype=np.float64).reshape(len(flat), -1)
        return self.circuit.vjp(self.simulator, flat, self.observables, weights).products.reshape(*shape, -1)

    def _points(self, points: ArrayLike) -> tuple[Values, tuple[int, ...]]:
        """Return points one behind the other, and the shape that they had."""
        array = np.asarray(points, dtype=np.float64)
        count = len(self.circuit.names)
        if not array.ndim or array.shape[-1] != count:
            raise ParameterError(
                f"expected values of {count} parameters on the last axis, got an array of shape {array.shape}; pass "
                f"one for each of {', '.join(self.circuit.names)}."
            )
        return array.reshape(-1, count), array.shape[:-1]
