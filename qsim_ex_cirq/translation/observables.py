"""Observables: Cirq's sums of Pauli products as the engine's."""

from __future__ import annotations

from numbers import Number

import cirq

import qsim_ex
from qsim_ex.errors import MeasurementError, OptionError, WireError
from qsim_ex_cirq.wires import wires_of_qubits

PauliSumLike = complex | cirq.PauliString[cirq.Qid] | cirq.PauliSum | cirq.SingleQubitPauliStringGateOperation
"""What `cirq.PauliSumLike` is, which names a class of Cirq's as a text that is found in Cirq's own modules alone."""


def pauli_sum(observable: PauliSumLike, qubits: tuple[cirq.Qid, ...]) -> qsim_ex.PauliSum:
    """Return an observable of Cirq as the engine's; raises `WireError` for a qubit that the circuit has not."""
    wire_of = wires_of_qubits(qubits)
    if not isinstance(observable, cirq.PauliSum | cirq.Operation | Number):
        raise OptionError(
            f"expected an observable of Cirq, got a {type(observable).__name__}; pass a cirq.PauliString or a "
            "cirq.PauliSum, such as cirq.Z(a) * cirq.Z(b)."
        )
    try:
        strings = cirq.PauliSum.wrap(observable)
    except TypeError as error:  # of an operation that is no product of Pauli operators
        raise OptionError(
            f"expected an observable of Cirq, got the operation {observable!r}; write it as a cirq.PauliSum, such as "
            "cirq.X(a) + cirq.Z(a)."
        ) from error
    terms = []
    for string in strings:
        missing = [qubit for qubit in string.qubits if qubit not in wire_of]
        if missing:
            raise WireError(f"the observable {string} acts on {missing[0]!r}, which the circuit has not.")
        letters = "".join(str(pauli) for pauli in string.values())
        wires = [wire_of[qubit] for qubit in string]  # in the order of its values
        terms.append(qsim_ex.PauliString.parse(letters, wires, complex(string.coefficient)))
    return qsim_ex.PauliSum(tuple(terms))


def pauli_sums(observables: PauliSumLike | list[PauliSumLike], qubits: tuple[cirq.Qid, ...]) -> list[qsim_ex.PauliSum]:
    """Return one observable of Cirq, or a list of them, as the engine's."""
    listed = observables if isinstance(observables, list) else [observables]
    return [pauli_sum(observable, qubits) for observable in listed]


def require_no_end(program: cirq.AbstractCircuit, *, permitted: bool) -> None:
    """Raise `MeasurementError` for measurements at the end of a circuit whose observables are asked for."""
    if not permitted and program.are_any_measurements_terminal():
        raise MeasurementError(
            "the circuit ends in measurements, which collapse the state. If that is meant, set "
            "permit_terminal_measurements=True."
        )


def value_of(value: complex, observable: qsim_ex.PauliSum) -> complex:
    """Return an expectation value as a real number, unless the observable has a complex coefficient."""
    return value if any(complex(term.coefficient).imag for term in observable.terms) else value.real


def undisturbed(observable: qsim_ex.PauliSum, measured: tuple[int, ...]) -> qsim_ex.PauliSum:
    """Return what is left of an observable's mean after wires were measured: a string with X or Y there has mean 0."""
    mask = sum(1 << wire for wire in measured)
    return qsim_ex.PauliSum(tuple(term for term in observable.terms if not term.x & mask))
