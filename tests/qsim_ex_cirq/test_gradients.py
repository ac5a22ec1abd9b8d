"""Gradients of circuits of Cirq, against shifts of ``cirq.Simulator``."""

from __future__ import annotations

import cirq
import numpy as np
import pytest
import sympy
from support.trigonometric import derivative

from qsim_ex.errors import CircuitError, NotSupported
from qsim_ex.frameworks import differentiated
from qsim_ex_cirq import QsimExSimulator

A, B = sympy.symbols("a b")
Q = cirq.LineQubit.range(3)
OBSERVABLES = [cirq.X(Q[0]) * cirq.X(Q[1]) + 0.5 * cirq.Z(Q[2]), cirq.PauliSum.wrap(cirq.Y(Q[1]) * cirq.Z(Q[0]))]


def simulator() -> QsimExSimulator:
    """A simulator on the CPU in double precision."""
    return QsimExSimulator(device="cpu", dtype=np.complex128)


def powers() -> cirq.Circuit:
    """Symbols in exponents of every kind of gate of Cirq, also those that become several gates."""
    return cirq.Circuit(
        cirq.H(Q[0]),
        cirq.XPowGate(exponent=A + B / 2, global_shift=0.5).on(Q[1]),
        cirq.ISWAP(Q[0], Q[1]) ** B,
        cirq.CZ(Q[1], Q[2]) ** (A - 1),
        cirq.PhasedXPowGate(phase_exponent=B, exponent=A).on(Q[2]),
        cirq.CX(Q[0], Q[1]) ** B,
        cirq.SWAP(Q[0], Q[2]) ** A,
        cirq.H(Q[1]) ** B,
        cirq.ZZ(Q[0], Q[1]) ** A,
        cirq.PhasedXZGate(x_exponent=A, z_exponent=B, axis_phase_exponent=A).on(Q[1]),
        cirq.CCX(*Q) ** B,
    )


def angles() -> cirq.Circuit:
    """Symbols in angles, and formulas that are not affine."""
    return cirq.Circuit(
        cirq.rx(2 * A).on(Q[0]),
        cirq.FSimGate(A, B).on(Q[0], Q[2]),
        cirq.ry(sympy.sin(A)).on(Q[1]),
        cirq.rx(A).on(Q[2]).controlled_by(Q[1]),
    )


def values(circuit: cirq.Circuit, point: dict[str, float]) -> np.ndarray:
    """The expectation values as Cirq computes them."""
    found = cirq.Simulator(dtype=np.complex128).simulate_expectation_values(circuit, OBSERVABLES, point)
    return np.array([one.real for one in found])


def test_powers() -> None:
    """Values and derivatives at all points of a sweep are those by shifts; exponents have a period of 4 half turns."""
    points = [{"a": 0.3, "b": 0.7}, {"a": 1.0, "b": -0.2}]
    found = simulator().simulate_expectation_values_and_gradients(powers(), list(OBSERVABLES), points)
    assert found.symbols == ("a", "b")
    for row, point in enumerate(points):
        assert found.values[row] == pytest.approx(values(powers(), point), abs=1e-7)
        for column, name in enumerate(found.symbols):
            expected = derivative(lambda at, n=name, p=point: values(powers(), {**p, n: at}), point[name], 4.0, 20)
            assert found.gradients[row, :, column] == pytest.approx(expected.real, abs=1e-6)


def test_other_formulas() -> None:
    """The chain rule holds for a formula that is not affine."""
    point, step = {"a": 0.4, "b": 0.9}, 1e-3
    found = simulator().simulate_expectation_values_and_gradients(angles(), list(OBSERVABLES), point)
    for column, name in enumerate(found.symbols):
        near, far = (
            values(angles(), {**point, name: point[name] + h}) - values(angles(), {**point, name: point[name] - h})
            for h in (step, 2 * step)
        )
        assert found.gradients[0, :, column] == pytest.approx((8 * near - far) / (12 * step), abs=1e-8)


def test_a_loop_compiles_each_formula_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second call with other values, and a circuit that is written anew, compile no formula again."""
    simulator().simulate_expectation_values_and_gradients(angles(), list(OBSERVABLES), {"a": 0.1, "b": 0.2})
    compiled = []
    monkeypatch.setattr(differentiated, "numpy_function", lambda *given: compiled.append(given))
    found = simulator().simulate_expectation_values_and_gradients(angles(), list(OBSERVABLES), {"a": 0.4, "b": 0.9})
    assert compiled == []
    assert found.values[0] == pytest.approx(values(angles(), {"a": 0.4, "b": 0.9}), abs=1e-7)


def test_means_over_trajectories() -> None:
    """With trajectories and a seed, values are those of an equal simulator, and gradients those of that mean."""
    noisy = angles() + cirq.Circuit(cirq.depolarize(0.3).on_each(*angles().all_qubits()), cirq.H(Q[0]))

    def at(a: float) -> np.ndarray:
        fresh = QsimExSimulator(device="cpu", dtype=np.complex128, seed=5, trajectories=40)
        return np.array(fresh.simulate_expectation_values(noisy, list(OBSERVABLES), {"a": a, "b": 0.2})).real

    mine = QsimExSimulator(device="cpu", dtype=np.complex128, seed=5, trajectories=40)
    found = mine.simulate_expectation_values_and_gradients(noisy, list(OBSERVABLES), {"a": 0.1, "b": 0.2})
    assert found.values[0] == pytest.approx(at(0.1), abs=1e-12)
    assert found.errors is not None
    assert found.errors.max() > 0
    assert found.gradients[0, :, 0] == pytest.approx((at(0.1 + 1e-5) - at(0.1 - 1e-5)) / 2e-5, abs=1e-8)


def test_refused() -> None:
    """Noise, random circuits, and coefficients that are not real are errors in words."""
    with pytest.raises(NotSupported, match="noise"):
        QsimExSimulator(noise=cirq.depolarize(0.1)).simulate_expectation_values_and_gradients(
            angles(), list(OBSERVABLES), {"a": 1, "b": 2}
        )
    with pytest.raises(NotSupported, match="reset"):
        simulator().simulate_expectation_values_and_gradients(
            cirq.Circuit(cirq.rx(A).on(Q[0]), cirq.reset(Q[0])), cirq.Z(Q[0]), {"a": 1}
        )
    with pytest.raises(CircuitError, match="real"):
        simulator().simulate_expectation_values_and_gradients(angles(), 1j * cirq.Z(Q[0]), {"a": 1, "b": 2})
