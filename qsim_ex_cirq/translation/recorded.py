"""Channels that write down under a measurement key which of their matrices was chosen.

The Kraus matrices K_k are the blocks of an isometry |ψ⟩ → Σ_k |k⟩ ⊗ K_k|ψ⟩, which is a unitary matrix on the channel's
wires and some ancillas in |0⟩ (Nielsen and Chuang, section 8.2.3). To measure the ancillas is to choose k.
"""

from __future__ import annotations

import cirq
import numpy as np
from numpy.typing import NDArray

from qsim_ex.errors import NoiseError
from qsim_ex.frameworks import check
from qsim_ex_cirq.translation.ancillas import AncillaWires
from qsim_ex_cirq.translation.measurements import PendingMeasurements
from qsim_ex_cirq.translation.place import TOLERANCE, Place

Matrices = NDArray[np.complex128]

MATRIX_WIRES = 10
"""The most wires of the unitary matrix of a channel with a key."""


def recorded_channel(
    op: cirq.Operation, kraus: Matrices, place: Place, ancillas: AncillaWires, pending: PendingMeasurements
) -> None:
    """Append a channel with a key; its record is the number of the chosen matrix.

    kraus: [count, 2^k, 2^k], none left out. Raises `NoiseError` if they do not keep the trace, or are too many.
    """
    name, builder = str(op.gate or type(op).__name__), place.builder
    check.kraus(kraus, len(place.wires), name, TOLERANCE)
    bits = (len(kraus) - 1).bit_length()
    if bits + len(place.wires) > MATRIX_WIRES:
        raise NoiseError(
            f"{name}: expected a channel with a key of at most {1 << (MATRIX_WIRES - len(place.wires))} matrices on "
            f"{len(place.wires)} qubits, got {len(kraus)}; leave out the key, or merge matrices."
        )
    wires = ancillas.take(bits)
    builder.unitary(_dilation(kraus, bits), (*place.wires[::-1], *wires), name=name, tolerance=TOLERANCE)
    clbits = tuple(range(builder.num_clbits, builder.num_clbits + bits))
    builder.num_clbits += bits
    if bits:
        builder.measure(wires, clbits)
        builder.reset(wires)
    ancillas.give_back(wires)
    pending.record_choice(str(cirq.measurement_key_obj(op)), clbits[::-1])


def _dilation(kraus: Matrices, bits: int) -> Matrices:
    """Return a unitary matrix whose first columns are the Kraus matrices, one below the other."""
    count, size, _ = kraus.shape
    isometry = np.zeros((size << bits, size), dtype=np.complex128)
    isometry[: count * size] = kraus.reshape(-1, size)
    others = np.linalg.qr(isometry, mode="complete")[0][:, size:]
    return np.concatenate([isometry, others], axis=1)
