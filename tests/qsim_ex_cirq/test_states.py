"""Final states on every device and in both precisions, against ``cirq.Simulator`` in double precision."""

from __future__ import annotations

import cirq
import numpy as np
import pytest
import sympy

A, B, C, D = cirq.LineQubit.range(4)
S, T = sympy.symbols("s t")
GATES = [
    cirq.X, cirq.Y, cirq.Z, cirq.H, cirq.S, cirq.T, cirq.X**0.3, cirq.Y**-0.7, cirq.Z**0.21, cirq.H**0.4,
    cirq.CNOT, cirq.CZ, cirq.SWAP, cirq.ISWAP, cirq.CX**0.4, cirq.CZ**-0.6, cirq.ISWAP**0.3, cirq.SWAP**0.7,
    cirq.XX**0.3, cirq.YY**0.8, cirq.ZZ**0.1, cirq.rx(0.3), cirq.ry(0.4), cirq.rz(0.5), cirq.ms(0.3),
    cirq.FSimGate(0.3, 0.7), cirq.PhasedXPowGate(phase_exponent=0.2, exponent=0.3), cirq.CCX, cirq.CCZ, cirq.CSWAP,
    cirq.PhasedXZGate(x_exponent=0.3, z_exponent=0.8, axis_phase_exponent=-0.3), cirq.CCZ**0.3, cirq.X.controlled(2),
    cirq.MatrixGate(cirq.testing.random_unitary(4, random_state=1)),
    cirq.MatrixGate(cirq.testing.random_unitary(8, random_state=2)),
    cirq.ThreeQubitDiagonalGate([0.1, 0.4, 0.9, 1.6, 2.5, 3.6, 4.9, 6.4]),
]  # fmt: skip


def wanted(circuit, resolver=None, order=cirq.QubitOrder.DEFAULT, initial=None):
    """What Cirq says, in double precision."""
    oracle = cirq.Simulator(dtype=np.complex128, split_untangled_states=False)
    return oracle.simulate(circuit, resolver, order, initial).final_state_vector


@pytest.mark.parametrize(("n", "seed"), [(n, seed) for n in (1, 2, 3, 5, 8, 11) for seed in range(3)])
def test_random_circuits(simulator, close, n, seed):
    """A random circuit of up to 11 qubits leaves the state that Cirq leaves, in the order that was asked for."""
    domain = {gate: cirq.num_qubits(gate) for gate in GATES if cirq.num_qubits(gate) <= n}
    qubits = cirq.LineQubit.range(n)
    circuit = cirq.testing.random_circuit(qubits, 25, 0.9, gate_domain=domain, random_state=seed)
    order = qubits[::-1] if seed % 2 else qubits
    result = simulator.simulate(circuit, qubit_order=order)
    assert list(result.qubit_map) == order
    close(result.final_state_vector, wanted(circuit, order=order), gates=25 * n)


def test_grid_and_named_qubits(simulator, close):
    """Qubits that are no line come in Cirq's order, and an order with idle qubits is followed."""
    grid = cirq.GridQubit.rect(2, 3)
    circuit = cirq.Circuit(cirq.H.on_each(*grid), cirq.CZ(grid[0], grid[3]) ** 0.3, cirq.ISWAP(grid[1], grid[5]))
    circuit += cirq.X(cirq.NamedQubit("b")).controlled_by(grid[2])
    close(simulator.simulate(circuit).final_state_vector, wanted(circuit))
    order = [cirq.NamedQubit("idle"), *grid[::-1], cirq.NamedQubit("b")]
    close(simulator.simulate(circuit, qubit_order=order).final_state_vector, wanted(circuit, order=order))


INITIAL = [
    0,
    5,
    np.int64(6),
    [1, 0, 1],
    np.array([0.6, 0, 0, 0.8j, 0, 0, 0, 0]),
    np.array([0.6, 0, 0, 0, 0, 0, 0.8j, 0]).reshape(2, 2, 2),
    cirq.KET_PLUS(A) * cirq.KET_ONE(B) * cirq.KET_IMAG(C),
]


@pytest.mark.parametrize("initial", INITIAL, ids=str)
def test_initial_states(simulator, close, initial):
    """Every way in which Cirq lets one write an initial state gives the state that it gives there."""
    circuit = cirq.Circuit(cirq.H(A), cirq.CNOT(A, B) ** 0.3, cirq.ISWAP(B, C))
    given = int(initial) if isinstance(initial, np.integer) else initial  # the oracle takes no NumPy integer
    close(simulator.simulate(circuit, initial_state=initial).final_state_vector, wanted(circuit, initial=given))


def test_initial_product_state_follows_its_qubits(simulator):
    """A product state says which qubit is in which state, so another order of the qubits does not exchange them."""
    circuit = cirq.Circuit(cirq.I(A), cirq.I(B))
    state = cirq.KET_ONE(A) * cirq.KET_ZERO(B)
    assert simulator.simulate(circuit, qubit_order=[A, B], initial_state=state).dirac_notation() == "|10⟩"
    assert simulator.simulate(circuit, qubit_order=[B, A], initial_state=state).dirac_notation() == "|01⟩"


