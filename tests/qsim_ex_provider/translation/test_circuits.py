"""The translation has Qiskit's own matrices, gate class by gate class."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from qiskit.circuit import (
    AnnotatedOperation,
    ControlModifier,
    Gate,
    InverseModifier,
    Parameter,
    PowerModifier,
    QuantumCircuit,
)
from qiskit.circuit import library as lib
from qiskit.circuit.library import get_standard_gate_name_mapping
from qiskit.quantum_info import (
    Clifford,
    Operator,
    Pauli,
    SparseObservable,
    SparsePauliOp,
    Statevector,
    random_clifford,
    random_statevector,
    random_unitary,
)
from qiskit.synthesis import LieTrotter, MatrixExponential, SuzukiTrotter

from qsim_ex import reference
from qsim_ex.circuit.ops import Initialize, Op
from qsim_ex_provider.translation.circuits import translate
from qsim_ex_provider.translation.library import emit
from qsim_ex_provider.translation.translator import class_rows

STANDARD = {n: g for n, g in get_standard_gate_name_mapping().items() if n not in ("measure", "reset", "delay")}


def unitary_of(circuit: QuantumCircuit) -> NDArray[np.complex128]:
    """The matrix of the translated circuit, column by column, from the engine's own definition."""
    translated = translate(circuit)
    columns = np.eye(1 << circuit.num_qubits, dtype=np.complex128)
    return np.array([reference.simulate(translated, column) for column in columns]).T


def assert_same(circuit: QuantumCircuit, expected: Any = None) -> None:
    """Compare with Qiskit's own matrix of the circuit."""
    wanted = Operator(circuit if expected is None else expected).data
    np.testing.assert_allclose(unitary_of(circuit), wanted, atol=1e-12)


def bound(gate: Gate, seed: int = 1) -> Gate:
    """A standard gate with numbers for its parameters."""
    angles = np.random.default_rng(seed).uniform(-4, 4, len(gate.params))
    return type(gate)(*angles) if len(angles) else gate


def shuffled(gate: Any, extra: int = 1) -> QuantumCircuit:
    """A circuit with the gate on wires that are neither in order nor all there are."""
    circuit = QuantumCircuit(gate.num_qubits + extra)
    wires = np.random.default_rng(gate.num_qubits).permutation(circuit.num_qubits)[: gate.num_qubits]
    circuit.append(gate, wires.tolist())
    return circuit


@pytest.mark.parametrize("name", sorted(STANDARD))
def test_standard_gate(name: str) -> None:
    """Every standard gate has Qiskit's matrix, whichever wires it acts on."""
    assert_same(shuffled(bound(STANDARD[name])))


def test_no_class_of_qiskit_is_listed_twice() -> None:
    """A class of Qiskit's gates is named by a row of the gate table or has a function in `library`, and never both."""
    assert len(class_rows()) > 40
    assert set(class_rows()).isdisjoint(emit.registry)


@pytest.mark.parametrize("name", sorted(n for n, g in STANDARD.items() if g.num_qubits <= 3))
def test_standard_gate_with_controls(name: str) -> None:
    """Controls are added for every control value, also to gates that have controls of their own."""
    gate = bound(STANDARD[name], seed=2)
    for count in (1, 2) if gate.num_qubits < 3 else (1,):
        for state in range(1 << count):
            controlled = gate.control(count, ctrl_state=state, annotated=False)
            assert_same(shuffled(controlled, extra=0))


@pytest.mark.parametrize("name", sorted(n for n, g in STANDARD.items() if hasattr(g, "ctrl_state")))
def test_control_states_of_controlled_gates(name: str) -> None:
    """An open control of a standard gate is an open control."""
    gate = STANDARD[name]
    angles = np.random.default_rng(3).uniform(-4, 4, len(gate.params))
    for state in range(1 << gate.num_ctrl_qubits):
        assert_same(shuffled(gate.base_class(*angles, ctrl_state=state), extra=0))


