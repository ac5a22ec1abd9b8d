"""Save and set instructions: what Aer's users find in their results, from our instructions and from Aer's own."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from qiskit import QuantumCircuit, transpile
from qiskit.circuit import Parameter
from qiskit.circuit.library import StatePreparation
from qiskit.quantum_info import DensityMatrix, Operator, Pauli, SparsePauliOp, Statevector, random_statevector

import qsim_ex_provider as ours
from qsim_ex import errors
from qsim_ex_provider import QsimExBackend

pytest.importorskip("qiskit_aer")

import qiskit_aer.library  # noqa: F401 (gives circuits Aer's methods)
from qiskit_aer import AerSimulator
from qiskit_aer.library import SetDensityMatrix
from qiskit_aer.noise import NoiseModel, depolarizing_error

SUM = SparsePauliOp.from_list([("XY", 0.5), ("ZI", -1.25), ("II", 2.0), ("ZI", 0.25)])

SAVES: dict[str, tuple[tuple[Any, ...], tuple[str, ...]]] = {
    "save_statevector": ((), ("pershot", "conditional")),
    "save_statevector_dict": ((), ("pershot", "conditional")),
    "save_state": ((), ("pershot", "conditional")),
    "save_probabilities": (([2, 0],), ("pershot", "conditional", "unnormalized")),
    "save_probabilities_dict": (([2, 0],), ("pershot", "conditional", "unnormalized")),
    "save_expectation_value": ((SUM, [2, 0]), ("pershot", "conditional", "unnormalized")),
    "save_expectation_value_variance": ((SUM, [2, 0]), ("pershot", "conditional", "unnormalized")),
    "save_amplitudes": (([0, 5, 3],), ("pershot", "conditional")),
    "save_amplitudes_squared": ((["0x0", "0x5"],), ("pershot", "conditional", "unnormalized")),
    "save_density_matrix": (([0, 2],), ("pershot", "conditional", "unnormalized")),
    "save_unitary": ((), ("pershot",)),
}
"""Each function with its arguments after the circuit, and its subtypes."""

CASES = [
    (name, flags)
    for name, (_, known) in SAVES.items()
    for flags in [(), *((flag,) for flag in known), *([("pershot", "conditional")] if "conditional" in known else [])]
]


def gates() -> QuantumCircuit:
    """Gates on three qubits, and classical bits."""
    circuit = QuantumCircuit(3, 2)
    circuit.h(0)
    circuit.cx(0, 1)
    circuit.ry(0.7, 2)
    circuit.rzz(0.4, 1, 2)
    circuit.u(0.2, 0.5, 0.9, 1)
    return circuit


def certain() -> QuantumCircuit:
    """A measurement in the middle and a condition, whose outcome is certain: shots of both simulators are alike."""
    circuit = gates()
    circuit.barrier()
    circuit.set_statevector(Statevector.from_label("1+0"))
    circuit.measure(2, 1)
    with circuit.if_test((circuit.clbits[1], 1)):
        circuit.ry(0.8, 0)
    circuit.cx(1, 0)
    return circuit


def append(circuit: QuantumCircuit, name: str, flags: tuple[str, ...], *, by_aer: bool) -> QuantumCircuit:
    """Append a save, by our function or by Aer's method."""
    arguments, subtype = SAVES[name][0], dict.fromkeys(flags, True)
    if by_aer:
        getattr(circuit, name)(*arguments, **subtype)
    else:
        getattr(ours, name)(circuit, *arguments, **subtype)
    return circuit


def data_of(backend: Any, circuit: QuantumCircuit, shots: int = 3, **options: Any) -> dict[str, Any]:
    """Everything that a result holds but counts."""
    result = backend.run(circuit, shots=shots, **options).result()
    assert result.success, result.status
    return {key: value for key, value in result.data(0).items() if key != "counts"}


