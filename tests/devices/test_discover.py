"""Tests of which devices are found, and how much memory they are said to have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from qsim_ex.devices import discover
from qsim_ex.errors import DeviceError
from qsim_ex.options import Options


class Driver:
    """A driver that lists two GPUs, and answers with statuses of which 0 is success."""

    def __init__(self, started: int, counted: int) -> None:
        self.cuInit = lambda _flags: started
        self._counted = counted

    def cuDeviceGetCount(self, count: Any) -> int:
        """Tell how many there are."""
        count._obj.value = 2
        return self._counted


@pytest.fixture
def found_anew() -> Iterator[None]:
    """Look for the driver again, now and after the test."""
    every = discover._driver, discover.driver_count
    for one in every:
        one.cache_clear()
    yield
    for one in every:
        one.cache_clear()


@pytest.mark.parametrize(("started", "counted", "count"), [(0, 0, 2), (1, 0, 0), (0, 1, 0)])
@pytest.mark.usefixtures("found_anew")
def test_a_driver_that_fails_lists_no_gpu(
    started: int, counted: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GPUs are counted where both calls of the driver succeed; one that lists none is named in the error."""
    monkeypatch.setattr("ctypes.CDLL", lambda _name: Driver(started, counted))
    monkeypatch.setattr(discover, "_usable", [])
    assert discover.driver_count() == count
    if not count:
        missing = discover.gpu_missing()
        assert isinstance(missing, DeviceError)
        assert "no GPU found. The NVIDIA driver lists none; use device='cpu'" in str(missing)


def test_free_memory_is_asked_again_for_a_large_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """A number of free bytes serves for a second states of up to a 64th of it; for a larger one it is asked anew."""
    answers, now = iter([6400, 3200, 1600]), iter([10.0, 11.0, 11.0, 12.5])

    class Asked:
        def memory(self) -> tuple[int, int]:
            return next(answers), 0

    monkeypatch.setattr(discover, "monotonic", lambda: next(now))
    device: Any = Asked()
    assert [discover.free_bytes(device, needed) for needed in (0, 100, 101, 1)] == [6400, 6400, 3200, 1600]


@pytest.fixture
def two_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that lists two GPUs, of which each is its number."""
    monkeypatch.setattr(discover, "gpu_missing", lambda: None)
    monkeypatch.setattr(discover, "gpu_count", lambda: 2)
    monkeypatch.setattr(discover, "gpu", lambda number: number)


@pytest.mark.usefixtures("two_gpus")
def test_devices_that_are_asked_for_are_there() -> None:
    """The first of `devices` has to be a GPU that the driver lists; the error says what was asked for."""
    assert discover.choose(20, Options(devices=(1, 0))) == (1, "asked for")
    for first in (2, 3):
        with pytest.raises(DeviceError, match=re.escape(f"devices=[{first}, 0]: ")):
            discover.choose(20, Options(devices=(first, 0)))


@pytest.mark.usefixtures("two_gpus")
def test_a_small_state_is_simulated_on_the_cpu() -> None:
    """The reason says how many wires there are, and how many states if there are several; all amplitudes count."""
    told = [discover.choose(discover.GPU_FROM - 2, Options(), states)[1] for states in (1, 3, 4)]
    wires = f"{discover.GPU_FROM - 2} wires are faster on the CPU (a GPU is taken from {discover.GPU_FROM} wires up)"
    assert told == [f"auto: {wires}", f"auto: 3 states of {wires}", "auto: a GPU is present"]
