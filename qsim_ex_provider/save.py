"""Saving the state vector in the middle or at the end of a Qiskit circuit."""

from __future__ import annotations

from qiskit.circuit import Instruction, QuantumCircuit


class SaveStatevector(Instruction):
    """Save the state vector of the whole circuit at this point, under a label.

    The result holds it under that label; `Result.get_statevector` finds the label "statevector".
    """

    _directive = True  # passes of the transpiler leave it where it is, as they do a barrier

    def __init__(self, num_qubits: int, label: str = "statevector") -> None:
        if not isinstance(label, str):
            raise TypeError(f"expected a label as a string, got {label!r}.")
        super().__init__("save_statevector", num_qubits, 0, [], label=label)

    def inverse(self, annotated: bool = False) -> SaveStatevector:  # noqa: ARG002 (Qiskit's signature)
        """Return another one: saving changes nothing, so undoing it is saving at the mirrored point."""
        return SaveStatevector(self.num_qubits, self.label)


def save_statevector(circuit: QuantumCircuit, label: str = "statevector") -> QuantumCircuit:
    """Append `SaveStatevector` over all qubits and return the circuit; qiskit-aer is not needed for it."""
    circuit.append(SaveStatevector(circuit.num_qubits, label), circuit.qubits)
    return circuit
