"""Channels by way of ancillas: those with a measurement key, and those that are too wide for a channel of the engine.

A key's record is the number of the matrix that was chosen. The Kraus matrices K_k are the blocks of an isometry
|ψ⟩ → Σ_k |k⟩ ⊗ K_k|ψ⟩, which is a unitary matrix on the channel's wires and some ancillas in |0⟩ (Nielsen and Chuang,
section 8.2.3). To measure the ancillas is to choose k, and to reset them is to choose it unseen.
"""

from __future__ import annotations

import cirq
import numpy as np
from numpy.typing import NDArray

from qsim_ex.errors import NoiseError
from qsim_ex.frameworks import check, simplified
from qsim_ex_cirq.translation.ancillas import AncillaWires
from qsim_ex_cirq.translation.measurements import PendingMeasurements
from qsim_ex_cirq.translation.place import TOLERANCE, Place

Matrices = NDArray[np.complex128]

MATRIX_WIRES = 10
"""The most wires of the unitary matrix of such a channel."""


def recorded_channel(
    op: cirq.Operation, kraus: Matrices, place: Place, ancillas: AncillaWires, pending: PendingMeasurements
) -> None:
    """Append a channel with a key; its record is the number of the chosen matrix.

    kraus: [count, 2^k, 2^k], none left out. Raises `NoiseError` if they do not keep the trace, or are too many.
    """
    builder, wires = place.builder, _entangled(op, kraus, place, ancillas)
    clbits = tuple(range(builder.num_clbits, builder.num_clbits + len(wires)))
    builder.num_clbits += len(wires)
    if wires:
        builder.measure(wires, clbits)
        builder.reset(wires)
    ancillas.give_back(wires)
    pending.record_choice(str(cirq.measurement_key_obj(op)), clbits[::-1])


def wide_channel(op: cirq.Operation, kraus: Matrices, place: Place, ancillas: AncillaWires) -> None:
    """Append a channel without a key on any number of wires; raises `NoiseError` as `recorded_channel` does."""
    wires = _entangled(op, simplified(kraus) if len(place.wires) < MATRIX_WIRES else kraus, place, ancillas)
    if wires:
        place.builder.reset(wires)
    ancillas.give_back(wires)


def _entangled(op: cirq.Operation, kraus: Matrices, place: Place, ancillas: AncillaWires) -> list[int]:
    """Append the unitary matrix of a channel, and return the ancillas whose value is the number of the matrix."""
    name, size, bits = str(op.gate or type(op).__name__), len(place.wires), (len(kraus) - 1).bit_length()
    if bits + size > MATRIX_WIRES:
        keyed = "with a key " if cirq.is_measurement(op) else ""
        where = f"{size} qubits" if len(op.qubits) == size else f"qids that take {size} bits"
        most = 1 << (MATRIX_WIRES - size) if size <= MATRIX_WIRES else 0
        raise NoiseError(
            f"{name}: expected a channel {keyed}of at most {most} matrices on {where}, got {len(kraus)}; "
            f"{'leave out the key, or ' if keyed else ''}merge matrices, or make it a product of channels on fewer."
        )
    check.kraus(kraus, size, name, TOLERANCE, most=MATRIX_WIRES)
    wires = ancillas.take(bits)
    place.builder.unitary(_dilation(kraus, bits), (*place.wires[::-1], *wires), name=name, tolerance=TOLERANCE)
    return wires


def _dilation(kraus: Matrices, bits: int) -> Matrices:
    """Return a unitary matrix whose first columns are the Kraus matrices, one below the other."""
    count, size, _ = kraus.shape
    isometry = np.zeros((size << bits, size), dtype=np.complex128)
    isometry[: count * size] = kraus.reshape(-1, size)
    others = np.linalg.qr(isometry, mode="complete")[0][:, size:]
    return np.concatenate([isometry, others], axis=1)
