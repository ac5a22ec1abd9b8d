"""What gradients return: values of final states, and their derivatives with respect to all columns of a sweep."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.parameters.sweep import Values
from qsim_ex.precision import PrecisionName

Complex = NDArray[np.complex128]


@dataclass(frozen=True, eq=False)
class Gradient:
    """Expectation values and all their derivatives.

    values: float64 [bindings, observables]. jacobian: float64 [bindings, observables, columns], with respect to the
    columns of the sweep, in the order in which its builder met them. device, precision: where the states were, and as
    what. seconds: of the whole call. trajectories: the number whose means these are; None where they are exact. errors,
    jacobian_errors: the standard errors of such means, in the shapes of `values` and `jacobian`.
    """

    values: Values
    jacobian: Values
    device: str
    precision: PrecisionName
    seconds: float
    trajectories: int | None = None
    errors: Values | None = None
    jacobian_errors: Values | None = None


@dataclass(frozen=True, eq=False)
class VectorJacobianProduct:
    """Expectation values, and the derivatives of a weighted sum of them.

    values: float64 [bindings, observables]. products: float64 [bindings, columns]; for each column the sum over all
    observables of a cotangent times a derivative. device, precision, seconds, trajectories, errors: as of `Gradient`.
    product_errors: the standard errors of products.
    """

    values: Values
    products: Values
    device: str
    precision: PrecisionName
    seconds: float
    trajectories: int | None = None
    errors: Values | None = None
    product_errors: Values | None = None


@dataclass(frozen=True, eq=False)
class Overlap:
    """Overlaps ⟨φ|ψ⟩ of final states ψ with given states φ, and their derivatives.

    values: complex128 [bindings]. derivatives: complex128 [bindings, columns], with respect to the columns of the sweep
    that ends in ψ. device, precision, seconds: as of `Gradient`.
    """

    values: Complex
    derivatives: Complex
    device: str
    precision: PrecisionName
    seconds: float

    @property
    def fidelities(self) -> Values:
        """|⟨φ|ψ⟩|², float64 [bindings]."""
        return np.asarray(np.abs(self.values) ** 2)

    @property
    def fidelity_gradients(self) -> Values:
        """The derivatives of the fidelities, float64 [bindings, columns]: 2·Re(⟨ψ|φ⟩·∂⟨φ|ψ⟩)."""
        return np.asarray(2 * (self.values.conj()[:, None] * self.derivatives).real)
