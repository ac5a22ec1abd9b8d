"""Gradients of means over trajectories: of the function that a run with the same seed evaluates, and no other one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from support.deployments import ON_CPU
from support.gradients import observables
from support.trigonometric import derivative

from qsim_ex import (
    ParameterSweepBuilder,
    Simulator,
    amplitude_damping,
    bit_flip,
    depolarizing,
    phase_flip,
)
from qsim_ex.circuit.parameters.sweep import ParameterSweep
from qsim_ex.errors import NotSupported, OptionError
from qsim_ex.run.gradients import trajectories as under_test

N = 3
GIVEN = {"trajectories": 50, "seeds": 7}


def noisy(bindings: int, wires: int = N, layers: int = 2) -> ParameterSweep:
    """Rotations by angles of their own and by a shared one, with mixtures of unitary matrices behind them."""
    rng = np.random.default_rng(bindings)
    builder, shared = ParameterSweepBuilder(wires, wires), rng.normal(size=bindings)
    for _ in range(layers):
        for wire in range(wires):
            builder.gate("ry", [wire], rng.normal(size=bindings)).channel(depolarizing(0.2), [wire])  # type: ignore[arg-type]
        builder.gate("cx", [0, 1]).channel(depolarizing(0.3, 2), [0, 1])
        builder.gate("rzz", [0, wires - 1], shared).channel(bit_flip(0.2), [1])  # type: ignore[arg-type]
        builder.gate("rx", [wires - 1], shared).channel(phase_flip(0.3), [wires - 1])  # type: ignore[arg-type]
    return builder.measure(range(wires), range(wires)).sweep(bindings)


def simulator(**options: object) -> Simulator:
    """A simulator on the CPU."""
    return Simulator(device="cpu", **options)  # type: ignore[arg-type]


def test_values_and_errors_of_a_seed_are_those_of_a_run() -> None:
    """Values and their standard errors are those that a run with the seed and as many trajectories has."""
    sweep, sums = noisy(3), observables(N, 2, 1)
    found = simulator().gradient(sweep, sums, trajectories=200, seeds=[3, 4, 5])
    run = simulator().run_batch(sweep.template, sweep.bindings(), observables=sums, trajectories=200, seeds=[3, 4, 5])
    assert found.trajectories == 200
    assert found.values == pytest.approx(run.values, abs=1e-13)
    assert found.errors == pytest.approx(run.errors, abs=1e-13)


def test_derivatives_are_those_of_the_mean_with_the_same_choices() -> None:
    """Shifted parameters with the same seed have the same choices, so the rule of shifts holds for the mean exactly."""
    sweep, sums = noisy(2), observables(N, 2, 2)
    found = simulator().gradient(sweep, sums, **GIVEN)  # type: ignore[arg-type]
    assert sweep.columns is not None
    for column in range(sweep.columns.shape[1]):

        def at(value: float, column: int = column) -> np.ndarray:
            columns = sweep.columns.copy()  # type: ignore[union-attr]
            columns[1, column] = value
            bound = replace(sweep, columns=columns).bindings()
            return simulator().run_batch(sweep.template, bound, observables=sums, **GIVEN).values[1]  # type: ignore[arg-type]

        expected = derivative(at, float(sweep.columns[1, column]), 4 * np.pi, 8).real
        assert found.jacobian[1, :, column] == pytest.approx(expected, abs=1e-11)


def test_means_approach_the_density_matrix() -> None:
    """Values and derivatives of many trajectories are those of the density matrix within five standard errors."""
    sweep, sums = noisy(2), observables(N, 2, 3)
    found = simulator().gradient(sweep, sums, trajectories=20_000, seeds=11)
    exact = simulator(method="density_matrix").gradient(sweep, sums)
    assert found.errors is not None
    assert found.jacobian_errors is not None
    assert (np.abs(found.values - exact.values) <= 5 * found.errors).all()
    assert (np.abs(found.jacobian - exact.jacobian) <= 5 * found.jacobian_errors + 1e-12).all()
    assert found.jacobian_errors.max() < 0.05


def test_the_standard_error_is_that_of_the_mean() -> None:
    """The derivatives of 200 seeds scatter by the standard error that each of them reports."""
    sweep, sums = noisy(1, layers=1), observables(N, 1, 4)
    each = [simulator().gradient(sweep, sums, trajectories=40, seeds=seed) for seed in range(200)]
    scatter = np.std([one.jacobian[0, 0] for one in each], axis=0)
    reported = np.mean([one.jacobian_errors[0, 0] for one in each], axis=0)  # type: ignore[index]
    assert scatter == pytest.approx(reported, rel=0.3, abs=1e-12)


@pytest.mark.parametrize("where", ON_CPU)
def test_every_placement(where: str) -> None:
    """States in one piece, over devices and in host memory have the same choices and derivatives."""
    sweep, sums = noisy(1, wires=8, layers=1), observables(8, 1, 5)
    expected = simulator().gradient(sweep, sums, trajectories=4, seeds=1)
    found = simulator(**ON_CPU[where].options).gradient(sweep, sums, trajectories=4, seeds=1)
    tolerance = 1e-4 if found.precision == "single" else 1e-11
    assert found.values == pytest.approx(expected.values, abs=tolerance)
    assert found.jacobian == pytest.approx(expected.jacobian, abs=tolerance)


def test_products() -> None:
    """The product of a vector with the Jacobian is that of the mean, with weights of each binding."""
    sweep, sums = noisy(2), observables(N, 3, 6)
    whole = simulator().gradient(sweep, sums, **GIVEN)  # type: ignore[arg-type]
    weights = np.random.default_rng(0).normal(size=(2, 3))
    found = simulator().vjp(sweep, sums, weights, **GIVEN)  # type: ignore[arg-type]
    assert found.values == pytest.approx(whole.values, abs=1e-13)
    assert found.products == pytest.approx(np.einsum("bo,bop->bp", weights, whole.jacobian), abs=1e-12)


def test_a_circuit_without_noise_is_exact() -> None:
    """Trajectories of a circuit in which nothing is random are its one state, without an error."""
    builder = ParameterSweepBuilder(1, 0)
    sweep = builder.gate("ry", [0], np.array([0.4])).sweep(1)  # type: ignore[arg-type]
    found = simulator().gradient(sweep, observables(1, 1, 0), trajectories=10)
    assert (found.trajectories, found.errors) == (None, None)


@pytest.mark.parametrize(
    ("add", "named"),
    [
        (lambda builder: builder.channel(amplitude_damping(0.1), [0]), "a channel that is no mixture of unitary"),
        (lambda builder: builder.measure([0], [0]), "a measure"),
        (lambda builder: builder.reset([0]), "a reset"),
    ],
)
def test_what_looks_at_the_state_is_refused(
    add: Callable[[ParameterSweepBuilder], ParameterSweepBuilder], named: str
) -> None:
    """The error names what looks at the state, and says that density matrices are exact."""
    builder = ParameterSweepBuilder(1, 1)
    add(builder.gate("ry", [0], np.array([0.4]))).gate("h", [0])  # type: ignore[arg-type]
    with pytest.raises(NotSupported, match=rf"{named}.* on wires 0.*method='density_matrix'"):
        simulator().gradient(builder.sweep(1), observables(1, 1, 0), trajectories=10)


def test_bad_arguments() -> None:
    """No trajectories, and trajectories of density matrices, are refused."""
    sweep, sums = noisy(1), observables(N, 1, 0)
    with pytest.raises(OptionError, match="expected trajectories >= 1, got 0"):
        simulator().gradient(sweep, sums, trajectories=0)
    with pytest.raises(OptionError, match="expected no trajectories with method='density_matrix'"):
        simulator(method="density_matrix").gradient(sweep, sums, trajectories=5)
    with pytest.raises(NotSupported, match="with trajectories=1000 mixtures of unitary matrices are"):
        simulator().gradient(sweep, sums)


def test_factors_that_are_no_unitary_matrices_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault: the factors of a product as they are, of which only the product is unitary, are not inverted."""
    monkeypatch.setattr(under_test, "_unitary_entries", lambda kraus, _choice: kraus.entries)
    with pytest.raises(AssertionError):
        test_derivatives_are_those_of_the_mean_with_the_same_choices()
