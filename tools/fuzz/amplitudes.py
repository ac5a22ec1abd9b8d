"""Arithmetic on amplitudes that questions to states are compared with."""

from __future__ import annotations

from typing import Any

import numpy as np

from tools.fuzz.numbers import PAULIS, Matrix, pauli, strings
from tools.fuzz.oracle import apply


def holding(n: int, held: dict[int, int]) -> Any:
    """Whether each basis value holds some wires at values, [2^n]."""
    index = np.arange(1 << n)
    return np.all([(index >> wire & 1) == value for wire, value in held.items()] or [index >= 0], axis=0)


def marginal_of(weights: Any, wires: list[int]) -> Any:
    """Sums of weights for each value of some wires, the first one least significant."""
    index = np.arange(len(weights))
    value = sum((index >> wire & 1) << k for k, wire in enumerate(wires))
    return np.bincount(value, weights, 1 << len(wires))


def expectation_of(psi: Matrix, found: dict[str, float]) -> float:
    """<ψ|H|ψ> of a Pauli sum."""
    total = 0.0
    for letters, number in found.items():
        moved = psi[:, None]
        for wire, letter in enumerate(letters):
            moved = moved if letter == "I" else apply(moved, PAULIS[letter], [wire])
        total += number * np.vdot(psi, moved[:, 0]).real
    return total


def density_of(psi: Matrix, wires: list[int]) -> Matrix:
    """ρ of some wires from all expectation values of Pauli products: Σ <P>·P / 2^k."""
    rho = np.zeros((1 << len(wires),) * 2, dtype=np.complex128)
    for letters in strings(len(wires)):
        value = np.vdot(psi, apply(psi[:, None], pauli(letters), wires)[:, 0])
        rho += value * pauli(letters) / (1 << len(wires))
    return rho
