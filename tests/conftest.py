"""Fixtures that every test may use: each device that is present, and both precisions.

Tests stand where what they test stands in core/qsim_ex. What they share is in `support`, imported as ``support.x``, and
tests/support/README.md says what to use when. `contract` has what holds for every device, placement, option and method.
"""

from __future__ import annotations

import gc
import importlib.util
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

# Each core has a process of tests already; a second thread for the small matrices of oracles would only take turns.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import settings
from support.gpus import gpu_missing
from support.held import Hold
from support.paths import ROOT
from support.plain_device import PlainDevice

from qsim_ex import thresholds
from qsim_ex.devices import discover
from qsim_ex.execution.prepare import plan_of
from qsim_ex.options import Options
from qsim_ex.planning import rules
from tools import native

# A checkout whose sources were edited gets its library anew, before any test looks for it.
if "PYTEST_XDIST_WORKER" not in os.environ and native.compiler_present():
    native.build()

# Processes that tests start import this checkout too, whatever else is installed.
os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "core"), str(ROOT), os.environ.get("PYTHONPATH", "")])

# A shell lets background processes ignore Ctrl-C, and children inherit that; some tests press it.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes says how busy the machine is; limits of time stand where a test is about time.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")

# What a machine keeps when its power fails is no test's question, and an answer takes a disk some milliseconds.
os.fsync = lambda _file: None

# Until all tests are known nothing is garbage, and afterwards all that was made for them stays to the end: a collection
# would look through millions of objects.
gc.disable()


def pytest_collection_finish() -> None:
    """Let collections look at what tests make, and at nothing from before them."""
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)
    gc.enable()


PRECISIONS = {"single": np.complex64, "double": np.complex128}


def device_names() -> list[Any]:
    """Return the names of all devices; tests of those that are not present skip themselves with the reason."""
    names: list[Any] = ["plain"]
    if importlib.util.find_spec("qsim_ex.devices.cpu.device"):
        names.append("cpu")
    if importlib.util.find_spec("qsim_ex.devices.gpu.device"):
        names.append(pytest.param("gpu", marks=pytest.mark.gpu))
    return names


@pytest.fixture(params=device_names())
def device(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Each device that is present: "plain" (NumPy by definition), "cpu", "gpu"."""
    match request.param:
        case "plain":
            yield PlainDevice()
        case "cpu":
            from qsim_ex.devices.cpu.device import CpuDevice

            yield CpuDevice()
        case _:
            if reason := gpu_missing():
                pytest.skip(reason)
            from qsim_ex.devices.gpu.device import GpuDevice

            yield GpuDevice()


@pytest.fixture
def options(device: Any, precision: str, monkeypatch: pytest.MonkeyPatch) -> Options:
    """Options that run the engine on `device` in each precision."""
    if isinstance(device, PlainDevice):
        monkeypatch.setattr(discover, "cpu", lambda _threads=None: device)
    return Options(device=device.kind, precision=precision)


@pytest.fixture(params=list(PRECISIONS))
def precision(request: pytest.FixtureRequest) -> str:
    """The engine's names of the two precisions."""
    return str(request.param)


@pytest.fixture
def dtype(precision: str) -> np.dtype[Any]:
    """The amplitudes' dtype: complex64 or complex128."""
    return np.dtype(PRECISIONS[precision])


@pytest.fixture
def hold() -> Iterator[Hold]:
    """A function that lets thresholds be others until the test ends."""
    with ExitStack() as held:
        yield lambda **numbers: held.enter_context(thresholds.instead(**numbers))


@pytest.fixture
def every_linear_plan(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Plan in a CNOT frame wherever it can be done, whether it pays or not."""
    monkeypatch.setattr(rules, "PROMISE", rules.ANY_PROMISE)
    plan_of.cache_clear()
    yield
    plan_of.cache_clear()
