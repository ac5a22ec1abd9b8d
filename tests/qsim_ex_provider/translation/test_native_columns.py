"""Circuits of Qiskit that are read through Qiskit's C interface, beside the same circuits read in Python."""

from collections.abc import Iterator

import numpy as np
import pytest
import qiskit
from qiskit import QuantumCircuit, transpile
from qiskit.circuit import Gate, Parameter
from qiskit.circuit.library import UnitaryGate, XGate, get_standard_gate_name_mapping
from qiskit.circuit.random import random_circuit
from qiskit.quantum_info import random_unitary

from qsim_ex import thresholds
from qsim_ex_provider.translation import native_columns as native
from qsim_ex_provider.translation.circuits import reading_of, translate_noisy
from qsim_ex_provider.translation.walk import Columns, columns_of

pytestmark = pytest.mark.skipif(not hasattr(qiskit, "capi"), reason="this Qiskit has no C interface")


@pytest.fixture(autouse=True)
def _no_circuit_is_too_small() -> Iterator[None]:
    with thresholds.instead(native_instructions=0):
        yield


def _drawn(seed: int) -> QuantumCircuit:
    circuit = random_circuit(5, 12, max_operands=4, seed=seed)
    circuit.global_phase = 0.3 * seed
    circuit.barrier()
    circuit.append(XGate().control(1, ctrl_state=0), [0, 1])
    for k in range(3):
        circuit.append(UnitaryGate(random_unitary(4, seed=k)), [k, k + 1])
    circuit.append(random_circuit(2, 2, seed=seed).to_instruction(), [3, 4])
    circuit.measure_all()
    return circuit


def _others(columns: Columns) -> list[int]:
    """Return the places of instructions that are no gates, measurements or barriers."""
    return [place for place in columns.others if columns.names[place] not in ("measure", "barrier")]


@pytest.mark.parametrize("seed", range(15))
def test_both_ways_of_reading_find_the_same_gates(seed: int) -> None:
    """Names, wires, parameters and the places of all other instructions are equal."""
    circuit = _drawn(seed)
    ours, theirs = native.native_columns(circuit), columns_of(circuit)
    assert ours is not None
    assert list(ours.others) == _others(theirs)
    for place in range(theirs.count):
        if theirs.names[place] in ("measure", "barrier"):
            continue
        if place in theirs.others:
            assert (ours.names[place], ours.wires[place]) == (theirs.names[place], theirs.wires[place])
            continue
        row, on, given = ours.gates(place, place + 1, None)
        expected = theirs.gates(place, place + 1, None)
        assert (row, on, [list(map(float, one)) for one in expected[2]]) == (*expected[:2], given)


