"""Expectation values as functions that JAX and torch differentiate; both are skipped where they are not installed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

from qsim_ex import ParameterSweepBuilder, PauliSum, Simulator
from qsim_ex.circuit.parameters.sweep import ParameterSweep
from qsim_ex.errors import ParameterError
from qsim_ex.frameworks.expectation_function import ExpectationFunction

OBSERVABLES = [PauliSum.from_labels({"XXI": 1.0, "ZZZ": 0.5}), PauliSum.from_labels({"IYX": 1.0})]


def sweep() -> ParameterSweep:
    """A circuit with six angles."""
    builder, angles = ParameterSweepBuilder(3, 0), list(np.zeros((6, 1)))
    for wire in range(3):
        builder.gate("ry", [wire], angles[wire])
    builder.gate("cx", [0, 1]).gate("cx", [1, 2])
    for wire in range(3):
        builder.gate("rx", [wire], angles[3 + wire])
    return builder.sweep(1)


def simulator() -> Simulator:
    """A simulator on the CPU."""
    return Simulator(device="cpu")


def points() -> np.ndarray:
    """Some points."""
    return np.random.default_rng(0).normal(size=(4, 6))


def test_values_and_derivatives() -> None:
    """Values and derivatives of arrays of any number of axes are those of each point."""
    function = ExpectationFunction.of(sweep(), OBSERVABLES, simulator())
    values, jacobian = function.values_and_jacobian(points().reshape(2, 2, 6))
    assert values.shape == (2, 2, 2)
    assert jacobian.shape == (2, 2, 2, 6)
    assert function.values(points()[3]) == pytest.approx(values[1, 1], abs=1e-14)
    assert function.values_and_jacobian(points()[3])[1] == pytest.approx(jacobian[1, 1], abs=1e-13)


def test_products_are_those_with_the_jacobian() -> None:
    """Products of cotangents with derivatives are those with the whole Jacobian, for arrays of any number of axes."""
    function, cotangents = ExpectationFunction.of(sweep(), OBSERVABLES, simulator()), np.arange(8.0).reshape(2, 2, 2)
    _, jacobian = function.values_and_jacobian(points().reshape(2, 2, 6))
    found = function.products(points().reshape(2, 2, 6), cotangents)
    assert found == pytest.approx(np.einsum("...o,...op->...p", cotangents, jacobian), abs=1e-13)


def test_wrong_shape() -> None:
    """Another number of parameters is an error."""
    with pytest.raises(ParameterError, match="6 parameters"):
        ExpectationFunction.of(sweep(), OBSERVABLES, None).values(np.zeros(5))


def test_torch() -> None:
    """Torch's own check finds the gradients right, and a training loop reaches the least value that there is."""
    torch = pytest.importorskip("torch")
    function = import_module("qsim_ex.frameworks.torch_function").torch_function(sweep(), OBSERVABLES, simulator())
    given = torch.tensor(points(), requires_grad=True)
    assert torch.autograd.gradcheck(function, (given,))
    one = import_module("qsim_ex.frameworks.torch_function").torch_function(sweep(), OBSERVABLES[0], simulator())
    assert torch.autograd.gradcheck(one, (given,))
    angles = torch.tensor(points()[0], requires_grad=True)
    optimizer = torch.optim.Adam([angles], lr=0.1)
    for _ in range(150):
        optimizer.zero_grad()
        value = function(angles)[0]
        value.backward()
        optimizer.step()
    assert float(value.detach()) == pytest.approx(-1.5, abs=1e-3)


def test_jax() -> None:
    """Under `jit`, `vmap`, `grad` and `jacrev` JAX has the same derivatives, and a training loop goes down."""
    jax: Any = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    function = import_module("qsim_ex.frameworks.jax_function").jax_function(sweep(), OBSERVABLES, simulator())
    expected = ExpectationFunction.of(sweep(), OBSERVABLES, simulator()).values_and_jacobian(points())
    assert np.asarray(jax.jit(function)(points())) == pytest.approx(expected[0], abs=1e-14)
    mapped = jax.jit(jax.vmap(jax.jacrev(function)))(points())
    assert np.asarray(mapped) == pytest.approx(expected[1], abs=1e-13)
    energy = jax.jit(jax.value_and_grad(lambda angles: function(angles)[0]))
    angles = jax.numpy.asarray(points()[0])
    for _ in range(200):
        value, slope = energy(angles)
        angles = angles - 0.3 * slope
    assert float(value) == pytest.approx(-1.5, abs=1e-3)
