"""The translation alone: translated circuits, run on the reference simulator, against Cirq's own simulator."""

from __future__ import annotations

import inspect
from itertools import pairwise, product

import cirq
import numpy as np
import pytest
import sympy

from qsim_ex import reference
from qsim_ex.circuit.cirq_gates import Attributes, OnePower, OneShift, Powers
from qsim_ex.circuit.gates import GATES
from qsim_ex.errors import MatrixError
from qsim_ex_cirq.translation.circuits import translate

A, B, C, D = cirq.LineQubit.range(4)


def spread(qubits):
    """A layer after which all amplitudes differ, so that a wrong order or phase shows."""
    yield [cirq.ry(0.3 + 0.41 * k)(q) for k, q in enumerate(qubits)]
    yield [cirq.rz(0.7 - 0.23 * k)(q) for k, q in enumerate(qubits)]


def assert_same(circuit, *, order=cirq.QubitOrder.DEFAULT, resolver=None, initial=None):
    """The translated circuit leaves the state that ``cirq.Simulator`` leaves, phase included."""
    wanted = cirq.Simulator(dtype=np.complex128, split_untangled_states=False).simulate(
        circuit, resolver, qubit_order=order
    )
    got = reference.simulate(translate(circuit, resolver, order).circuit, initial)
    np.testing.assert_allclose(got, wanted.final_state_vector, atol=1e-7)
    return got


class Increment(cirq.ArithmeticGate):
    """x → x + y + 1 on two registers of two and one qubits, with a constant between them."""

    def registers(self):
        """Two registers and a constant."""
        return [2, 2], 3, [2]

    def with_registers(self, *new_registers):
        """Not needed here."""
        raise NotImplementedError

    def apply(self, *values):
        """Only the first register changes."""
        x, constant, y = values
        return x + y + constant - 2


class Parts(cirq.Gate):
    """A gate that has a decomposition and no matrix."""

    def _num_qubits_(self):
        return 4

    def _decompose_(self, qubits):
        yield [cirq.H(q) for q in qubits]
        yield cirq.CNOT.on_each(*pairwise(qubits))
        yield cirq.T(qubits[2])


class OnlyMatrix(cirq.Gate):
    """A gate that has a matrix and no decomposition."""

    def __init__(self, matrix):
        self.matrix = matrix

    def _num_qubits_(self):
        return int(np.log2(len(self.matrix)))

    def _unitary_(self):
        return self.matrix


RANDOM = {k: cirq.testing.random_unitary(1 << k, random_state=k) for k in (1, 2, 3, 4, 5)}
POWERS = [0.0, 0.25, -0.5, 0.37, 1.0, 1.9, -1.0]
POWER_CLASSES = [
    cirq.XPowGate,
    cirq.YPowGate,
    cirq.ZPowGate,
    cirq.HPowGate,
    cirq.CXPowGate,
    cirq.CZPowGate,
    cirq.CCXPowGate,
    cirq.CCZPowGate,
    cirq.XXPowGate,
    cirq.YYPowGate,
    cirq.ZZPowGate,
    cirq.SwapPowGate,
    cirq.ISwapPowGate,
    *(getattr(cirq, name) for name in ("CYPowGate", "CCYPowGate") if hasattr(cirq, name)),
]
TABLEAU = cirq.CliffordGate.from_op_list(
    [cirq.H(A), cirq.CNOT(A, B), cirq.S(C), cirq.CZ(B, C), cirq.CNOT(C, D)], [A, B, C, D]
)

