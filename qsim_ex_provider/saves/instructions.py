"""The instructions that save a value of the state, and the one that sets it; qiskit-aer is not needed for them.

They have the names, attributes and arguments of Aer's. A circuit with Aer's own instructions runs as well.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
from qiskit.circuit import Instruction, QuantumCircuit, Qubit
from qiskit.quantum_info import Operator, Pauli, SparsePauliOp, Statevector

from qsim_ex_provider.saves.kinds import SAVES


class SaveInstruction(Instruction):
    """Save a value of the state at this point, under a label.

    name: one of `kinds.SAVES`. pershot: save the value of each shot instead of one value or the mean. conditional: save
    for each value of the classical bits. unnormalized: save the sum over all shots in place of the mean.
    """

    _directive = True  # passes of the transpiler leave it where it is, as they do a barrier

    def __init__(
        self,
        name: str,
        num_qubits: int,
        label: str | None = None,
        *,
        pershot: bool = False,
        conditional: bool = False,
        unnormalized: bool = False,
        params: Sequence[Any] = (),
    ) -> None:
        if label is not None and not isinstance(label, str):
            raise TypeError(f"expected a label as a string, got {label!r}.")
        row = SAVES[name]
        subtype = ("accum" if unnormalized else "average") if row.averages else "single"
        self._subtype = ("c_" if conditional else "") + ("list" if pershot else subtype)
        super().__init__(name, num_qubits, 0, list(params), label=row.label if label is None else label)

    def inverse(self, annotated: bool = False) -> SaveInstruction:  # noqa: ARG002 (Qiskit's signature)
        """Return another one: saving changes nothing, so undoing it is saving at the mirrored point."""
        return copy.copy(self)


class SaveStatevector(SaveInstruction):
    """Save the state vector of the whole circuit at this point, under a label.

    The result holds it under that label; `Result.get_statevector` finds the label "statevector".
    """

    def __init__(
        self, num_qubits: int, label: str = "statevector", pershot: bool = False, conditional: bool = False
    ) -> None:
        super().__init__("save_statevector", num_qubits, label, pershot=pershot, conditional=conditional)


class SetStatevector(Instruction):
    """Put all qubits into a state, whatever their state is; classical bits keep their values."""

    _directive = True

    def __init__(self, state: Any) -> None:
        state = state if isinstance(state, Statevector) else Statevector(state)
        if not state.num_qubits or not state.is_valid():
            raise ValueError("expected a state vector of 2^n amplitudes and norm 1, got another one.")
        super().__init__("set_statevector", state.num_qubits, 0, [np.asarray(state.data)])


def save_statevector(
    circuit: QuantumCircuit, label: str = "statevector", pershot: bool = False, conditional: bool = False
) -> QuantumCircuit:
    """Save the state vector, after random outcomes that of the first shot; return the circuit.

    pershot: save that of every shot. conditional: save one for each value of the classical bits.
    """
    circuit.append(SaveStatevector(circuit.num_qubits, label, pershot, conditional), circuit.qubits)
    return circuit


def save_statevector_dict(
    circuit: QuantumCircuit, label: str = "statevector", pershot: bool = False, conditional: bool = False
) -> QuantumCircuit:
    """Save the state vector as a dictionary, basis value in hexadecimal -> amplitude; return the circuit."""
    return _append(circuit, "save_statevector_dict", None, label, pershot, conditional)


def save_state(
    circuit: QuantumCircuit, label: str | None = None, pershot: bool = False, conditional: bool = False
) -> QuantumCircuit:
    """Save the simulator's state, which is the state vector here; return the circuit."""
    return _append(circuit, "save_state", None, label, pershot, conditional)


def save_probabilities(
    circuit: QuantumCircuit,
    qubits: Any = None,
    label: str = "probabilities",
    unnormalized: bool = False,
    pershot: bool = False,
    conditional: bool = False,
) -> QuantumCircuit:
    """Save the probabilities of all values of some qubits (default all), ``qubits[0]`` least significant."""
    return _append(
        circuit,
        "save_probabilities",
        qubits,
        label,
        pershot=pershot,
        conditional=conditional,
        unnormalized=unnormalized,
    )


def save_probabilities_dict(
    circuit: QuantumCircuit,
    qubits: Any = None,
    label: str = "probabilities",
    unnormalized: bool = False,
    pershot: bool = False,
    conditional: bool = False,
) -> QuantumCircuit:
    """Save the probabilities of some qubits as a dictionary of those that are not zero."""
    return _append(
        circuit,
        "save_probabilities_dict",
        qubits,
        label,
        pershot=pershot,
        conditional=conditional,
        unnormalized=unnormalized,
    )


def save_expectation_value(
    circuit: QuantumCircuit,
    operator: Pauli | SparsePauliOp | Operator,
    qubits: Any,
    label: str = "expectation_value",
    unnormalized: bool = False,
    pershot: bool = False,
    conditional: bool = False,
) -> QuantumCircuit:
    """Save the expectation value of a Hermitian operator on some qubits."""
    return _append(
        circuit,
        "save_expval",
        qubits,
        label,
        params=_terms(operator),
        pershot=pershot,
        conditional=conditional,
        unnormalized=unnormalized,
    )


