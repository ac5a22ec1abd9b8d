"""Noise of Cirq's: channels as Kraus matrices, and what a noise model makes of a circuit.

Cirq's matrices have the first qubit as the most significant bit; a channel takes its wires reversed, as a matrix does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import cirq
import numpy as np
from numpy.typing import NDArray

from qsim_ex import frameworks
from qsim_ex.errors import NoiseError, NotSupported, OptionError
from qsim_ex.frameworks import check
from qsim_ex_cirq.translation.gates import TOLERANCE, Place

if TYPE_CHECKING:
    from qsim_ex_cirq.qudits.levels import Levels

Kraus = NDArray[np.complex128]
Draw = tuple[NDArray[np.float64], Sequence[cirq.MatrixGate], Sequence[Kraus] | None]


def noise_of(noise: cirq.NOISE_MODEL_LIKE) -> cirq.NoiseModel:
    """Return a noise model, or that of a one-qubit channel after every moment, as in ``cirq.Simulator``.

    Raises `OptionError`.
    """
    try:
        return cirq.NoiseModel.from_noise_model_like(noise)
    except (TypeError, ValueError) as error:
        raise OptionError(
            f"expected noise as None, a cirq.NoiseModel or a one-qubit gate, got {noise!r}; pass cirq.depolarize(0.01)."
        ) from error


def kraus_of(op: cirq.Operation, place: Place, levels: Levels | None = None) -> Kraus | None:
    """Return the Kraus matrices of an operation, scaled unitary ones if it is a mixture of these; None without any.

    levels: those of its qids; None if each has two. Raises `NotSupported` for a channel under controls.
    """
    size = len(place.wires)
    name = str(op.gate or type(op).__name__)
    kraus = _known(op.gate)[0] if type(op.gate) in _CONSTANT else _matrices(op, size, name, levels)
    if kraus is None:
        return None
    if place.controls:
        raise NotSupported(f"{name}: a channel under controls is not supported yet.")
    return kraus


def drawn_from(action: cirq.Operation | cirq.Gate) -> Draw:
    """Return what a state draws from: of a mixture the probabilities of gates, of another channel its Kraus matrices.

    Without a meaning as a channel there are neither. Raises `NoiseError`.
    """
    gate = action if isinstance(action, cirq.Gate) else action.gate
    return _known_draw(gate) if type(gate) in _CONSTANT else _draw(action)


def _draw(action: cirq.Operation | cirq.Gate) -> Draw:
    mixture = cirq.mixture(action, None)
    if mixture is None:
        kraus = cirq.kraus(action, None)
        if kraus is not None:
            _require_channel(action, kraus)
        return np.zeros(0), (), kraus
    _require_channel(action, [math.sqrt(probability) * matrix for probability, matrix in mixture])
    weights, shape = np.array([probability for probability, _ in mixture]), cirq.qid_shape(action)
    return weights / weights.sum(), [cirq.MatrixGate(matrix, qid_shape=shape) for _, matrix in mixture], None


def _require_channel(action: object, matrices: Sequence[NDArray[np.generic]]) -> None:
    """Raise `NoiseError` for Kraus matrices that do not keep the trace."""
    array = np.asarray(matrices)
    off = float(np.abs((array.conj().swapaxes(1, 2) @ array).sum(0) - np.eye(array.shape[-1])).max())
    if not off <= TOLERANCE:
        raise NoiseError(
            f"{action!r}: expected Kraus matrices that keep the trace, got Σ K†K that differs from 1 by {off:.2g} "
            f"(limit {TOLERANCE:.2g}); check their weights."
        )


def channel(op: cirq.Operation, kraus: Kraus, place: Place) -> None:
    """Append a channel without a key; a mixture of unitary matrices stays one."""
    name = str(op.gate or type(op).__name__)
    few = _known(op.gate)[1] if type(op.gate) in _CONSTANT else frameworks.simplified(kraus)
    place.builder.channel(few, place.wires[::-1], name=name, tolerance=TOLERANCE)


_CONSTANT = frozenset(
    {
        cirq.AmplitudeDampingChannel,
        cirq.AsymmetricDepolarizingChannel,
        cirq.BitFlipChannel,
        cirq.DepolarizingChannel,
        cirq.GeneralizedAmplitudeDampingChannel,
        cirq.PhaseDampingChannel,
        cirq.PhaseFlipChannel,
    }
)
"""Channels that never change, so that equal ones have equal matrices; noise adds them many times."""


_known_draw = lru_cache(maxsize=256)(_draw)
"""The same of a channel that never changes."""


@lru_cache(maxsize=256)
def _known(gate: Any) -> tuple[Kraus, Kraus]:
    """Return the Kraus matrices of a channel that never changes, and as few as say the same, both read only."""
    found = _matrices(gate, cirq.num_qubits(gate), str(gate))
    assert found is not None  # each of `_CONSTANT` has some
    few = frameworks.simplified(found)
    for matrices in (found, few):
        matrices.setflags(write=False)
    return found, few


def _matrices(op: cirq.Operation | cirq.Gate, size: int, name: str, levels: Levels | None = None) -> Kraus | None:
    mixture = cirq.mixture(op, None)
    if mixture is not None:
        wide = [(p, matrix if levels is None else levels.matrix(matrix)) for p, matrix in mixture]
        return np.array([np.sqrt(probability) * _unitary(matrix, size, name) for probability, matrix in wide])
    kraus = cirq.kraus(op, None)
    if kraus is None:
        return None
    if levels is None:
        return np.array([*kraus], dtype=np.complex128)
    # What nothing reaches is kept by the first matrix, so that the channel keeps the trace.
    return np.array([levels.matrix(matrix, unused=not number) for number, matrix in enumerate(kraus)])


def _unitary(matrix: Any, size: int, name: str) -> Kraus:
    """Return the matrix that is unitary to rounding and nearest to one that is unitary to Cirq's tolerance."""
    array = check.unitary(matrix, size, name, TOLERANCE)
    if np.abs(array.conj().T @ array - np.eye(len(array))).max() < check.ROUNDING / 10:
        return array
    left, _, right = np.linalg.svd(array)
    nearest: Kraus = left @ right
    return nearest