EXAMPLES = [
    *(kind(exponent=t, global_shift=s) for kind in POWER_CLASSES for t, s in product(POWERS, (0, -0.5, 0.3))),
    cirq.X,
    cirq.Y,
    cirq.Z,
    cirq.rx(0.3),
    cirq.ry(-1.2),
    cirq.rz(2.2),
    cirq.ms(0.4),
    cirq.CSWAP,
    cirq.PhasedXPowGate(phase_exponent=0.3, exponent=0.7, global_shift=0.2),
    cirq.PhasedXZGate(x_exponent=0.3, z_exponent=-0.6, axis_phase_exponent=0.9),
    cirq.PhasedISwapPowGate(phase_exponent=0.3, exponent=0.8),
    cirq.FSimGate(0.4, 0.9),
    cirq.PhasedFSimGate(0.4, 0.1, 0.2, 0.3, 0.9),
    cirq.givens(0.3),
    cirq.cphase(0.7),
    cirq.DiagonalGate([0.1 * k * k for k in range(16)]),
    cirq.TwoQubitDiagonalGate([0.1, 0.5, 0.9, -1]),
    cirq.ThreeQubitDiagonalGate([0.1 * k * k for k in range(8)]),
    *(cirq.MatrixGate(matrix) for matrix in RANDOM.values()),
    *(OnlyMatrix(matrix) for matrix in RANDOM.values()),
    cirq.DensePauliString("XYZ", coefficient=1j),
    cirq.DensePauliString("IXYI"),
    cirq.MutableDensePauliString("ZY", coefficient=-1),
    cirq.PauliStringPhasorGate(cirq.DensePauliString("XYZ"), exponent_neg=0.3, exponent_pos=-0.2),
    cirq.PauliStringPhasorGate(cirq.DensePauliString("XY", coefficient=-1), exponent_neg=0.7),
    cirq.PauliInteractionGate(cirq.X, True, cirq.Y, False, exponent=0.4),
    cirq.SingleQubitCliffordGate.X_sqrt,
    TABLEAU,
    cirq.CXSWAP,
    cirq.IdentityGate(3),
    cirq.WaitGate(cirq.Duration(nanos=3), num_qubits=2),
    cirq.ParallelGate(cirq.Y**0.3, 3),
    cirq.PhaseGradientGate(num_qubits=4, exponent=0.7),
    cirq.QuantumFourierTransformGate(4),
    cirq.QuantumFourierTransformGate(3, without_reverse=True),
    cirq.QubitPermutationGate([2, 0, 3, 1]),
    cirq.BooleanHamiltonianGate(["a", "b", "c"], ["a ^ b & c", "c"], 0.4),
    Increment(),
    Parts(),
    cirq.ControlledGate(cirq.X**0.3),
    cirq.ControlledGate(cirq.Z**0.3, 3, control_values=[0, 1, 0]),
    cirq.ControlledGate(cirq.Y, 2, control_values=[(0, 1), 0]),
    cirq.ControlledGate(cirq.SWAP, 2, control_values=cirq.SumOfProducts([(0, 0), (1, 1)])),
    cirq.ControlledGate(cirq.rx(0.4), 2),
    cirq.ControlledGate(cirq.CXPowGate(exponent=0.4, global_shift=0.7), 2, control_values=[0, 1]),
    cirq.ControlledGate(cirq.DensePauliString("XY", coefficient=-1j), 1),
    cirq.ControlledGate(cirq.PauliStringPhasorGate(cirq.DensePauliString("XYZ"), exponent_pos=0.3), 1),
    cirq.ControlledGate(cirq.GlobalPhaseGate(np.exp(0.7j)), 2, control_values=[1, 0]),
    cirq.ControlledGate(cirq.PhasedXZGate(x_exponent=0.3, z_exponent=-0.6, axis_phase_exponent=0.9)),
    cirq.ControlledGate(cirq.MatrixGate(RANDOM[2]), 2, control_values=[0, 1]),
    cirq.ControlledGate(cirq.DiagonalGate([0.1, 0.2, 0.3, 0.4]), 1, control_values=[0]),
    cirq.ControlledGate(Increment(), 1, control_values=[0]),
    cirq.ControlledGate(cirq.ParallelGate(cirq.T, 2), 1),
    cirq.ControlledGate(cirq.QuantumFourierTransformGate(4), 1, control_values=[0]),
    cirq.ControlledGate(cirq.PhasedISwapPowGate(phase_exponent=0.3, exponent=0.8), 1),
]

WITHOUT_UNITARY = {
    "AmplitudeDampingChannel",
    "AsymmetricDepolarizingChannel",
    "BitFlipChannel",
    "DepolarizingChannel",
    "GeneralizedAmplitudeDampingChannel",
    "KrausChannel",
    "MeasurementGate",
    "MixedUnitaryChannel",
    "PauliMeasurementGate",
    "PhaseDampingChannel",
    "PhaseFlipChannel",
    "RandomGateChannel",
    "ResetChannel",
    "StatePreparationChannel",
}
ELSEWHERE = {"GlobalPhaseGate", "UniformSuperpositionGate"}  # tested below: no qubits; acts on |0…0> only


