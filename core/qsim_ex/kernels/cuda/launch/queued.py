"""A launch that is laid out beforehand, for any state and any numbers; see `launches`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from qsim_ex.kernels.cuda.launch.run_words import PLAIN, STATE, STRUCT, TABLES


class LaunchArgument(NamedTuple):
    """An argument of a kernel: its kind, and the number that belongs to it (see `kernels.cuda.launch.run_words`)."""

    kind: int
    value: int


class Queued(NamedTuple):
    """A kernel as the runtime gives it, its blocks and their threads, and its arguments."""

    kernel: Any
    blocks: int
    threads: int
    arguments: Sequence[LaunchArgument]

    def words(self, handle: int) -> list[int]:
        """The launch as it is read; handle: the kernel as the driver knows it."""
        flat = [word for argument in self.arguments for word in argument]
        return [handle, self.blocks, self.threads, len(self.arguments), *flat]


THE_STATE = LaunchArgument(STATE, 0)


def plain(value: int) -> LaunchArgument:
    """A number, or an address that stays."""
    return LaunchArgument(PLAIN, value)


def in_tables(byte: int) -> LaunchArgument:
    """An address in what a run's tables are made in."""
    return LaunchArgument(TABLES, byte)


def struct(byte: int) -> LaunchArgument:
    """A struct by the byte of a run's room at which it begins."""
    return LaunchArgument(STRUCT, byte)
