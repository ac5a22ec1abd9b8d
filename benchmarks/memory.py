"""The GPU memory in use: the driver's free bytes, and the largest use of CuPy's pool."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks import machine


def free_bytes(gpus: int) -> list[int]:
    """Return the free bytes of GPUs 0, 1, …, as the driver counts them."""
    import cupy

    found = []
    for number in range(gpus):
        with cupy.cuda.Device(number):
            found.append(int(cupy.cuda.runtime.memGetInfo()[0]))
    return found


class Peak:
    """The most bytes on each device that were taken and not yet given back, while it was watched.

    What was taken before does not count, and neither does it when that is given back.
    """

    def __init__(self) -> None:
        self.most: dict[int, int] = {}
        self._now: Counter[int] = Counter()
        self._taken: dict[tuple[int, int], int] = {}

    def taken(self, device: int, address: int, size: int) -> None:
        """Count memory that begins at an address of a device."""
        self._taken[device, address] = size
        self._now[device] += size
        self.most[device] = max(self.most.get(device, 0), self._now[device])

    def given_back(self, device: int, address: int) -> None:
        """Count it no longer."""
        self._now[device] -= self._taken.pop((device, address), 0)

    def bytes_on(self, devices: int) -> list[int]:
        """Return the most bytes on devices 0, 1, …."""
        return [self.most.get(number, 0) for number in range(devices)]


@contextmanager
def watched_pool(peak: Peak) -> Iterator[None]:
    """Let a `Peak` see what this thread takes from CuPy's memory pool."""
    import cupy

    class Hook(cupy.cuda.MemoryHook):  # type: ignore[misc]  # CuPy has no types
        name = "qsim-ex benchmark"

        def malloc_postprocess(self, **found: Any) -> None:
            peak.taken(found["device_id"], found["mem_ptr"], found["mem_size"])

        def free_postprocess(self, **found: Any) -> None:
            peak.given_back(found["device_id"], found["mem_ptr"])

    with Hook():
        yield


def wait_for_all(gpus: int) -> None:
    """Wait until GPUs 0, 1, … have done all that is queued, on all streams, copies included."""
    import cupy

    for number in range(gpus):
        cupy.cuda.Device(number).synchronize()


def give_back_pools() -> None:
    """Give back the GPU memory that CuPy keeps, and the locked host memory that we keep if it is much.

    A quarter of the host may stay locked: locking takes longer than a run, and does so for every circuit otherwise.
    """
    import cupy

    from qsim_ex.devices import pinned

    cupy.get_default_memory_pool().free_all_blocks()
    if pinned.kept_bytes() > machine.memory_bytes("cpu") // 4:
        pinned.release()
