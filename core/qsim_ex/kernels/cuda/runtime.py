"""What `GpuDevice` asks of a GPU: memory, copies, launches. `CupyRuntime` answers with CuPy.

All else (which kernel, which arguments, which chunks) is decided above this protocol, so that the tests can run it
on a machine without a GPU, where kernels are emulated.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from qsim_ex.errors import DeviceError, MissingPackage, OutOfMemory
from qsim_ex.kernels.cuda import compile as compilation

Array = Any
"""A CuPy array (or what stands in for it)."""

KEPT_KERNELS = 2048
"""Loaded kernels of a process; the least recently used are unloaded."""


class ByValue(NamedTuple):
    """A kernel's argument that is a struct: the bytes of an array."""

    array: NDArray[Any]


class Text(NamedTuple):
    """A kernel: CUDA C++ without comments, and the function's name in it."""

    code: str
    name: str


class Runtime(Protocol):
    """A GPU, as far as the engine needs one. Work is queued in order; downloads wait for it."""

    name: str
    description: str
    room: int  # bytes that a kernel may be given by value

    def memory(self) -> tuple[int, int]:
        """Free and total bytes."""

    def empty(self, count: int, dtype: DTypeLike) -> Array:
        """A one-dimensional array; raises `OutOfMemory`."""

    def clear(self, array: Array) -> None:
        """Set all to 0."""

    def upload(self, host: NDArray[Any]) -> Array:
        """A copy on the device; `host` may be changed at once."""

    def download(self, array: Array) -> NDArray[Any]:
        """A copy on the host."""

    def copy_in(self, array: Array, host: NDArray[Any]) -> None:
        """Overwrite a contiguous array with a host array of the same length and dtype."""

    def at_hand(self, text: Text) -> bool:
        """Whether a kernel is loaded or on disk."""

    def kernels(self, texts: Sequence[Text]) -> list[Any]:
        """Compile, where needed at the same time, and load."""

    def launch(self, kernel: Any, blocks: int, threads: int, *arguments: Any) -> None:
        """Queue a kernel. Arguments: arrays, None, NumPy scalars, `ByValue`."""

    def synchronize(self) -> None:
        """Wait until all queued work is done."""


def import_cupy() -> Any:
    """CuPy; raises `MissingPackage` with the command that installs it."""
    try:
        import cupy
    except ImportError as error:
        raise MissingPackage(
            f"GPUs are used through CuPy, which cannot be imported ({error}). Install it with: "
            "pip install 'qsim-ex[cuda13]' (or 'qsim-ex[cuda12]' for a driver of CUDA 12)."
        ) from error
    return cupy


def find_gpu(device_id: int) -> Any:
    """CuPy, once it is sure that there is a GPU of this number; raises `DeviceError` otherwise."""
    cupy = import_cupy()
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise DeviceError(
            f"no GPU can be used here: {error}. Check the driver with nvidia-smi, or use device='cpu'."
        ) from error
    if not 0 <= device_id < count:
        found = f"GPUs 0 to {count - 1}" if count else "no GPU"
        raise DeviceError(
            f"there is no GPU {device_id}: the driver lists {found}. Use another device_id or device='cpu'."
        )
    return cupy


