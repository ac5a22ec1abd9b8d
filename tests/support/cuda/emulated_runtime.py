"""The runtime of a GPU, played by NumPy and the emulator, so that the GPU device runs where there is no GPU."""

from __future__ import annotations

import ctypes
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from support.cuda.emulator import call, emulate, library, wrapped

from qsim_ex.kernels.cuda.runtime import KernelFile, KernelText

DRIVER = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_int64, *[ctypes.c_uint] * 7, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64
)
"""The signature of `cuLaunchKernel`: kernel, grid, block, shared memory, stream, arguments, extras."""


class Kernel:
    """A kernel that was loaded."""

    def __init__(self, function: Any) -> None:
        self.function = function


class EmulatedRuntime:
    """The GPU that the engine asks for, played by NumPy and g++."""

    name = "gpu:emulated"
    description = "an emulated GPU"

    def __init__(self, room: int = 32_764, free: int = 1 << 30, tensor: bool = False, arch: str = "") -> None:
        self.room = room
        self.arch = arch
        self.tensor = tensor
        self.free = free
        self.backwards = False
        self.compiled: list[KernelText] = []
        self.taken: dict[KernelFile, KernelText] = {}
        self.status = 0
        self.natively_launched = 0
        self.reached: list[int] = []
        self.waiting: list[Any] | None = None
        self._handles: WeakValueDictionary[int, Kernel] = WeakValueDictionary()

    def memory(self) -> tuple[int, int]:
        """The free and total bytes that it claims."""
        return self.free, self.free

    def empty(self, count: int, dtype: Any) -> Any:
        """An array of NaN, so that a test sees what was never written."""
        return np.full(count, np.nan, dtype=dtype) if np.dtype(dtype).kind in "fc" else np.zeros(count, dtype=dtype)

    def clear(self, array: Any) -> None:
        """Set all to 0."""
        array[...] = 0

    def upload(self, host: Any) -> Any:
        """A copy."""
        return np.array(host).ravel()

    def download(self, array: Any) -> Any:
        """A copy."""
        return array.copy()

    def copy_in(self, array: Any, host: Any) -> None:
        """Overwrite."""
        assert array.dtype == host.dtype
        array[...] = host

    def copy(self, array: Any, source: Any) -> None:
        """Overwrite by another array of the GPU."""
        assert (array.dtype, array.shape) == (source.dtype, source.shape)
        array[...] = source

    def at_hand(self, text: Any) -> bool:
        """Whether this text was compiled before, or was on disk."""
        return text in self.compiled or text in self.taken

    def begin(self, texts: Any) -> None:
        """They are compiled when they are asked for."""

    def take(self, file: KernelFile, code: bytes) -> None:
        """Take what is on disk: "machine code" is a text here."""
        self.taken[file] = KernelText(code.decode(), file.name)

    def kernels(self, texts: Any) -> list[Any]:
        """Compile with g++."""
        found = []
        for text in texts:
            if isinstance(text, KernelFile):
                text = self.taken[text]
            elif text not in self.compiled:
                self.compiled.append(text)
            level = "-O0" if text.name == "sweep" else "-O1"
            found.append(Kernel(library(wrapped(text.code, text.name, "launch"), level).launch))
        return found

    def later(self, work: Any) -> None:
        """Do it at once, unless a test wants to see what happens before."""
        if self.waiting is None:
            work()
        else:
            self.waiting.append(work)

    def launch(self, kernel: Any, blocks: int, threads: int, *arguments: Any) -> None:
        """Run a kernel to its end."""
        call(kernel.function, blocks, threads, self.backwards, *arguments)

    def handle(self, kernel: Any) -> int:
        """A number for a kernel, as the driver has one."""
        self._handles[id(kernel)] = kernel  # weakly: a kernel that nobody holds is unloaded
        return id(kernel)

    def address(self, array: Any) -> int:
        """Where an array begins."""
        return int(array.ctypes.data)

    def stream(self) -> int:
        """There is one queue."""
        return 0

    def natively(self, work: Any, *arguments: Any) -> None:
        """Let compiled code launch kernels through a function of the driver's signature."""

        def launch(handle, grid, _y, _z, block, *others):
            pointers = ctypes.cast(others[-2], ctypes.POINTER(ctypes.c_void_p))
            emulate(self._handles[handle].function, grid, block, self.backwards, pointers)
            self.natively_launched += 1
            return self.status

        driver = DRIVER(launch)
        status = work(ctypes.cast(driver, ctypes.c_void_p).value, 0, *arguments)
        if status:
            raise RuntimeError(f"the driver said {status}")

    def mark(self) -> int:
        """How many kernels compiled code has launched."""
        return self.natively_launched

    def reach(self, mark: int) -> None:
        """Note which mark was waited for."""
        self.reached.append(mark)

    def synchronize(self) -> None:
        """Nothing is ever under way."""
