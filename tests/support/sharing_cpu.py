"""A CPU whose buffers other processes map by file descriptors, as GPUs do: trades in place run without a GPU."""

from __future__ import annotations

import mmap
import os
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.devices.sharing import Handle, SharedBuffer
from qsim_ex.errors import DeviceError


class SharedCpu(CpuDevice):
    """A CPU that shares the memory of small states too."""

    shares_from = 0


class SharingCpu(SharedCpu):
    """A CPU with memory in files without a name (memfd).

    why: the reason why it gives no handles, if it does not. deaf: the reason why it maps nothing, if it does not.
    """

    def __init__(self, threads: int | None = 1, why: str = "", deaf: str = "") -> None:
        super().__init__(threads)
        self.why = why
        self.deaf = deaf
        self.swapped = self.pulled = 0

    def allocate_shared(self, num_amplitudes: int, dtype: DTypeLike) -> SharedBuffer:
        """A buffer in a file, and its descriptor."""
        if self.why:
            return SharedBuffer(self.allocate(num_amplitudes, dtype), None, "", self.why)
        dtype = np.dtype(dtype)
        file = os.memfd_create("amplitudes")
        os.ftruncate(file, num_amplitudes * dtype.itemsize)
        return SharedBuffer(_mapped(file, num_amplitudes, dtype), file, "files", "there is no GPU")

    def map_shared(self, handle: Handle, num_amplitudes: int, dtype: DTypeLike) -> np.ndarray:
        """The buffer of another process."""
        if self.deaf:
            raise DeviceError(self.deaf)
        assert isinstance(handle, int)
        return _mapped(handle, num_amplitudes, np.dtype(dtype))

    def swap_half(self, mine: np.ndarray, theirs: np.ndarray, half: int) -> None:
        """Swap one half, by the definition."""
        self.swapped += 1
        middle = (mine.size + 1) // 2
        chosen = [divmod(k, mine.shape[-1]) for k in (range(middle, mine.size) if half else range(middle))]
        for row, column in chosen:
            at: Any = (row, column) if mine.ndim == 2 else column
            mine[at], theirs[at] = theirs[at], mine[at]

    def pull(self, mine: np.ndarray, theirs: np.ndarray) -> None:
        """Copy all."""
        self.pulled += 1
        mine[...] = theirs


def _mapped(file: int, num_amplitudes: int, dtype: np.dtype[Any]) -> np.ndarray:
    memory = mmap.mmap(file, num_amplitudes * dtype.itemsize)  # with a descriptor of its own
    return np.frombuffer(memory, dtype)
