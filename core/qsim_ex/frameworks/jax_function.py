"""`jax_function`: expectation values that JAX differentiates, compiles and maps."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from qsim_ex.circuit.observables import PauliSum
from qsim_ex.circuit.parameters.sweep import ParameterSweep, Values
from qsim_ex.frameworks.differentiated import DifferentiatedSweep
from qsim_ex.frameworks.expectation_function import ExpectationFunction
from qsim_ex.simulator import Simulator

Function = Callable[[jax.Array], jax.Array]


def jax_function(
    circuit: ParameterSweep | DifferentiatedSweep,
    observables: PauliSum | Sequence[PauliSum],
    simulator: Simulator | None = None,
) -> Function:
    """Return a function from parameters, an array [..., parameters], to values [..., observables].

    circuit: as of `torch_function`. It works under `jit`, `grad`, `jacrev` and `vmap`, whose points share one call of
    the engine. Gradients are exact, by adjoint differentiation. Values have the dtype of the parameters; JAX makes
    float32 of these unless ``jax_enable_x64`` is set.
    """
    known = ExpectationFunction.of(circuit, observables, simulator)
    count = len(known.observables)

    def shape(parameters: jax.Array, *last: int) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct((*parameters.shape[:-1], *last), parameters.dtype)

    def values(parameters: jax.Array) -> Values:
        return np.asarray(known.values(parameters), dtype=parameters.dtype)

    def both(parameters: jax.Array) -> tuple[Values, ...]:
        return tuple(np.asarray(one, dtype=parameters.dtype) for one in known.values_and_jacobian(parameters))

    def products(parameters: jax.Array, cotangents: jax.Array) -> Values:
        return np.asarray(known.products(parameters, cotangents), dtype=parameters.dtype)

    @jax.custom_vjp
    def function(parameters: jax.Array) -> jax.Array:
        return jax.pure_callback(values, shape(parameters, count), parameters, vmap_method="broadcast_all")

    def forward(parameters: jax.Array) -> tuple[jax.Array, jax.Array]:
        if not known.keeps_jacobian:
            return function(parameters), parameters
        shapes = shape(parameters, count), shape(parameters, count, parameters.shape[-1])
        found, jacobian = jax.pure_callback(both, shapes, parameters, vmap_method="broadcast_all")
        return found, jacobian

    def backward(saved: jax.Array, cotangents: jax.Array) -> tuple[jax.Array]:
        if known.keeps_jacobian:
            return (jnp.einsum("...o,...op->...p", cotangents, saved),)
        like = jax.ShapeDtypeStruct(saved.shape, saved.dtype)
        return (jax.pure_callback(products, like, saved, cotangents, vmap_method="broadcast_all"),)

    function.defvjp(forward, backward)
    made: Function = function
    return made
