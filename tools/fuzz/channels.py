"""The standard channels from their definitions, under the names that the engine gives them; the oracle's `noise`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tools.fuzz.numbers import Matrix, pauli, strings


def _weighted(pairs: Sequence[tuple[float, Matrix]]) -> Matrix:
    return np.array([np.sqrt(max(weight, 0.0)) * matrix for weight, matrix in pairs])


def pauli_channel(probabilities: Mapping[str, float]) -> Matrix:
    """Products of Pauli matrices with probabilities, and nothing with what is left."""
    width = len(next(iter(probabilities)))
    rest = 1 - sum(probabilities.values())
    return _weighted([(rest, np.eye(1 << width)), *((p, pauli(letters)) for letters, p in probabilities.items())])


def mixed_unitary(probabilities: Sequence[float], unitaries: Sequence[Matrix]) -> Matrix:
    """Unitary matrices with probabilities."""
    return _weighted(list(zip(probabilities, unitaries, strict=True)))


def bit_flip(p: float) -> Matrix:
    """X with a probability."""
    return pauli_channel({"X": p})


def phase_flip(p: float) -> Matrix:
    """Z with a probability."""
    return pauli_channel({"Z": p})


def depolarizing(p: float, num_wires: int = 1) -> Matrix:
    """(1 − p)·ρ + p·1/2^n; the completely mixed state is the mean over all products of Pauli matrices."""
    size = 4**num_wires
    return _weighted([(p / size + (1 - p) * (k == 0), pauli(s)) for k, s in enumerate(strings(num_wires))])


def uniform_pauli(p: float, num_wires: int = 1) -> Matrix:
    """With probability p one of the products of Pauli matrices other than the identity."""
    size = 4**num_wires - 1
    return _weighted([(1 - p if k == 0 else p / size, pauli(s)) for k, s in enumerate(strings(num_wires))])


def phase_damping(strength: float) -> Matrix:
    """Nielsen and Chuang, section 8.3.6: the environment learns that the wire was 1."""
    return np.array([np.diag([1, np.sqrt(1 - strength)]), np.diag([0, np.sqrt(strength)])], dtype=np.complex128)


def amplitude_damping(strength: float, excited_population: float = 0.0) -> Matrix:
    """Nielsen and Chuang, section 8.3.5, towards populations (1 − p1, p1)."""
    down, up = np.sqrt(1 - excited_population), np.sqrt(excited_population)
    keep, jump = np.sqrt(1 - strength), np.sqrt(strength)
    return np.array(
        [
            down * np.array([[1, 0], [0, keep]]),
            down * np.array([[0, jump], [0, 0]]),
            up * np.array([[keep, 0], [0, 1]]),
            up * np.array([[0, 0], [jump, 0]]),
        ],
        dtype=np.complex128,
    )


def reset_channel(to_zero: float, to_one: float = 0.0) -> Matrix:
    """Put into 0 or into 1 with probabilities."""
    zero, one = np.eye(2, dtype=np.complex128)
    pairs = [(1 - to_zero - to_one, np.eye(2))]
    pairs += [(to_zero, np.outer(zero, zero)), (to_zero, np.outer(zero, one))]
    pairs += [(to_one, np.outer(one, zero)), (to_one, np.outer(one, one))]
    return _weighted(pairs)


def thermal_relaxation(t1: float, t2: float, time: float, excited_population: float = 0.0) -> Matrix:
    """Populations tend to (1 − p1, p1) as e^(−time/t1), coherences to 0 as e^(−time/t2): from its Choi matrix."""
    decay, coherence = 1 - np.exp(-time / t1), np.exp(-time / t2)
    up, down = decay * excited_population, decay * (1 - excited_population)
    choi = np.zeros((2, 2, 2, 2), dtype=np.complex128)  # [out, in, out', in']: what becomes of |in><in'|
    choi[0, 0, 0, 0], choi[1, 0, 1, 0] = 1 - up, up
    choi[1, 1, 1, 1], choi[0, 1, 0, 1] = 1 - down, down
    choi[0, 0, 1, 1] = choi[1, 1, 0, 0] = coherence
    values, vectors = np.linalg.eigh(choi.reshape(4, 4))
    return np.array([np.sqrt(max(v, 0)) * vectors[:, k].reshape(2, 2) for k, v in enumerate(values)])


def pauli_lindblad(rates: Mapping[str, float]) -> Matrix:
    """exp(Σ λ·(P ρ P − ρ)), whose terms commute: one P after the other, each with probability (1 − e^(−2 λ))/2."""
    found = np.eye(1 << len(next(iter(rates))))[None]
    for letters, rate in rates.items():
        found = np.array([a @ b for a in pauli_channel({letters: (1 - np.exp(-2 * rate)) / 2}) for b in found])
    return found


def leakage(rate: float, seepage: float = 0.0) -> Matrix:
    """Of the levels 0 to 3 of two wires, 1 becomes 2 with one probability and 2 becomes 1 with another."""
    kept = np.sqrt(np.diag([1, 1 - rate, 1 - seepage, 1]))
    level = np.eye(4)
    jumps = np.sqrt(rate) * np.outer(level[2], level[1]), np.sqrt(seepage) * np.outer(level[1], level[2])
    return np.array([kept, *jumps], dtype=np.complex128)


def heralded_loss(p: float) -> Matrix:
    """With probability p the first wire is traced out and completely mixed, and the second one is flipped."""
    mixes = [np.kron(pauli("X"), np.outer(out, into)) / np.sqrt(2) for out in np.eye(2) for into in np.eye(2)]
    return _weighted([(1 - p, np.eye(4)), *((p, matrix) for matrix in mixes)])


class Noise:
    """What programs call ``noise`` when the oracle reads them."""

    pauli_channel = staticmethod(pauli_channel)
    pauli_lindblad = staticmethod(pauli_lindblad)
    leakage = staticmethod(leakage)
    heralded_loss = staticmethod(heralded_loss)
    mixed_unitary = staticmethod(mixed_unitary)
    bit_flip = staticmethod(bit_flip)
    phase_flip = staticmethod(phase_flip)
    depolarizing = staticmethod(depolarizing)
    uniform_pauli = staticmethod(uniform_pauli)
    phase_damping = staticmethod(phase_damping)
    amplitude_damping = staticmethod(amplitude_damping)
    reset_channel = staticmethod(reset_channel)
    thermal_relaxation = staticmethod(thermal_relaxation)