MomentOperation = tuple[int, cirq.Operation]
"""A moment's number and an operation in it."""


def noisy_operations(circuit: cirq.AbstractCircuit, noise: cirq.NoiseModel, sampled: bool) -> list[MomentOperation]:
    """Return the operations of a circuit with a model's noise, as ``cirq.Simulator`` adds it, with moments' numbers.

    sampled: only the measurements are asked for. Then noise after the last measurement of its qubits is left out, such
    as that which a model puts after the last moment.
    """
    if noise == cirq.NO_NOISE:
        operations = [(number, op) for number, moment in enumerate(circuit) for op in moment]
        kinds = {type(op) for _, op in operations} if sampled else set()
        tags = any(issubclass(kind, cirq.TaggedOperation) for kind in kinds)
        tagged = [op for _, op in operations if isinstance(op, cirq.TaggedOperation)] if tags else []
        added = any(map(is_virtual, tagged))  # by `cirq.Circuit.with_noise`
    else:
        moments = noisy_moments(circuit, noise)
        operations = [(number, op) for number, tree in enumerate(moments) for op in cirq.flatten_to_ops(tree)]
        added = True
    if not (sampled and added):
        return operations
    written = {id(op) for op in circuit.all_operations() if not is_virtual(op)}
    kept = zip(operations, _counting(operations), strict=True)
    return [numbered for numbered, counts in kept if counts or id(numbered[1]) in written]


def noisy_moments(circuit: cirq.AbstractCircuit, noise: cirq.NoiseModel) -> Sequence[cirq.OP_TREE]:
    """Return the moments of a circuit with a model's noise; raises `NoiseError` for a channel of other levels."""
    try:
        return noise.noisy_moments(circuit, sorted(circuit.all_qubits()))
    except ValueError as error:
        raise NoiseError(f"the noise model does not fit the circuit's qids: {error}") from error


def is_virtual(op: cirq.Operation) -> bool:
    """Return whether an operation bears the tag of those that noise models add."""
    return isinstance(op, cirq.TaggedOperation) and cirq.VirtualTag() in op.tags


def _counting(operations: Sequence[MomentOperation]) -> list[bool]:
    """Return whether each operation can change a measurement: whether one follows on the qubits that it acts on."""
    found: list[bool] = []
    live: set[cirq.Qid] = set()
    for _, op in reversed(operations):
        counts = not live.isdisjoint(op.qubits) or cirq.is_measurement(op) or bool(cirq.control_keys(op))
        if counts:
            live.update(op.qubits)
        found.append(counts)
    return found[::-1]
