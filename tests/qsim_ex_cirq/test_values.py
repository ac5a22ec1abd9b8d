"""Amplitudes and expectation values, against ``cirq.Simulator`` in double precision."""

from __future__ import annotations

import cirq
import numpy as np
import pytest
import sympy

A, B, C, D = cirq.LineQubit.range(4)
CIRCUIT = cirq.testing.random_circuit([A, B, C, D], 15, 0.9, random_state=11) + [cirq.ry(0.3)(q) for q in (A, B, C, D)]
ORACLE = cirq.Simulator(dtype=np.complex128)


def test_amplitudes(simulator):
    """Amplitudes come in the order that was asked for, by values that are big endian in the qubit order."""
    values = [3, 0, 15, 8, 3]
    for order in ([A, B, C, D], [C, A, D, B]):
        got = simulator.compute_amplitudes(CIRCUIT, values, qubit_order=order)
        np.testing.assert_allclose(got, ORACLE.compute_amplitudes(CIRCUIT, values, qubit_order=order), atol=1e-6)
        assert all(isinstance(value, complex) for value in got)
    assert len(simulator.compute_amplitudes(CIRCUIT, np.arange(16))) == 16
    assert simulator.compute_amplitudes(CIRCUIT, []) == []


def test_amplitudes_of_a_sweep(simulator):
    """Each point of a sweep has its own amplitudes."""
    t = sympy.Symbol("t")
    circuit = cirq.Circuit(cirq.X(A) ** t)
    got = simulator.compute_amplitudes_sweep(circuit, [1], cirq.Points("t", [0, 0.5, 1]))
    np.testing.assert_allclose(np.abs(np.ravel(got)) ** 2, [0, 0.5, 1], atol=1e-6)


def test_sample_from_amplitudes(simulator):
    """Cirq's gate-by-gate sampling works on our amplitudes."""
    ghz = cirq.Circuit(cirq.H(A), cirq.CNOT(A, B), cirq.CNOT(B, C))
    counts = simulator.sample_from_amplitudes(ghz, {}, seed=3, repetitions=200)
    assert set(counts) == {0, 7}
    assert sum(counts.values()) == 200


OBSERVABLES = [
    cirq.X(A) * cirq.Y(B) * cirq.Z(D),
    cirq.Z(A) + 0.5 * cirq.Z(B) * cirq.Z(C) - 2,
    cirq.Y(C),
    -1.5 * cirq.PauliString({A: cirq.X, D: cirq.X}),
    cirq.PauliString(coefficient=3),
    2,
]


@pytest.mark.parametrize("order", [[A, B, C, D], [D, A, C, B]], ids=str)
def test_expectation_values(simulator, dtype, order):
    """Pauli strings, sums and constants have the values that Cirq computes, as real numbers."""
    got = simulator.simulate_expectation_values(CIRCUIT, OBSERVABLES, qubit_order=order)
    wanted = ORACLE.simulate_expectation_values(CIRCUIT, OBSERVABLES, qubit_order=order)
    np.testing.assert_allclose(got, np.real(wanted), atol=1e-5 if dtype == np.complex64 else 1e-12)
    assert all(isinstance(value, float) for value in got)


def test_expectation_values_of_a_sweep_and_an_initial_state(simulator):
    """Each point of a sweep has its values, from the initial state that was given; one observable may stand alone."""
    t = sympy.Symbol("t")
    circuit = cirq.Circuit(cirq.ry(t)(A), cirq.CNOT(A, B))
    sweep = cirq.Linspace("t", 0, 2, 5)
    got = simulator.simulate_expectation_values_sweep(circuit, cirq.Z(B), sweep, initial_state=0b10)
    np.testing.assert_allclose(np.ravel(got), -np.cos(np.linspace(0, 2, 5)), atol=1e-6)


def test_complex_coefficients_give_complex_values(simulator):
    """An observable that is not Hermitian keeps its imaginary part, which Cirq refuses to compute."""
    (value,) = simulator.simulate_expectation_values(cirq.Circuit(cirq.X(A)), 1j * cirq.Z(A) + 2)
    assert value == pytest.approx(2 - 1j)


def test_expectation_after_permitted_measurement(simulator):
    """With measurements that are permitted the values are those of the collapsed state, as in Cirq."""
    circuit = cirq.Circuit(cirq.H(A), cirq.measure(A))
    values = [
        simulator.simulate_expectation_values(circuit, cirq.Z(A), permit_terminal_measurements=True)[0]
        for _ in range(20)
    ]
    np.testing.assert_allclose(np.abs(values), 1, atol=1e-6)
    assert min(values) < 0 < max(values)


def test_sampled_expectation_values(simulator):
    """The estimate from samples lies near the exact value."""
    circuit = cirq.Circuit(cirq.ry(0.7)(A), cirq.CNOT(A, B))
    ((estimate, other),) = simulator.sample_expectation_values(
        circuit, [cirq.Z(A) * 2 + 1, cirq.X(A) * cirq.X(B)], num_samples=4_000
    )
    assert estimate == pytest.approx(2 * np.cos(0.7) + 1, abs=0.1)
    assert other == pytest.approx(np.sin(0.7), abs=0.1)