def test_initial_state_of_an_earlier_result(simulator, close):
    """A state goes on where another result ended, be it ours or Cirq's."""
    first, second = cirq.Circuit(cirq.H(A), cirq.CNOT(A, B)), cirq.Circuit(cirq.T(A), cirq.X(B) ** 0.3)
    both = wanted(first + second)
    ours = simulator.simulate(first)
    close(simulator.simulate(second, initial_state=ours.final_state_vector).final_state_vector, both)
    for result in (ours, cirq.Simulator(split_untangled_states=False).simulate(first)):
        again = simulator.simulate(second, initial_state=result._final_simulator_state)
        np.testing.assert_allclose(again.final_state_vector, both, atol=1e-6)


def test_sweeps_and_symbols(simulator, close):
    """Each point of a sweep is the circuit with that point's numbers."""
    circuit = cirq.Circuit(cirq.X(A) ** T, cirq.rz(S * 2)(A), cirq.FSimGate(S, T)(A, B), cirq.CZ(A, B) ** (S + T))
    sweep = cirq.Linspace("t", 0, 1, 4) * cirq.Points("s", [0.3, 1.0])
    results = simulator.simulate_sweep(circuit, sweep)
    assert [result.params for result in results] == list(cirq.to_resolvers(sweep))
    for result in results:
        close(result.final_state_vector, wanted(circuit, result.params))


@pytest.mark.parametrize("circuit", [cirq.Circuit(), cirq.Circuit(cirq.global_phase_operation(1j))], ids=str)
def test_no_qubits(simulator, close, circuit):
    """A circuit of no qubits has one amplitude."""
    close(simulator.simulate(circuit).final_state_vector, wanted(circuit))


def test_wide_gates(simulator, close):
    """Matrices of seven qubits, many controls, and gates that are only decomposed act as in Cirq."""
    qubits = cirq.LineQubit.range(9)
    circuit = cirq.Circuit(
        cirq.H.on_each(*qubits),
        cirq.MatrixGate(cirq.testing.random_unitary(128, random_state=3)).on(*qubits[::-1][:7]),
        (cirq.Y**0.3).on(qubits[4]).controlled_by(*qubits[:4], *qubits[5:], control_values=[0, 1] * 4),
        cirq.QuantumFourierTransformGate(9).on(*qubits),
        cirq.QubitPermutationGate([3, 1, 2, 0, 8, 7, 6, 5, 4]).on(*qubits),
        cirq.PhaseGradientGate(num_qubits=9, exponent=0.3).on(*qubits),
        (cirq.X(qubits[0]) * cirq.Y(qubits[8]) * cirq.Z(qubits[4])) ** 0.3,
    )
    close(simulator.simulate(circuit).final_state_vector, wanted(circuit))


def test_state_preparation_of_untouched_qubits(simulator, close):
    """A state that is prepared on qubits which are still |0> is there, beside qubits that were used before."""
    state = np.array([0.6, 0, 0, 0.8j])
    circuit = cirq.Circuit(cirq.H(A), cirq.StatePreparationChannel(state).on(C, B), cirq.CNOT(A, B))
    close(simulator.simulate(circuit).final_state_vector, wanted(circuit))


def test_reset_of_untouched_qubits(simulator, close):
    """Resets at the beginning, as many programs write them, are no obstacle."""
    circuit = cirq.Circuit(cirq.reset_each(A, B), cirq.H(A), cirq.CNOT(A, B), cirq.reset(C))
    close(simulator.simulate(circuit).final_state_vector, wanted(circuit))


def test_measurements_collapse_the_state(simulator):
    """A measured state agrees with what was measured, and both outcomes come up."""
    circuit = cirq.Circuit(cirq.H(A), cirq.CNOT(A, B), cirq.measure(A, B, key="m", invert_mask=(True,)))
    seen = set()
    for _ in range(20):
        result = simulator.simulate(circuit)
        inverted, bit = result.measurements["m"]
        assert inverted == 1 - bit
        assert result.dirac_notation() == f"|{bit}{bit}⟩"
        seen.add(int(bit))
    assert seen == {0, 1}


def test_measured_pauli_products_collapse_the_state(simulator):
    """After a product of Pauli operators was measured the state is an eigenstate of it, with the sign of the bit."""
    observable = cirq.DensePauliString("XYZ", coefficient=-1)
    layer = [cirq.ry(0.3 + k)(q) for k, q in enumerate((A, B, C))]
    circuit = cirq.Circuit(layer, cirq.PauliMeasurementGate(observable, key="p").on(A, B, C), cirq.measure(D))
    operator = cirq.unitary(observable)
    for _ in range(10):
        result = simulator.simulate(circuit)
        psi = result.final_state_vector.reshape(8, 2)[:, 0]
        np.testing.assert_allclose(operator @ psi, (-1) ** int(result.measurements["p"][0]) * psi, atol=1e-6)


def test_repeated_keys_keep_the_last_value(simulator):
    """A key that is measured twice holds the last value, and a qubit that is read twice reads the same."""
    circuit = cirq.Circuit(cirq.H(A), cirq.X(B), cirq.measure(A, key="a"), cirq.measure(A, key="b"))
    circuit += [cirq.measure(B, key="c"), cirq.measure(B, key="c", invert_mask=(True,))]
    measured = simulator.simulate(circuit).measurements
    assert measured["a"] == measured["b"]
    assert measured["c"] == 0
