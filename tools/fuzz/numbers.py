"""The matrices and vectors that programs name: each is drawn from a seed, so a program stays a few lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.complex128]


def _gaussian(shape: tuple[int, ...], seed: int) -> Matrix:
    random = np.random.default_rng(seed)
    return random.normal(size=shape) + 1j * random.normal(size=shape)


@lru_cache(maxsize=512)
def haar(k: int, seed: int) -> Matrix:
    """A unitary matrix [2^k, 2^k] without structure."""
    q, r = np.linalg.qr(_gaussian((1 << k, 1 << k), seed))
    return q * (np.diagonal(r) / np.abs(np.diagonal(r)))


@lru_cache(maxsize=512)
def monomial(k: int, seed: int) -> Matrix:
    """A permutation matrix [2^k, 2^k] with a phase in each row, some of them 1, −1, i or −i."""
    random = np.random.default_rng(seed)
    entries = np.where(random.random(1 << k) < 0.5, 1j ** random.integers(0, 4, 1 << k), phases(k, seed))
    matrix = np.zeros((1 << k, 1 << k), dtype=np.complex128)
    matrix[random.permutation(1 << k), np.arange(1 << k)] = entries
    return matrix


@lru_cache(maxsize=512)
def blocks(k: int, seed: int) -> Matrix:
    """A unitary matrix [2^k, 2^k] with exact zeros: an identity in which some rows are mixed."""
    random = np.random.default_rng(seed)
    chosen = random.permutation(1 << k)[: max(2, 1 << (k - 1))]
    matrix = np.eye(1 << k, dtype=np.complex128)
    q, _ = np.linalg.qr(_gaussian((len(chosen), len(chosen)), seed))
    matrix[np.ix_(chosen, chosen)] = q
    return matrix


@lru_cache(maxsize=512)
def real(k: int, seed: int) -> Matrix:
    """An orthogonal matrix [2^k, 2^k]."""
    q, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(1 << k, 1 << k)))
    return q.astype(np.complex128)


@lru_cache(maxsize=512)
def phases(k: int, seed: int) -> Matrix:
    """2^k numbers of modulus 1."""
    return np.exp(2j * np.pi * np.random.default_rng(seed).random(1 << k))


@lru_cache(maxsize=512)
def several(s: int, k: int, seed: int) -> Matrix:
    """Unitary matrices [2^s, 2^k, 2^k]."""
    return np.array([haar(k, 1000 * seed + number) for number in range(1 << s)])


@lru_cache(maxsize=512)
def vector(k: int, seed: int) -> Matrix:
    """A normalised state of 2^k amplitudes, some of them 0."""
    values = _gaussian((1 << k,), seed)
    values[np.random.default_rng(seed + 1).random(1 << k) < 0.25] = 0
    norm = np.linalg.norm(values)
    return values / norm if norm else np.eye(1 << k, dtype=np.complex128)[0]


@lru_cache(maxsize=512)
def shuffled(k: int, seed: int) -> tuple[int, ...]:
    """A permutation of 0 … 2^k − 1."""
    return tuple(np.random.default_rng(seed).permutation(1 << k).tolist())


@lru_cache(maxsize=512)
def kraus(count: int, k: int, seed: int) -> Matrix:
    """Kraus matrices [count, 2^k, 2^k] of a channel without structure: a part of an isometry."""
    size = 1 << k
    q, _ = np.linalg.qr(_gaussian((count * size, size), seed))
    return q.reshape(count, size, size)


@lru_cache(maxsize=512)
def misread(k: int, seed: int) -> NDArray[np.float64]:
    """P(read | true) [2^k, 2^k] of a bad detector; every row adds up to 1."""
    rows = np.eye(1 << k) + 0.7 * np.random.default_rng(seed).random((1 << k, 1 << k))
    return rows / rows.sum(axis=1, keepdims=True)


PAULIS = {
    "I": np.eye(2, dtype=np.complex128),
    "X": np.array([[0, 1], [1, 0]], dtype=np.complex128),
    "Y": np.array([[0, -1j], [1j, 0]]),
    "Z": np.diag([1, -1]).astype(np.complex128),
}


@lru_cache(maxsize=1024)
def pauli(letters: str) -> Matrix:
    """The product of Pauli matrices [2^k, 2^k]; letter j acts on bit j of the index."""
    matrix = np.eye(1, dtype=np.complex128)
    for letter in letters:
        matrix = np.kron(PAULIS[letter], matrix)
    return matrix


def strings(k: int) -> list[str]:
    """All products of k letters of IXYZ."""
    return ["".join(letters) for letters in product("IXYZ", repeat=k)]


class _Together:
    """Takes gates that are appended later."""

    def __init__(self) -> None:
        self.gates: list[tuple[str, tuple[int, ...], tuple[float, ...]]] = []

    def gate(self, name: str, wires: Sequence[int], *angles: float) -> None:
        """Take a gate."""
        self.gates.append((name, tuple(wires), angles))


def together(builder: Any) -> Iterator[_Together]:
    """A loop of one round, at whose end its gates are appended together, where a builder can do so."""
    taken = _Together()
    yield taken
    if hasattr(builder, "gates"):
        builder.gates(*map(list, zip(*taken.gates, strict=True)))
        return
    for name, wires, angles in taken.gates:
        builder.gate(name, wires, *angles)


NAMES: dict[str, Any] = {
    one.__name__: one
    for one in (together, haar, monomial, blocks, real, phases, several, vector, shuffled, kraus, misread, pauli)
} | {"np": np, "pi": np.pi}
"""What a program may name besides its own circuit."""
