"""The benchmark of Clifford circuits runs what it says: a surface code whose checks repeat, and drawn gates."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import stabilizer
from qsim_ex import Simulator
from qsim_ex_provider import QsimExBackend

pytest.importorskip("stim")


def test_checks_repeat_without_noise() -> None:
    """X errors change no check of X, so each is the same in all rounds; the first round finds no check of Z."""
    result = QsimExBackend(method="stabilizer").run(stabilizer.surface_code(3), shots=50, memory=True).result()
    bits = np.array([[int(bit) for bit in reversed(one)] for one in result.get_memory()])
    rounds = bits[:, :24].reshape(50, 3, 8)
    assert (rounds[:, :, :4] == rounds[:, :1, :4]).all()
    assert 0 < rounds[:, 0, :4].mean() < 1
    assert not rounds[:, 0, 4:].any()


def test_noise_is_seen_by_checks() -> None:
    """With the noise model checks of Z find errors."""
    backend = QsimExBackend(method="stabilizer", noise_model=stabilizer.noise())
    counts = backend.run(stabilizer.surface_code(1), shots=200, seed_simulator=1).result().get_counts()
    assert any("1" in bits[::-1][4:8] for bits in counts)


def test_the_drawn_circuit_is_clifford() -> None:
    """It runs on Stim, and its outcomes are random."""
    result = Simulator(method="stabilizer").run(stabilizer.clifford(20, 400, 3), 50, seed=1)
    assert len(result.counts()) > 1