@pytest.mark.parametrize("name", sorted(STANDARD))
def test_inverse_and_power(name: str) -> None:
    """Inverses, which have other names and classes in Qiskit, and powers have Qiskit's matrix."""
    gate = bound(STANDARD[name], seed=4)
    assert_same(shuffled(gate.inverse()))
    if gate.num_qubits:
        assert_same(shuffled(gate.power(0.3), extra=0))


def library_gates() -> dict[str, Any]:
    """One gate of every class with a function in `library`, and some that are translated by their definition."""
    u2, u4 = random_unitary(2, seed=1).data, random_unitary(4, seed=2).data
    phases = np.exp(1j * np.random.default_rng(5).uniform(0, 6, 8)).tolist()
    blocks = [random_unitary(2, seed=k).data for k in range(4)]
    angles = [0.3, -1.2, 2.2, 0.9]
    return {
        "unitary": lib.UnitaryGate(u4),
        "unitary of 4 qubits": lib.UnitaryGate(random_unitary(16, seed=3)),
        "diagonal unitary": lib.UnitaryGate(np.diag(phases)),
        "controlled unitary": lib.UnitaryGate(u2).control(2, ctrl_state=1, annotated=False),
        "diagonal": lib.DiagonalGate(phases),
        "controlled diagonal": lib.DiagonalGate(phases).control(1, annotated=False),
        "permutation": lib.PermutationGate([2, 0, 3, 1]),
        "identity permutation": lib.PermutationGate([0, 1]),
        "controlled permutation": lib.PermutationGate([2, 0, 1]).control(1, annotated=True),
        "multiplexer": lib.UCGate(blocks),
        "multiplexer without selectors": lib.UCGate(blocks[:1]),
        "ucrx": lib.UCRXGate(angles),
        "ucry": lib.UCRYGate(angles),
        "ucrz": lib.UCRZGate(angles),
        "mcx": lib.MCXGate(4),
        "mcx open": lib.MCXGate(4, ctrl_state=6),
        "mcx of 5 controls": lib.MCXGate(5, ctrl_state=9),
        "mcphase": lib.MCPhaseGate(0.7, 3),
        "mcphase open": lib.MCPhaseGate(0.7, 3, ctrl_state=2),
        "mcmt": lib.MCMTGate(lib.RYGate(0.4), 2, 2),
        "ms": lib.MSGate(3, 0.4),
        "rv": lib.RVGate(0.1, 0.2, 0.3),
        "qft": lib.QFTGate(3),
        "controlled qft": lib.QFTGate(2).control(1, ctrl_state=0, annotated=False),
        "pauli": lib.PauliGate("XIYZ"),
        "controlled pauli": lib.PauliGate("XY").control(1, annotated=False),
        "graph state": lib.GraphStateGate([[0, 1, 1], [1, 0, 0], [1, 0, 0]]),
        "isometry": lib.Isometry(u4, 0, 0),
        "hamiltonian": lib.HamiltonianGate(np.array([[1, 2], [2, -1]]), 0.4),
        "adder": lib.HalfAdderGate(1),
        "linear function": lib.LinearFunction([[1, 1], [0, 1]]),
        "bitwise xor": lib.BitwiseXorGate(3, 5),
        "inner product": lib.InnerProductGate(2),
        "and": lib.AndGate(3, [1, 0, -1]),
        "linear rotations": lib.LinearPauliRotationsGate(2, 0.3, 0.1),
        "integer comparator": lib.IntegerComparatorGate(2, 2),
        "state preparation reversed": lib.StatePreparation(random_statevector(4, seed=1)).inverse(),
        "uniform superposition": lib.UniformSuperpositionGate(3, 2),
        "evolution of one term": lib.PauliEvolutionGate(SparsePauliOp(["XYIZ"], [0.7]), 0.4),
        "evolution of the identity": lib.PauliEvolutionGate(SparsePauliOp(["II"], [0.7]), 0.4),
        "evolution of commuting terms": lib.PauliEvolutionGate(SparsePauliOp(["ZZI", "IZZ", "III"], [1, -2, 0.3]), 0.4),
        "controlled evolution": lib.PauliEvolutionGate(Pauli("XYZ"), 0.4).control(2, ctrl_state=1),
        "exact evolution": lib.PauliEvolutionGate(SparsePauliOp(["XX", "ZI"]), 0.4, synthesis=MatrixExponential()),
        "product rotation": lib.PauliProductRotationGate(Pauli("-XIYZ"), 0.4),
        "instruction of a circuit": phased_circuit().to_gate(),
        "controlled circuit": phased_circuit().to_gate().control(2, ctrl_state=2, annotated=False),
        "twice controlled": lib.U3Gate(1, 2, 3).control(1, ctrl_state=0, annotated=False).control(1, annotated=False),
    }


