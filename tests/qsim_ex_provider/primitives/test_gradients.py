"""Gradients of circuits of Qiskit, against shifts of `qiskit.quantum_info`, and the classes of two packages."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from qiskit.circuit import Parameter, ParameterVector, QuantumCircuit
from qiskit.circuit.library import PauliEvolutionGate, RZZGate, efficient_su2
from qiskit.quantum_info import Kraus, SparsePauliOp, Statevector
from support.trigonometric import derivative

from qsim_ex import Simulator
from qsim_ex.errors import NotSupported, ParameterError
from qsim_ex_provider import EstimatorV2
from qsim_ex_provider.primitives.gradients import differentiated, value_and_gradient

A, B, C = Parameter("a"), Parameter("b"), Parameter("c")
OBSERVABLE = SparsePauliOp(["XXI", "ZIZ", "YYY"], [1.0, 0.5, -0.3])


def simulator() -> Simulator:
    """A simulator on the CPU."""
    return Simulator(device="cpu")


def value(circuit: QuantumCircuit, observable: SparsePauliOp, point: np.ndarray) -> float:
    """The expectation value as Qiskit computes it; evolutions are their product formulas."""
    bound = circuit.assign_parameters(point).decompose(["PauliEvolution", "inner"])
    return float(Statevector(bound).expectation_value(observable).real)


def shifted(circuit: QuantumCircuit, point: np.ndarray, period: float, degree: int) -> np.ndarray:
    """All derivatives by the rule of shifts."""

    def along(k: int) -> Callable[[float], np.ndarray]:
        return lambda at: np.array(value(circuit, OBSERVABLE, np.where(np.arange(len(point)) == k, at, point)))

    return np.array([derivative(along(k), point[k], period, degree).real for k in range(len(point))])


def affine() -> QuantumCircuit:
    """Parameters in affine formulas, shared, under controls, in Pauli evolutions and in a gate of a user's own."""
    inner = QuantumCircuit(2, name="inner")
    inner.rzz(-B / 2, 0, 1)
    inner.append(RZZGate(A), [0, 1])
    circuit = QuantumCircuit(3)
    circuit.h(0)
    circuit.rx(2 * A + B, 0)
    circuit.append(PauliEvolutionGate(SparsePauliOp(["XYZ", "ZZI"], [0.5, 1.0]), time=C), [0, 1, 2])
    circuit.append(inner.to_gate(), [2, 0])
    circuit.cp(C - 1, 0, 2)
    circuit.u(A, B, C - 1, 1)
    circuit.crx(-A, 0, 2)
    return circuit


def test_affine_formulas() -> None:
    """Derivatives are those of the rule of shifts where formulas are affine."""
    point = np.array([0.3, 0.7, -1.1])
    found = value_and_gradient(simulator(), affine(), OBSERVABLE, point)
    assert found.values[0, 0] == pytest.approx(value(affine(), OBSERVABLE, point), abs=1e-12)
    assert found.jacobian[0, 0] == pytest.approx(shifted(affine(), point, 4 * np.pi, 20), abs=1e-10)


def test_other_formulas() -> None:
    """A product and a sine follow the chain rule: sin θ turns as θ does, and so does a product of which one is held."""
    circuit = QuantumCircuit(3)
    circuit.rx(A * B, 0)
    circuit.ry(C.sin(), 1)
    circuit.cx(0, 2)
    circuit.rz(A * A, 0)
    circuit.h(0)
    circuit.cx(1, 0)
    point = np.array([0.4, 0.9, 1.3])
    found = value_and_gradient(simulator(), circuit, OBSERVABLE, point).jacobian[0, 0]
    plain = QuantumCircuit(3)
    theta = ParameterVector("t", 3)
    plain.rx(theta[0], 0)
    plain.ry(theta[1], 1)
    plain.cx(0, 2)
    plain.rz(theta[2], 0)
    plain.h(0)
    plain.cx(1, 0)
    angles = np.array([0.36, np.sin(1.3), 0.16])
    by_angle = shifted(plain, angles, 4 * np.pi, 4)
    expected = [0.9 * by_angle[0] + 0.8 * by_angle[2], 0.4 * by_angle[0], np.cos(1.3) * by_angle[1]]
    assert found == pytest.approx(expected, abs=1e-11)


def test_the_last_gate_takes_a_difference() -> None:
    """The derivatives of cos(a − b) are −sin(a − b) and its opposite, also if no other gate comes behind it."""
    circuit = QuantumCircuit(1)
    circuit.rx(A - B, 0)
    found = value_and_gradient(simulator(), circuit, SparsePauliOp("Z"), np.array([[0.9, 0.2]]))
    assert np.abs(found.values - np.cos(0.7)).max() < 1e-14
    assert np.abs(found.jacobian - [[[-np.sin(0.7), np.sin(0.7)]]]).max() < 1e-14


