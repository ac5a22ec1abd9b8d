"""Density matrices of a few wires, as expectation values of Pauli strings: core/native/kernels/narrow_density.cpp."""

from __future__ import annotations

import ctypes

import numpy as np
from numpy.typing import NDArray

from qsim_ex.native.library import address, function, structure

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Complex = NDArray[np.complex128]

_Request = structure(
    "num_wires num_ops num_steps num_channels total count ops steps forms operands transfers transfer_at out"
)


def pauli_transfer(kraus: Complex) -> Floats:
    """Return the Pauli transfer matrix of a channel, float64 [4^k, 4^k], from its matrices [count, 2^k, 2^k].

    R[i, j] = tr(P_i Σ K P_j K†) / 2^k, where digit w of i in base 4 is the Pauli I, X, Z or Y of wire w.
    """
    kraus = np.ascontiguousarray(kraus, dtype=np.complex128)
    count, size, _ = kraus.shape
    found = np.zeros((size * size, size * size))
    function("pauli_transfer")(address(kraus), count, size.bit_length() - 1, address(found))
    return found


def probabilities(
    num_wires: int,
    ops: Integers,
    steps: NDArray[np.int32],
    forms: Integers,
    operands: Complex,
    transfers: Floats,
    transfer_at: Integers,
) -> Floats:
    """Return the probabilities of all basis values in the final state of some bindings, float64 [bindings, 2^n].

    The arguments are the fields of `Request` in `narrow_density.cpp`.
    """
    count, total = operands.shape
    out = np.empty((count, 1 << num_wires))
    arrays = [address(array) for array in (ops, steps, forms, operands, transfers, transfer_at, out)]
    sizes = num_wires, len(ops), len(steps), transfer_at.shape[1], total, count
    function("narrow_density")(ctypes.addressof(request := _Request(*sizes, *arrays)), 0, request.count)
    return out
