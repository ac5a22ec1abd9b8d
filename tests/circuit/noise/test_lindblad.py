"""Pauli-Lindblad channels are the exponential of their generators, whole and in parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm

from qsim_ex import errors
from qsim_ex.circuit.known_channels import are_scaled_unitaries
from qsim_ex.circuit.noise.channels import pauli_matrix
from qsim_ex.circuit.noise.lindblad import lindblad_parts, pauli_lindblad

LAYER = {
    ("X", (0,)): 0.02,
    ("ZZ", (0, 2)): 0.05,
    ("YX", (2, 0)): 0.01,
    ("Z", (1,)): 0.3,
    ("XIY", (1, 0, 2)): 0.04,
    ("II", (0, 1)): 0.7,
}
"""Generators on three wires, in any order of wires and with identities."""


def superoperator(kraus: Any) -> Any:
    """Return Σ K ⊗ K*, which acts on ρ row by row."""
    return sum(np.kron(one, one.conj()) for one in kraus)


def exponential(rates: Mapping[str, float]) -> Any:
    """Return exp of Σ λ·(P ⊗ P* − 1), the definition of the channel."""
    size = 2 ** len(next(iter(rates)))
    generator: Any = np.zeros((size**2, size**2), dtype=np.complex128)
    for letters, rate in rates.items():
        generator += rate * (superoperator([pauli_matrix(letters)]) - np.eye(size**2))
    return expm(generator)


def widened(kraus: Any, wires: Sequence[int], width: int) -> Any:
    """Return Kraus matrices on some wires as matrices on all, by what they do to basis states."""
    found = np.zeros((len(kraus), 1 << width, 1 << width), dtype=np.complex128)
    mask = sum(1 << wire for wire in wires)
    for column in range(1 << width):
        inner = sum((column >> wire & 1) << k for k, wire in enumerate(wires))
        for row in range(1 << len(wires)):
            outer = column & ~mask | sum((row >> k & 1) << wire for k, wire in enumerate(wires))
            found[:, outer, column] = kraus[:, row, inner]
    return found


@pytest.mark.parametrize("rates", [{"X": 0.1}, {"X": 0.2, "Y": 0.05, "Z": 0.4}, {"XY": 0.1, "IZ": 0.03, "ZX": 0.2}])
def test_the_channel_is_the_exponential(rates: Mapping[str, float]) -> None:
    """The channel of some rates is exp of its generator, as a mixture of Pauli matrices."""
    kraus = pauli_lindblad(rates)
    assert superoperator(kraus) == pytest.approx(exponential(rates), abs=1e-12)
    assert are_scaled_unitaries(kraus)


def test_the_parts_of_a_layer_are_the_layer() -> None:
    """One after the other, in both orders, the parts are the exponential of all generators together."""
    parts = lindblad_parts((generator, rate) for generator, rate in LAYER.items())
    whole = {"".join(dict(zip(on, s, strict=True)).get(w, "I") for w in range(3)): r for (s, on), r in LAYER.items()}
    for ordered in (parts, parts[::-1]):
        found: Any = np.eye(64)
        for wires, kraus in ordered:
            found = superoperator(widened(kraus, wires, 3)) @ found
        assert found == pytest.approx(exponential(whole), abs=1e-12)


def test_generators_share_the_channel_of_a_pair() -> None:
    """A chain of n wires with all rates of wires and neighbours takes n − 1 channels of two wires."""
    wires = [((letter, (k,)), 0.01) for k in range(6) for letter in "XYZ"]
    pairs = [((a + b, (k, k + 1)), 0.002) for k in range(5) for a in "XYZ" for b in "XYZ"]
    parts = lindblad_parts([*wires, *pairs])
    assert sorted(on for on, _ in parts) == [(k, k + 1) for k in range(5)]
    assert all(len(kraus) == 16 for _, kraus in parts)


def test_rates_that_are_no_channel_are_refused() -> None:
    """Rates that make a probability negative, that are no numbers, and strings of two lengths raise an error."""
    for rates, words in (
        ({"X": -0.1}, "a probability is -0"),
        ({"X": float("nan")}, "finite"),
        ({"X": 0.1, "XY": 0.1}, "one length"),
        ({"XYZXY": 0.1}, "at most 4 letters"),
        ({"Q": 0.1}, "I, X, Y and Z"),
        ({}, "got none"),
    ):
        with pytest.raises(errors.NoiseError, match=words):
            pauli_lindblad(rates)
    with pytest.raises(errors.NoiseError, match=r"wires \[0, 1, 2, 3, 4\]"):
        lindblad_parts([(("XXXXX", range(5)), 0.1)])
    with pytest.raises(errors.NoiseError, match="I, X, Y and Z"):
        lindblad_parts([(("A", (0,)), 0.1)])
