"""How Qiskit's matrices, diagonals, multiplexers, permutations and sums are appended; `library` registers each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from qiskit.circuit import QuantumCircuit
from qiskit.circuit.library import DiagonalGate, MCXGate, PermutationGate, UCGate, UnitaryGate
from qiskit.circuit.library.generalized_gates.uc_pauli_rot import UCPauliRotGate

from qsim_ex.frameworks import GATES
from qsim_ex_provider.translation.place import Controls, Place, swaps
from qsim_ex_provider.translation.translator import Translator

if TYPE_CHECKING:
    from qiskit.circuit.library import WeightedSumGate


def matrix(gate: Any, place: Place, to: Translator) -> None:
    """Append an operation by its matrix."""
    entries = np.asarray(gate.to_matrix() if hasattr(gate, "to_matrix") else gate)
    controls = place.controls
    to.builder.unitary(entries, place.wires, controls=controls.wires, control_values=controls.values, name=gate.name)


def unitary(gate: UnitaryGate, place: Place, to: Translator) -> None:
    """Append a unitary matrix."""
    matrix(gate, place, to)
    to.used.update(place.wires)


def diagonal(gate: DiagonalGate, place: Place, to: Translator) -> None:
    """Append a diagonal matrix."""
    _emit_diagonal(np.array(gate.params, dtype=np.complex128), place.wires, place.controls, to, gate.name)


def _emit_diagonal(
    entries: NDArray[np.complex128], wires: tuple[int, ...], controls: Controls, to: Translator, name: str
) -> None:
    to.builder.diagonal(entries, wires, controls=controls.wires, control_values=controls.values, name=name)
    to.used.update(wires)


def multiplexer(gate: UCGate, place: Place, to: Translator) -> None:
    """Append a multiplexer: the first qubit is the target, and the others select."""
    # Then the gate does what its definition does, and not what its matrices say.
    if gate.up_to_diagonal or gate.name.endswith("_reverse"):
        to.circuit(gate.definition, place.wires, (), place.controls)
    else:
        _emit_multiplexer(np.array(gate.params, dtype=np.complex128), place, to, gate.name)


def multiplexed_rotation(gate: UCPauliRotGate, place: Place, to: Translator) -> None:
    """Append a rotation of the first qubit about one axis, by an angle that the others select."""
    angles = np.array(gate.params, dtype=np.float64)[:, None]
    row = GATES[f"r{gate.rot_axes.lower()}"]
    entries = row.entries(angles)
    if gate.rot_axes == "Z":
        _emit_diagonal(entries.reshape(-1), place.wires, place.controls, to, gate.name)
    else:
        _emit_multiplexer(entries.reshape(-1, 2, 2), place, to, gate.name)


def _emit_multiplexer(matrices: NDArray[np.complex128], place: Place, to: Translator, name: str) -> None:
    target, selectors, controls = place.wires[:1], place.wires[1:], place.controls
    to.builder.multiplexer(
        matrices, selectors, target, controls=controls.wires, control_values=controls.values, name=name
    )
    to.used.update(place.wires)


def permutation(gate: PermutationGate, place: Place, to: Translator) -> None:
    """Move the state of wire ``pattern[k]`` to wire k by swaps, which planning turns into relabelling."""
    for a, b in swaps([int(p) for p in gate.pattern]):
        to.gate("swap", (place.wires[a], place.wires[b]), place.controls)


def weighted_sum(gate: WeightedSumGate, place: Place, to: Translator) -> None:
    """Append a sum of weighted bits by its gates: Qiskit has no definition of it."""
    to.circuit(sum_gates(gate), place.wires, (), place.controls)
    to.used.update(place.wires)


def sum_gates(gate: WeightedSumGate) -> QuantumCircuit:
    """Return the gates that add the weight of each state qubit that is 1 to the sum, modulo 2^(number of sum qubits).

    To add 2^j is to flip bit k of the sum, from the highest one down to bit j, if all bits from j to k - 1 are 1.
    """
    state, total = gate.num_state_qubits, gate.num_sum_qubits
    circuit = QuantumCircuit(gate.num_qubits, name=gate.name)
    for qubit, weight in enumerate(gate.params):
        for j in range(total):
            if int(weight) >> j & 1:
                for k in reversed(range(j, total)):
                    circuit.append(MCXGate(1 + k - j), [qubit, *range(state + j, state + k + 1)])
    return circuit