def save_expectation_value_variance(
    circuit: QuantumCircuit,
    operator: Pauli | SparsePauliOp | Operator,
    qubits: Any,
    label: str = "expectation_value_variance",
    unnormalized: bool = False,
    pershot: bool = False,
    conditional: bool = False,
) -> QuantumCircuit:
    """Save the expectation value and the variance of a Hermitian operator on some qubits; means are of each alone."""
    return _append(
        circuit,
        "save_expval_var",
        qubits,
        label,
        params=_terms(operator),
        pershot=pershot,
        conditional=conditional,
        unnormalized=unnormalized,
    )


def save_amplitudes(
    circuit: QuantumCircuit,
    params: Sequence[int] | Sequence[str],
    label: str = "amplitudes",
    pershot: bool = False,
    conditional: bool = False,
) -> QuantumCircuit:
    """Save the amplitudes of some basis values: whole numbers, or strings in hexadecimal (0x…) or binary."""
    return _append(circuit, "save_amplitudes", None, label, pershot, conditional, params=_values(params))


def save_amplitudes_squared(
    circuit: QuantumCircuit,
    params: Sequence[int] | Sequence[str],
    label: str = "amplitudes_squared",
    unnormalized: bool = False,
    pershot: bool = False,
    conditional: bool = False,
) -> QuantumCircuit:
    """Save the probabilities of some basis values: whole numbers, or strings in hexadecimal (0x…) or binary."""
    return _append(
        circuit,
        "save_amplitudes_sq",
        None,
        label,
        params=_values(params),
        pershot=pershot,
        conditional=conditional,
        unnormalized=unnormalized,
    )


def save_density_matrix(
    circuit: QuantumCircuit,
    qubits: Any = None,
    label: str = "density_matrix",
    unnormalized: bool = False,
    pershot: bool = False,
    conditional: bool = False,
) -> QuantumCircuit:
    """Save the density matrix of some qubits (default all), reduced from the state and averaged over all shots."""
    return _append(
        circuit,
        "save_density_matrix",
        qubits,
        label,
        pershot=pershot,
        conditional=conditional,
        unnormalized=unnormalized,
    )


def save_unitary(circuit: QuantumCircuit, label: str = "unitary", pershot: bool = False) -> QuantumCircuit:
    """Save the unitary of all gates so far; there may be nothing but gates before it."""
    return _append(circuit, "save_unitary", None, label, pershot)


def save_stabilizer(
    circuit: QuantumCircuit, label: str = "stabilizer", pershot: bool = False, conditional: bool = False
) -> QuantumCircuit:
    """Save the stabilizer state, a `StabilizerState`, with ``method="stabilizer"``; return the circuit."""
    return _append(circuit, "save_stabilizer", None, label, pershot, conditional)


def save_clifford(
    circuit: QuantumCircuit, label: str = "clifford", pershot: bool = False, conditional: bool = False
) -> QuantumCircuit:
    """Save the tableau of the state, a `Clifford`, with ``method="stabilizer"``; return the circuit."""
    return _append(circuit, "save_clifford", None, label, pershot, conditional)


def set_statevector(circuit: QuantumCircuit, state: Any) -> QuantumCircuit:
    """Put all qubits into a state, whatever their state is; return the circuit.

    state: a `Statevector` or 2^n amplitudes. Raises `ValueError` for another size than the circuit's.
    """
    instruction = SetStatevector(state)
    if instruction.num_qubits != circuit.num_qubits:
        raise ValueError(f"expected a state of {circuit.num_qubits} qubits, got one of {instruction.num_qubits}.")
    circuit.append(instruction, circuit.qubits)
    return circuit


def _append(
    circuit: QuantumCircuit,
    name: str,
    qubits: Any,
    label: str | None,
    pershot: bool,
    conditional: bool = False,
    unnormalized: bool = False,
    params: Sequence[Any] = (),
) -> QuantumCircuit:
    """Append a save on some qubits, or on all of them, and return the circuit."""
    on = circuit.qubits if qubits is None else [qubits] if isinstance(qubits, int | Qubit) else list(qubits)
    circuit.append(
        SaveInstruction(
            name, len(on), label, pershot=pershot, conditional=conditional, unnormalized=unnormalized, params=params
        ),
        on,
    )
    return circuit


def _terms(operator: Any) -> list[tuple[str, tuple[float, float]]]:
    """Return an operator as Aer's instructions have it: Pauli strings with their coefficients.

    Raises `ValueError` for an operator that is not Hermitian.
    """
    if isinstance(operator, Pauli):
        operator = SparsePauliOp(operator)
    elif not isinstance(operator, SparsePauliOp):
        operator = SparsePauliOp.from_operator(Operator(operator))
    if not np.allclose(operator.coeffs.imag, 0):
        raise ValueError("expected a Hermitian operator, got one with complex coefficients; use real ones.")
    found: dict[str, float] = {}
    for letters, coefficient in operator.label_iter():
        found[letters] = found.get(letters, 0.0) + float(coefficient.real)
    return [(letters, (coefficient, 0.0)) for letters, coefficient in found.items()]


def _values(params: Sequence[int] | Sequence[str]) -> list[int]:
    """Return basis values as whole numbers."""
    return [int(one, 16 if one.startswith("0x") else 2) if isinstance(one, str) else int(one) for one in params]
