"""Checks of channels that come again: a machine's noise is in many circuits, with the same matrices."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit import check

Kraus = NDArray[np.complex128]


@lru_cache(maxsize=1024)
def checked_kraus(
    kraus: bytes, shape: tuple[int, ...], num_wires: int, name: str, tolerance: float | None
) -> tuple[Kraus, bytes]:
    """Return what `check.kraus` returns for complex128 matrices, and its bytes; the same ones are checked once."""
    checked = check.kraus(np.frombuffer(kraus, dtype=np.complex128).reshape(shape), num_wires, name, tolerance)
    return checked, checked.tobytes()


@lru_cache(maxsize=1024)
def kind_of(kraus: bytes, count: int) -> tuple[bool, bool]:
    """Return whether a channel is mixed-unitary and whether its matrices are products."""
    size = math.isqrt(len(kraus) // (16 * count))
    array = np.frombuffer(kraus, dtype=np.complex128).reshape(count, size, size)
    return are_scaled_unitaries(array), are_products(array)


def are_scaled_unitaries(matrices: NDArray[np.complex128]) -> bool:
    """Return whether every matrix of [count, d, d] is a multiple of a unitary one (K†K is a multiple of 1)."""
    products = matrices.conj().swapaxes(1, 2) @ matrices
    weights = np.trace(products, axis1=1, axis2=2) / matrices.shape[-1]
    return bool(np.abs(products - weights[:, None, None] * np.eye(matrices.shape[-1])).max() <= check.ROUNDING)


def are_products(matrices: NDArray[np.complex128]) -> bool:
    """Return whether every matrix of [count, 2^k, 2^k] is a Kronecker product of 2×2 matrices, one for each bit."""
    for matrix in matrices:
        rest = matrix
        for first in factors(matrix)[:-1]:
            blocks = _blocks(rest)
            of = np.einsum("rcij,ij->rc", blocks, first.conj())
            if np.abs(blocks - of[:, :, None, None] * first).max() > check.ROUNDING:
                return False
            rest = of
    return True


def factors(matrix: NDArray[np.complex128]) -> list[NDArray[np.complex128]]:
    """Return 2×2 matrices, that of the least significant bit first, whose Kronecker product is a matrix [2^k, 2^k].

    Where a matrix is a product, every 2×2 block is a multiple of the first factor: the largest block is taken for it.
    """
    found = []
    while len(matrix) > 2:
        blocks = _blocks(matrix)
        sizes = np.linalg.norm(blocks, axis=(2, 3))
        row, column = np.unravel_index(np.argmax(sizes), sizes.shape)
        found.append(blocks[row, column] / sizes[row, column])
        matrix = np.einsum("rcij,ij->rc", blocks, found[-1].conj())
    return [*found, matrix]


def _blocks(matrix: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Return the 2×2 blocks of a matrix [2^k, 2^k], as an array [2^(k−1), 2^(k−1), 2, 2].

    A block holds the rows and columns that share all higher bits.
    """
    half = len(matrix) // 2
    return matrix.reshape(half, 2, half, 2).transpose(0, 2, 1, 3)
