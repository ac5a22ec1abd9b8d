"""The backend from the outside: what goes in, what comes out, and where it says that it ran."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from qiskit import QuantumCircuit, transpile
from qiskit.circuit import ClassicalRegister, Clbit, QuantumRegister
from qiskit.circuit import library as lib
from qiskit.circuit.random import random_circuit
from qiskit.providers import QiskitBackendNotFoundError
from qiskit.quantum_info import Statevector, random_statevector, random_unitary

from qsim_ex_provider import QsimExBackend, QsimExProvider, SaveStatevector, save_statevector


def bell(shots_in: int = 2) -> QuantumCircuit:
    """A Bell pair, measured."""
    circuit = QuantumCircuit(2, shots_in, name="bell")
    circuit.h(0)
    circuit.cx(0, 1)
    circuit.measure([0, 1], [0, 1])
    return circuit


def mixed_circuit(num_qubits: int, seed: int) -> QuantumCircuit:
    """Gates of all sorts: standard, controlled, matrices, states, permutations, a global phase."""
    rng = np.random.default_rng(seed)
    circuit = QuantumCircuit(num_qubits, global_phase=0.4)
    circuit.initialize(random_statevector(4, seed=seed), [1, 0])
    for _ in range(6):
        wires = rng.permutation(num_qubits).tolist()
        circuit.u(*rng.uniform(-3, 3, 3), wires[0])
        circuit.cx(wires[1], wires[0])
        circuit.rzz(rng.uniform(), wires[2], wires[3])
        circuit.append(lib.RYGate(rng.uniform()).control(2, ctrl_state=1, annotated=False), wires[1:4])
        circuit.unitary(random_unitary(8, seed=rng), wires[:3])
        circuit.append(lib.PermutationGate([2, 0, 1]), wires[1:4])
        circuit.swap(wires[0], wires[-1])
        circuit.mcp(rng.uniform(), wires[:3], wires[3])
    return circuit


def test_amplitudes(each_backend: Any) -> None:
    """The saved state is Qiskit's own state to rounding, on every device and in both precisions."""
    circuit = mixed_circuit(6, seed=1)
    wanted = Statevector(circuit).data
    save_statevector(circuit)
    state = each_backend.run(circuit).result().get_statevector()
    limit = 1e-12 if each_backend.options.precision == "double" else 1e-6 + 3e-8 * circuit.size()
    assert np.linalg.norm(state.data - wanted) <= limit * np.linalg.norm(wanted)


@pytest.mark.parametrize("seed", range(12))
def test_random_circuits(each_backend: Any, seed: int) -> None:
    """Random circuits of standard gates on up to four qubits at a time have Qiskit's own state."""
    circuit = random_circuit(3 + seed % 6, 10, max_operands=4, seed=seed)
    wanted = Statevector(circuit).data
    found = each_backend.run(save_statevector(circuit)).result().get_statevector().data
    limit = 1e-12 if each_backend.options.precision == "double" else 1e-6 + 3e-8 * circuit.size()
    assert np.linalg.norm(found - wanted) <= limit


def test_counts_follow_the_probabilities(each_backend: Any) -> None:
    """Shots are distributed as the squared amplitudes say (six standard deviations)."""
    circuit = mixed_circuit(5, seed=2)
    wanted = Statevector(circuit).probabilities()
    circuit.measure_all()
    shots = 20_000
    counts = each_backend.run(circuit, shots=shots, seed_simulator=3).result().get_counts()
    found = np.zeros(32)
    for bits, count in counts.items():
        found[int(bits, 2)] = count
    assert found.sum() == shots
    assert np.all(np.abs(found - shots * wanted) <= 6 * np.sqrt(shots * wanted) + 1)


def test_bits_go_where_they_are_measured_to(backend: Any) -> None:
    """A bit string has the highest classical bit on the left and spaces between registers, also beyond 64 bits."""
    circuit = QuantumCircuit(QuantumRegister(3), ClassicalRegister(2, "a"), ClassicalRegister(70, "b"))
    circuit.x([0, 2])
    circuit.measure([0, 1, 2], [1, 0, 71])
    result = backend.run(circuit, shots=5, memory=True).result()
    wanted = "1" + "0" * 69 + " " + "10"
    assert result.get_counts() == {wanted: 5}
    assert result.get_memory() == [wanted] * 5
    assert result.data()["counts"] == {hex(1 << 71 | 2): 5}


def test_bits_without_registers(backend: Any) -> None:
    """Registers that leave bits out or overlap do not cut the bit string wrongly."""
    bits = [Clbit(), Clbit(), Clbit()]
    circuit = QuantumCircuit(QuantumRegister(3), bits, ClassicalRegister(bits=bits[1:], name="a"))
    circuit.x(0)
    circuit.measure([0, 1, 2], [0, 1, 2])
    assert backend.run(circuit, shots=3).result().get_counts() == {"001": 3}


