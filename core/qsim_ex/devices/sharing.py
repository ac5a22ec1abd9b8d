"""Memory of a device that other processes can map."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

from numpy.typing import DTypeLike

from qsim_ex.devices.base import Buffer

Handle = int | bytes
"""What another process maps memory by: a file descriptor of this process, or bytes that mean the same everywhere."""


class SharedBuffer(NamedTuple):
    """Memory that other processes can map.

    handle: None if they cannot. kind: of handle, in words; empty for none. why: why it has no better kind.
    """

    buffer: Buffer
    handle: Handle | None
    kind: str
    why: str


class SharesMemory(ABC):
    """A device whose memory other processes can map, so that two of them trade amplitudes in place."""

    @property
    def shares_from(self) -> int:
        """Return the fewest bytes of a sub state vector for which that pays."""
        return 0

    @abstractmethod
    def allocate_shared(self, num_amplitudes: int, dtype: DTypeLike) -> SharedBuffer:
        """Return a buffer and its handle, which the caller closes; raises `OutOfMemory`."""

    @abstractmethod
    def map_shared(self, handle: Handle, num_amplitudes: int, dtype: DTypeLike) -> Buffer:
        """Return the buffer of another process, for `swap_half` and `pull` of this device alone; raises `DeviceError`.

        Its memory lasts while any process has it mapped, also when its owner has died.
        """

    @abstractmethod
    def swap_half(self, mine: Buffer, theirs: Buffer, half: int) -> None:
        """Queue a swap of one half of a view with that of another process, which swaps the other; half: 0 or 1.

        Both views have one shape and one stride: [k] contiguous or [rows, k] with contiguous rows; all are powers of 2.
        """

    @abstractmethod
    def pull(self, mine: Buffer, theirs: Buffer) -> None:
        """Queue a copy of a view of another process; the views are as in `swap_half`."""