def same(found: Any, expected: Any) -> None:
    """Compare values, their keys, and their types, which are Qiskit's where Aer has classes derived from those."""
    assert isinstance(expected, type(found))
    if isinstance(expected, dict):
        assert sorted(found) == sorted(expected)
        for key, value in expected.items():
            same(found[key], value)
    elif isinstance(expected, list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            same(one, other)
    else:
        found, expected = np.asarray(found), np.asarray(expected)
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("by_aer", [False, True], ids=["ours", "Aer's"])
@pytest.mark.parametrize(
    ("name", "flags", "made"),
    [(*case, made) for case in CASES for made in (gates, certain) if (case[0], made) != ("save_unitary", certain)],
)
def test_data_are_those_of_aer(name: str, flags: tuple[str, ...], made: Any, by_aer: bool) -> None:
    """Every save in every subtype has Aer's value, type, label and keys, whichever object stands in the circuit."""
    method = "unitary" if name == "save_unitary" else "statevector"
    expected = data_of(AerSimulator(method=method), append(made(), name, flags, by_aer=True))
    same(data_of(QsimExBackend(device="cpu"), append(made(), name, flags, by_aer=by_aer)), expected)


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_transpiled_circuits_keep_saves(level: int) -> None:
    """`transpile` keeps every save at its place, with its subtype and its qubits."""
    circuit = gates()
    circuit.swap(0, 2)
    for k, (name, flags) in enumerate(CASES):
        arguments = SAVES[name][0]
        getattr(ours, name)(circuit, *arguments, label=f"{k}", **dict.fromkeys(flags, True))
    circuit.h(0)
    backend = QsimExBackend(device="cpu")
    same(data_of(backend, transpile(circuit, backend, optimization_level=level)), data_of(backend, circuit))


def test_shots_after_a_random_measurement() -> None:
    """Lists have a value for each shot, in order; conditional ones are grouped by what the shots' memory was."""
    circuit = QuantumCircuit(2, 2)
    circuit.h(0)
    circuit.measure(0, 1)
    circuit.cx(0, 1)
    ours.save_statevector(circuit, "first")
    ours.save_statevector(circuit, "each", pershot=True)
    ours.save_probabilities_dict(circuit, [1], "grouped", conditional=True)
    ours.save_expectation_value(circuit, Pauli("Z"), [1], "z", pershot=True)
    result = QsimExBackend(device="cpu").run(circuit, shots=50, memory=True, seed_simulator=3).result()
    data, memory = result.data(0), result.get_memory()
    assert {"00", "10"} == set(memory)
    for bits, state in zip(memory, data["each"], strict=True):
        assert state.equiv(Statevector.from_label("11" if bits == "10" else "00"))
    assert data["first"] == data["each"][0]
    assert data["grouped"] == {"0x0": {0: 1.0}, "0x2": {1: 1.0}}
    np.testing.assert_allclose(data["z"], [1 if bits == "00" else -1 for bits in memory])


@pytest.mark.parametrize("measured", [False, True])
def test_noise_is_averaged_over_the_shots(measured: bool) -> None:
    """A density matrix after noise is the mean of the shots, with and without measurements."""
    model = NoiseModel()
    model.add_all_qubit_quantum_error(depolarizing_error(0.3, 1), ["h"])
    circuit = QuantumCircuit(2, 2)
    circuit.h([0, 1])
    ours.save_density_matrix(circuit, [1])
    ours.save_expectation_value(circuit, Pauli("X"), [0])
    if measured:
        circuit.measure([0, 1], [0, 1])
    backend = QsimExBackend(device="cpu", noise_model=model, seed_simulator=5)
    data = data_of(backend, circuit, shots=4000)
    expected = DensityMatrix.from_label("+").data * 0.7 + 0.3 * np.eye(2) / 2
    assert isinstance(data["density_matrix"], DensityMatrix)
    np.testing.assert_allclose(data["density_matrix"].data, expected, atol=0.04)
    assert data["expectation_value"] == pytest.approx(0.7, abs=0.05)


def test_parameter_binds() -> None:
    """Every binding has its own values."""
    from qiskit.circuit import Parameter

    turn = Parameter("turn")
    circuit = QuantumCircuit(1)
    circuit.ry(turn, 0)
    ours.save_expectation_value(circuit, Pauli("Z"), [0])
    ours.save_probabilities_dict(circuit, label="p")
    angles = [0.0, 0.4, np.pi]
    result = QsimExBackend(device="cpu").run(circuit, parameter_binds=[{turn: angles}]).result()
    for k, angle in enumerate(angles):
        assert result.data(k)["expectation_value"] == pytest.approx(np.cos(angle))
    assert result.data(0)["p"] == {0: 1.0}


def test_unitaries() -> None:
    """`get_unitary` is Qiskit's operator, with a state preparation too; what is no gate before it is an error."""
    circuit = gates()
    circuit.append(StatePreparation(random_statevector(2, seed=1)), [1])
    expected = Operator(circuit)
    ours.save_unitary(circuit)
    backend = QsimExBackend(device="cpu")
    found = backend.run(circuit).result().get_unitary()
    assert isinstance(found, Operator)
    assert found == expected
    prepared = QuantumCircuit(2)
    prepared.append(StatePreparation(random_statevector(4, seed=2)), [1, 0])
    prepared.cx(0, 1)
    assert backend.run(ours.save_unitary(prepared.copy())).result().get_unitary() == Operator(prepared)
    with pytest.raises(errors.NotSupported, match=r"expected only gates before the save of a unitary.*setstate"):
        backend.run(ours.save_unitary(certain())).result()


def test_a_state_is_set_anywhere() -> None:
    """`set_statevector` discards the state, after gates and measurements too, and keeps the classical bits."""
    state = random_statevector(8, seed=4)
    circuit = gates()
    circuit.measure([0, 1], [0, 1])
    ours.set_statevector(circuit, state)
    circuit.cx(0, 2)
    ours.save_statevector(circuit)
    result = QsimExBackend(device="cpu").run(circuit, shots=200, seed_simulator=1).result()
    exact = QuantumCircuit(3)
    exact.cx(0, 2)
    np.testing.assert_allclose(result.get_statevector().data, state.evolve(exact).data, atol=1e-12)
    assert len(result.get_counts()) > 1
    with pytest.raises(ValueError, match="a state of 3 qubits, got one of 1"):
        ours.set_statevector(circuit, [1, 0])


def test_saves_in_a_wide_dictionary() -> None:
    """A dictionary of probabilities holds those that are not zero alone."""
    circuit = QuantumCircuit(16)
    circuit.h(3)
    ours.save_probabilities_dict(circuit)
    ours.save_statevector_dict(circuit)
    data = data_of(QsimExBackend(device="cpu"), circuit)
    assert data["probabilities"] == pytest.approx({0: 0.5, 8: 0.5})
    assert list(data["statevector"]) == ["0x0", "0x8"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda c: c.save_superop(), "use save_unitary, or save_density_matrix"),
        (lambda c: c.save_matrix_product_state(), "use save_statevector"),
        (lambda c: c.append(SetDensityMatrix(DensityMatrix.from_label("000")), range(3)), "use set_statevector"),
    ],
)
def test_what_a_state_vector_cannot_save(change: Any, told: str) -> None:
    """Aer's instructions for its other methods are refused with what to use instead, transpiled or not."""
    circuit = gates()
    change(circuit)
    backend = QsimExBackend(device="cpu")
    for one in (circuit, transpile(circuit, backend)):
        with pytest.raises(errors.NotSupported, match=told):
            backend.run(one)