def phased_circuit() -> QuantumCircuit:
    """A circuit with a global phase, which matters under controls."""
    circuit = QuantumCircuit(2, global_phase=0.7, name="phased")
    circuit.h(0)
    circuit.ecr(1, 0)
    circuit.rz(0.3, 1)
    return circuit


LIBRARY = library_gates()


@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")  # in Qiskit's own exponential
@pytest.mark.parametrize("name", sorted(LIBRARY))
def test_library_gate(name: str) -> None:
    """Each class of the circuit library has Qiskit's matrix."""
    assert_same(shuffled(LIBRARY[name], extra=0))


def test_multiplexer_up_to_a_diagonal_follows_its_definition() -> None:
    """A multiplexer up to a diagonal does what its definition does."""
    circuit = shuffled(lib.UCGate([random_unitary(2, seed=k).data for k in range(4)], up_to_diagonal=True), 0)
    assert_same(circuit, circuit.decompose(reps=4))


def test_a_reversed_multiplexer_follows_its_definition() -> None:
    """Qiskit reverses the gates that a multiplexer is once it has them, and leaves its matrices as they are."""
    gate = lib.UCGate([random_unitary(2, seed=k).data for k in range(4)])
    assert gate.definition
    reverse = gate.reverse_ops()
    assert np.array_equal(reverse.params, gate.params)
    assert not np.allclose(Operator(reverse.definition).data, Operator(gate.definition).data)
    assert_same(shuffled(reverse, 0), shuffled(reverse.definition.to_gate(), 0))


@pytest.mark.parametrize("synthesis", [LieTrotter(reps=2), SuzukiTrotter(2, reps=2, preserve_order=False)])
def test_evolution_follows_its_product_formula(synthesis: Any) -> None:
    """The rotations of a sum are those of the gate's product formula, in its order, not the exact exponential."""
    gate = lib.PauliEvolutionGate(SparsePauliOp(["XXI", "ZIY", "IZZ", "YII"], [0.3, 1.1, -0.4, 0.2]), 0.9)
    gate.synthesis = synthesis
    assert_same(shuffled(gate, 0), shuffled(gate.definition.to_gate(), 0))


def test_evolution_with_projectors() -> None:
    """Projectors on |0> and |1> are controls; the other projectors go through the definition."""
    for label in ("0X1", "1", "+Z", "rY0"):
        gate = lib.PauliEvolutionGate(SparseObservable(label), 0.6)
        assert_same(shuffled(gate, 0), shuffled(gate.definition.to_gate(), 0))


def test_evolution_of_one_term_is_one_parity_read() -> None:
    """A Pauli rotation on many wires costs basis changes and one diagonal, not a ladder of CX."""
    circuit = QuantumCircuit(6)
    circuit.append(lib.PauliEvolutionGate(Pauli("XZZZZY"), 0.3), range(6))
    assert [i.name for i in translate(circuit).instructions].count("pauli_rotation") == 1
    assert all(len(i.mixes) <= 1 for i in translate(circuit).instructions if isinstance(i, Op))


