"""The target says what the transpiler may leave as it is."""

from __future__ import annotations

import pytest
from qiskit import QuantumCircuit, transpile
from qiskit.circuit import library as lib
from qiskit.circuit.classical import expr, types
from qiskit.quantum_info import SparsePauliOp, random_unitary

from qsim_ex_provider import QsimExBackend, save_statevector

BACKEND = QsimExBackend(device="cpu")


def wide_circuit() -> QuantumCircuit:
    """Forty qubits, wide gates, matrices, control flow and variables."""
    circuit = QuantumCircuit(40, 40)
    circuit.initialize([0.6, 0.8], 39)
    for wire in range(39):
        circuit.h(wire)
        circuit.cx(wire, wire + 1)
        circuit.cp(0.3, wire, (wire + 7) % 40)
    circuit.mcx(list(range(10)), 12)
    circuit.append(lib.PermutationGate([2, 0, 1]), [30, 3, 17])
    circuit.append(lib.PauliEvolutionGate(SparsePauliOp(["XYZ"])), [1, 20, 39])
    circuit.append(lib.UCRZGate([0.1, 0.2, 0.3, 0.4]), [5, 6, 7])
    circuit.append(lib.DiagonalGate([1, -1, 1j, 1]), [8, 30])
    circuit.unitary(random_unitary(4, seed=1), [9, 31])
    return circuit


def dynamic_circuit() -> QuantumCircuit:
    """Each kind of control flow once."""
    circuit = QuantumCircuit(40, 2)
    circuit.measure(0, 0)
    with circuit.if_test((circuit.clbits[0], 1)):
        circuit.x(1)
    with circuit.while_loop((circuit.clbits[1], 0)):
        circuit.h(2)
        circuit.measure(2, 1)
        circuit.break_loop()
    with circuit.for_loop(range(3)):
        circuit.cx(38, 39)
        circuit.continue_loop()
    with circuit.switch(circuit.clbits[0]) as case, case(1):
        circuit.x(4)
    seen = circuit.add_var("seen", expr.lift(0, types.Uint(8)))
    circuit.store(seen, expr.lift(1, types.Uint(8)))
    with circuit.box():
        circuit.x(5)
    return circuit


@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")  # Qiskit exponentiates sparse matrices
@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_transpile_takes_forty_qubits(level: int) -> None:
    """There is no width limit, and instructions that run natively are not decomposed at level 0."""
    made = transpile(wide_circuit(), BACKEND, optimization_level=level, seed_transpiler=1)
    assert made.num_qubits == 40
    if level == 0:
        assert dict(made.count_ops()) == dict(wide_circuit().count_ops())


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_transpile_keeps_control_flow(level: int) -> None:
    """Control flow is in the target, so every level leaves it in the circuit."""
    made = transpile(dynamic_circuit(), BACKEND, optimization_level=level, seed_transpiler=1)
    kept = {"if_else", "while_loop", "for_loop", "switch_case", "store", "box"}
    assert kept <= set(made.count_ops())


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_transpile_keeps_saves(level: int) -> None:
    """A saved state stays where it is between the gates."""
    circuit = QuantumCircuit(2)
    circuit.h(0)
    save_statevector(circuit, "middle")
    circuit.h(0)
    save_statevector(circuit)
    made = transpile(circuit, BACKEND, optimization_level=level)
    data = BACKEND.run(made).result().data()
    assert abs(data["middle"].data[1]) == pytest.approx(0.5**0.5)
    assert abs(data["statevector"].data[0]) == pytest.approx(1)


def test_target_names_are_what_qiskit_calls_them() -> None:
    """The names of the classes in the target are those that instances of them bear."""
    instances = {
        "initialize": lib.Initialize([1, 0]),
        "state_preparation": lib.StatePreparation([1, 0]),
        "diagonal": lib.DiagonalGate([1, -1]),
        "multiplexer": lib.UCGate([random_unitary(2, seed=1).data] * 2),
        "permutation": lib.PermutationGate([1, 0]),
        "pauli": lib.PauliGate("XY"),
        "PauliEvolution": lib.PauliEvolutionGate(SparsePauliOp("X")),
        "mcx": lib.MCXGate(5),
        "mcphase": lib.MCPhaseGate(0.1, 3),
        "unitary": lib.UnitaryGate([[1, 0], [0, 1]]),
    }
    assert {name: instance.name for name, instance in instances.items()} == {n: n for n in instances}
    assert set(instances) <= set(BACKEND.operation_names)
