"""Stabilizer states for Qiskit's users: counts, memory, values and tableaus, as Aer's method of that name has them."""

from __future__ import annotations

import numpy as np
import pytest
from qiskit import QuantumCircuit, transpile
from qiskit.quantum_info import Clifford, Pauli, SparsePauliOp, StabilizerState, random_clifford

import qsim_ex_provider as ours
from qsim_ex import errors
from qsim_ex_provider import EstimatorV2, QsimExBackend, SamplerV2

pytest.importorskip("stim")


def ghz(qubits: int) -> QuantumCircuit:
    """A GHZ state, all of whose qubits are measured."""
    circuit = QuantumCircuit(qubits)
    circuit.h(0)
    for qubit in range(qubits - 1):
        circuit.cx(qubit, qubit + 1)
    circuit.measure_all()
    return circuit


@pytest.mark.parametrize("qubits", [3, 100, 10_000])
def test_counts_and_memory(qubits: int) -> None:
    """Counts and the outcomes of single shots of a GHZ state of any width."""
    backend = QsimExBackend(method="stabilizer")
    result = backend.run(ghz(qubits), shots=40, memory=True, seed_simulator=2).result()
    counts = result.get_counts()
    assert set(counts) == {"0" * qubits, "1" * qubits}
    assert sum(counts.values()) == len(result.get_memory()) == 40
    assert result.results[0].metadata["method"] == "stabilizer"


def test_automatic_says_why() -> None:
    """Without a method a wide circuit of Clifford gates runs so, and the metadata give the reason."""
    metadata = QsimExBackend().run(ghz(70), shots=5).result().results[0].metadata
    assert metadata["method"] == "stabilizer"
    assert "Clifford gates on 70 wires" in metadata["method_reason"]


@pytest.mark.parametrize("level", [None, 0, 3])
def test_tableaus_are_those_of_qiskit(level: int | None) -> None:
    """`save_clifford` has Qiskit's tableau of the gates, `save_stabilizer` a state that is that of the circuit."""
    backend = QsimExBackend(method="stabilizer")
    circuit = random_clifford(4, seed=5).to_circuit()
    made = ours.save_stabilizer(ours.save_clifford(circuit.copy()))
    if level is not None:
        made = transpile(made, backend, optimization_level=level)
    data = backend.run(made).result().data()
    assert isinstance(data["stabilizer"], StabilizerState)
    assert data["stabilizer"].equiv(StabilizerState(circuit))
    assert data["clifford"] == Clifford(circuit)


def test_values_and_conditions() -> None:
    """An expectation value in the middle, a condition, a reset, and a value for each of the classical bits."""
    circuit = QuantumCircuit(2, 2)
    circuit.h(0)
    circuit.cx(0, 1)
    ours.save_expectation_value(circuit, SparsePauliOp(["XX", "ZI", "YY"], [0.5, 3.0, 2.0]), [0, 1], "bell")
    circuit.measure(0, 0)
    with circuit.if_test((circuit.clbits[0], 1)):
        circuit.x(1)
    ours.save_expectation_value(circuit, Pauli("IZ"), [0, 1], "each", conditional=True)
    circuit.reset(0)
    circuit.measure([0, 1], [1, 0])
    result = QsimExBackend(method="stabilizer").run(circuit, shots=100, seed_simulator=1).result()
    assert result.data()["bell"] == pytest.approx(-1.5)
    assert result.data()["each"] == {"0x0": 1.0, "0x1": -1.0}
    assert result.get_counts() == {"00": 100}


def test_aer_agrees() -> None:
    """Counts of a noisy circuit with Aer's noise model and a condition come near those of Aer's own method."""
    aer = pytest.importorskip("qiskit_aer")
    noise = pytest.importorskip("qiskit_aer.noise")
    model = noise.NoiseModel()
    model.add_all_qubit_quantum_error(noise.depolarizing_error(0.1, 2), ["cx"])
    model.add_all_qubit_quantum_error(noise.pauli_error([("X", 0.2), ("I", 0.8)]), ["x", "reset", "measure"])
    model.add_all_qubit_readout_error(noise.ReadoutError([[0.9, 0.1], [0.1, 0.9]]))
    circuit = QuantumCircuit(3, 3)
    circuit.h(0)
    circuit.cx(0, 1)
    circuit.measure(1, 0)
    with circuit.if_test((circuit.clbits[0], 1)):
        circuit.x(2)
    circuit.reset(1)
    circuit.cx(2, 1)
    circuit.measure([1, 2], [1, 2])
    shots = 20_000
    found = QsimExBackend(method="stabilizer", noise_model=model).run(circuit, shots=shots, seed_simulator=1).result()
    exact = (
        aer.AerSimulator(method="stabilizer", noise_model=model).run(circuit, shots=shots, seed_simulator=1).result()
    )
    for value in (f"{k:03b}" for k in range(8)):
        one, other = found.get_counts().get(value, 0), exact.get_counts().get(value, 0)
        assert abs(one - other) < 6 * np.sqrt(one + other + 1)


def test_primitives() -> None:
    """The sampler and the estimator take the method as an option of the engine."""
    sampled = SamplerV2(method="stabilizer").run([ghz(50)], shots=30).result()[0].data.meas.get_counts()
    assert set(sampled) == {"0" * 50, "1" * 50}
    circuit = ghz(50).remove_final_measurements(inplace=False)
    found = EstimatorV2(method="stabilizer").run([(circuit, ["X" * 50, "Z" * 50, "I" * 49 + "Z"])]).result()[0]
    np.testing.assert_array_equal(found.data.evs, [1, 1, 0])


def test_what_is_refused() -> None:
    """A T gate, a saved vector and a state are refused by name; explain names Stim, and no plan."""
    backend = QsimExBackend(method="stabilizer")
    circuit = QuantumCircuit(1)
    circuit.t(0)
    for made, told in ((circuit, "Op 't' on wires 0"), (ours.save_statevector(QuantumCircuit(1)), "statevector")):
        with pytest.raises(errors.NotSupported, match=told):
            backend.run(made).result()
    with pytest.raises(errors.OptionError, match="save what='stabilizer'"):
        backend.state(QuantumCircuit(1))
    assert "Stim" in backend.explain(ghz(3))