@pytest.mark.parametrize("name", ["save_stabilizer", "save_clifford"])
def test_tableaus_are_kept_by_their_method(name: str) -> None:
    """Aer's instructions for tableaus are refused for state vectors, with the method that keeps them."""
    circuit = gates()
    getattr(circuit, name)()
    job = QsimExBackend(device="cpu").run(circuit)
    with pytest.raises(errors.NotSupported, match="method='stabilizer' alone"):
        job.result()


def test_labels() -> None:
    """A label that is taken, one that results use, and one that is no string are refused."""
    backend = QsimExBackend(device="cpu")
    circuit = ours.save_probabilities(ours.save_statevector(gates(), "a"), label="a")
    with pytest.raises(errors.CircuitError, match="'a'"):
        backend.run(circuit)
    with pytest.raises(errors.CircuitError, match="'counts'"):
        backend.run(ours.save_probabilities(gates(), label="counts"))
    with pytest.raises(TypeError, match="label"):
        ours.save_state(gates(), label=3)
    with pytest.raises(ValueError, match="Hermitian"):
        ours.save_expectation_value(gates(), SparsePauliOp(["X"], [1j]), [0])


def test_results_are_copied_and_written() -> None:
    """A result with saved values is a dictionary for `to_dict`, and a copy of it has the same values."""
    import copy
    import pickle

    circuit = append(gates(), "save_density_matrix", ("conditional",), by_aer=False)
    result = QsimExBackend(device="cpu").run(circuit).result()
    for again in (copy.deepcopy(result), pickle.loads(pickle.dumps(result))):
        same(again.data(0)["density_matrix"], result.data(0)["density_matrix"])
    assert "density_matrix" in result.to_dict()["results"][0]["data"]