MODIFIERS = [
    [InverseModifier()],
    [PowerModifier(3)],
    [PowerModifier(-2)],
    [PowerModifier(0.5)],
    [PowerModifier(2), PowerModifier(0.5)],
    [ControlModifier(1, 0), InverseModifier(), ControlModifier(2, 1)],
    [ControlModifier(2, 1), PowerModifier(2), InverseModifier()],
]


@pytest.mark.parametrize("modifiers", MODIFIERS, ids=str)
def test_annotated_operation(modifiers: list[Any]) -> None:
    """Modifiers act in their order, and the last controls own the first qubits."""
    for base in (lib.U3Gate(0.3, 0.4, 0.5), lib.ECRGate(), lib.UnitaryGate(random_unitary(2, seed=9))):
        operation = AnnotatedOperation(base, modifiers)
        assert_same(shuffled(operation, 0))
        assert_same(shuffled(AnnotatedOperation(operation, [ControlModifier(1, 0)]), 0))


def test_clifford_as_an_operation() -> None:
    """A Clifford table in a circuit is the unitary that it stands for, with and without modifiers."""
    clifford = random_clifford(3, seed=4)
    assert isinstance(clifford, Clifford)
    for operation in (clifford, AnnotatedOperation(clifford, [InverseModifier()])):
        matrix = unitary_of(shuffled(operation, 0))
        assert Operator(matrix).equiv(Operator(shuffled(operation, 0)))


def test_a_gate_that_only_bears_a_standard_name() -> None:
    """A user's own gate called "h" is its definition and not a Hadamard gate."""
    inner = QuantumCircuit(1, name="h")
    inner.sx(0)
    circuit = QuantumCircuit(1)
    circuit.append(inner.to_gate(), [0])
    assert_same(circuit)


class OnlyAMatrix(Gate):
    """A gate that has a matrix and no definition."""

    def __init__(self) -> None:
        super().__init__("only_a_matrix", 2, [])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[np.complex128]:
        return np.asarray(random_unitary(4, seed=8).data, dtype=dtype)


def test_a_gate_that_has_only_a_matrix() -> None:
    """A gate without a definition is applied by its matrix."""
    assert_same(shuffled(OnlyAMatrix()))


@pytest.mark.parametrize("label", ["01+-rl"])
def test_initialize_with_a_label(label: str) -> None:
    """The last letter of a label belongs to the first qubit."""
    circuit = QuantumCircuit(6)
    circuit.initialize(label)
    np.testing.assert_allclose(reference.simulate(translate(circuit)), Statevector.from_label(label).data, atol=1e-12)


def test_initialize_writes_the_state() -> None:
    """Amplitudes on untouched wires are written, with the first qubit given as the least significant."""
    state = random_statevector(4, seed=6)
    circuit = QuantumCircuit(4)
    circuit.h(2)
    circuit.barrier()
    circuit.initialize(state, [3, 1])
    circuit.cx(3, 2)
    translated = translate(circuit)
    assert any(isinstance(i, Initialize) for i in translated.instructions)
    np.testing.assert_allclose(reference.simulate(translated), Statevector(circuit).data, atol=1e-12)


NAMES = "barrier cx delay diagonal global_phase h initialize kraus measure pauli reset save_statevector superop unitary"


@pytest.mark.parametrize("name", NAMES.split())
def test_a_gate_is_what_its_definition_says_whatever_its_name(name: str) -> None:
    """A gate of a user's that has the name of another instruction is its definition."""
    gate, definition = Gate(name, 2, []), QuantumCircuit(2)
    definition.ry(0.4, 0)
    definition.cz(0, 1)
    gate.definition = definition
    circuit, expected = QuantumCircuit(2), QuantumCircuit(2)
    circuit.h([0, 1])
    circuit.append(gate, [1, 0])
    expected.h([0, 1])
    expected.compose(definition, [1, 0], inplace=True)
    assert_same(circuit, expected)


