"""A launch that is laid out beforehand, for any state and any numbers; see `launches`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from qsim_ex.kernels.cuda.launch.run_words import KEPT, PLAIN, STATE, STRUCT, TABLES
from qsim_ex.kernels.cuda.runtime import LoadedKernel


class LaunchArgument(NamedTuple):
    """An argument of a kernel: its kind, and the number that belongs to it (see `kernels.cuda.launch.run_words`)."""

    kind: int
    value: int


class Queued(NamedTuple):
    """A kernel of the runtime, its blocks and their threads, and its arguments."""

    kernel: LoadedKernel
    blocks: int
    threads: int
    arguments: Sequence[LaunchArgument]

    def words(self, handle: int) -> list[int]:
        """Return the words of the launch; handle: the kernel's handle in the driver."""
        flat = [word for argument in self.arguments for word in argument]
        return [handle, self.blocks, self.threads, len(self.arguments), *flat]


THE_STATE = LaunchArgument(STATE, 0)


def plain(value: int) -> LaunchArgument:
    """Return the argument for a number, or for a fixed address."""
    return LaunchArgument(PLAIN, value)


def in_tables(byte: int) -> LaunchArgument:
    """Return the argument for an address in the memory of a run's tables."""
    return LaunchArgument(TABLES, byte)


def struct(byte: int) -> LaunchArgument:
    """Return the argument for a struct, by the byte of a run's room at which it begins."""
    return LaunchArgument(STRUCT, byte)


def kept(address: int) -> LaunchArgument:
    """Return the argument for a struct that is the same in every run, by its address on the host."""
    return LaunchArgument(KEPT, address)