def test_memory_is_the_shots_in_order(backend: Any) -> None:
    """The memory has one entry for each shot, adds up to the counts, and is only there if asked for."""
    result = backend.run(bell(), shots=200, memory=True, seed_simulator=1).result()
    memory = result.get_memory()
    assert len(memory) == 200
    assert {bits: memory.count(bits) for bits in set(memory)} == dict(result.get_counts())
    assert "memory" not in backend.run(bell()).result().data()


def test_same_seed_same_shots(backend: Any) -> None:
    """The seed fixes every shot; another seed, or none, gives others."""
    circuit = QuantumCircuit(12)
    circuit.h(range(12))
    circuit.measure_all()
    runs = [backend.run(circuit, shots=50, memory=True, seed_simulator=s).result() for s in (7, 7, 8, None, None)]
    first, again, other, free, free_again = (run.get_memory() for run in runs)
    assert first == again
    assert len({tuple(m) for m in (first, other, free, free_again)}) == 4
    replay = backend.run(circuit, shots=50, memory=True, seed_simulator=runs[3].base_seed).result()
    assert replay.get_memory() == free


def test_circuits_of_a_list_are_independent(backend: Any) -> None:
    """Equal circuits of a list get shots of their own, which the base seed and the position give again."""
    circuit = QuantumCircuit(10)
    circuit.h(range(10))
    circuit.measure_all()
    once, again = (backend.run([circuit] * 3, shots=20, memory=True, seed_simulator=5).result() for _ in range(2))
    memories = [tuple(once.get_memory(k)) for k in range(3)]
    assert len(set(memories)) == 3
    assert memories == [tuple(again.get_memory(k)) for k in range(3)]
    assert len({e.seed for e in once.results}) == 3
    assert once.base_seed == 5


def test_result_says_what_ran_where(backend: Any, device_name: str) -> None:
    """The result names device, reason, precision, placement, plan and times, all of it fit for JSON."""
    result = backend.run(bell(), shots=10, seed_simulator=4).result()
    (one,) = result.results
    assert one.metadata["device"].startswith(device_name)
    assert one.metadata["device_reason"]
    assert one.metadata["precision"] == "double"
    assert one.metadata["plan"]["gates"] == 2
    assert one.time_taken > 0
    assert one.seed == 4
    assert one.shots == 10
    assert (one.success, one.status, result.success, result.status) == (True, "DONE", True, "COMPLETED")
    json.dumps(one.metadata)
    assert result.backend_name == "qsim_ex"


def test_header_describes_the_circuit(backend: Any) -> None:
    """The header carries name, registers, phase and metadata of the circuit."""
    circuit = bell()
    circuit.global_phase, circuit.metadata = 0.5, {"angle": 3}
    head = backend.run(circuit).result().results[0].header
    assert head == {
        "name": "bell",
        "n_qubits": 2,
        "memory_slots": 2,
        "creg_sizes": [["c", 2]],
        "qreg_sizes": [["q", 2]],
        "global_phase": 0.5,
        "metadata": {"angle": 3},
    }


def test_single_precision_rounds(device_name: str) -> None:
    """The option `precision` of a run reaches the engine: single precision shows its rounding, double does not."""
    circuit = save_statevector(mixed_circuit(5, seed=5))
    backend = QsimExBackend(device=device_name)
    states = {p: backend.run(circuit, precision=p).result().get_statevector().data for p in ("single", "double")}
    assert 1e-9 < np.linalg.norm(states["single"] - states["double"]) < 1e-5


def test_several_saves(backend: Any) -> None:
    """States are saved where the instruction stands, under their labels, next to counts."""
    circuit = QuantumCircuit(2)
    circuit.append(SaveStatevector(2, "first"), [0, 1])
    circuit.h(0)
    save_statevector(circuit, "second")
    circuit.cx(0, 1)
    save_statevector(circuit)
    circuit.measure_all()
    result = backend.run(circuit).result()
    assert result.data()["first"].equiv(Statevector.from_label("00"))
    assert result.data()["second"].equiv(Statevector.from_label("0+"))
    np.testing.assert_allclose(result.get_statevector().data, np.array([1, 0, 0, 1]) / np.sqrt(2), atol=1e-12)
    assert set(result.get_counts()) == {"00", "11"}


def test_saves_of_aer_are_understood(backend: Any) -> None:
    """Aer's own instruction saves the same state under its label."""
    aer = pytest.importorskip("qiskit_aer.library")
    circuit = QuantumCircuit(2)
    circuit.h(0)
    circuit.append(aer.SaveStatevector(2, label="of_aer"), [0, 1])
    assert backend.run(circuit).result().data()["of_aer"].equiv(Statevector.from_label("0+"))


