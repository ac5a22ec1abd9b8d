"""Clifford gates and Pauli channels, recognised by their matrices, however they are written.

A unitary matrix is Clifford if it takes each Pauli matrix to one, up to its sign (Gottesman, "The Heisenberg
representation of quantum computers", 1998). Its `Images` say to which; global phases are lost.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.complex128]

TOLERANCE = 1e-9
"""The largest error of an entry that is taken for rounding; angles that differ by more are no quarter turns."""

MOST_WIRES = 6
"""The most wires of a matrix that is looked at; wider ones are refused."""


class Pauli(NamedTuple):
    """A product of Pauli matrices, with a sign.

    x, z: masks of wires; a wire in `x` alone is X, in `z` alone Z, in both Y. minus: whether it is negative.
    """

    x: int
    z: int
    minus: bool = False

    def letters(self, wires: int) -> str:
        """Return the letter of each of some wires, "IXZY" by its two bits."""
        return "".join("IXZY"[(self.x >> wire & 1) | (self.z >> wire & 1) << 1] for wire in range(wires))


class Images(NamedTuple):
    """What a Clifford gate makes of X and of Z of each of its wires."""

    of_x: tuple[Pauli, ...]
    of_z: tuple[Pauli, ...]

    @property
    def pauli(self) -> Pauli | None:
        """The product of Pauli matrices that the gate is; None if it is another gate."""
        x = z = 0
        for wire, (of_x, of_z) in enumerate(zip(self.of_x, self.of_z, strict=True)):
            if (of_x.x, of_x.z, of_z.x, of_z.z) != (1 << wire, 0, 0, 1 << wire):
                return None
            z |= of_x.minus << wire  # Z takes X to −X, and X takes Z to −Z
            x |= of_z.minus << wire
        return Pauli(x, z)


def images_of(matrix: Matrix) -> Images | None:
    """Return what a unitary matrix [2^k, 2^k] makes of Pauli matrices; None if it is not Clifford."""
    wires = len(matrix).bit_length() - 1
    adjoint = matrix.conj().T
    found = []
    for x, z in [(1 << wire, 0) for wire in range(wires)] + [(0, 1 << wire) for wire in range(wires)]:
        image = _pauli_of(matrix @ (pauli_matrix(x, z, wires) @ adjoint), wires)
        if image is None:
            return None
        found.append(image)
    return Images(tuple(found[:wires]), tuple(found[wires:]))


def _pauli_of(matrix: Matrix, wires: int) -> Pauli | None:
    """Return the product of Pauli matrices that a matrix is, up to rounding; None if it is none."""
    x = int(np.abs(matrix[:, 0]).argmax())
    # In column c the entry is ± i^y (−1)^(z·c), so columns 2^w tell z.
    first = matrix[x, 0]
    z = sum(1 << wire for wire in range(wires) if (matrix[x ^ 1 << wire, 1 << wire] / first).real < 0) if first else 0
    expected = pauli_matrix(x, z, wires)
    minus = bool((first / expected[x, 0]).real < 0)
    return Pauli(x, z, minus) if np.abs(matrix - (1 - 2 * minus) * expected).max() < TOLERANCE else None


@lru_cache(maxsize=4096)
def pauli_matrix(x: int, z: int, wires: int) -> Matrix:
    """Return i^y X_x Z_z as a matrix [2^k, 2^k], where y is how many wires both masks have; read only."""
    index = np.arange(1 << wires)
    signs = 1 - 2.0 * (np.bitwise_count(index & z) & 1)
    found = np.zeros((1 << wires, 1 << wires), dtype=np.complex128)
    found[index ^ x, index] = signs * 1j ** (x & z).bit_count()
    found.setflags(write=False)
    return found


def pauli_channel(kraus: Matrix) -> tuple[tuple[Pauli, float], ...] | None:
    """Return the Pauli products that a channel chooses among, each with its probability; None for another channel.

    kraus: [count, 2^k, 2^k]. Written in Pauli matrices, ρ → Σ χ_ab P_a ρ P_b has a diagonal χ in a Pauli channel
    (Nielsen and Chuang, section 8.4.2), whatever its Kraus matrices are.
    """
    wires = kraus.shape[1].bit_length() - 1
    pairs = [(x, z) for x in range(1 << wires) for z in range(1 << wires)]
    basis = np.array([pauli_matrix(x, z, wires) for x, z in pairs])
    written = np.einsum("pij,kij->kp", basis.conj(), kraus) / (1 << wires)
    chi = written.T @ written.conj()
    weights = chi.diagonal().real
    if np.abs(chi - np.diag(weights)).max() > TOLERANCE:
        return None
    return tuple((Pauli(x, z), float(p)) for (x, z), p in zip(pairs, weights, strict=True) if p > 0)


def stabilizer_vector(amplitudes: Matrix) -> Matrix | None:
    """Return amplitudes with their rounding errors and their global phase taken away; None if they cannot be a
    stabilizer state's, which are 0 or ±1, ±i times one number.
    """
    largest = amplitudes[np.abs(amplitudes).argmax()]
    relative = amplitudes / largest
    rounded = np.round(relative.real) + 1j * np.round(relative.imag)
    if np.abs(relative - rounded).max() > TOLERANCE * np.sqrt(len(amplitudes)) or (np.abs(rounded) > 1).any():
        return None
    found: Matrix = rounded / np.linalg.norm(rounded)
    return found
