"""Batches of many states: more than a GPU's grid is high, and the user guide's thousand."""

from __future__ import annotations

import numpy as np
import pytest
from support.states import TOLERANCE

from qsim_ex import BatchedStateVector, Options, PauliSum


def test_seventy_thousand(options: Options) -> None:
    """Among more states than a GPU's grid is high, each state has its own answers."""
    rows, n = 70_000, 3
    with BatchedStateVector(rows, n, options=options) as batch:
        if batch.device.name == "plain":
            pytest.skip("row after row, by definition: minutes")
        angles = np.random.default_rng(1).uniform(0, np.pi, (rows, n))
        for wire in range(n):
            batch.gate("ry", [wire], angles[:, wire])
        ones = np.sin(angles / 2) ** 2
        near = {"rtol": 0, "atol": 10 * TOLERANCE[options.precision]}
        np.testing.assert_allclose(batch.probabilities([2, 0])[:, 3], ones[:, 2] * ones[:, 0], **near)
        np.testing.assert_allclose(batch.expectation(PauliSum.from_labels({"IZI": 1.0})), np.cos(angles[:, 1]), **near)
        np.testing.assert_allclose(batch.density([1])[:, 0, 1], np.sin(angles[:, 1]) / 2, **near)
        u = np.random.default_rng(2).random(rows)
        found = batch.measure([1], random=u, collapse="reset")
        clear = abs(u - (1 - ones[:, 1])) > 1e-5
        assert np.array_equal(found[clear], (u >= 1 - ones[:, 1])[clear])
        np.testing.assert_allclose(batch.probabilities([1])[:, 0], 1, **near)
        np.testing.assert_allclose(batch.probabilities([2])[:, 1], ones[:, 2], **near)
        batch.permute([2, 0, 1])
        assert batch.sample(3, [1], seed=1).sum() == 0
        np.testing.assert_allclose(batch.to_numpy()[:, 0], np.prod(np.cos(angles / 2)[:, [0, 2]], axis=1), **near)
