"""Operations without a rule: they are appended by their matrix, by their parts, or as channels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import cirq
import numpy as np
from numpy.typing import NDArray

from qsim_ex.errors import MatrixError, NotSupported
from qsim_ex.frameworks import NeedsNumbers, check, later
from qsim_ex_cirq.errors import OnlyActs, UnknownOperation
from qsim_ex_cirq.translation.gates import Place
from qsim_ex_cirq.translation.noise import channel, kraus_of

if TYPE_CHECKING:
    from qsim_ex_cirq.qudits.levels import Levels
    from qsim_ex_cirq.translation import recorded
    from qsim_ex_cirq.translation.translator import Translator
else:
    recorded = later("qsim_ex_cirq.translation.recorded")

MATRIX_FIRST = 3
"""Up to how many qubits a gate without a rule is taken as its matrix before its decomposition is asked for."""

LEVELS_FIRST = 4
"""The same for qudits, by the qubits that they take: two qutrits at least."""

MATRIX_LAST = 10
"""Up to how many qubits a gate without a rule and without a decomposition is taken as its matrix."""


def append_without_rule(to: Translator, op: cirq.Operation, place: Place) -> None:
    """Append an operation by its matrix if it is narrow, else by its parts, as a channel, or by its matrix."""
    size = len(place.wires)
    # With numbers from symbols the parts come first: zeros in a matrix would be accidents of the numbers.
    levels = to.levels_of(op)
    if size <= (MATRIX_FIRST if levels is None else LEVELS_FIRST) and place.literal and _by_matrix(op, place, levels):
        return
    if to.symbols and cirq.is_parameterized(op):
        to.parts(_symbolic_parts(to, op), place)
        return
    parts = cirq.decompose_once(op, None)
    if parts is not None and all(to.knows(part.qubits) for part in parts):
        to.parts(parts, place)
    elif _channel(to, op, place, levels) or (size <= MATRIX_LAST and _by_matrix(op, place, levels)):
        return
    elif parts is not None:
        _with_ancillas(to, op, parts, place)
    else:
        raise _cannot(op)


def _channel(to: Translator, op: cirq.Operation, place: Place, levels: Levels | None) -> bool:
    """Append an operation if it is a channel that is not unitary, and return whether it is one."""
    kraus = None if cirq.has_unitary(op) else kraus_of(op, place, levels)
    if kraus is None:
        return False
    if cirq.is_measurement(op):
        recorded.recorded_channel(op, kraus, place, to.ancillas, to.pending)
    elif len(place.wires) > check.CHANNEL_WIRES:
        recorded.wide_channel(op, kraus, place, to.ancillas)
    else:
        channel(op, kraus, place)
    return True


def _with_ancillas(to: Translator, op: cirq.Operation, parts: list[cirq.Operation], place: Place) -> None:
    """Append the parts of an operation, some of which act on qubits of its own, which are |0⟩ before and after.

    A unitary operation leaves them in |0⟩, else it would not be unitary; after others they are reset.
    """
    unitary = cirq.has_unitary(op)
    if place.controls and not unitary:
        raise _later("an operation under controls that is not unitary", f"{op!r} decomposes into others")
    own = [*dict.fromkeys(qubit for part in parts for qubit in part.qubits if not to.knows([qubit]))]
    wires = to.lend(own)
    to.parts(parts, place)
    to.release(wires)
    if not unitary:
        to.reset(tuple(wires))
    to.take_back(own, wires)


def _symbolic_parts(to: Translator, op: cirq.Operation) -> list[cirq.Operation]:
    """Return the parts of an operation with a symbol; raises `NeedsNumbers` where they depend on its number."""
    try:
        parts = cirq.decompose_once(op, None)
    except (TypeError, ValueError) as error:  # what comparing a symbol or computing with it raises
        raise NeedsNumbers(f"{op!r} has a decomposition of numbers") from error
    if parts is None or not all(to.knows(part.qubits) for part in parts):
        raise NeedsNumbers(f"{op!r} has no decomposition")
    return list(parts)


def _by_matrix(op: cirq.Operation, place: Place, levels: Levels | None) -> bool:
    """Append the operation's matrix, if it has one, and return whether it has."""
    matrix, gate = cirq.unitary(op, None), op.gate
    name = "MatrixGate" if isinstance(gate, cirq.MatrixGate) else str(gate or type(op).__name__)
    if matrix is None:
        return False
    try:
        place.matrix(matrix if levels is None else levels.matrix(matrix), name)
    except MatrixError:
        if not hasattr(op.gate, "_apply_unitary_"):
            raise
        applied = _applied(op)
        place.matrix(applied if levels is None else levels.matrix(applied), name)
    return True


def _applied(op: cirq.Operation) -> NDArray[np.complex128]:
    """Return the matrix of an operation that says how it acts on a state, found by its action on each basis state.

    Cirq lets it act on all of them at once. That goes wrong where it moves numbers in place: a row of several numbers
    is a view, which changes while they are moved.
    """
    shape = cirq.qid_shape(op)
    columns = np.eye(math.prod(shape), dtype=np.complex128)
    args = [cirq.ApplyUnitaryArgs(one.reshape(shape), np.empty(shape, one.dtype), range(len(shape))) for one in columns]
    return np.array([cirq.apply_unitary(op, one).reshape(-1) for one in args]).T


def _later(feature: str, because: str) -> NotSupported:
    return NotSupported(f"{feature} is not supported yet: {because}.")


def _cannot(op: cirq.Operation) -> Exception:
    if cirq.has_unitary(op):
        return _later(f"a matrix on more than {MATRIX_LAST} qubits", f"{op!r} has no decomposition")
    if hasattr(op if op.gate is None else op.gate, "_act_on_"):
        return OnlyActs(
            f"expected a unitary matrix, Kraus matrices or a decomposition, got {op!r} with _act_on_ alone, which acts "
            "on a state in simulate, run, and what asks for amplitudes or expectation values; give it one of them."
        )
    return UnknownOperation(
        f"expected a unitary matrix, Kraus matrices or a decomposition, got {op!r} with none of them."
    )
