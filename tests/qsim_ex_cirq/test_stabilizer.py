"""Stabilizer states for Cirq's users: samples, noise, conditions and expectation values of wide circuits."""

from __future__ import annotations

from itertools import pairwise

import cirq
import numpy as np
import pytest
import sympy

from qsim_ex import errors
from qsim_ex_cirq import QsimExSimulator

pytest.importorskip("stim")

QUBITS = cirq.LineQubit.range(80)
GHZ = cirq.Circuit(cirq.H(QUBITS[0]), [cirq.CNOT(*pair) for pair in pairwise(QUBITS)])
BELL = cirq.Circuit(cirq.H(QUBITS[0]), cirq.CNOT(*QUBITS[:2]))


def test_wide_circuits() -> None:
    """A GHZ state of 80 qubits has equal bits in each shot; without a method it runs so too, and says why."""
    circuit = GHZ + cirq.measure(*QUBITS, key="m")
    for options in ({"method": "stabilizer"}, {}):
        result = QsimExSimulator(seed=1, **options).run(circuit, repetitions=30)
        assert {tuple(set(shot.tolist())) for shot in result.measurements["m"]} == {(0,), (1,)}
        assert result.engine_result.facts["method"] == "stabilizer"


def test_sweeps_and_noise() -> None:
    """Quarter turns of a parameter, noise of Cirq's, conditions, resets, and a key that is measured twice."""
    a, b = QUBITS[:2]
    circuit = cirq.Circuit(
        cirq.rx(sympy.Symbol("t")).on(a),
        cirq.measure(a, key="first"),
        cirq.X(b).with_classical_controls("first"),
        cirq.reset(a),
        cirq.measure(a, b, key="end", invert_mask=(True, False)),
    )
    points = cirq.Points("t", [0, np.pi, 2 * np.pi])
    plain = QsimExSimulator(method="stabilizer", seed=1).run_sweep(circuit, points, repetitions=20)
    for result, flipped in zip(plain, (0, 1, 0), strict=True):
        np.testing.assert_array_equal(result.measurements["end"], np.tile([1, flipped], (20, 1)))
    noisy = QsimExSimulator(method="stabilizer", seed=1, noise=cirq.bit_flip(0.3))
    found = noisy.run(cirq.Circuit(cirq.X(a), cirq.measure(a, key="m")), repetitions=4000).measurements["m"]
    assert abs(found.mean() - 0.7) < 0.05
    twice = cirq.Circuit(cirq.H(a), cirq.measure(a, key="k"), cirq.H(a), cirq.measure(a, key="k"))
    assert QsimExSimulator(method="stabilizer", seed=1).run(twice, repetitions=5).records["k"].shape == (5, 2, 1)


def test_expectation_values() -> None:
    """Values of sums of strings, without a state."""
    a, b = QUBITS[:2]
    simulator = QsimExSimulator(method="stabilizer", seed=1)
    assert simulator.simulate_expectation_values(BELL, [cirq.X(a) * cirq.X(b), 2.0 * cirq.Z(a) + 1.0]) == [1.0, 1.0]
    whole = cirq.PauliString(cirq.X(qubit) for qubit in QUBITS)
    assert simulator.simulate_expectation_values(GHZ, [whole]) == [1.0]


def test_states_are_refused() -> None:
    """States and amplitudes are refused with what to use, a T gate by its name."""
    simulator = QsimExSimulator(method="stabilizer")
    for ask in (simulator.simulate, simulator.state, lambda one: simulator.compute_amplitudes(one, [0])):
        with pytest.raises(errors.OptionError, match="save what='stabilizer'"):
            ask(BELL)
    with pytest.raises(errors.NotSupported, match="Op 't'"):
        simulator.run(cirq.Circuit(cirq.T(QUBITS[0]), cirq.measure(QUBITS[0])), repetitions=2)
    assert "Stim" in simulator.explain(BELL)