def test_empty_list(backend: Any) -> None:
    """No circuits are no error: the result is empty."""
    job = backend.run([])
    assert job.result().results == []
    assert job.result().success


def test_circuits_of_zero_and_one_qubits(backend: Any) -> None:
    """A circuit without qubits has one amplitude, its global phase."""
    empty = save_statevector(QuantumCircuit(0, global_phase=0.3))
    np.testing.assert_allclose(backend.run(empty).result().get_statevector().data, [np.exp(0.3j)], atol=1e-12)
    one = QuantumCircuit(1, 1)
    one.x(0)
    one.measure(0, 0)
    assert backend.run(one, shots=4).result().get_counts() == {"1": 4}


def test_result_by_name_of_the_circuit(backend: Any) -> None:
    """Counts of one circuit of a list are found by the circuit and by its name."""
    other = QuantumCircuit(1, name="other")
    other.x(0)
    other.measure_all()
    result = backend.run([bell(), other], shots=7).result()
    assert result.get_counts("other") == result.get_counts(other) == {"1": 7}
    assert len(result.get_counts()) == 2


def test_provider_finds_its_backend() -> None:
    """The provider lists its backend, hands defaults on, and names the nearest for a wrong name."""
    provider = QsimExProvider(device="cpu", shots=9)
    assert [b.name for b in provider.backends()] == ["qsim_ex"]
    assert provider.get_backend("qsim_ex").options.shots == 9
    assert provider.get_backend().provider is provider
    with pytest.raises(QiskitBackendNotFoundError, match="qsim_ex"):
        provider.get_backend("qsim-ex")


def test_options_of_the_backend_are_defaults_of_a_run() -> None:
    """Fields given to the constructor or to `set_options` hold until a run says otherwise."""
    backend = QsimExBackend(device="cpu", shots=11)
    assert backend.run(bell()).result().results[0].shots == 11
    backend.set_options(shots=12)
    assert backend.run(bell()).result().results[0].shots == 12
    assert sum(backend.run(bell(), shots=13).result().get_counts().values()) == 13


def test_shots_of_none_are_those_of_the_backend() -> None:
    """Programs that pass on ``shots=None`` get as many shots as the backend was made with, as from Aer."""
    circuit = QuantumCircuit(1, 1)
    circuit.measure(0, 0)
    assert QsimExBackend(shots=11).run(circuit, shots=None).result().get_counts() == {"0": 11}


def test_metadata_says_auto_chose_the_cpu_and_why() -> None:
    """With device='auto' the result names the device and the reason."""
    metadata = QsimExBackend().run(bell()).result().results[0].metadata
    assert "auto" in metadata["device_reason"]


def test_saved_qubits_in_another_order(backend: Any) -> None:
    """A state is saved with the instruction's first qubit as its least significant, whatever qubit that is."""
    circuit = QuantumCircuit(3)
    circuit.x(1)
    circuit.append(SaveStatevector(3, "turned"), [1, 2, 0])
    circuit.append(SaveStatevector(3), [0, 1, 2])
    data = backend.run(circuit).result().data()
    assert data["turned"].equiv(Statevector.from_label("001"))
    assert data["statevector"].equiv(Statevector.from_label("010"))


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_transpiled_circuits_have_the_same_state(level: int) -> None:
    """What the transpiler makes for our target is the same circuit, at every optimisation level."""
    backend = QsimExBackend(device="cpu")
    circuit = mixed_circuit(6, seed=8)
    wanted = Statevector(circuit)
    made = transpile(save_statevector(circuit), backend, optimization_level=level)
    state = backend.run(made).result().get_statevector()
    assert abs(np.vdot(state.data, wanted.data)) == pytest.approx(1, abs=1e-9)


def test_states_larger_than_a_device_by_options_alone() -> None:
    """Options that divide a state reach the engine, and the counts stay the same."""
    circuit = QuantumCircuit(8)
    circuit.h(range(8))
    for k in range(7):
        circuit.cx(k, k + 1)
    circuit.measure_all()
    counts = []
    for options in ({}, {"device_wires": 5}, {"virtual_peers": 4}, {"device_wires": 5, "host_memory": "spread"}):
        result = QsimExBackend().run(circuit, device="cpu", shots=100, seed_simulator=5, **options).result()
        counts.append(result.get_counts())
        told = result.results[0].metadata
        assert told["deployment"]["device_wires"] == options.get("device_wires", 6 if options else 8)
        assert told["placement"] == told["deployment"]["kind"]
    assert all(found == counts[0] for found in counts)
