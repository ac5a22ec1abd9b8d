"""The memory of a migrated state: how much it takes, told before anything is allocated, and the blocks themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from qsim_ex.devices.base import Buffer, Copies
from qsim_ex.devices.memory import human
from qsim_ex.devices.probe import host_free
from qsim_ex.errors import InvalidInput, OutOfMemory
from qsim_ex.steps.layout import Levels

Scenario = Literal["whole", "spread"]

PIECE = 1 << 26
"""Bytes of one copy: 1.2 ms on a link of 55 GB/s, so that starting it costs nothing and waiting for it little."""


@dataclass(frozen=True, slots=True)
class Room:
    """What a migrated state of 2^num_wires amplitudes takes.

    slots: windows of 2^local amplitudes on the device. scenario: 'whole', the host has a place for every slice, or
    'spread', it has places for what is not in the slots and for `spare` slices.
    slice: the bits of one slice; at most `Levels.slice`, and few enough for a slice to be one copy.
    scratch: slices of device memory beside the slots. piece: most bytes in one copy.
    """

    num_wires: int
    levels: Levels
    dtype: np.dtype[Any]
    slots: int
    scenario: Scenario
    spare: int
    slice: int
    piece: int

    @property
    def rows(self) -> int:
        """Slices in a slot."""
        return 1 << self.levels.local - self.slice

    @property
    def host(self) -> int:
        """Slices on the host."""
        slices = 1 << self.num_wires - self.slice
        return slices if self.scenario == "whole" else max(0, slices - self.slots * self.rows) + self.spare

    @property
    def scratch(self) -> int:
        """Slices beside the slots, in which slices wait while they change places."""
        return min(max(1, self.piece // self.slice_bytes), self.rows)

    @property
    def slice_bytes(self) -> int:
        """Bytes of a slice."""
        return self.dtype.itemsize << self.slice

    @property
    def device_bytes(self) -> int:
        """Bytes of device memory: the slots and the scratch memory."""
        return (self.slots * self.rows + self.scratch) * self.slice_bytes

    @property
    def host_bytes(self) -> int:
        """Bytes of host memory."""
        return self.host * self.slice_bytes


def room(
    num_wires: int,
    levels: Levels,
    dtype: np.dtype[Any],
    *,
    slots: int = 3,
    scenario: Scenario = "whole",
    spare: int | None = None,
    piece: int = PIECE,
) -> Room:
    """What a state takes; `spare` is two copies' worth if None. Raises `InvalidInput` for what cannot be meant."""
    if levels.peers or not 0 <= levels.slice <= levels.local <= num_wires:
        raise InvalidInput(f"a migrated state of {num_wires} wires with {levels}: slice ≤ local ≤ wires and no peers.")
    if levels.slice == levels.local < num_wires:
        raise InvalidInput(f"slices of {levels.slice} bits fill windows of {levels.local}: no other bit can come near.")
    if slots < 1 or (spare is not None and spare < 1):
        raise InvalidInput(f"slots={slots}, spare={spare}: at least one of each is wanted.")
    if scenario not in ("whole", "spread"):
        raise InvalidInput(f"scenario={scenario!r}: 'whole' or 'spread' is wanted.")
    slice_bits = min(levels.slice, max(0, (piece // dtype.itemsize).bit_length() - 1))
    at_once = min(max(1, piece // (dtype.itemsize << slice_bits)), 1 << levels.local - slice_bits)
    return Room(num_wires, levels, dtype, slots, scenario, 2 * at_once if spare is None else spare, slice_bits, piece)


@dataclass(eq=False)
class Memory:
    """The blocks.

    slots: buffers of 2^local amplitudes. host: one block for each 2^local amplitudes, so that no block is larger than
    a sub state vector; the last one may be shorter. kind: the worst kind among them (see `Copies.host_memory`).
    """

    slots: list[Buffer]
    scratch: Buffer
    host: list[Any]
    kind: str


def allocate(needed: Room, device: Any, allowed: tuple[int, int] | None = None) -> Memory:
    """All memory of a migrated state, or none of it.

    device: a `Device` that is a `Copies`. allowed: bytes of device and host that may be taken, in place of what is
    free. Raises `OutOfMemory` with the sum, before anything is allocated where that can be known.
    """
    _check(device)
    shared = 0
    if allowed is not None:
        free = allowed
    elif device.kind == "cpu":  # both lie in the same memory
        free, shared = (device.memory()[0],) * 2, needed.device_bytes
    else:
        free = device.memory()[0], host_free()
    if needed.device_bytes > free[0] or needed.host_bytes + shared > free[1]:
        raise OutOfMemory(f"{_sum(needed, device)}; {human(free[0])} and {human(free[1])} are free. {_ADVICE}")
    slots: list[Buffer] = []
    host: list[Any] = []
    kinds = set()
    size = 1 << needed.levels.local
    try:
        slots.extend(device.allocate(size, needed.dtype) for _ in range(needed.slots))
        scratch = device.allocate(needed.scratch << needed.slice, needed.dtype)
        for first in range(0, needed.host, needed.rows):
            count = min(needed.rows, needed.host - first)
            block, kind = device.host_memory(count << needed.slice, needed.dtype)
            host.append(block)
            kinds.add(kind)
    except (OutOfMemory, MemoryError) as error:
        scratch = None
        slots.clear()
        host.clear()
        raise OutOfMemory(f"{_sum(needed, device)}, and could not be had: {error}") from error
    kind = next((kind for kind in ("pageable", "plain", "pinned") if kind in kinds), "none")
    return Memory(slots, scratch, host, kind)


def _check(device: Any) -> None:
    if not isinstance(device, Copies):
        raise InvalidInput(f"{device.name} has no queues of copies, so no state can migrate to it.")


_ADVICE = "Use fewer wires, precision='single', fewer local bits, or the scenario 'spread'."


def _sum(needed: Room, device: Any) -> str:
    """The sum, for an error."""
    return (
        f"{needed.num_wires} wires in {needed.dtype.name} need {human(needed.device_bytes)} of {device.name} "
        f"({needed.slots} windows of {human(needed.rows * needed.slice_bytes)}) and {human(needed.host_bytes)} "
        f"of host memory ({needed.scenario})"
    )
