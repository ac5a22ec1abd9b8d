"""The protocol of a GPU under `GpuDevice`: memory, copies, launches. `CupyRuntime` implements it with CuPy.

Everything else (kernels, arguments, chunks) is decided above this protocol, so that the tests can run it on a machine
without a GPU, where kernels are emulated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from numpy.typing import DTypeLike, NDArray

Array = Any
"""A CuPy array (or that of an emulator)."""

LoadedKernel = Any
"""A loaded kernel of CuPy (or what an emulator runs for it)."""

HostArray = NDArray[Any]
"""An array of NumPy, of any type of elements that a kernel takes."""

TENSOR: tuple[str, ...] = ("90",)
"""Compute capabilities of GPUs whose dense blocks run on tensor cores: those on which whole runs were measured.

By the data sheet 8.0 would gain as much. Consumer GPUs (8.6, 8.9, 12.0) have tensor cores that are no faster at this
than their other units. See decision 0008."""


class ByValue(NamedTuple):
    """A kernel's argument that is a struct: the bytes of a contiguous array, and their address if that is known."""

    array: HostArray
    address: int = 0


class KernelText(NamedTuple):
    """A kernel: CUDA C++ without comments, and the function's name in it."""

    code: str
    name: str


class KernelFile(NamedTuple):
    """A kernel of which machine code is kept on disk: the name of the code there, and the function's name in it."""

    file: str
    name: str


KernelId = KernelText | KernelFile
"""What a kernel is loaded by."""


class Runtime(Protocol):
    """A GPU for the engine. Work is queued in order; downloads wait for it."""

    name: str
    description: str
    arch: str  # its compute capability, such as "90"; "" if kernels are not kept on disk by their sweeps
    room: int  # bytes that a kernel may take by value
    tensor: bool  # whether its tensor cores multiply dense blocks faster than its other units

    def memory(self) -> tuple[int, int]:
        """Return free and total bytes."""

    def empty(self, count: int, dtype: DTypeLike) -> Array:
        """Return a one-dimensional array; raises `OutOfMemory`."""

    def clear(self, array: Array) -> None:
        """Set all elements to 0."""

    def upload(self, host: HostArray) -> Array:
        """Return a copy on the device; `host` may be changed at once."""

    def download(self, array: Array) -> HostArray:
        """Return a copy on the host."""

    def copy_in(self, array: Array, host: HostArray) -> None:
        """Overwrite a contiguous array with a host array of the same length and dtype."""

    def copy(self, array: Array, source: Array) -> None:
        """Queue a copy of a contiguous array of this GPU to another of the same length and dtype."""

    def at_hand(self, text: KernelId) -> bool:
        """Return whether a kernel is loaded or on disk."""

    def begin(self, texts: Sequence[KernelId]) -> None:
        """Start to compile kernels that are needed soon, in the background."""

    def kernels(self, texts: Sequence[KernelId]) -> list[LoadedKernel]:
        """Compile kernels, where needed at the same time, and load them.

        Raises `DeviceError` for a `KernelFile` that is neither loaded nor on disk.
        """

    def take(self, file: KernelFile, code: bytes) -> None:
        """Load machine code that was read from disk."""

    def later(self, work: Callable[[], object]) -> None:
        """Do some work in the background, one after another."""

    def launch(self, kernel: LoadedKernel, blocks: int, threads: int, *arguments: object) -> None:
        """Queue a kernel. Arguments: arrays, None, NumPy scalars, `ByValue`."""

    def handle(self, kernel: LoadedKernel) -> int:
        """Return a kernel's handle in the driver."""

    def address(self, array: Array) -> int:
        """Return the address at which an array begins."""

    def stream(self) -> int:
        """Return the handle of the queue at this moment."""

    def natively(self, work: Callable[..., int], *arguments: object) -> None:
        """Call ``work(driver, stream, *arguments)``, which queues kernels itself and returns the driver's status.

        driver: the address of `cuLaunchKernel`. stream: the queue's handle.
        """

    def mark(self) -> object:
        """Return a mark behind all work that is queued so far."""

    def reach(self, mark: object) -> None:
        """Wait until all work before a mark is done."""

    def synchronize(self) -> None:
        """Wait until all queued work is done."""