def test_initialize_with_a_number() -> None:
    """A whole number sets the qubits of its bits."""
    circuit = QuantumCircuit(3)
    circuit.initialize(6, [0, 1, 2])
    np.testing.assert_allclose(reference.simulate(translate(circuit)), Statevector(circuit).data, atol=1e-12)


def test_state_preparation_is_a_gate_where_wires_were_used() -> None:
    """State preparation on used wires does what its definition does and does not overwrite them."""
    state = random_statevector(4, seed=7)
    circuit = QuantumCircuit(3)
    circuit.h(0)
    circuit.cx(0, 1)
    circuit.append(lib.StatePreparation(state), [1, 2])
    np.testing.assert_allclose(reference.simulate(translate(circuit)), Statevector(circuit).data, atol=1e-12)


def test_controlled_state_preparation() -> None:
    """Under a control, state preparation is a gate as well."""
    circuit = QuantumCircuit(3)
    circuit.h(2)
    circuit.append(lib.StatePreparation(random_statevector(4, seed=7)).control(1, annotated=False), [2, 0, 1])
    np.testing.assert_allclose(reference.simulate(translate(circuit)), Statevector(circuit).data, atol=1e-11)


def test_new_angles_keep_the_structure() -> None:
    """Circuits that differ in angles alone have one structure, so they share plans and kernels."""
    theta = [Parameter(f"t{k}") for k in range(20)]
    circuit = QuantumCircuit(3, global_phase=theta[0])
    for k, name in enumerate(("rx", "ry", "rz", "p")):
        getattr(circuit, name)(theta[k], 0)
        getattr(circuit, f"c{name}")(theta[k + 4], 0, 1)
    circuit.u(*theta[8:11], 2)
    circuit.append(lib.PauliEvolutionGate(SparsePauliOp(["XYZ", "ZZI"]), theta[11]), range(3))
    circuit.append(lib.RXXGate(theta[12]).control(1, annotated=False), range(3))
    structures = set()
    for angle in (0.1, 2.7, np.pi, np.pi / 2):
        structures.add(translate(circuit.assign_parameters(dict.fromkeys(circuit.parameters, angle))).structure)
    assert len(structures) == 1


def test_global_phase() -> None:
    """The global phases of the circuit and of all definitions in it are kept."""
    circuit = phased_circuit()
    circuit.append(phased_circuit().to_gate(), [1, 0])
    circuit.append(lib.GlobalPhaseGate(0.3))
    assert_same(circuit)


def test_boxes_and_barriers_do_nothing() -> None:
    """A box is its body; barriers, delays and identities leave no trace."""
    circuit = QuantumCircuit(2)
    with circuit.box():
        circuit.h(1)
        circuit.cx(1, 0)
    circuit.barrier()
    circuit.delay(100, 0)
    circuit.id(1)
    assert [i.name for i in translate(circuit).instructions] == ["h", "cx"]


def test_qubits_without_registers() -> None:
    """Wires follow the circuit's own order of qubits, whatever registers they are in or not in."""
    from qiskit.circuit import AncillaRegister, QuantumRegister, Qubit

    loose, register = [Qubit(), Qubit()], QuantumRegister(bits=[Qubit()], name="a")
    circuit = QuantumCircuit(loose[:1], register, loose[1:], AncillaRegister(1))
    circuit.h(loose[1])
    circuit.cx(loose[1], register[0])
    assert_same(circuit)


def test_every_pair_of_wires() -> None:
    """A gate that is not symmetric in its qubits keeps their order, for every pair of wires."""
    for a, b in itertools.permutations(range(3), 2):
        circuit = QuantumCircuit(3)
        circuit.rzx(0.4, a, b)
        circuit.cu(0.1, 0.2, 0.3, 0.4, b, a)
        assert_same(circuit)