def test_every_gate_class_of_cirq_has_an_example():
    """No gate class in Cirq's public namespace is missing from the examples or from the list of exceptions."""
    classes = {
        value for _, value in inspect.getmembers(cirq) if inspect.isclass(value) and issubclass(value, cirq.Gate)
    }
    shown = {kind for gate in EXAMPLES for kind in type(gate).__mro__}
    missing = {kind.__name__ for kind in classes - shown}
    assert missing == WITHOUT_UNITARY | ELSEWHERE


@pytest.mark.parametrize("gate", EXAMPLES, ids=lambda gate: str(gate)[:40])
def test_every_gate_acts_as_in_cirq(gate):
    """A gate on qubits in a scrambled order, after a layer that makes all amplitudes differ, acts as Cirq says."""
    n = cirq.num_qubits(gate)
    qubits = cirq.LineQubit.range(n + 1)
    on = [qubits[(2 * k + 1) % (n + 1)] for k in range(n)] if n % 2 == 0 else qubits[1:][::-1]
    assert_same(cirq.Circuit(spread(qubits), gate.on(*on)))


def named():
    """Every gate that Cirq offers as a value, such as ``cirq.TOFFOLI``."""
    return [(name, v) for name, v in inspect.getmembers(cirq) if isinstance(v, cirq.Gate) and cirq.has_unitary(v)]


@pytest.mark.parametrize("gate", [gate for _, gate in named()], ids=[name for name, _ in named()])
def test_every_named_gate_acts_as_in_cirq(gate):
    """Every ready-made gate in Cirq's namespace acts as Cirq says, itself and under two kinds of controls."""
    n = cirq.num_qubits(gate)
    qubits = cirq.LineQubit.range(n + 1)
    assert_same(cirq.Circuit(spread(qubits), gate.on(*qubits[1:])))
    assert_same(cirq.Circuit(spread(qubits), gate.on(*qubits[1:]).controlled_by(qubits[0], control_values=[0])))


NEWER = {"CYPowGate", "CCYPowGate"}
"""Names in the gate table that Cirq 1.6 lacks."""


def gates_of(row):
    """Gates of Cirq that a row of the gate table says it is, with numbers that no formula treats specially.

    Beside each, whether it becomes the row itself; a power under controls becomes the row without them, under controls.
    """
    for gates in row.cirq:
        if gates.kind in NEWER and not hasattr(cirq, gates.kind):
            continue
        kind = getattr(cirq, gates.kind)
        match gates:
            case Attributes(names=names):
                yield kind(**{name: 0.3 + 0.2 * k for k, name in enumerate(names)}), True
            case OnePower(exponent=exponent):
                yield kind(exponent=exponent), True
            case OneShift(shift=shift):
                yield kind(exponent=0.37, global_shift=shift), True
            case Powers():
                yield kind(exponent=0.37, global_shift=0.3), not row.controls


@pytest.mark.parametrize("row", [row for row in GATES.values() if row.cirq], ids=lambda row: row.name)
def test_every_row_that_names_gates_of_cirq(row):
    """Each gate of Cirq that a row names becomes this row, and has the matrix that Cirq gives it."""
    for gate, itself in gates_of(row):
        circuit = translate(cirq.Circuit(gate.on(*cirq.LineQubit.range(row.qubits)))).circuit
        matrix = np.array([reference.simulate(circuit, column) for column in np.eye(1 << row.qubits)]).T
        np.testing.assert_allclose(matrix, cirq.unitary(gate), atol=1e-12)
        assert {op.name for op in circuit.instructions} == {row.name} or not itself


def test_every_name_of_the_gate_table_is_one_of_cirqs():
    """Cirq has every name in the table's column, but for those that came later; further names are of the same class."""
    named = [gates for row in GATES.values() for gates in row.cirq]
    assert {gates.kind for gates in named if not hasattr(cirq, gates.kind)} <= NEWER
    for gates in named:
        for name in gates.also if isinstance(gates, Powers) else ():
            value = getattr(cirq, name)
            assert issubclass(value if isinstance(value, type) else type(value), getattr(cirq, gates.kind))


def test_number_of_named_gates():
    """The list of Cirq's named gates holds the gates that are known to be there."""
    assert {"X", "CNOT", "TOFFOLI", "FREDKIN", "ISWAP_INV", "CXSWAP"} <= {name for name, _ in named()}


