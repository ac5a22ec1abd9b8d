"""Simulators on every device that is present, and how far apart two states are."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from qsim_ex.devices import discover
from qsim_ex_cirq import QsimExSimulator

Make = Callable[..., QsimExSimulator]


@pytest.fixture
def make(device: Any, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Builds simulators on each device that is present; the test's own device stands in for the CPU."""
    if device.kind == "gpu":
        return partial(QsimExSimulator, device="gpu")
    monkeypatch.setattr(discover, "cpu", lambda threads=None: device)  # noqa: ARG005
    return partial(QsimExSimulator, device="cpu")


@pytest.fixture
def simulator(make: Make, dtype: np.dtype[Any]) -> QsimExSimulator:
    """A simulator on each device that is present, in both precisions, with a seed."""
    return make(dtype=dtype, seed=1234)


@pytest.fixture
def close(dtype: np.dtype[Any]) -> Callable[..., None]:
    """Asserts that a state is another one to the precision that the project promises."""

    def check(state: Any, wanted: Any, gates: int = 100) -> None:
        limit = 1e-12 if dtype == np.complex128 else 1e-6 + 3e-8 * gates
        error = np.linalg.norm(np.asarray(state, dtype=np.complex128) - wanted) / np.linalg.norm(wanted)
        assert state.dtype == dtype
        assert error <= limit, f"relative error {error:.2e}, allowed {limit:.2e}"

    return check
