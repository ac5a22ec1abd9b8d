"""Copies beside the work of a GPU: a CUDA stream of its own for each queue, so that the copy engines run at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from qsim_ex.devices import pinned
from qsim_ex.devices.base import Buffer, Copies, CopyQueue
from qsim_ex.devices.memory import HostCopies, pageable
from qsim_ex.kernels.cuda.cupy_runtime import CupyRuntime
from qsim_ex.kernels.cuda.runtime import Runtime
from qsim_ex.precision import STORAGE, Amplitudes


class CudaCopyQueue:
    """A CUDA stream that does nothing but copies, and waits for another stream only in `wait`."""

    def __init__(self, cupy: Any, device: Any) -> None:
        self._cupy = cupy
        self._device = device
        with device:
            self._stream = cupy.cuda.Stream(non_blocking=True)

    @property
    def stream(self) -> int:
        """The handle of the stream, for a library that queues work among the copies."""
        return int(self._stream.ptr)

    def copy(self, to: Buffer, source: Buffer) -> None:
        """Queue a copy between arrays of one shape, each on a GPU or on the host; rows are contiguous."""
        runtime = self._cupy.cuda.runtime
        width = to.shape[-1] * to.itemsize
        if not to.size:
            return
        if to.ndim == 1 or len(to) == 1 or to.strides[0] == source.strides[0] == width:
            with self._device:
                runtime.memcpyAsync(_address(to), _address(source), to.nbytes, runtime.memcpyDefault, self._stream.ptr)
            return
        with self._device:
            runtime.memcpy2DAsync(
                _address(to), to.strides[0], _address(source), source.strides[0], width, len(to),
                runtime.memcpyDefault, self._stream.ptr,
            )  # fmt: skip

    def mark(self) -> object:
        """Return an event behind all copies that are queued so far."""
        return _event(self._cupy, self._device, self._stream)

    def wait(self, mark: Any) -> None:
        """Let later copies begin after the event."""
        with self._device:
            self._stream.wait_event(mark)

    def synchronize(self) -> None:
        """Wait on the host until all queued copies are done."""
        self._stream.synchronize()


class CudaCopies(Copies):
    """A GPU through CuPy, with its copy engines."""

    def __init__(self, runtime: CupyRuntime) -> None:
        self._runtime = runtime
        self._cupy = runtime.cupy
        self._device = runtime.device

    def copy_queue(self) -> CopyQueue:
        """Return a queue on a stream of its own."""
        return CudaCopyQueue(self._cupy, self._device)

    def mark(self) -> object:
        """Return an event behind all work that is queued on the device's stream so far."""
        return self._runtime.mark()

    def wait(self, mark: object) -> None:
        """Let later work on the device's stream begin after the event."""
        with self._device:  # CUDA's default stream is that of the current device
            self._runtime.queue().wait_event(mark)

    def reach(self, mark: object) -> None:
        """Wait on the host until all work before the event is done."""
        self._runtime.reach(mark)

    def host_memory(self, num_amplitudes: int, dtype: DTypeLike) -> tuple[Amplitudes, str]:
        """Return page-locked memory; if locking fails, pageable memory, which some GPUs read directly."""
        dtype, size = np.dtype(dtype), STORAGE[np.dtype(dtype)].nbytes(num_amplitudes)
        try:
            with self._device:
                memory = pinned.take(max(size, 1))
        except (self._cupy.cuda.runtime.CUDARuntimeError, MemoryError):
            return pageable(num_amplitudes, dtype), self._unlocked()
        return memory[:size].view(dtype), "pinned"

    def lock(self, memory: NDArray[np.generic]) -> str:
        """Lock memory that other processes may have mapped; if that fails, it is pageable, which some GPUs read."""
        try:
            with self._device:
                pinned.lock(memory)
        except self._cupy.cuda.runtime.CUDARuntimeError:
            return self._unlocked()
        return "pinned"

    def _unlocked(self) -> str:
        """Return the kind of pageable memory for this GPU."""
        runtime = self._cupy.cuda.runtime
        reads = runtime.deviceGetAttribute(runtime.cudaDevAttrPageableMemoryAccess, self._device.id)
        return "plain" if reads else "pageable"


def copies_of(runtime: Runtime) -> Copies:
    """Return the object that makes a GPU's copy queues; an emulated GPU works in host memory."""
    if isinstance(runtime, CupyRuntime):
        return CudaCopies(runtime)
    return HostCopies()


def _event(cupy: Any, device: Any, stream: Any) -> Any:
    with device:
        event = cupy.cuda.Event(disable_timing=True)
        event.record(stream)
    return event


def _address(array: Buffer) -> int:
    """Return the address at which an array begins, on a GPU or on the host."""
    return int(array.ctypes.data if isinstance(array, np.ndarray) else array.data.ptr)
