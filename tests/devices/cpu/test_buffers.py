"""Memory of states that is kept for the next state."""

from __future__ import annotations

import mmap
from collections.abc import Iterator

import numpy as np
import pytest

from qsim_ex import thresholds
from qsim_ex.devices import memory
from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.kernels import host
from qsim_ex.thresholds import Thresholds

SIZE = Thresholds.large_bytes

pytestmark = pytest.mark.skipif(not hasattr(mmap, "MADV_FREE"), reason="a system that cannot take back kept pages")


@pytest.fixture(autouse=True)
def _nothing_kept() -> Iterator[None]:
    memory.release()
    yield
    memory.release()


def test_freed_memory_is_lent_to_the_next_state() -> None:
    """The last array that uses a block gives it back, views included; the next one of its size is the same memory."""
    first = CpuDevice(1).allocate(SIZE // 16, np.complex128)
    address, view = first.ctypes.data, first[5:]
    assert address % 64 == 0
    del first
    assert memory.kept_bytes() == 0
    del view
    assert memory.kept_bytes() == SIZE
    other = memory.take(2 * SIZE)
    assert memory.kept_bytes() == SIZE
    second = CpuDevice(1).allocate(SIZE // 8, np.complex64)
    assert second.ctypes.data == address
    assert memory.kept_bytes() == 0
    assert other.size == 2 * SIZE


def test_two_states_never_share_memory() -> None:
    """Arrays that are alive at once are apart."""
    arrays = [memory.take(SIZE) for _ in range(4)]
    for k, array in enumerate(arrays):
        array[:] = k
    assert [int(array.min()) for array in arrays] == [int(array.max()) for array in arrays] == [0, 1, 2, 3]


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest blocks go first once more than the limit is kept."""
    monkeypatch.setattr(memory, "_limit", lambda: 3 * SIZE)
    arrays = [memory.take(SIZE) for _ in range(5)]
    del arrays
    assert memory.kept_bytes() == 3 * SIZE


def test_kept_memory_goes_before_an_allocation_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory that is kept counts as free, and is returned to the system when it is short."""
    kept = memory.take(8 * SIZE)
    del kept
    told = [(SIZE, 1 << 40)]
    monkeypatch.setattr(host, "memory", lambda: told[0] if memory.kept_bytes() else (64 * SIZE, 1 << 40))
    assert CpuDevice(1).memory()[0] == 9 * SIZE
    array = CpuDevice(1).allocate(16 * SIZE // 16, np.complex128)
    assert array.nbytes == 16 * SIZE
    assert memory.kept_bytes() == 0


def test_kept_memory_stays_where_there_is_room() -> None:
    """A state for which enough is free leaves the memory that is kept for others."""
    kept = memory.take(SIZE)
    del kept
    with thresholds.instead(unasked_bytes=0):
        array = CpuDevice(1).allocate(2 * SIZE // 16, np.complex128)
    assert (array.nbytes, memory.kept_bytes()) == (2 * SIZE, SIZE)


def test_small_memory_is_not_kept() -> None:
    """Small arrays are the C library's business."""
    array = memory.take(SIZE - 1)
    del array
    assert memory.kept_bytes() == 0
