"""Queues of copies carry amplitudes where they are sent, in the order that marks demand."""

from __future__ import annotations

import gc
from threading import Thread
from typing import Any

import numpy as np
import pytest
from support.gpus import gpu_missing

from qsim_ex import thresholds
from qsim_ex.devices import memory
from qsim_ex.devices import pinned as pinned_memory
from qsim_ex.devices.base import Copies
from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.errors import OutOfMemory


@pytest.fixture(params=["cpu", pytest.param("gpu", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> Any:
    """Each kind of device whose memory can be filled from elsewhere."""
    if request.param == "cpu":
        return CpuDevice(2)
    if reason := gpu_missing():
        pytest.skip(reason)
    from qsim_ex.devices.gpu.device import GpuDevice

    return GpuDevice()


def counted(count: int, dtype: np.dtype[Any]) -> np.ndarray:
    """Amplitudes that are all different."""
    return (np.arange(count) + 1j * np.arange(count)[::-1]).astype(dtype)


def test_host_memory(device: Any, dtype: np.dtype[Any]) -> None:
    """Host memory has the size and dtype asked for, and its kind is reported."""
    assert isinstance(device, Copies)
    memory, kind = device.host_memory(1 << 12, dtype)
    assert (memory.shape, memory.dtype) == ((1 << 12,), dtype)
    assert kind in (("plain",) if device.kind == "cpu" else ("pinned", "pageable", "plain"))
    memory[:] = counted(1 << 12, dtype)
    assert memory[-1] == 4095


def test_locked_memory_may_come_back_at_any_time() -> None:
    """A collection that finds locked memory while this thread lends some, or counts it, does not wait for itself."""

    def collected() -> None:
        with pinned_memory._lock:  # as in `take`, where a collection may begin
            pinned_memory._give_back(0, None)

    thread = Thread(target=collected, daemon=True)
    thread.start()
    thread.join(5)
    assert not thread.is_alive()
    assert pinned_memory.kept.pop(0) == [None]


def test_too_much_host_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asking for more host memory than is free is refused with both sizes."""
    monkeypatch.setattr(memory.host, "memory", lambda: (1 << 20, 1 << 30))
    with thresholds.instead(unasked_bytes=0), pytest.raises(OutOfMemory, match=r"2 MiB.*1 MiB are free"):
        CpuDevice(1).host_memory(1 << 17, np.complex128)


def test_locked_memory(device: Any) -> None:
    """Memory that others have made is locked once, copied from as any other, and unlocked when it is gone."""
    size, before = 1 << 12, {*pinned_memory._locked}
    memory = np.arange(size, dtype=np.complex64)
    kind = device.lock(memory)
    assert kind in (("plain",) if device.kind == "cpu" else ("pinned", "pageable", "plain"))
    assert device.lock(memory) == kind
    buffer, queue = device.allocate(size, memory.dtype), device.copy_queue()
    queue.copy(buffer, memory)
    queue.synchronize()
    np.testing.assert_array_equal(device.read(buffer, 0, size), memory)
    del memory
    gc.collect()
    assert pinned_memory._locked == before


@pytest.mark.parametrize("pinned", [True, False])
def test_copies(device: Any, dtype: np.dtype[Any], pinned: bool) -> None:
    """A copy of one run, or of the same part of many rows, takes these amplitudes and writes no others."""
    size = 1 << 14
    host = device.host_memory(size, dtype)[0] if pinned else np.empty(size, dtype)
    host[:] = counted(size, dtype)
    wanted = np.zeros(size, dtype)
    buffer = device.allocate(size, dtype)
    device.write(buffer, 0, wanted)
    into, back = device.copy_queue(), device.copy_queue()
    into.wait(device.mark())
    into.copy(buffer[5:500], host[1000:1495])
    wanted[5:500] = host[1000:1495]
    rows, source = slice(4096, 12288), slice(0, 8192)
    into.copy(buffer[rows].reshape(32, -1)[:, 16:80], host[source].reshape(32, -1)[:, 100:164])
    wanted[rows].reshape(32, -1)[:, 16:80] = host[source].reshape(32, -1)[:, 100:164]
    device.wait(into.mark())
    assert np.array_equal(device.read(buffer, 0, size), wanted)
    out = device.host_memory(size, dtype)[0] if pinned else np.empty(size, dtype)
    out[:] = 0
    back.wait(into.mark())
    back.copy(out.reshape(64, -1)[:, 3:9], buffer.reshape(64, -1)[:, 20:26])
    back.synchronize()
    assert np.array_equal(out.reshape(64, -1)[:, 3:9], wanted.reshape(64, -1)[:, 20:26])
    assert np.count_nonzero(out) == np.count_nonzero(wanted.reshape(64, -1)[:, 20:26])
    other = device.allocate(size, dtype)
    into.copy(other, buffer)
    into.synchronize()
    assert np.array_equal(device.read(other, 0, size), wanted)


def test_marks_order_queues(device: Any) -> None:
    """A queue waits for the marks that it is given, while many long copies go back and forth."""
    size = 1 << 20
    buffer = device.allocate(size, np.complex64)
    host = [device.host_memory(size, np.complex64)[0] for _ in range(2)]
    host[0][:] = counted(size, np.dtype(np.complex64))
    into, back = device.copy_queue(), device.copy_queue()
    mark = None
    for turn in range(20):
        if mark is not None:
            into.wait(mark)
        into.copy(buffer, host[turn % 2])
        device.wait(into.mark())
        device.permute(buffer, 20, (*range(1, 20), 0))  # bits go round by one
        worked = device.mark()
        back.wait(worked)
        back.copy(host[1 - turn % 2], buffer)
        mark = back.mark()
    device.reach(mark)
    assert np.array_equal(host[0], counted(size, np.dtype(np.complex64)))  # twenty times round is once round
    device.synchronize()
