"""Circuits of Cirq whose gates are read by native code, beside the same circuits read in Python."""

import cirq
import numpy as np
import pytest
import sympy

from qsim_ex.errors import ParameterError
from qsim_ex_cirq.translation import native_columns as native
from qsim_ex_cirq.translation.circuits import translate
from qsim_ex_cirq.translation.gates import RULES, Columns, FromAttributes, Power, always, number

QUBITS = [cirq.NamedQubit("b"), cirq.GridQubit(1, 2), *cirq.LineQubit.range(3)]


class Own(cirq.Qid):
    """A qubit of a user's own, all of which are equal."""

    dimension = 2

    def _comparison_key(self) -> str:
        return "own"


def _gates() -> list[cirq.Gate]:
    """Return gates of every class with a rule, with exponents and shifts that rows have, and others."""
    found: list[cirq.Gate] = []
    for kind, rule in RULES.items():
        if isinstance(rule, FromAttributes):
            given = {name: 0.2 + 0.3 * k for k, name in enumerate(rule.names)}
            found.append(kind(**given))
        if (
            not isinstance(rule, Power)
            or kind.__name__.startswith("_")
            or kind in (cirq.Rx, cirq.Ry, cirq.Rz, cirq.MSGate)
        ):
            continue
        for exponent in (*rule.fixed, 0.3, np.float64(0.7), 1, np.float32(0.5)):
            found += [kind(exponent=exponent, global_shift=shift) for shift in (0, *rule.shifted, 0.3)]
    return [*found, cirq.X, cirq.Y, cirq.Z, cirq.rx(0.3), cirq.ry(0.4), cirq.rz(np.pi), cirq.ms(0.3)]


def _drawn(seed: int) -> cirq.Circuit:
    """Return gates that have rows and others between them, on qubits of several kinds."""
    rng, gates = np.random.default_rng(seed), _gates()
    others = [
        cirq.PhasedXZGate(x_exponent=0.1, z_exponent=0.2, axis_phase_exponent=0.3),
        cirq.MatrixGate(cirq.testing.random_unitary(4, random_state=seed)),
        cirq.MatrixGate(cirq.testing.random_unitary(2, random_state=seed)),
        cirq.ResetChannel(),
        cirq.I,
        cirq.DiagonalGate([0.1, 0.2, 0.3, 0.4]),
    ]
    operations = []
    for k in rng.integers(len(gates) + 20, size=120):
        gate = gates[k] if k < len(gates) else others[k % len(others)]
        on = [QUBITS[q] for q in rng.permutation(len(QUBITS))[: cirq.num_qubits(gate)]]
        operations.append(gate.on(*on))
        if k % 17 == 0:
            operations.append(gate.on(*on).with_tags("tag"))
    operations.insert(60, cirq.measure(QUBITS[0], key="early"))
    return cirq.Circuit(operations, cirq.measure(*QUBITS, key="end"))


def test_every_class_of_gates_is_read_as_in_python() -> None:
    """The native reader finds the row and the parameters that a gate's rule finds, and no row where that has none."""
    operations = [gate.on(*cirq.LineQubit.range(cirq.num_qubits(gate))) for gate in _gates()]
    circuit = cirq.Circuit(cirq.Moment(operation) for operation in operations)
    found = native.native_columns(circuit)
    assert found is not None
    ours, qubits = found
    ours.order(qubits, cirq.LineQubit.range(3)[::-1])
    wire_of = {cirq.LineQubit(k): k for k in range(3)}
    theirs = Columns(list(enumerate(operations)), wire_of, always, number)
    assert list(ours.others) == theirs.others
    for place, row in enumerate(theirs.rows):
        if row is not None:
            (name,), (wires,), (given,) = ours._read.gates(place, place + 1)
            assert (name, tuple(given), wires) == (row[0], tuple(map(float, row[1])), theirs.wires[place])


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("sampled", [True, False])
def test_both_ways_of_reading_give_the_same_circuit(seed: int, sampled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Translations have one structure, equal numbers and equal measurements."""
    order = cirq.QubitOrder.DEFAULT if seed % 2 else [cirq.LineQubit(7), *QUBITS]
    ours = translate(_drawn(seed), None, order, sampled=sampled)
    monkeypatch.setattr("qsim_ex_cirq.translation.circuits.native_columns", lambda _: None)
    theirs = translate(_drawn(seed), None, order, sampled=sampled)
    assert ours.circuit.structure is theirs.circuit.structure
    assert np.array_equal(ours.circuit.operands, theirs.circuit.operands)
    assert (ours.qubits, ours.at_end) == (theirs.qubits, theirs.at_end)
    assert list(map(vars, ours.measurements)) == list(map(vars, theirs.measurements))


def test_virtual_operations_after_the_last_measurement_are_left_out() -> None:
    """Noise that a model has put into a circuit is left out where no measurement sees it, in both ways."""
    noisy = cirq.Circuit(cirq.X(QUBITS[0]), cirq.measure(QUBITS[0])).with_noise(cirq.depolarize(0.1))
    assert len(translate(noisy, sampled=False).circuit.instructions) > len(
        translate(noisy, sampled=True).circuit.instructions
    )


@pytest.mark.parametrize("exponent", [sympy.Symbol("a"), float("nan"), float("inf")])
def test_an_exponent_that_is_no_number_is_an_error_with_its_place(exponent: object) -> None:
    """Gates that native code does not read raise what they raise in Python."""
    circuit = cirq.Circuit([cirq.Moment(cirq.H(QUBITS[0]))] * 20, cirq.Moment(cirq.X(QUBITS[0]) ** exponent))
    with pytest.raises(ParameterError):
        translate(circuit)


def test_equal_qubits_are_one_wire() -> None:
    """Qubits are the same wire if they are equal, also where they are two objects."""
    one, other = Own(), Own()
    made = translate(cirq.Circuit([cirq.X(one)] * 20, [cirq.X(other)] * 20))
    assert made.circuit.num_qubits == 1
