"""Fixtures of the Qiskit tests: a backend on each device that is present, in both precisions."""

from __future__ import annotations

from typing import Any

import pytest

from qsim_ex.devices.discover import gpu_missing
from qsim_ex_provider import QsimExBackend


@pytest.fixture(params=["cpu", pytest.param("gpu", marks=pytest.mark.gpu)])
def device_name(request: pytest.FixtureRequest) -> str:
    """The name of each device that is present."""
    if request.param == "gpu" and (missing := gpu_missing()):
        pytest.skip(str(missing))
    return str(request.param)


@pytest.fixture(params=["single", "double"])
def each_precision(request: pytest.FixtureRequest) -> str:
    """Both precisions by name."""
    return str(request.param)


@pytest.fixture
def backend(device_name: str) -> Any:
    """A backend on each device, in double precision."""
    return QsimExBackend(device=device_name)


@pytest.fixture
def each_backend(device_name: str, each_precision: str) -> Any:
    """A backend on each device and in each precision."""
    return QsimExBackend(device=device_name, precision=each_precision)