@pytest.mark.parametrize("seed", range(15))
def test_both_ways_of_reading_give_the_same_circuit(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Translations have one structure and equal numbers."""
    ours = translate_noisy(_drawn(seed), None).circuit
    monkeypatch.setattr("qsim_ex_provider.translation.circuits.native_columns", lambda _: None)
    theirs = translate_noisy(_drawn(seed), None).circuit
    assert ours.structure is theirs.structure
    assert np.array_equal(ours.operands, theirs.operands)


def _measuring(how: int) -> QuantumCircuit:
    """Return a circuit with measurements that follow one another, or not."""
    circuit = QuantumCircuit(4, 4)
    circuit.h(0)
    match how:
        case 0:
            circuit.measure([3, 0, 1], [0, 2, 1])
        case 1:  # a wire again
            circuit.measure([0, 1, 0], [0, 1, 2])
        case 2:  # a classical bit again
            circuit.measure([0, 1, 2], [0, 1, 0])
        case 3:
            circuit.measure([0, 1], [0, 1])
            circuit.barrier()
            circuit.measure([2, 3], [2, 3])
        case 4:
            circuit.measure([0, 1], [0, 1])
            circuit.cx(1, 2)
            circuit.measure([2, 0], [2, 3])
        case 5:
            circuit.measure(0, 0)
            circuit.reset(0)
            circuit.measure(0, 1)
        case _:
            circuit.barrier()
            circuit.barrier(1)
            circuit.measure(2, 3)
            with circuit.if_test((circuit.clbits[3], 1)):
                circuit.x(0)
            circuit.measure(0, 0)
    return circuit


@pytest.mark.parametrize("how", range(7))
def test_measurements_are_read_as_in_python(how: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Measurements that follow one another become the same instructions, whatever stands between them."""
    ours = translate_noisy(_measuring(how), None).circuit
    monkeypatch.setattr("qsim_ex_provider.translation.circuits.native_columns", lambda _: None)
    theirs = translate_noisy(_measuring(how), None).circuit
    assert ours.instructions == theirs.instructions


def test_no_object_is_made_for_measurements_and_barriers() -> None:
    """Measurements are wires and classical bits by the place of the first one; a barrier has none."""
    columns = native.native_columns(_measuring(3))
    assert columns is not None
    assert columns.instructions == {}
    assert columns.measured == {1: ((0, 1), (0, 1)), 3: ((), ()), 4: ((2, 3), (2, 3))}


def test_every_standard_gate_is_read() -> None:
    """Every standard gate of Qiskit that has a row is a gate for the native reader as well, with its parameters."""
    circuit = QuantumCircuit(6)
    for name, gate in get_standard_gate_name_mapping().items():
        if isinstance(gate, Gate) and name != "delay":
            numbers = np.linspace(0.1, 0.7, len(gate.params)).tolist()
            circuit.append(type(gate)(*numbers) if numbers else gate, range(gate.num_qubits))
    ours, theirs = native.native_columns(circuit), columns_of(circuit)
    assert ours is not None
    assert len(circuit.data) > 40
    assert list(ours.others) == _others(theirs)
    for place in {*range(theirs.count)} - {*theirs.others}:
        row, on, given = ours.gates(place, place + 1, None)
        expected = theirs.gates(place, place + 1, None)
        assert (row, on, given) == (*expected[:2], [list(expected[2][0])])


def test_gates_of_a_users_own_are_no_standard_gates() -> None:
    """A gate that only bears a standard gate's name is looked at as an object."""
    circuit = QuantumCircuit(1)
    circuit.h(0)
    circuit.append(Gate("h", 1, []), [0])
    ours = native.native_columns(circuit)
    assert ours is not None
    assert list(ours.others) == [1]


def test_parameters_and_numbers_that_are_not_finite_are_left_to_python() -> None:
    """A circuit with a free parameter or an infinite angle is not read by native code; a bound one is."""
    angle = Parameter("a")
    circuit = QuantumCircuit(1)
    circuit.rz(2 * angle, 0)
    assert native.native_columns(circuit) is None
    bound = native.native_columns(circuit.assign_parameters({angle: 0.25}))
    assert bound is not None
    assert bound.gates(0, 1, None) == (["rz"], [(0,)], [[0.5]])
    infinite = QuantumCircuit(1)
    infinite.rz(float("inf"), 0)
    assert native.native_columns(infinite) is None


def test_readings_of_equal_circuits_are_equal_and_of_others_not() -> None:
    """A reading sees each angle, wire, gate, matrix, and each wire and classical bit of measurements."""

    def changed(how: int) -> QuantumCircuit:
        circuit = QuantumCircuit(3, 2)
        circuit.rz(0.2 if how == 1 else 0.1, 0)
        circuit.cx(0, 2 if how == 2 else 1)
        circuit.append(UnitaryGate(random_unitary(2, seed=how == 3)), [1])
        circuit.measure(0, 1 if how == 4 else 0)
        circuit.append(XGate() if how == 5 else XGate().inverse(), [0])
        if how == 6:
            circuit.z(2)
        circuit.measure(2 if how == 7 else 1, 1)
        return circuit

    readings = []
    for how in [0, *range(8)]:
        circuit = changed(how)
        columns = native.native_columns(circuit)
        assert columns is not None
        readings.append(reading_of(circuit, columns))
    assert readings[0] == readings[1] == readings[6]
    assert all(readings[0] != other for k, other in enumerate(readings) if k not in (0, 1, 6))


def _of_rows(seed: int) -> QuantumCircuit:
    """Return a drawn circuit of gates that have rows, measurements and barriers."""
    random, circuit = np.random.default_rng(seed), QuantumCircuit(4, 4)
    for _ in range(12):
        wires = random.permutation(4).tolist()
        getattr(circuit, str(random.choice(["h", "x", "sx"])))(wires[0])
        circuit.cu(*random.choice([0.0, 0.25, -0.5], 4).tolist(), wires[1], wires[2])
        circuit.ccx(*wires[:3])
        circuit.barrier(*wires[:2])
        circuit.measure(wires[3], wires[0])
    return circuit


@pytest.mark.parametrize("seed", range(15))
def test_a_circuit_is_that_of_a_reading_if_its_own_is_equal(seed: int) -> None:
    """Native code that compares instructions with a reading says what two readings say, of drawn circuits."""
    first, random = _of_rows(seed), np.random.default_rng(seed)
    columns = native.native_columns(first)
    assert columns is not None
    known = reading_of(first, columns)
    assert known is not None
    others = [first.copy(), _of_rows(seed), _of_rows(seed + 100)]
    for _ in range(30):  # one instruction is that of another place
        place, other = random.integers(len(first.data), size=2).tolist()
        others.append(first.copy())
        others[-1].data[place] = first.data[other]
    equal = []
    for one in others:
        columns = native.native_columns(one)
        assert columns is not None
        equal.append(reading_of(one, columns) == known)
        assert native.is_again(one, known) == equal[-1]
    assert equal[:3] == [True, True, False]
    assert not all(equal[3:])
    in_python = reading_of(first, columns_of(first))
    assert in_python is not None
    assert not native.is_again(first, in_python)


def test_a_transpiled_copy_is_read() -> None:
    """Circuits that Qiskit made itself, and copies of circuits, are read as those that a user builds."""
    circuit = transpile(_drawn(1), basis_gates=["rz", "sx", "cx"], optimization_level=1)
    for one in (circuit, circuit.copy(), circuit.compose(circuit.copy_empty_like())):
        ours, theirs = native.native_columns(one), columns_of(one)
        assert ours is not None
        assert list(ours.others) == _others(theirs)
        begin = next(k for k in range(theirs.count) if k not in theirs.others)
        assert ours.gates(begin, begin + 1, None)[0] == theirs.gates(begin, begin + 1, None)[0]


def test_another_interface_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Qiskit whose struct has other fields, or that has no interface, is read in Python."""
    native.interface.cache_clear()
    monkeypatch.setattr(native, "_VIEW", native._VIEW[:-1])
    assert native.interface() is None
    native.interface.cache_clear()
    monkeypatch.undo()
    monkeypatch.delattr(qiskit, "capi")
    assert native.interface() is None
    native.interface.cache_clear()
