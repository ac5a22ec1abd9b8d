"""One GPU through CuPy: memory, copies, kernels compiled and loaded, launches."""

from __future__ import annotations

import os
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakSet

import numpy as np
from numpy.typing import DTypeLike, NDArray

from qsim_ex.display.amounts import human
from qsim_ex.errors import OutOfMemory
from qsim_ex.kernels import fork
from qsim_ex.kernels.background import Background
from qsim_ex.kernels.cuda.compile import compilation, shipped
from qsim_ex.kernels.cuda.cupy_context import Here, Lost
from qsim_ex.kernels.cuda.driver import find_gpu, launcher
from qsim_ex.kernels.cuda.launch.arguments import frame
from qsim_ex.kernels.cuda.runtime import TENSOR, Array, HostArray, KernelFile, KernelId, KernelText, LoadedKernel
from qsim_ex.kernels.cuda.staging import stage
from qsim_ex.precision import AmplitudeDtype

KEPT_KERNELS = 2048
"""The number of loaded kernels of a process; the least recently used are unloaded."""

_REFUSALS = (200, 209, 222, 300)
"""CUDA_ERROR_INVALID_IMAGE, NO_BINARY_FOR_GPU, UNSUPPORTED_PTX_VERSION, INVALID_SOURCE: machine code that the driver
cannot load."""


