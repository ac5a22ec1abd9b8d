"""Gradients with noise against differences of values that density matrices have by definition."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.gradients import layers, observables, period_of
from support.trigonometric import derivative

from qsim_ex import (
    Expression,
    Gradient,
    ParameterSweepBuilder,
    PauliSum,
    Simulator,
    amplitude_damping,
    depolarizing,
    phase_damping,
)
from qsim_ex.circuit.parameters.sweep import ParameterSweep
from qsim_ex.errors import NotSupported, OutOfMemory

DEGREE = 4


def noisy(num_wires: int, seed: int, bindings: int = 2, gates: int = 12) -> ParameterSweep:
    """Gates with and without parameters, with channels, resets and measurements that nobody reads between them."""
    rng = np.random.default_rng(seed)
    builder, shared = ParameterSweepBuilder(num_wires, num_wires), rng.normal(size=bindings)
    for number in range(gates):
        first, second = rng.permutation(num_wires)[:2].tolist()
        builder.gate(str(rng.choice(["rx", "ry", "rz", "p"])), [first], rng.normal(size=bindings))  # type: ignore[arg-type]
        builder.gate("cx", [first, second]).gate("rzz", [first, second], shared)  # type: ignore[arg-type]
        builder.gate("crx", [second, first], rng.normal(size=bindings))  # type: ignore[arg-type]
        channels = [amplitude_damping(0.1), phase_damping(0.2), depolarizing(0.05)]
        builder.channel(channels[number % 3], [second])
        if number % 5 == 2:
            builder.channel(depolarizing(0.1, 2), [first, second])
        if number % 6 == 3:
            builder.reset([first])
        if number % 6 == 5:
            builder.measure([second], [0])
    return builder.sweep(bindings)


def values(sweep: ParameterSweep, binding: int, sums: list[PauliSum]) -> np.ndarray:
    """The values of one binding, of a run that has no derivatives."""
    circuit = sweep.circuit(binding)
    simulator = Simulator(device="cpu", method="density_matrix")
    return simulator.run_batch(circuit, observables=sums).values[0].real


def check(sweep: ParameterSweep, found: Gradient, sums: list[PauliSum], most: int = 4) -> None:
    """Check all values, and the derivatives with respect to some columns by the rule of shifts."""
    assert sweep.columns is not None
    for binding in range(sweep.count):
        assert found.values[binding] == pytest.approx(values(sweep, binding, sums), abs=1e-12)
        for column in np.random.default_rng(binding).permutation(sweep.columns.shape[1])[:most].tolist():
            uses = sum(int((one.columns == column).sum()) for one in sweep.swept)

            def at(value: float, column: int = column, binding: int = binding) -> np.ndarray:
                columns = sweep.columns.copy()  # type: ignore[union-attr]
                columns[binding, column] = value
                return values(replace(sweep, columns=columns), binding, sums)

            expected = derivative(at, float(sweep.columns[binding, column]), period_of(sweep, column), DEGREE * uses)
            assert found.jacobian[binding, :, column] == pytest.approx(expected.real, abs=1e-11)


def simulator(**options: Any) -> Simulator:
    """A simulator with density matrices on the CPU."""
    return Simulator(device="cpu", method="density_matrix", **options)


@pytest.mark.parametrize("seed", range(3))
def test_noisy_circuits(seed: int) -> None:
    """Values and derivatives of circuits with channels, resets and measurements are those of shifted parameters."""
    num_wires = 2 + seed
    sweep, sums = noisy(num_wires, seed), observables(num_wires, 2, seed)
    check(sweep, simulator().gradient(sweep, sums), sums)


def test_without_noise() -> None:
    """Without noise they are those of the state vector, also for gates of all kinds of the table."""
    sweep, sums = layers(4, 3), observables(4, 2, 3)
    found, pure = simulator().gradient(sweep, sums), Simulator(device="cpu").gradient(sweep, sums)
    assert found.values == pytest.approx(pure.values, abs=1e-12)
    assert found.jacobian == pytest.approx(pure.jacobian, abs=1e-11)


def test_vjp() -> None:
    """Products are those of cotangents with the Jacobian."""
    sweep, sums, weights = noisy(3, 5), observables(3, 3, 5), np.random.default_rng(0).normal(size=(2, 3))
    found, whole = simulator().vjp(sweep, sums, weights), simulator().gradient(sweep, sums)
    assert found.values == pytest.approx(whole.values, abs=1e-12)
    assert found.products == pytest.approx(np.einsum("ro,roc->rc", weights, whole.jacobian), abs=1e-11)


def test_single_precision() -> None:
    """They are in complex64, to its precision."""
    sweep, sums = noisy(3, 6), observables(3, 1, 6)
    found, double = (simulator(precision=p).gradient(sweep, sums) for p in ("single", "double"))
    assert found.jacobian == pytest.approx(double.jacobian, abs=2e-5)


def test_channels_in_front_and_behind() -> None:
    """Amplitudes that are set, and channels in front of all parameters and behind them, are part of the value."""
    builder = ParameterSweepBuilder(2, 0).initialize(np.array([0.6, 0, 0, 0.8j]), [0, 1])
    builder.channel(depolarizing(0.3), [0]).gate("rx", [0], np.array([0.4])).gate("cx", [0, 1])
    sweep, sums = builder.channel(amplitude_damping(0.4), [1]).sweep(1), observables(2, 2, 7)
    check(sweep, simulator().gradient(sweep, sums), sums)


def test_conditions() -> None:
    """Gates under conditions on measured bits, with and without parameters, are differentiated for all outcomes."""
    builder, angles = ParameterSweepBuilder(3, 2), np.random.default_rng(1).normal(size=(5, 1))
    builder.gate("ry", [0], angles[0]).gate("ry", [1], angles[1]).measure([0, 1], [0, 1])  # type: ignore[arg-type]
    with builder.condition([0], [1]):
        builder.gate("rx", [2], angles[2])  # type: ignore[arg-type]
    builder.gate("ry", [0], angles[3])  # type: ignore[arg-type]
    with builder.condition([0, 1], [1, 2]):
        builder.gate("rx", [0], angles[4]).gate("x", [2])  # type: ignore[arg-type]
    sweep, sums = builder.sweep(1), observables(3, 2, 8)
    check(sweep, simulator().gradient(sweep, sums), sums, most=5)


def test_without_parameters() -> None:
    """A circuit without parameters has values and no derivatives."""
    sweep = ParameterSweepBuilder(1, 0).gate("h", [0]).channel(phase_damping(1.0), [0]).sweep(1)
    found = simulator().gradient(sweep, PauliSum.from_labels({"X": 1.0, "I": 2.0}))
    assert found.values == pytest.approx(np.array([[2.0]]))
    assert found.jacobian.shape == (1, 1, 0)


def test_refused_in_words() -> None:
    """What density matrices do not differentiate is refused, with what to do; so is noise without them."""
    one = PauliSum.from_labels({"ZZ": 1.0})
    sweep = noisy(2, 1)
    with pytest.raises(NotSupported, match="method='density_matrix'"):
        Simulator(device="cpu").gradient(sweep, one)
    with pytest.raises(NotSupported, match="overlap"):
        simulator().overlap(sweep, sweep)
    with pytest.raises(NotSupported, match="one piece"):
        simulator(virtual_peers=2).gradient(sweep, one)
    with pytest.raises(OutOfMemory):
        simulator(max_memory=1000).gradient(sweep, one)
    with pytest.raises(NotSupported, match="progress"):
        simulator(progress=True).gradient(sweep, one)
    builder = ParameterSweepBuilder(2, 1).gate("rx", [0], np.array([0.3])).measure([0], [0])  # type: ignore[arg-type]
    with builder.branch(Expression.of_bits((0,)).among((1,))) as block:
        block.gate("h", [1]).measure([1], [0])
    with pytest.raises(NotSupported, match="blocks under conditions"):
        simulator().gradient(builder.gate("ry", [0], np.array([0.3])).sweep(1), one)  # type: ignore[arg-type]
    late = ParameterSweepBuilder(2, 0).gate("rx", [0], np.array([0.3])).initialize([0.6, 0.8], [1])  # type: ignore[arg-type]
    with pytest.raises(NotSupported, match="Initialize"):
        simulator().gradient(late.gate("ry", [1], np.array([0.3])).sweep(1), one)  # type: ignore[arg-type]
