"""The standard channels do to a density matrix what their names say, and refuse impossible numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.strategies import random_unitary

from qsim_ex import errors
from qsim_ex.circuit import check
from qsim_ex.circuit.known_channels import are_scaled_unitaries
from qsim_ex.circuit.noise import channels as noise

chances = st.floats(0, 1)


def applied(kraus: Any, rho: Any) -> Any:
    """Σ K ρ K†."""
    return sum(k @ rho @ k.conj().T for k in np.asarray(kraus))


def mixed_state(size: int, seed: int = 3) -> Any:
    """Return a density matrix without zeros."""
    rng = np.random.default_rng(seed)
    half = rng.normal(size=(size, size)) + 1j * rng.normal(size=(size, size))
    rho = half @ half.conj().T
    return rho / np.trace(rho)


@settings(deadline=None)
@given(p=chances, q=chances, time=st.floats(0, 100), ratio=st.floats(0.01, 2))
def test_every_channel_keeps_the_trace(p: float, q: float, time: float, ratio: float) -> None:
    """For any numbers the Kraus matrices fulfil Σ K†K = 1, and none of them is zero."""
    found = [
        noise.bit_flip(p),
        noise.phase_flip(p),
        noise.phase_damping(p),
        noise.amplitude_damping(p, q),
        noise.thermal_relaxation(30, 30 * ratio, time, q),
        noise.reset_channel(p * q, p * (1 - q)),
        noise.depolarizing(p * 4 / 3),
        noise.depolarizing(p, 2),
        noise.uniform_pauli(p, 3),
        noise.pauli_channel({"XZ": p * q, "YI": p * (1 - q)}),
        noise.mixed_unitary([p, 1 - p], [random_unitary(4, 1), random_unitary(4, 2)]),
    ]
    for kraus in found:
        wires = kraus.shape[1].bit_length() - 1
        assert len(check.kraus(kraus, wires, "test", 1e-12)) == len(kraus)


@settings(deadline=None)
@given(p=st.floats(0.01, 0.99))
def test_what_is_a_mixture_stays_one(p: float) -> None:
    """A channel that is a mixture of unitary operations consists of scaled unitary matrices."""
    for kraus in (noise.bit_flip(p), noise.phase_damping(p), noise.depolarizing(p, 2), noise.uniform_pauli(p, 2)):
        assert are_scaled_unitaries(kraus)
    assert not are_scaled_unitaries(noise.amplitude_damping(p))
    assert are_scaled_unitaries(noise.thermal_relaxation(math.inf, 20, 10 * p))


@pytest.mark.parametrize("num_wires", [1, 2])
def test_both_depolarizing_conventions(num_wires: int) -> None:
    """`depolarizing` replaces the state with probability p, as Qiskit's does; `uniform_pauli` counts errors, as Cirq's
    does.
    """
    size, p = 1 << num_wires, 0.2
    rho = mixed_state(size)
    replaced = (1 - p) * rho + p * np.eye(size) / size
    assert applied(noise.depolarizing(p, num_wires), rho) == pytest.approx(replaced, abs=1e-14)
    kraus = noise.uniform_pauli(p, num_wires)
    assert len(kraus) == size**2
    weights = np.abs(kraus[:, 0]).max(1) ** 2
    assert sorted(weights) == pytest.approx([p / (size**2 - 1)] * (size**2 - 1) + [1 - p])


def test_paulis_act_on_their_wires() -> None:
    """Letter k acts on ``wires[k]``."""
    x, y = noise.PAULI["X"], noise.PAULI["Y"]
    rho = mixed_state(4)
    product = np.kron(y, x)  # wire 0 is the least significant
    expected = 0.7 * rho + 0.3 * product @ rho @ product.conj().T
    assert applied(noise.pauli_channel({"XY": 0.3}), rho) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize(("gamma", "excited"), [(0.3, 0.0), (0.3, 0.25), (1.0, 0.1), (0.0, 0.5)])
def test_amplitude_damping(gamma: float, excited: float) -> None:
    """Populations approach the excited population by γ, and the coherence is multiplied by √(1 − γ)."""
    rho = mixed_state(2)
    found = applied(noise.amplitude_damping(gamma, excited), rho)
    assert found[1, 1] == pytest.approx((1 - gamma) * rho[1, 1] + gamma * excited)
    assert found[0, 1] == pytest.approx(math.sqrt(1 - gamma) * rho[0, 1])


@pytest.mark.parametrize(("t1", "t2"), [(50, 30), (50, 50), (50, 80), (50, 100), (math.inf, 40), (50, 1e-3)])
@pytest.mark.parametrize("excited", [0.0, 0.2])
def test_thermal_relaxation(t1: float, t2: float, excited: float) -> None:
    """Populations decay with t1 and coherences with t2, in each regime of t2."""
    rho, time = mixed_state(2), 12.0
    found = applied(noise.thermal_relaxation(t1, t2, time, excited), rho)
    kept = math.exp(-time / t1)
    assert found[1, 1] == pytest.approx(kept * rho[1, 1] + (1 - kept) * excited)
    assert found[0, 1] == pytest.approx(math.exp(-time / t2) * rho[0, 1], abs=1e-15)


def test_reset() -> None:
    """A reset error removes its share of the coherence and adds its populations."""
    found = applied(noise.reset_channel(0.2, 0.1), rho := mixed_state(2))
    assert found == pytest.approx(0.7 * rho + np.diag([0.2, 0.1]))


def test_phase_damping() -> None:
    """Phase damping by λ multiplies coherences by √(1 − λ) and leaves populations."""
    found = applied(noise.phase_damping(0.36), rho := mixed_state(2))
    assert found == pytest.approx(rho * [[1, 0.8], [0.8, 1]])


@settings(deadline=None)
@given(seed=st.integers(0, 999), count=st.integers(1, 20), wires=st.integers(1, 2), singular=st.integers(0, 3))
def test_simplified_is_the_same_channel(seed: int, count: int, wires: int, singular: int) -> None:
    """The simplified set is the same channel, with no more matrices and no more looks at the state."""
    size = 1 << wires
    isometry = random_unitary(count * size, seed)[:, :size].reshape(count, size, size)
    projectors = np.sqrt(0.1) * np.array(
        [np.outer(np.eye(size)[k], np.eye(size)[j]) for k in (0, 1) for j in range(size)]
    )
    flip = np.eye(size)[::-1]
    given = np.concatenate([np.sqrt(1 - 0.2 * (singular > 0)) * isometry, *[projectors] * (singular > 0)])
    given = np.concatenate([np.sqrt(0.5) * given, np.sqrt(0.3) * given, np.sqrt(0.2) * 1j * flip @ given])
    found = noise.simplified(given)
    assert len(found) <= len(given)
    assert noise.sure(found) >= noise.sure(given) - 1e-12
    rho = mixed_state(size, seed)
    assert applied(found, rho) == pytest.approx(applied(given, rho), abs=1e-13)


def test_simplified_finds_the_mixture() -> None:
    """Phase damping as textbooks write it becomes a mixture of unitary operations."""
    taught = [np.diag([1, 0.8]), np.diag([0, 0.6])]
    found = noise.simplified(taught)
    assert are_scaled_unitaries(found)
    assert applied(found, mixed_state(2)) == pytest.approx(applied(taught, mixed_state(2)))


def test_simplified_leaves_a_mixture_alone() -> None:
    """A mixture of unitary operations stays as it is."""
    kraus = noise.mixed_unitary([0.5, 0.3, 0.2], [random_unitary(2, k) for k in range(3)])
    assert noise.simplified(kraus) == pytest.approx(kraus)


def test_what_differs_by_a_factor_is_one() -> None:
    """Matrices that differ by a phase or a weight become one, and others stay apart."""
    x = noise.PAULI["X"]
    found = noise.simplified([np.sqrt(0.2) * x, np.sqrt(0.5) * np.eye(2), -1j * np.sqrt(0.3) * x])
    assert np.abs(found) == pytest.approx(np.sqrt(0.5) * np.array([x, np.eye(2)]).real)


def test_few_matrices_are_not_bought_with_looks() -> None:
    """The set becomes smaller without a higher probability that the state is asked."""
    relaxed = noise.thermal_relaxation(100, 60, 0.3)
    pair = np.array([np.kron(a, b) for a in relaxed for b in relaxed])
    given = np.array([k @ j for k in noise.depolarizing(0.01, 2) for j in pair])
    found = noise.simplified(given)
    assert noise.sure(found) >= noise.sure(given) - 1e-12
    assert len(found) < len(given)
    rho = mixed_state(4)
    assert applied(found, rho) == pytest.approx(applied(given, rho), abs=1e-14)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: noise.bit_flip(-0.1), "expected a probability from 0 to 1, got -0.1"),
        (lambda: noise.bit_flip(1.5), "got 1.5"),
        (lambda: noise.phase_flip(math.nan), "got nan"),
        (lambda: noise.pauli_channel({"X": 0.6, "Z": 0.7}), "got [0.6, 0.7], which add up to 1.3"),
        (lambda: noise.pauli_channel({"X": 0.1, "ZZ": 0.1}), "all of one length"),
        (lambda: noise.pauli_channel({"Q": 0.1}), "got ['Q']"),
        (lambda: noise.pauli_channel({}), "got none"),
        (lambda: noise.depolarizing(1.4), "from 0 to 1.33333333 on 1 wires, got 1.4"),
        (lambda: noise.depolarizing(-0.1, 2), "from 0 to 1.06666667"),
        (lambda: noise.depolarizing(0.1, 9), "on 1 to 4 wires, got 9"),
        (lambda: noise.uniform_pauli(1.01), "got 1.01"),
        (lambda: noise.phase_damping(2), "got 2"),
        (lambda: noise.amplitude_damping(0.1, 1.1), "got 1.1"),
        (lambda: noise.thermal_relaxation(50, 101, 1), "expected t2 <= 2·t1, got t2=101 and t1=50"),
        (lambda: noise.thermal_relaxation(0, 1, 1), "expected t1 > 0, got 0"),
        (lambda: noise.thermal_relaxation(1, math.nan, 1), "expected t2 > 0, got nan"),
        (lambda: noise.thermal_relaxation(1, 1, -1), "expected a finite time >= 0, got -1"),
        (lambda: noise.reset_channel(0.7, 0.7), "add up to 1.4"),
        (lambda: noise.mixed_unitary([0.5, 0.2], [np.eye(2), np.eye(2)]), "which add up to 0.7"),
        (lambda: noise.mixed_unitary([1], np.eye(2)), "[1, 2^k, 2^k] for 1 probabilities, got (2, 2)"),
    ],
)
def test_impossible_numbers(make: Callable[[], Any], message: str) -> None:
    """A number that is impossible is refused, and the error names it."""
    with pytest.raises(errors.NoiseError, match=re.escape(message)):
        make()


def test_matrices_that_are_not_unitary() -> None:
    """A mixture of matrices that are not unitary is refused."""
    with pytest.raises(errors.MatrixError, match="a unitary matrix"):
        noise.mixed_unitary([1.0], [[[1, 1], [0, 1]]])