def test_operations_that_are_no_gates():
    """Pauli strings and their powers, tags, global phases and controlled operations act as in Cirq."""
    string = cirq.X(A) * cirq.Y(B) * cirq.Z(C) * 1j
    phasor = cirq.PauliStringPhasor(-(cirq.X(A) * cirq.Z(C)), exponent_neg=0.3, exponent_pos=0.1)
    circuit = cirq.Circuit(
        spread([A, B, C, D]),
        string,
        phasor,
        (cirq.X(A) * cirq.Y(D)) ** 0.7,
        cirq.global_phase_operation(np.exp(0.3j)),
        cirq.H(A).with_tags("one", "two"),
        cirq.CZ(A, C).with_tags("three").controlled_by(B),
        cirq.X(D).controlled_by(A, B, C, control_values=[0, 1, 0]).with_tags("four"),
        cirq.I(A),
        cirq.wait(B, nanos=3),
        cirq.CNOT(A, B).controlled_by(D).controlled_by(C, control_values=[0]),
    )
    assert_same(circuit)


@pytest.mark.parametrize("letters", ["IZ", "ZI", "XIY", "II"])
def test_pauli_phasors_leave_identities_alone(letters):
    """An identity in a phased Pauli string is no Z, though Cirq's own simulation takes it for one (its #6612)."""
    gate = cirq.PauliStringPhasorGate(cirq.DensePauliString(letters), exponent_neg=0.3, exponent_pos=-0.2)
    qubits = cirq.LineQubit.range(len(letters))
    string = cirq.unitary(cirq.DensePauliString(letters))
    one = np.eye(len(string))
    matrix = np.exp(-0.2j * np.pi) * (one + string) / 2 + np.exp(0.3j * np.pi) * (one - string) / 2
    before = cirq.Circuit(spread(qubits))
    got = reference.simulate(translate(before + gate.on(*qubits), None, qubits).circuit)
    np.testing.assert_allclose(got, matrix @ before.final_state_vector(dtype=np.complex128), atol=1e-12)


@pytest.mark.parametrize("source", [0, 1])
def test_a_gate_that_moves_numbers_in_place(source):
    """A gate that only says how it acts on a state may swap two amplitudes; what is wrong on states too is an error."""

    class Moves(cirq.testing.SingleQubitGate):
        """(a, b) → (b, the amplitude at `source`), a swap if that is a."""

        def _has_unitary_(self):
            return True

        def _apply_unitary_(self, args):
            amplitudes = args.target_tensor
            amplitudes[0], amplitudes[1] = amplitudes[1], amplitudes[source]
            return amplitudes

    circuit = cirq.Circuit(cirq.ry(0.4)(A), Moves()(A))
    if source == 0:
        assert_same(circuit)
    else:
        with pytest.raises(MatrixError):
            translate(circuit, None, cirq.QubitOrder.DEFAULT)


def test_uniform_superposition_gate():
    """A gate that is defined on |0…0> only prepares its state."""
    assert_same(cirq.Circuit(cirq.UniformSuperpositionGate(5, 3).on(A, B, C), cirq.X(D)))


def test_single_precision_matrices_are_taken():
    """A matrix that is unitary to single precision is accepted, also on many qubits."""
    matrix = cirq.testing.random_unitary(64, random_state=3).astype(np.complex64)
    got = reference.simulate(translate(cirq.Circuit(OnlyMatrix(matrix).on(*cirq.LineQubit.range(6)))).circuit)
    np.testing.assert_allclose(got, matrix[:, 0], atol=1e-6)


def test_subcircuits_are_unrolled():
    """Repetitions, inverse repetitions, qubit maps, parameters and nesting of `CircuitOperation` are followed."""
    t = sympy.Symbol("t")
    inner = cirq.FrozenCircuit(cirq.X(A) ** t, cirq.CNOT(A, B), cirq.T(B))
    once = cirq.CircuitOperation(inner).with_params({"t": 0.3})
    nested = cirq.CircuitOperation(cirq.FrozenCircuit(once, cirq.CircuitOperation(inner)), repetitions=2)
    circuit = cirq.Circuit(
        spread([A, B, C, D]),
        once.with_qubit_mapping({A: C}).repeat(3),
        once.repeat(-2),
        nested,
        once.with_tags("tag"),
        once.with_qubit_mapping({A: C, B: D}).controlled_by(A, B, control_values=[1, 0]),
    )
    assert_same(circuit, resolver={"t": 0.8})