@pytest.mark.parametrize("pershot", [False, True])
def test_a_save_in_a_loop_is_of_all_rounds(pershot: bool) -> None:
    """As in Aer: a mean over all rounds of all shots, or their list, in which each shot begins with its first round."""
    circuit = QuantumCircuit(2, 1)
    with circuit.while_loop((circuit.clbits[0], 0)):
        circuit.ry(1.1, 0)
        circuit.rx(0.05, 1)
        circuit.measure(0, 0)
        ours.save_expectation_value(circuit, SparsePauliOp("Z"), [1], label="z", pershot=pershot)
    found = np.asarray(QsimExBackend(device="cpu").run(circuit, shots=50, seed_simulator=2).result().data(0)["z"])
    if pershot:
        rounds = np.rint(np.arccos(np.clip(found, -1, 1)) / 0.05).astype(int)
        assert np.count_nonzero(rounds == 1) == 50
        assert all(later in (1, before + 1) for before, later in pairwise(rounds.tolist()))
    else:
        assert found.shape == ()
        assert 0.5 < found < np.cos(0.05)


@pytest.mark.parametrize("indices", [range(2, 5), (7, 1, 4)])
@pytest.mark.parametrize("method", ["statevector", "density_matrix"])
def test_a_save_in_a_for_loop_is_of_all_rounds(indices: Any, method: Any) -> None:
    """A loop over known indices keeps a value in each round, too, also in a loop around it."""
    circuit = QuantumCircuit(2)
    with circuit.for_loop(range(2)), circuit.for_loop(indices):
        circuit.rx(0.1, 1)
        circuit.h(0)
        ours.save_expectation_value(circuit, SparsePauliOp("Z"), [1], label="z")
        ours.save_probabilities(circuit, [1], label="p", pershot=True)
    job = QsimExBackend(device="cpu", method=method).run(circuit, shots=3)
    found, wanted = job.result().data(0), np.cos(0.1 * np.arange(1, 7))
    np.testing.assert_allclose(found["z"], wanted.mean(), atol=1e-6)
    each = [wanted.mean()] if method == "density_matrix" else [*wanted] * 3
    np.testing.assert_allclose([zero - one for zero, one in found["p"]], each, atol=1e-6)


@pytest.mark.parametrize("indices", [range(2, 5), (7, -1, 4)])
@pytest.mark.parametrize("method", ["statevector", "density_matrix"])
def test_a_save_in_a_for_loop_stands_beside_gates_of_its_parameter(indices: Any, method: Any) -> None:
    """Gates, phases and blocks of each round have its index, and one label has the values of all rounds."""
    circuit, index = QuantumCircuit(2, 1), Parameter("index")
    circuit.x(0)
    circuit.measure(0, 0)
    with circuit.for_loop(indices, index):
        circuit.rx(0.1 * index, 1)
        with circuit.if_test((0, 1)):
            with circuit.if_test((0, 1)):
                circuit.rx(0.2 * index, 1)
            ours.save_expectation_value(circuit, SparsePauliOp("Z"), [1], label="z")
        circuit.global_phase = index
        ours.save_probabilities(circuit, [1], label="p", pershot=True)
    found = QsimExBackend(device="cpu", method=method).run(circuit, shots=3).result().data(0)
    wanted = np.cos(0.3 * np.cumsum(indices))
    np.testing.assert_allclose(found["z"], wanted.mean(), atol=1e-6)
    each = [wanted.mean()] if method == "density_matrix" else [*wanted] * 3
    np.testing.assert_allclose([zero - one for zero, one in found["p"]], each, atol=1e-6)
