"""What Cirq takes as an initial state, as the engine takes it: a basis value or one array of amplitudes."""

from __future__ import annotations

import operator
from typing import Any

import cirq
import numpy as np
from numpy.typing import NDArray

from qsim_ex.errors import StateError
from qsim_ex_cirq.wires import in_words, levels_of

Initial = int | NDArray[np.complexfloating]


def initial_of(given: Any, qubits: tuple[cirq.Qid, ...]) -> Initial:
    """Return the basis value (first qubit most significant) or the amplitudes [2^n] of an initial state.

    given: None, an integer, amplitudes of shape [2^n] or [2, 2, …], one basis value for each qubit, a
    `cirq.ProductState`, or the simulation state of an earlier result. A vector of complex amplitudes is passed on
    without a copy; the engine checks that it is finite and normalised. Where qids have other levels than two, all of
    this is in their basis, and what is returned in that of their wires. Raises `StateError`.
    """
    if given is None:
        return 0
    levels = levels_of(qubits)
    size = 1 << len(qubits) if levels is None else levels.size
    try:
        value = operator.index(given)
    except TypeError:
        vector = _vector(given, qubits, size)
        return vector if levels is None else levels.widened(vector)
    if not 0 <= value < size:
        whole = f"a basis value of {in_words(qubits)}, from 0 to {size - 1}"
        raise StateError(f"initial_state={value} is out of range: expected {whole}.")
    return value if levels is None else levels.value(value)


def _vector(given: Any, qubits: tuple[cirq.Qid, ...], size: int) -> NDArray[np.complexfloating]:
    if isinstance(given, np.ndarray) and given.dtype.kind == "c" and given.shape == (size,):
        return given
    vector: NDArray[Any] | None
    try:
        if isinstance(given, cirq.ProductState):
            vector = given.state_vector(cirq.QubitOrder.explicit(qubits))  # a KeyError names a qubit that it lacks
        elif hasattr(given, "create_merged_state"):
            vector = _amplitudes_of(given, qubits)
        else:
            shape = tuple(qubit.dimension for qubit in qubits)
            vector = cirq.quantum_state(given, shape, validate=False, dtype=np.complex128).state_vector()
    except (ValueError, TypeError, KeyError) as error:  # what Cirq raises for lists, strings and missing qubits
        raise StateError(
            f"expected a state of {in_words(qubits)}, got {given!r} ({error}); pass a basis value such as 0, "
            "amplitudes, or one value for each qubit."
        ) from error
    if vector is None or vector.size != size:
        found = "a mixed state" if vector is None else f"{vector.size} amplitudes"
        raise StateError(f"a pure state of {in_words(qubits)} has {size} amplitudes, got {found}.")
    return np.asarray(vector)


def _amplitudes_of(state: Any, qubits: tuple[cirq.Qid, ...]) -> NDArray[np.complexfloating]:
    merged = state.create_merged_state()
    if tuple(merged.qubits) != qubits:
        raise StateError(f"the initial state is one of the qubits {merged.qubits}, the circuit has {qubits}.")
    return np.asarray(merged.target_tensor).reshape(-1)