@pytest.mark.parametrize("order", [[A, B, C], [C, A, B], [C, B, A, D]])
def test_qubit_orders(order):
    """The state has the given order of qubits, also with a qubit that no gate acts on."""
    assert_same(cirq.Circuit(spread([A, B, C]), cirq.CNOT(A, C)), order=order)


def test_qubits_of_any_kind():
    """Grid, named and mixed qubits are ordered as Cirq orders them."""
    qubits = [cirq.GridQubit(1, 0), cirq.NamedQubit("ancilla"), cirq.GridQubit(0, 1), cirq.LineQubit(-3)]
    assert_same(cirq.Circuit(spread(qubits), cirq.ISWAP(qubits[0], qubits[1]) ** 0.4, cirq.CZ(*qubits[2:])))


@pytest.mark.parametrize("seed", range(40))
def test_random_circuits(seed):
    """Random circuits over every kind of gate leave the state that Cirq leaves."""
    domain = {gate: cirq.num_qubits(gate) for gate in EXAMPLES if gate.__hash__ and 0 < cirq.num_qubits(gate) < 5}
    circuit = cirq.testing.random_circuit([A, B, C, D], 12, 0.8, gate_domain=domain, random_state=seed)
    assert_same(circuit, order=[D, B, A, C] if seed % 2 else cirq.QubitOrder.DEFAULT)


def test_new_numbers_keep_the_structure():
    """Every point of a sweep has one structure, also where a number is special."""
    s, t = sympy.symbols("s t")
    circuit = cirq.Circuit(
        cirq.X(A) ** t,
        cirq.rz(t)(A),
        cirq.Z(B) ** t,
        cirq.CNOT(A, B) ** t,
        cirq.CZ(A, B) ** s,
        cirq.ISWAP(A, B) ** s,
        cirq.SWAP(A, B) ** t,
        cirq.PhasedXZGate(x_exponent=s, z_exponent=t, axis_phase_exponent=s)(A),
        cirq.PhasedISwapPowGate(exponent=t, phase_exponent=s)(A, B),
        cirq.PhasedFSimGate(s, t, s, t, s)(A, B),
        cirq.PauliStringPhasor(cirq.X(A) * cirq.Y(B), exponent_neg=t),
        cirq.CircuitOperation(cirq.FrozenCircuit(cirq.H(A) ** t)),
    )
    points = [{"s": 0.3, "t": 0.4}, {"s": 1, "t": 1}, {"s": 0, "t": 0}, {"s": -0.5, "t": 0.5}, {"s": 2, "t": -1}]
    assert len({translate(circuit, point).circuit.structure for point in points}) == 1
    for point in points:
        assert_same(circuit, resolver=point)


def test_plain_gates_in_a_subcircuit_with_symbols_keep_their_rows():
    """In a subcircuit whose symbols get numbers, the gates without symbols keep their own rows."""
    inner = cirq.FrozenCircuit(cirq.X(A) ** sympy.Symbol("t"), cirq.CNOT(A, B), cirq.S(B))
    outer = cirq.CircuitOperation(cirq.FrozenCircuit(cirq.CircuitOperation(inner, repetitions=2), cirq.X(A)))
    translated = [translate(cirq.Circuit(outer), {"t": t}).circuit for t in (0.3, 1)]
    names = [op.name for op in translated[0].instructions]
    assert [name for name in names if name != "xpow"] == ["cx", "s"] * 2 + ["x"]
    assert translated[0].structure == translated[1].structure


def test_plain_gates_take_their_own_rows():
    """Gates that were written without a symbol and have rows of their own become these rows, not general powers."""
    circuit = cirq.Circuit(
        cirq.X(A), cirq.Y(A), cirq.Z(A), cirq.H(A), cirq.S(A), cirq.T(A), cirq.S(A) ** -1, cirq.T(A) ** -1
    )
    circuit += [cirq.CNOT(A, B), cirq.CZ(A, B), cirq.SWAP(A, B), cirq.CCX(A, B, C), cirq.CCZ(A, B, C), cirq.ISWAP(A, B)]
    names = [op.name for op in translate(circuit).circuit.instructions]
    assert " ".join(names) == "x y z h s t sdg tdg cx cz swap ccx ccz iswap"