class CupyRuntime:
    """One GPU through CuPy.

    stream: where work is queued; CuPy's current stream at each call if None.
    allocator: as for `cupy.cuda.set_allocator`; CuPy's current one if None.
    """

    def __init__(self, device_id: int = 0, stream: Any = None, allocator: Callable[[int], Any] | None = None) -> None:
        self._cupy = find_gpu(device_id)
        self._device = self._cupy.cuda.Device(device_id)
        self._stream = stream
        self._allocator = allocator
        self._arch = self._device.compute_capability
        self._loaded: OrderedDict[Text, Any] = OrderedDict()
        self._staged: deque[tuple[Any, Any]] = deque()
        self._lock = threading.Lock()
        self.name = f"gpu:{device_id}"
        self.description = self._cupy.cuda.runtime.getDeviceProperties(device_id)["name"].decode()
        self.room = 32_764 if self._cupy.cuda.runtime.driverGetVersion() >= 12_010 else 4_096

    def _here(self) -> _Here:
        """The device and the stream, current while a `with` block lasts."""
        return _Here(self._device, self._queue())

    def _queue(self) -> Any:
        """The stream on which work is queued now."""
        return self._cupy.cuda.get_current_stream(self._device.id) if self._stream is None else self._stream

    def memory(self) -> tuple[int, int]:
        """Free and total bytes; free is what the driver has plus what CuPy's pool keeps for reuse."""
        with self._here():
            free, total = self._cupy.cuda.runtime.memGetInfo()
            pooled = 0 if self._allocator else self._cupy.get_default_memory_pool().free_bytes()
        return free + pooled, total

    def empty(self, count: int, dtype: DTypeLike) -> Array:
        """A one-dimensional array; raises `OutOfMemory`."""
        dtype = np.dtype(dtype)
        nbytes = count * dtype.itemsize
        with self._here():
            try:
                pointer = (self._allocator or self._cupy.cuda.alloc)(max(nbytes, 1))
            except (self._cupy.cuda.memory.OutOfMemoryError, MemoryError) as error:
                free, total = self.memory()
                raise OutOfMemory(
                    f"{count} numbers of {dtype} need {_gib(nbytes)}; {self.name} ({self.description}) has "
                    f"{_gib(free)} free of {_gib(total)}. Use fewer wires, precision='single', or close other states."
                ) from error
            return self._cupy.ndarray((count,), dtype=dtype, memptr=pointer)

    def clear(self, array: Array) -> None:
        """Set all to 0."""
        with self._here() as stream:
            array.data.memset_async(0, array.nbytes, stream)

    def upload(self, host: NDArray[Any]) -> Array:
        """A copy on the device, by way of page-locked memory, so that the queue is not waited for."""
        host = np.ascontiguousarray(host)
        array = self.empty(host.size, host.dtype)
        if host.size == 0:
            return array
        with self._here() as stream:
            locked = self._cupy.cuda.alloc_pinned_memory(host.nbytes)
            staged = np.frombuffer(locked, host.dtype, host.size)
            staged[...] = host.ravel()
            array.data.copy_from_host_async(staged.ctypes.data, host.nbytes, stream)
            event = self._cupy.cuda.Event(disable_timing=True)
            event.record(stream)
        with self._lock:  # page-locked memory goes back to its pool only when the copy is done
            self._staged.append((event, locked))
            while self._staged and self._staged[0][0].done:
                self._staged.popleft()
        return array

    def download(self, array: Array) -> NDArray[Any]:
        """A copy on the host."""
        with self._here() as stream:
            host: NDArray[Any] = array.get(stream=stream)
            stream.synchronize()
        return host

    def copy_in(self, array: Array, host: NDArray[Any]) -> None:
        """Overwrite a contiguous array with a host array of the same length and dtype."""
        with self._here() as stream:
            array.set(np.ascontiguousarray(host), stream=stream)
            stream.synchronize()

    def at_hand(self, text: Text) -> bool:
        """Whether a kernel is loaded or on disk."""
        return text in self._loaded or compilation.is_stored(compilation.key(text.code, self._arch))

    def begin(self, texts: Sequence[Text]) -> None:
        """Start to compile what will be wanted soon, in the background."""
        compilation.begin([text.code for text in texts], self._arch)

    def kernels(self, texts: Sequence[Text]) -> list[Any]:
        """Compile, where needed at the same time, and load."""
        with self._lock:
            missing = [text for text in dict.fromkeys(texts) if text not in self._loaded]
            if not missing and len(texts) == 1:  # a fixed kernel, asked for at every call
                self._loaded.move_to_end(texts[0])
                return [self._loaded[texts[0]]]
        codes = compilation.machine_codes([text.code for text in missing], self._arch)
        with self._here():
            for text, code in zip(missing, codes, strict=True):
                module = self._cupy.cuda.Module()
                module.load(code)
                with self._lock:
                    self._loaded.setdefault(text, module.get_function(text.name))
        with self._lock:
            found = []
            for text in texts:
                self._loaded.move_to_end(text)
                found.append(self._loaded[text])
            while len(self._loaded) > max(KEPT_KERNELS, len(texts)):
                self._loaded.popitem(last=False)
        return found

    def launch(self, kernel: Any, blocks: int, threads: int, *arguments: Any) -> None:
        """Queue a kernel. Arguments: arrays, None, NumPy scalars, `ByValue`."""
        plain = tuple([_argument(argument) for argument in arguments])
        stream = self._queue()
        if self._cupy.cuda.runtime.getDevice() == self._device.id:  # the stream is an argument: it need not be current
            kernel((blocks,), (threads,), plain, stream=stream)
        else:
            with self._device:
                kernel((blocks,), (threads,), plain, stream=stream)

    def synchronize(self) -> None:
        """Wait until all queued work is done."""
        with self._here() as stream:
            stream.synchronize()


class _Here:
    """Makes a device and a stream current; a class, since it is entered at every launch."""

    __slots__ = ("_device", "_stream")

    def __init__(self, device: Any, stream: Any) -> None:
        self._device = device
        self._stream = stream

    def __enter__(self) -> Any:
        self._device.__enter__()
        self._stream.__enter__()
        return self._stream

    def __exit__(self, *error: object) -> None:
        self._stream.__exit__(*error)
        self._device.__exit__(*error)


def _argument(argument: Any) -> Any:
    """A kernel's argument as CuPy takes it: a struct is an array of one element of as many bytes."""
    if argument is None:
        return np.uint64(0)
    if isinstance(argument, ByValue):
        array = np.ascontiguousarray(argument.array)
        if array.dtype.kind == "V":
            return array
        return array.view(np.dtype((np.void, array.nbytes)))
    return argument


def _gib(nbytes: int) -> str:
    return f"{nbytes / 2**30:.1f} GiB"