class CupyRuntime:
    """One GPU through CuPy.

    stream: the stream on which work is queued; CuPy's current stream at each call if None.
    allocator: as for `cupy.cuda.set_allocator`; CuPy's current one if None.
    """

    def __init__(
        self, device_id: int = 0, stream: object = None, allocator: Callable[[int], Any] | None = None
    ) -> None:
        self.cupy = self._cupy = find_gpu(device_id)
        self.device = self._device = self._cupy.cuda.Device(device_id)
        self._stream = stream
        self._allocator = allocator
        self.arch: str = self._device.compute_capability
        self._launch = self._cupy.cuda.driver.launchKernel
        self._loaded: OrderedDict[KernelId, LoadedKernel] = OrderedDict()
        self._staged: deque[tuple[Any, Any]] = deque()
        self._background = Background()
        self._lock = fork.lock()
        _runtimes.add(self)
        self.name = f"gpu:{device_id}"
        self.description = self._cupy.cuda.runtime.getDeviceProperties(device_id)["name"].decode()
        self.tensor = self.arch in TENSOR
        self.room = 32_764 if self._cupy.cuda.runtime.driverGetVersion() >= 12_010 else 4_096

    def _here(self) -> Here:
        """Return a context in which the device and the stream are current."""
        return Here(self._device, self.queue())

    def queue(self) -> Any:
        """Return the stream on which work is queued now."""
        return self._cupy.cuda.get_current_stream(self._device.id) if self._stream is None else self._stream

    def memory(self) -> tuple[int, int]:
        """Return free and total bytes; free is the driver's plus what CuPy's pool keeps for reuse."""
        with self._here():
            free, total = self._cupy.cuda.runtime.memGetInfo()
            pooled = 0 if self._allocator else self._cupy.get_default_memory_pool().free_bytes()
        return free + pooled, total

    def empty(self, count: int, dtype: DTypeLike) -> Array:
        """Return a one-dimensional array; raises `OutOfMemory`."""
        # No context is needed if device and stream are CuPy's current ones already.
        if self._stream is None and self._cupy.cuda.runtime.getDevice() == self._device.id:
            return self._taken(count, np.dtype(dtype))
        with self._here():
            return self._taken(count, np.dtype(dtype))

    def _taken(self, count: int, dtype: AmplitudeDtype) -> Array:
        nbytes = count * dtype.itemsize
        try:
            pointer = (self._allocator or self._cupy.cuda.alloc)(max(nbytes, 1))
        except (self._cupy.cuda.memory.OutOfMemoryError, MemoryError) as error:
            free, total = self.memory()
            raise OutOfMemory(
                f"{count} numbers of {dtype} need {human(nbytes)}; {self.name} ({self.description}) has "
                f"{human(free)} free of {human(total)}. Use fewer wires, precision='single', or close other states."
            ) from error
        return self._cupy.ndarray((count,), dtype=dtype, memptr=pointer)

    def clear(self, array: Array) -> None:
        """Set all elements to 0."""
        with self._here() as stream:
            array.data.memset_async(0, array.nbytes, stream)

    def upload(self, host: NDArray[np.generic]) -> Array:
        """Return a copy on the device, through page-locked memory, so that it does not wait for the queue."""
        host = np.ascontiguousarray(host)
        array = self.empty(host.size, host.dtype)
        if host.size == 0:
            return array
        with self._here() as stream:
            locked = self._cupy.cuda.alloc_pinned_memory(host.nbytes)
            staged = np.frombuffer(locked, host.dtype, host.size)
            stage(staged, host.reshape(-1))
            array.data.copy_from_host_async(staged.ctypes.data, host.nbytes, stream)
            event = self._cupy.cuda.Event(disable_timing=True)
            event.record(stream)
        with self._lock:  # page-locked memory goes back to its pool only when the copy is done
            self._staged.append((event, locked))
            while self._staged and self._staged[0][0].done:
                self._staged.popleft()
        return array

    def download(self, array: Array) -> HostArray:
        """Return a copy on the host."""
        with self._here() as stream:
            host: HostArray = array.get(stream=stream)
            stream.synchronize()
        return host

    def copy_in(self, array: Array, host: NDArray[np.generic]) -> None:
        """Overwrite a contiguous array with a host array of the same length and dtype."""
        with self._here() as stream:
            array.set(np.ascontiguousarray(host), stream=stream)
            stream.synchronize()

    def copy(self, array: Array, source: Array) -> None:
        """Queue a copy of a contiguous array of this GPU to another of the same length and dtype."""
        with self._here() as stream:
            array.data.copy_from_device_async(source.data, source.nbytes, stream)

    def at_hand(self, text: KernelId) -> bool:
        """Return whether a kernel is loaded or on disk."""
        if text in self._loaded:
            return True
        return (
            compilation.is_stored(text.file)
            if isinstance(text, KernelFile)
            else compilation.at_hand(text.code, self.arch)
        )

    def begin(self, texts: Sequence[KernelId]) -> None:
        """Start to compile kernels that are needed soon, in the background."""
        compilation.begin([text.code for text in texts if isinstance(text, KernelText)], self.arch)

    def kernels(self, texts: Sequence[KernelId]) -> list[LoadedKernel]:
        """Compile kernels, where needed at the same time, and load them; see `Runtime`."""
        with self._lock:
            missing = [text for text in dict.fromkeys(texts) if text not in self._loaded]
            if not missing:  # fixed kernels, which are requested at every call
                return self._found(texts)
        for file in missing:
            if isinstance(file, KernelFile):
                self.take(file, compilation.kept(file.file))
        new = [text for text in missing if isinstance(text, KernelText)]
        codes = compilation.machine_codes([text.code for text in new], self.arch)
        with self._here():
            for text, code in zip(new, codes, strict=True):
                function = self._load(text, code)
                with self._lock:
                    self._loaded.setdefault(text, function)
        with self._lock:
            found = self._found(texts)
            while len(self._loaded) > max(KEPT_KERNELS, len(texts)):
                self._loaded.popitem(last=False)
        return found

    def _found(self, texts: Sequence[KernelId]) -> list[LoadedKernel]:
        """Return loaded kernels, which are those that were used last from now on."""
        for one in texts:
            self._loaded.move_to_end(one)
        return [self._loaded[one] for one in texts]

    def take(self, file: KernelFile, code: bytes) -> None:
        """Load machine code that was read from disk."""
        with self._lock:
            if file in self._loaded:
                return
        with self._here():
            function = self._function(file.name, code)
        with self._lock:
            self._loaded.setdefault(file, function)

    def later(self, work: Callable[[], object]) -> None:
        """Do some work in the background, one after another."""
        self._background.later(work)

    def _load(self, text: KernelText, code: bytes) -> LoadedKernel:
        """Load machine code; if the driver refuses code of the package, compile here, which the doctor reports.

        Such a driver is older than the compiler that the package was built with; the installed compiler fits it.
        """
        try:
            return self._function(text.name, code)
        except self._cupy.cuda.driver.CUDADriverError as error:
            if error.status not in _REFUSALS or not shipped.refuse(text.code, self.arch, str(error)):
                raise
        return self._function(text.name, compilation.machine_code(text.code, self.arch))

    def _function(self, name: str, code: bytes) -> LoadedKernel:
        module = self._cupy.cuda.Module()
        module.load(code)
        function = module.get_function(name)
        driver = self._cupy.cuda.driver
        driver.funcGetAttribute(driver.CU_FUNC_ATTRIBUTE_NUM_REGS, function.ptr)  # else it is loaded when it first runs
        return function

    def launch(self, kernel: LoadedKernel, blocks: int, threads: int, *arguments: Any) -> None:
        """Queue a kernel. Arguments: arrays, None, NumPy scalars, `ByValue`.

        This calls the driver directly: a GPU with a small state waits for every microsecond spent here.
        """
        where = frame.write(arguments)
        stream = self.queue().ptr
        if self._current():  # the stream is an argument: it need not be current
            self._launch(kernel.ptr, blocks, 1, 1, threads, 1, 1, 0, stream, where, 0)
        else:
            with self._device:
                self._launch(kernel.ptr, blocks, 1, 1, threads, 1, 1, 0, stream, where, 0)

    def handle(self, kernel: LoadedKernel) -> int:
        """Return a kernel's handle in the driver."""
        return int(kernel.ptr)

    def address(self, array: Array) -> int:
        """Return the address at which an array begins."""
        return int(array.data.ptr)

    def stream(self) -> int:
        """Return the handle of the queue at this moment."""
        return int(self.queue().ptr)

    def natively(self, work: Callable[..., int], *arguments: object) -> None:
        """Call ``work(driver, stream, *arguments)``, which queues kernels itself and returns the driver's status."""
        stream = self.queue().ptr
        if self._current():
            status = work(launcher(), stream, *arguments)
        else:
            with self._device:
                status = work(launcher(), stream, *arguments)
        if status:
            raise self._cupy.cuda.driver.CUDADriverError(status)

    def _current(self) -> bool:
        """Return whether this GPU is the thread's current one; a thread's first call gives it the GPU's context.

        The runtime makes a context current at a thread's first call that needs one, the driver's launch does not. Where
        all memory comes from a pool, a launch can be the first call of a thread.
        """
        current: int = self._cupy.cuda.runtime.getDevice()
        if not frame.has_context:
            self._cupy.cuda.runtime.setDevice(current)
            frame.has_context = True
        return current == int(self._device.id)

    def mark(self) -> object:
        """Return an event behind all work that is queued so far."""
        with self._device:
            event = self._cupy.cuda.Event(disable_timing=True)
            event.record(self.queue())
        return event

    def reach(self, mark: Any) -> None:
        """Wait until all work before an event is done."""
        mark.synchronize()

    def synchronize(self) -> None:
        """Wait until all queued work is done."""
        stream = self.queue()
        if self._current():
            stream.synchronize()
        else:
            with self._device:
                stream.synchronize()


_runtimes: WeakSet[CupyRuntime] = WeakSet()


def _lose() -> None:
    for runtime in list(_runtimes):
        runtime.cupy = runtime._cupy = runtime._device = runtime._launch = Lost()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_lose)
