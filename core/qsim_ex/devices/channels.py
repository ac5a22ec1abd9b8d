"""Copies of a device that finishes every call before it returns: the CPU. GPUs have theirs in `streams`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from qsim_ex.devices.base import Buffer, Channel, Copies
from qsim_ex.devices.memory import human
from qsim_ex.errors import OutOfMemory
from qsim_ex.kernels.cpu import host

Amplitudes = NDArray[np.complexfloating[Any, Any]]


class HostChannel:
    """Copies that are done when the call returns: there is nothing to mark and nothing to wait for."""

    def copy(self, to: Buffer, source: Buffer) -> None:
        """Copy between arrays of one shape."""
        np.copyto(to, source)

    def mark(self) -> None:
        """Everything is done already."""

    def wait(self, mark: Any) -> None:
        """Nothing is ever left to wait for."""

    def synchronize(self) -> None:
        """Nothing is ever left to wait for."""


class HostCopies(Copies):
    """A device that works in host memory and finishes every call before it returns."""

    def channel(self) -> Channel:
        """Copies that are done at once."""
        return HostChannel()

    def mark(self) -> None:
        """Everything is done already."""

    def wait(self, mark: Any) -> None:
        """Nothing is ever left to wait for."""

    def reach(self, mark: Any) -> None:
        """Nothing is ever left to wait for."""

    def host_memory(self, num_amplitudes: int, dtype: DTypeLike) -> tuple[Amplitudes, str]:
        """Any host memory."""
        return pageable(num_amplitudes, np.dtype(dtype)), "plain"


def pageable(num_amplitudes: int, dtype: np.dtype[Any]) -> Amplitudes:
    """Host memory as NumPy gets it; raises `OutOfMemory`."""
    size = num_amplitudes * dtype.itemsize
    require(size)
    try:
        return np.empty(num_amplitudes, dtype)
    except MemoryError as error:
        raise OutOfMemory(f"the system refused {human(size)} of host memory.") from error


def require(size: int) -> None:
    """Raise `OutOfMemory` unless the host has so much free.

    Linux gives memory that it does not have, and ends the process when it is used, so we ask first.
    """
    free, total = host.memory()
    if size > free:
        raise OutOfMemory(
            f"host memory of {human(size)} is wanted; {human(free)} are free of {human(total)}. "
            "Use precision='single', fewer wires, or more memory."
        )
