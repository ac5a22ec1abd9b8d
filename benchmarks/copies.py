"""Plain copies without the engine, on a GPU's machine and, to try the code, on any: the ceilings of links."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.memory import wait_for_all
from qsim_ex.devices.discover import gpu
from qsim_ex.devices.peering import link

PIECE = 1 << 30
REPEAT = 5
_SMALL_PIECE = 1 << 20
"""Bytes of a piece on a CPU, where copies between 'devices' tell nothing but that the code runs."""


class Copier(ABC):
    """Plain copies without the engine: arrays of bytes on the host and on GPUs, and queues that run side by side."""

    piece: int

    @staticmethod
    def of(device: str) -> Copier:
        """Return copies through CuPy for ``gpu``, and through NumPy for ``cpu``."""
        return CupyCopier() if device == "gpu" else NumpyCopier()

    @abstractmethod
    def host(self, size: int) -> Any:
        """Return host memory, page-locked where that means something."""

    @abstractmethod
    def on(self, gpu: int, size: int) -> Any:
        """Return memory of a GPU."""

    @abstractmethod
    def queue(self, gpu: int) -> Any:
        """Return a queue of copies that waits for no other."""

    @abstractmethod
    def copy(self, to: Any, source: Any, queue: Any) -> None:
        """Queue a copy of all bytes."""

    @abstractmethod
    def connect(self, gpus: int) -> None:
        """Let GPUs 0, 1, … read and write each other's memory, as far as the driver allows it."""

    @abstractmethod
    def wait(self, gpus: int) -> None:
        """Wait until everything on GPUs 0, 1, … is done."""

    @abstractmethod
    def free(self) -> None:
        """Give memory back that nobody uses any more."""


class NumpyCopier(Copier):
    """Everything is host memory, and a copy is done when it is queued."""

    piece = _SMALL_PIECE

    def host(self, size: int) -> Any:
        """Return host memory."""
        return np.zeros(size, dtype=np.uint8)

    def on(self, gpu: int, size: int) -> Any:
        """Return host memory."""
        del gpu
        return np.zeros(size, dtype=np.uint8)

    def queue(self, gpu: int) -> Any:
        """There is nothing to queue."""
        del gpu

    def copy(self, to: Any, source: Any, queue: Any) -> None:
        """Copy at once."""
        del queue
        to[...] = source

    def connect(self, gpus: int) -> None:
        """All memory is one."""

    def wait(self, gpus: int) -> None:
        """Everything is done."""

    def free(self) -> None:
        """NumPy has done so."""


class CupyCopier(Copier):
    """Copies by CUDA's copy engines, one stream for each queue."""

    piece = PIECE

    def __init__(self) -> None:
        import cupy

        self._cupy = cupy

    def host(self, size: int) -> Any:
        """Return page-locked memory, written once so that it is there."""
        found = np.frombuffer(self._cupy.cuda.alloc_pinned_memory(size), np.uint8, size)
        found[...] = 1
        return found

    def on(self, gpu: int, size: int) -> Any:
        """Return memory of a GPU."""
        with self._cupy.cuda.Device(gpu):
            return self._cupy.ones(size, dtype=np.uint8)

    def queue(self, gpu: int) -> Any:
        """Return a stream of this GPU, and the GPU, which has to be current for it."""
        with self._cupy.cuda.Device(gpu):
            return gpu, self._cupy.cuda.Stream(non_blocking=True)

    def copy(self, to: Any, source: Any, queue: Any) -> None:
        """Queue one copy."""
        runtime = self._cupy.cuda.runtime
        gpu, stream = queue
        with self._cupy.cuda.Device(gpu):
            runtime.memcpyAsync(_address(to), _address(source), to.nbytes, runtime.memcpyDefault, stream.ptr)

    def connect(self, gpus: int) -> None:
        """Ask the driver for peer access; without it, it copies by way of the host."""
        for one in range(gpus):
            for other in range(gpus):
                if one != other:
                    link(gpu(one), gpu(other))

    def wait(self, gpus: int) -> None:
        """Wait for all streams."""
        wait_for_all(gpus)

    def free(self) -> None:
        """Empty CuPy's pools."""
        self._cupy.get_default_memory_pool().free_all_blocks()
        self._cupy.get_default_pinned_memory_pool().free_all_blocks()


def _address(array: Any) -> int:
    return int(array.ctypes.data if isinstance(array, np.ndarray) else array.data.ptr)


def ceilings(copier: Copier, gpus: int, repeat: int = REPEAT) -> dict[str, Any]:
    """Measure plain copies: bytes a second, by name, as ``bytes_per_second``; medians.

    ``host to device``, ``device to host``; ``both ways`` counts both directions together. ``peers XOR x`` is what
    each device sends, while it receives as much, when all send to the one whose number differs by x.
    """
    found = _host_ceilings(copier, repeat)
    copier.connect(gpus)
    for mask in range(1, gpus):
        found[f"peers XOR {mask}"] = _peer_ceiling(copier, gpus, mask, repeat)
    copier.free()
    return {"piece": copier.piece, "repeat": repeat, "bytes_per_second": found}


def _host_ceilings(copier: Copier, repeat: int) -> dict[str, float]:
    """Measure the link between the host and GPU 0: two pieces in each direction, over and over."""
    size, pieces = copier.piece, 2
    come = [(copier.on(0, size), copier.host(size)) for _ in range(pieces)]
    go = [(copier.host(size), copier.on(0, size)) for _ in range(pieces)]
    queues = copier.queue(0), copier.queue(0)

    def moved(inwards: bool, outwards: bool) -> Callable[[], None]:
        def work() -> None:
            for k in range(pieces):
                if inwards:
                    copier.copy(*come[k], queues[0])
                if outwards:
                    copier.copy(*go[k], queues[1])

        return work

    ways = {"host to device": (True, False), "device to host": (False, True), "both ways": (True, True)}
    return {
        name: pieces * sum(way) * size / median_seconds(moved(*way), lambda: copier.wait(1), repeat)
        for name, way in ways.items()
    }


def _peer_ceiling(copier: Copier, gpus: int, mask: int, repeat: int) -> float:
    """Measure all devices sending to their partners at once."""
    size = copier.piece
    sources = [copier.on(number, size) for number in range(gpus)]
    targets = [copier.on(number, size) for number in range(gpus)]
    queues = [copier.queue(number) for number in range(gpus)]

    def work() -> None:
        for number in range(gpus):
            copier.copy(targets[number ^ mask], sources[number], queues[number])

    return size / median_seconds(work, lambda: copier.wait(gpus), repeat)


def median_seconds(work: Callable[[], None], wait: Callable[[], None], repeat: int) -> float:
    """Return the median time of some work until it is done; the first time does not count."""
    found = []
    for _ in range(repeat + 1):
        wait()
        start = perf_counter()
        work()
        wait()
        found.append(perf_counter() - start)
    return median(found[1:])
