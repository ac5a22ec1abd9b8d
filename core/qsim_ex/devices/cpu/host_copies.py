"""Copies of a device that works in host memory: each is done when its call returns."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from qsim_ex.devices.base import Copies, CopyQueue
from qsim_ex.devices.memory import pageable
from qsim_ex.precision import Amplitudes


class HostCopyQueue:
    """A queue whose copies are done when the call returns, so marks are None and waiting is free."""

    def copy(self, to: Amplitudes, source: Amplitudes) -> None:
        """Copy between arrays of one shape."""
        np.copyto(to, source)

    def mark(self) -> None:
        """Return no mark, since everything is done already."""

    def wait(self, mark: object) -> None:
        """Return at once, since nothing is pending."""

    def synchronize(self) -> None:
        """Return at once, since nothing is pending."""


class HostCopies(Copies):
    """A device that works in host memory and finishes every call before it returns."""

    def copy_queue(self) -> CopyQueue:
        """Return a queue whose copies are done at once."""
        return HostCopyQueue()

    def mark(self) -> None:
        """Return no mark, since everything is done already."""

    def wait(self, mark: object) -> None:
        """Return at once, since nothing is pending."""

    def reach(self, mark: object) -> None:
        """Return at once, since nothing is pending."""

    def host_memory(self, num_amplitudes: int, dtype: DTypeLike) -> tuple[Amplitudes, str]:
        """Return host memory of any kind."""
        return pageable(num_amplitudes, np.dtype(dtype)), "plain"
