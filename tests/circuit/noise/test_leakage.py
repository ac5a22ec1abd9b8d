"""Leakage moves level 1 to level 2 of a qubit and its leakage wire; a loss mixes a qubit and flips its herald."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from qsim_ex import NoiseModel, NoisyBuilder, PauliSum, Simulator, errors, heralded_loss, leakage
from qsim_ex.circuit import check
from tools.fuzz import channels as defined


def applied(kraus: Any, rho: Any) -> Any:
    """Σ K ρ K†."""
    return sum(k @ rho @ k.conj().T for k in kraus)


def state() -> Any:
    """A density matrix of two wires without zeros."""
    half = np.random.default_rng(5).normal(size=(2, 4, 4))
    rho = (half[0] + 1j * half[1]) @ (half[0] + 1j * half[1]).conj().T
    return rho / np.trace(rho)


@pytest.mark.parametrize(("rate", "seepage"), [(0.0, 0.0), (0.2, 0.0), (0.2, 0.7), (1.0, 1.0)])
def test_leakage(rate: float, seepage: float) -> None:
    """Populations of levels 1 and 2 move by their probabilities, coherences with them shrink, the trace stays."""
    rho, kraus = state(), check.kraus(leakage(rate, seepage), 2, "leakage", 1e-12)
    found = applied(kraus, rho)
    assert found[1, 1] == pytest.approx((1 - rate) * rho[1, 1] + seepage * rho[2, 2])
    assert found[2, 2] == pytest.approx((1 - seepage) * rho[2, 2] + rate * rho[1, 1])
    assert found[0, 1] == pytest.approx(np.sqrt(1 - rate) * rho[0, 1])
    assert found[3, 3] == pytest.approx(rho[3, 3])
    assert found == pytest.approx(applied(defined.leakage(rate, seepage), rho))


def test_heralded_loss() -> None:
    """The qubit is traced out and mixed where the herald flips, and nothing happens otherwise."""
    rho, p = state(), 0.3
    found = applied(check.kraus(heralded_loss(p), 2, "loss", 1e-12), rho)
    of_herald = np.trace(rho.reshape(2, 2, 2, 2), axis1=1, axis2=3)[::-1, ::-1]
    assert found == pytest.approx((1 - p) * rho + p * np.kron(of_herald, np.eye(2) / 2))
    assert found == pytest.approx(applied(defined.heralded_loss(p), rho))


def test_in_a_noise_model() -> None:
    """Gates of a qutrit on two wires leak as often as the model says, by trajectories and by a density matrix."""
    flip = np.eye(4)[[1, 0, 2, 3]]
    builder = NoisyBuilder(2, 0, NoiseModel().with_error("flip", leakage(0.1)))
    for _ in range(3):  # level 1, 0, 1: of what has not leaked
        builder.unitary(flip, [0, 1], name="flip")
    leaked = 0.1 + 0.9 * 0.1
    level_2 = PauliSum.from_labels({"ZI": -0.5, "II": 0.5})
    exact = Simulator(device="cpu", method="density_matrix").run_batch(builder.build(), observables=[level_2])
    assert exact.values[0, 0] == pytest.approx(leaked, abs=1e-12)
    drawn = Simulator(device="cpu").run_batch(builder.build(), observables=[level_2], trajectories=4000, seeds=3)
    assert abs(drawn.values[0, 0] - leaked) < 5 * drawn.errors[0, 0]


@pytest.mark.parametrize("call", [lambda: leakage(1.2), lambda: leakage(0.1, -0.1), lambda: heralded_loss(2.0)])
def test_what_is_no_probability_is_refused(call: Any) -> None:
    """The number that was given is named."""
    with pytest.raises(errors.NoiseError, match=r"from 0 to 1, got (1\.2|-0\.1|2\.0)"):
        call()