def test_an_absolute_value() -> None:
    """The derivative of cos|a| is −sin(a) on both sides of 0, as parameters are real."""
    circuit = QuantumCircuit(1)
    circuit.rx(abs(A), 0)
    points = np.array([[0.3], [-0.3]])
    found = value_and_gradient(simulator(), circuit, SparsePauliOp("Z"), points)
    assert np.abs(found.jacobian[:, 0] + np.sin(points)).max() < 1e-14


@pytest.mark.parametrize("point", [-0.3, 0.0])
def test_formulas_without_finite_values_are_refused(point: float) -> None:
    """A logarithm of no positive number is an error that names the binding, and no NaN among the values."""
    circuit = QuantumCircuit(1)
    circuit.rx(A.log(), 0)
    with pytest.raises(ParameterError, match="not finite in binding 1"):
        value_and_gradient(simulator(), circuit, SparsePauliOp("Z"), np.array([[0.5], [point]]))


def test_a_jump_has_no_derivative() -> None:
    """A formula without a derivative is refused by its name."""
    circuit = QuantumCircuit(1)
    circuit.rx(A.sign(), 0)
    with pytest.raises(NotSupported, match=r"got the parameter sign\(a\)"):
        value_and_gradient(simulator(), circuit, SparsePauliOp("Z"), np.array([[0.5]]))


def test_many_points_and_observables() -> None:
    """Points and observables of one call have the values and derivatives that each has alone."""
    circuit = efficient_su2(3, reps=1).decompose()
    points = np.random.default_rng(0).normal(size=(4, circuit.num_parameters))
    others = [OBSERVABLE, SparsePauliOp(["ZZZ"])]
    together = value_and_gradient(simulator(), circuit, others, points)
    assert together.jacobian.shape == (4, 2, circuit.num_parameters)
    for row, point in enumerate(points):
        for number, one in enumerate(others):
            alone = value_and_gradient(simulator(), circuit, one, point)
            assert together.values[row, number] == pytest.approx(alone.values[0, 0], abs=1e-14)
            assert together.jacobian[row, number] == pytest.approx(alone.jacobian[0, 0], abs=1e-13)


def test_translated_once() -> None:
    """A circuit that comes again is not translated again; one that was changed is."""
    circuit = QuantumCircuit(1)
    circuit.rx(A, 0)
    first = differentiated(circuit)
    assert differentiated(circuit) is first
    circuit.ry(B, 0)
    assert differentiated(circuit) is not first


def test_means_over_trajectories() -> None:
    """With trajectories and a seed, values and gradients are those of the estimator's mean with the same choices."""
    a, circuit = Parameter("a"), QuantumCircuit(2)
    circuit.ry(a, 0)
    circuit.append(Kraus([np.sqrt(0.8) * np.eye(2), np.sqrt(0.2) * np.array([[0, 1], [1, 0]])]), [0])
    circuit.cx(0, 1)
    observable, simulator = SparsePauliOp(["ZZ", "XI", "IZ"], [1.0, 0.5, 0.7]), Simulator(device="cpu")

    def at(value: float) -> float:
        found = value_and_gradient(simulator, circuit, observable, [value], trajectories=30, seeds=4)
        return float(found.values[0, 0])

    found = value_and_gradient(simulator, circuit, observable, [0.4], trajectories=30, seeds=4)
    assert found.errors is not None
    assert found.errors.shape == (1, 1)
    assert found.jacobian[0, 0, 0] == pytest.approx((at(0.4 + np.pi / 2) - at(0.4 - np.pi / 2)) / 2, abs=1e-12)


def test_refused() -> None:
    """Values of another shape, and parameters in operations that become matrices, are errors in words."""
    circuit = QuantumCircuit(1)
    circuit.rx(A, 0)
    with pytest.raises(ParameterError, match=r"in the order of circuit\.parameters"):
        value_and_gradient(simulator(), circuit, SparsePauliOp("Z"), [1.0, 2.0])
    noisy = QuantumCircuit(1)
    noisy.rx(A, 0)
    noisy.reset(0)
    with pytest.raises(NotSupported, match="reset"):
        value_and_gradient(simulator(), noisy, SparsePauliOp("Z"), [1.0])


@pytest.mark.parametrize("package", ["algorithms", "machine_learning"])
def test_classes_of_packages(package: str) -> None:
    """The class for a package gives the gradients that the package's own shifts give, in its own order."""
    theirs = pytest.importorskip(f"qiskit_{package}.gradients")
    from importlib import import_module

    from qiskit.primitives import StatevectorEstimator

    ours = import_module(f"qsim_ex_provider.gradients.{package}").AdjointEstimatorGradient
    circuit = efficient_su2(3, reps=1).decompose()
    values = np.random.default_rng(1).normal(size=(2, circuit.num_parameters)).tolist()
    some = [list(circuit.parameters)[3:6][::-1], list(circuit.parameters)]
    given = [circuit] * 2, [OBSERVABLE] * 2, values, some
    found = ours(EstimatorV2(device="cpu")).run(*given).result()
    expected = theirs.ParamShiftEstimatorGradient(StatevectorEstimator()).run(*given).result()
    for one, other in zip(found.gradients, expected.gradients, strict=True):
        assert one == pytest.approx(other, abs=1e-9)
