"""The standard channels of the field as Kraus matrices, complex128 [count, 2^k, 2^k], for `CircuitBuilder.channel`.

A channel is ρ → Σ K ρ K† with Σ K†K = 1. Where a channel is a mixture of unitary operations it is given as one, since
such a choice does not depend on the state. Formulas follow Nielsen and Chuang, "Quantum Computation and Quantum
Information", section 8.3, unless another source is named. ``wires[0]`` is the least significant bit of an index.

All functions raise `NoiseError` for probabilities that are negative, above 1, or more than 1 together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qsim_ex.circuit import check
from qsim_ex.circuit.known_channels import are_products, are_scaled_unitaries
from qsim_ex.errors import NoiseError

Kraus = NDArray[np.complex128]

PAULI = {
    "I": np.eye(2, dtype=np.complex128),
    "X": np.array([[0, 1], [1, 0]], dtype=np.complex128),
    "Y": np.array([[0, -1j], [1j, 0]], dtype=np.complex128),
    "Z": np.diag([1, -1]).astype(np.complex128),
}

LEADING = 1e-3
"""Where matrices of norm 1 are compared, the first entry with a modulus above this fixes the phase of a matrix."""


# --- mixtures of unitary operations -----------------------------------------------------------------------------------


def mixed_unitary(probabilities: Sequence[float], unitaries: ArrayLike) -> Kraus:
    """Return the channel that applies one of some unitary matrices [count, 2^k, 2^k], each with its probability.

    The probabilities must add up to 1. One matrix with probability 1 is a coherent error. Raises `MatrixError` for a
    matrix that is not unitary.
    """
    matrices = np.asarray(unitaries)
    if matrices.ndim != 3 or len(matrices) != len(probabilities):
        raise NoiseError(
            f"mixed_unitary: expected matrices of shape [{len(probabilities)}, 2^k, 2^k] for {len(probabilities)} "
            f"probabilities, got {matrices.shape}; pass one matrix for each probability."
        )
    wires = max(matrices.shape[1].bit_length() - 1, 0)
    checked = np.array([check.unitary(matrix, wires, "mixed_unitary", None) for matrix in matrices])
    rest = _rest("mixed_unitary", probabilities)
    if abs(rest) > check.ROUNDING:
        raise NoiseError(
            f"mixed_unitary: expected probabilities that add up to 1, got {list(probabilities)}, which add up to "
            f"{1 - rest:.12g}; divide them by their sum."
        )
    return _mixture(probabilities, checked)


def pauli_channel(probabilities: Mapping[str, float]) -> Kraus:
    """Return the channel that applies one of some products of Pauli matrices.

    probabilities: by strings of I, X, Y and Z, all of one length; letter k acts on ``wires[k]``. The identity has the
    probability that the others leave of 1.
    """
    if not probabilities:
        raise NoiseError("pauli: expected one string of I, X, Y and Z or more, got none; pass {'I': 1} for no error.")
    lengths = {len(letters) for letters in probabilities}
    if len(lengths) > 1 or 0 in lengths or set("".join(probabilities)) - set("IXYZ"):
        raise NoiseError(
            f"pauli: expected strings of I, X, Y and Z, all of one length, got {list(probabilities)}; pass one letter "
            "for each wire."
        )
    rest = _rest("pauli", [*probabilities.values()])
    identity = "I" * lengths.pop()
    whole = {**probabilities, identity: probabilities.get(identity, 0.0) + max(rest, 0.0)}
    return _mixture([*whole.values()], np.array([pauli_matrix(letters) for letters in whole]))


def bit_flip(probability: float) -> Kraus:
    """Return the channel that applies X with a probability."""
    return pauli_channel({"X": probability})


def phase_flip(probability: float) -> Kraus:
    """Return the channel that applies Z with a probability."""
    return pauli_channel({"Z": probability})


def depolarizing(probability: float, num_wires: int = 1) -> Kraus:
    """Return ρ → (1 − p)·ρ + p·1/2^n, which replaces the state by the completely mixed one with probability p.

    This is the convention of Qiskit and Aer (``depolarizing_error``). The completely mixed state is all 4^n products
    of Pauli matrices with equal weights, the identity among them, so p may be up to 4^n/(4^n − 1). For Cirq's
    convention see `uniform_pauli`.
    """
    size = _products("depolarizing", num_wires)
    most = size / (size - 1)
    if not 0 <= probability <= most + check.ROUNDING:
        raise NoiseError(
            f"depolarizing: expected a probability from 0 to {most:.9g} on {num_wires} wires, got {probability!r}; "
            "pass one of that range."
        )
    return uniform_pauli(min(probability / most, 1.0), num_wires)


def uniform_pauli(probability: float, num_wires: int = 1) -> Kraus:
    """Return the channel that applies a product of Pauli matrices other than the identity with probability p.

    All 4^n − 1 of them have the same probability.

    This is the convention of Cirq (``cirq.depolarize(p, n)``); p here is 1 − 4^−n times Qiskit's, see `depolarizing`.
    """
    size = _products("uniform_pauli", num_wires)
    _rest("uniform_pauli", [probability])
    strings = ["".join(letters) for letters in product("IXYZ", repeat=num_wires)]
    return pauli_channel(dict.fromkeys(strings[1:], probability / (size - 1)))


def phase_damping(strength: float) -> Kraus:
    """Return ρ01 → √(1 − λ)·ρ01, where the environment learns with probability λ that the wire was 1.

    This is a phase flip with probability (1 − √(1 − λ))/2, and is returned as one.
    """
    _rest("phase_damping", [strength])
    return phase_flip((1 - math.sqrt(1 - strength)) / 2)


# --- channels whose probabilities depend on the state -----------------------------------------------------------------


def amplitude_damping(strength: float, excited_population: float = 0.0) -> Kraus:
    """Return the decay of 1 to 0 with probability γ, with an excited population p1 > 0 towards (1 − p1, p1).

    The generalised amplitude damping of Nielsen and Chuang, with γ·(1 − p1) for 1 → 0 and γ·p1 for 0 → 1.
    """
    _rest("amplitude_damping", [strength])
    _rest("amplitude_damping", [excited_population])
    return _relaxation(strength, excited_population, math.sqrt(1 - strength))


def thermal_relaxation(t1: float, t2: float, time: float, excited_population: float = 0.0) -> Kraus:
    """Return relaxation for `time`: populations tend to (1 − p1, p1) as e^(−time/t1), coherences to 0 as e^(−time/t2).

    All times have the same unit; t1 and t2 may be infinite. Raises `NoiseError` unless t2 ≤ 2·t1, as physics requires.
    Up to t2 = t1 this is a decay and a phase flip; above, a generalised amplitude damping with a smaller coherence.
    Both have the Choi matrix that Aer's ``thermal_relaxation_error`` documents.
    """
    for name, value in (("t1", t1), ("t2", t2)):
        if not value > 0:
            raise NoiseError(f"thermal_relaxation: expected {name} > 0, got {value!r}; pass a time, or math.inf.")
    if not 0 <= time < math.inf:
        raise NoiseError(f"thermal_relaxation: expected a finite time >= 0, got {time!r}; pass it in the unit of t1.")
    if t2 > 2 * t1 * (1 + check.ROUNDING):
        raise NoiseError(f"thermal_relaxation: expected t2 <= 2·t1, got t2={t2!r} and t1={t1!r}; pass a smaller t2.")
    _rest("thermal_relaxation", [excited_population])
    return _relaxation(-math.expm1(-time / t1), excited_population, math.exp(-time / t2))


def reset_channel(to_zero: float, to_one: float = 0.0) -> Kraus:
    """Return the channel that puts a wire into 0 with one probability, into 1 with another, whatever its state is."""
    rest = _rest("reset", [to_zero, to_one])
    matrices = np.zeros((5, 2, 2), dtype=np.complex128)
    matrices[0] = np.eye(2) * math.sqrt(max(rest, 0.0))
    matrices[1, 0, 0] = matrices[2, 0, 1] = math.sqrt(to_zero)
    matrices[3, 1, 0] = matrices[4, 1, 1] = math.sqrt(to_one)
    return _nonzero(matrices)


def _relaxation(strength: float, excited: float, coherence: float) -> Kraus:
    """Return 1 → 0 with probability strength·(1 − excited), 0 → 1 with strength·excited, ρ01 → coherence·ρ01.

    Each of the two jumps is a block of the Choi matrix; the third block is [[P(0|0), c], [c, P(1|1)]], whose
    eigenvectors are diagonal Kraus matrices.
    """
    up, down = strength * excited, strength * (1 - excited)
    weights, vectors = np.linalg.eigh(np.array([[1 - up, coherence], [coherence, 1 - down]]))
    matrices = np.zeros((4, 2, 2), dtype=np.complex128)
    for k in (1, 0):  # the heavier one first
        matrices[1 - k] = np.diag(vectors[:, k]) * math.sqrt(max(weights[k], 0.0))
    matrices[2, 0, 1] = math.sqrt(down)
    matrices[3, 1, 0] = math.sqrt(up)
    return _nonzero(matrices)


# --- Pauli matrices, and other Kraus matrices of the same channel -----------------------------------------------------


def pauli_matrix(letters: str) -> Kraus:
    """Return the product of Pauli matrices, complex128 [2^k, 2^k]; letter k acts on bit k of the index."""
    matrix: Kraus = np.ones((1, 1), dtype=np.complex128)
    for letter in letters:
        matrix = np.kron(PAULI[letter], matrix).astype(np.complex128)
    return matrix


def simplified(kraus: ArrayLike) -> Kraus:
    """Return the same channel with Kraus matrices among which it is cheap to choose, the heaviest first.

    Best is a mixture of unitary matrices: its choice does not depend on the state. Otherwise a random number below the
    sum of the least eigenvalues of all K†K chooses without the state (see `sure`), so this sum should be large, and
    then the matrices few. Kraus matrices are defined up to a unitary mixing (Nielsen and Chuang, theorem 8.2): matrices
    that differ by a factor become one, and others are replaced by the orthogonal rows of a singular value decomposition
    where that is better. Products of matrices on one wire each are kept, since they are cheaper to apply.
    """
    given = _together(_nonzero(np.asarray(kraus, dtype=np.complex128)))
    if are_scaled_unitaries(given):
        return given
    orthogonal = _orthogonal(given)
    if are_scaled_unitaries(orthogonal):
        return orthogonal
    if given.shape[-1] > 2 and are_products(given):
        return given
    singular = _least(given) <= check.ROUNDING  # these add nothing to the sum, so mixing them costs nothing
    if np.count_nonzero(singular) > 1:
        given = np.concatenate([given[~singular], _orthogonal(given[singular])])
    return orthogonal if sure(orthogonal) >= sure(given) - check.ROUNDING else given


def sure(kraus: Kraus) -> float:
    """Return the probability of a choice without the state, which is the sum of the least eigenvalues of all K†K."""
    return float(_least(kraus).sum())


def _least(kraus: Kraus) -> NDArray[np.float64]:
    """Return the least eigenvalue of each K†K."""
    return np.asarray(np.linalg.svd(kraus, compute_uv=False)[:, -1] ** 2, dtype=np.float64)


def _together(kraus: Kraus) -> Kraus:
    """Merge matrices that differ by a factor into one with the weight of all, and return the heaviest first."""
    rows = kraus.reshape(len(kraus), -1)
    norms = np.linalg.norm(rows, axis=1)
    units = rows / norms[:, None]
    leading = units[np.arange(len(units)), np.argmax(np.abs(units) > LEADING, axis=1)]
    alike = np.round(units * (np.abs(leading) / leading)[:, None], 9) + 0  # adding 0 makes −0 a 0
    _, first, group = np.unique(alike, axis=0, return_index=True, return_inverse=True)
    weights = np.bincount(group.reshape(-1), norms**2)
    order = np.lexsort((first, -weights.round(12)))
    found: Kraus = kraus[first[order]] * (np.sqrt(weights) / norms[first])[order, None, None]
    return found


def _orthogonal(kraus: Kraus) -> Kraus:
    """Return the least number of matrices of the same channel, orthogonal to one another, the heaviest first."""
    _, weights, rows = np.linalg.svd(kraus.reshape(len(kraus), -1), full_matrices=False)
    kept = weights[:, None] * rows
    return _nonzero(np.where(np.abs(kept) > check.ROUNDING * weights[0], kept, 0).reshape(-1, *kraus.shape[1:]))


def _mixture(probabilities: Sequence[float], unitaries: NDArray[np.generic]) -> Kraus:
    weights = np.sqrt(np.maximum(np.asarray(probabilities, dtype=np.float64), 0))
    return _nonzero(weights[:, None, None] * unitaries)


def _nonzero(matrices: Kraus) -> Kraus:
    kept: Kraus = matrices[np.abs(matrices).max((1, 2)) > check.NOTHING]
    return kept


def _products(name: str, num_wires: int) -> int:
    """Return 4^n for a channel on n wires; raises `NoiseError` if a channel cannot have as many."""
    if not 1 <= num_wires <= check.CHANNEL_WIRES:
        raise NoiseError(
            f"{name}: expected a channel on 1 to {check.CHANNEL_WIRES} wires, got {num_wires}; use channels on fewer "
            "wires."
        )
    return int(4**num_wires)


def _rest(name: str, probabilities: Sequence[float]) -> float:
    """Return 1 − Σ probabilities; raises `NoiseError` if one is not in [0, 1] or their sum is above 1."""
    for value in probabilities:
        if not 0 <= value <= 1:  # not so for NaN either
            raise NoiseError(f"{name}: expected a probability from 0 to 1, got {value!r}; pass one of that range.")
    total = math.fsum(probabilities)
    if total > 1 + check.ROUNDING:
        raise NoiseError(
            f"{name}: expected probabilities that add up to 1 at most, got {list(probabilities)}, which add up to "
            f"{total:.12g}; pass smaller ones."
        )
    return 1 - total
