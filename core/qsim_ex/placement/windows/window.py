"""Windows: which index bits are near during a pass over a migrated state, the slices of a window, and their memory.

A window holds 2^local amplitudes, in rows of one slice each. The positions of an index, as steps see it, and the index
bits at home are two numberings of the same n bits; `Window` translates.

A `WindowPass` is the part of a permutation of index bits that one pass can do: bits of a slice's number change by
renumbering slices; bits inside slices are permuted on the device while the bits that have to come inside are near.

`MigratedMemory` is the memory of a state in windows, computed before it is allocated; `WindowMemory` has the blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.devices.base import Buffer, Copies
from qsim_ex.devices.memory import memory_of_host
from qsim_ex.display.amounts import human
from qsim_ex.errors import InvalidInput, OutOfMemory, PlanError
from qsim_ex.placement.index_bits import completed, move_bits
from qsim_ex.precision import STORAGE, AmplitudeDtype
from qsim_ex.steps.layout import Layout, Levels

Index = NDArray[np.int64]

Scenario = Literal["whole", "spread"]


@dataclass(frozen=True)
class Window:
    """The near bits of one pass.

    bits: the index bit at home of each position, as in `steps.Migration`; those from `local` up are far, and their
        value, `high` of a step, is the number of a window.
    local: positions of a window. slice: the lowest positions, which are the same at home.
    Raises `PlanError` where the slice would not stay in one piece.
    """

    bits: tuple[int, ...]
    local: int
    slice: int

    def __post_init__(self) -> None:
        n = len(self.bits)
        if sorted(self.bits) != list(range(n)) or self.bits[: self.slice] != tuple(range(min(self.slice, n))):
            raise PlanError(f"expected a permutation that keeps {self.slice} low bits, got a window of {self.bits}.")

    @cached_property
    def position(self) -> tuple[int, ...]:
        """The position of each index bit."""
        out = [0] * len(self.bits)
        for position, bit in enumerate(self.bits):
            out[bit] = position
        return tuple(out)

    @cached_property
    def far(self) -> int:
        """The number of far positions."""
        return len(self.bits) - self.local

    @cached_property
    def slices(self) -> Index:
        """The slice in each row of each window, int64 [2^far, 2^(local − slice)]."""
        numbers = np.arange(1 << len(self.bits) - self.slice, dtype=np.int64)
        return move_bits(numbers, [bit - self.slice for bit in self.bits[self.slice :]]).reshape(1 << self.far, -1)

    @cached_property
    def places(self) -> Index:
        """The place of each slice in `slices`: the row in its window, and above that the window."""
        places = np.empty(self.slices.size, dtype=np.int64)
        places[self.slices.reshape(-1)] = np.arange(self.slices.size)
        return places

    def windows_and_rows(self, slices: Index) -> tuple[Index, Index]:
        """Return the window that each slice belongs to, and its row there."""
        return np.divmod(self.places[slices], self.slices.shape[1])

    def positions(self, homes: int) -> int:
        """Return a mask of index bits as a mask of positions."""
        return sum(1 << p for p, bit in enumerate(self.bits) if homes >> bit & 1)

    def homes(self, positions: int) -> int:
        """Return a mask of positions as a mask of index bits."""
        return sum(1 << bit for p, bit in enumerate(self.bits) if positions >> p & 1)

    def layout(self, home: Layout) -> Layout:
        """Return the layout of the wires during the pass."""
        return Layout(tuple(self.position[bit] for bit in home.address), self.positions(home.flip))

    def bringing(self, wanted: Sequence[int]) -> Window:
        """Return this window with the index bits `wanted` near, in the places of bits that are not in `wanted`.

        The highest positions are given up first, since long rows are copied in one piece.
        """
        bits = list(self.bits)
        free = [p for p in range(self.local - 1, self.slice - 1, -1) if bits[p] not in wanted]
        coming = [p for p in range(self.local, len(bits)) if bits[p] in wanted]
        for place, position in zip(free, coming, strict=False):
            bits[place], bits[position] = bits[position], bits[place]
        if len(coming) > len(free):
            raise PlanError(
                f"index bits {list(wanted)} do not fit in windows of {self.local} bits beside {self.slice} slice bits."
            )
        return Window((*bits[: self.local], *sorted(bits[self.local :])), self.local, self.slice)


# --- permutations of index bits --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WindowPass:
    """One pass of a permutation of index bits.

    window: the near bits. moves, flip: for `Device.permute` on each window. came: for each moved index bit, the index
    bit that has its content afterwards. left: the remaining permutation, as `sources` of `turn`.
    """

    window: Window
    moves: tuple[int, ...]
    flip: int
    came: dict[int, int]
    left: tuple[int, ...]

    def mask(self, bits: int) -> int:
        """Return a mask of index bits as it is after the pass."""
        return sum(1 << self.came.get(bit, bit) for bit in range(len(self.left)) if bits >> bit & 1)


def turn(window: Window, sources: Sequence[int], flip: int) -> WindowPass | None:
    """Return the next pass towards a state in which bit k below the slice is bit ``sources[k]``, XOR bit k of `flip`.

    window: the current near bits. None if nothing is left to do inside slices.
    """
    inside, local = window.slice, window.local
    if not flip and all(sources[bit] == bit for bit in range(inside)):
        return None
    coming = [source for source in sources[:inside] if source >= inside]
    window = window.bringing(coming[: local - inside])
    wanted = {bit: window.position[sources[bit]] for bit in range(inside)}
    moves = completed({bit: position for bit, position in wanted.items() if position < local}, local)
    came = {window.bits[source]: window.bits[position] for position, source in enumerate(moves)}
    left = tuple(came.get(source, source) for source in sources)
    last = all(left[bit] == bit for bit in range(inside))
    return WindowPass(window, moves, flip if last else 0, came, left)


# --- memory ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MigratedMemory:
    """The memory that a migrated state of 2^num_wires amplitudes takes.

    slots: windows of 2^local amplitudes on the device. scenario: 'whole', the host has a place for every slice, or
    'spread', it has places for the slices that are not in the slots and for `spare` more.
    slice: the bits of one slice; at most `Levels.slice`, and few enough for a slice to be one copy.
    slice_bytes: bytes of a slice. piece: most bytes in one copy.
    """

    num_wires: int
    levels: Levels
    dtype: AmplitudeDtype
    slots: int
    scenario: Scenario
    spare: int
    slice: int
    piece: int
    slice_bytes: int

    @property
    def rows(self) -> int:
        """The number of slices in a slot."""
        return 1 << self.levels.local - self.slice

    @property
    def host(self) -> int:
        """The number of slices on the host."""
        slices = 1 << self.num_wires - self.slice
        return slices if self.scenario == "whole" else max(0, slices - self.slots * self.rows) + self.spare

    @property
    def blocks(self) -> list[int]:
        """The number of slices in each block of memory of the host, which has no more of them than a slot."""
        rows, slices = self.rows, self.host
        return [min(rows, slices - first) for first in range(0, slices, rows)]

    @property
    def scratch(self) -> int:
        """The number of slices beside the slots, where slices wait while they trade places."""
        return min(max(1, self.piece // self.slice_bytes), self.rows)

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
    dtype: AmplitudeDtype,
    *,
    slots: int = 3,
    scenario: Scenario = "whole",
    spare: int | None = None,
    piece: int | None = None,
) -> MigratedMemory:
    """Return the memory of a state; `spare` is two copies' worth if None.

    Raises `InvalidInput` for arguments that contradict each other.
    """
    if levels.peers or not 0 <= levels.slice <= levels.local <= num_wires:
        raise InvalidInput(f"expected slice <= local <= {num_wires} wires and no peers, got {levels}.")
    if levels.slice == levels.local < num_wires:
        raise InvalidInput(f"expected slices of fewer bits than the window's {levels.local}, got {levels.slice}.")
    if slots < 1 or (spare is not None and spare < 1):
        raise InvalidInput(f"expected slots >= 1 and spare >= 1, got slots={slots}, spare={spare}.")
    if scenario not in ("whole", "spread"):
        raise InvalidInput(f"expected scenario 'whole' or 'spread', got {scenario!r}.")
    storage, piece = STORAGE[dtype], thresholds.now.window_piece if piece is None else piece
    slice_bits = min(levels.slice, max(0, storage.count(piece).bit_length() - 1))
    slice_bytes = storage.nbytes(1 << slice_bits)
    at_once = min(max(1, piece // slice_bytes), 1 << levels.local - slice_bits)
    spare = 2 * at_once if spare is None else spare
    return MigratedMemory(num_wires, levels, dtype, slots, scenario, spare, slice_bits, piece, slice_bytes)


@dataclass(eq=False)
class WindowMemory:
    """The allocated blocks of a migrated state.

    slots: buffers of 2^local amplitudes. host: one block for each 2^local amplitudes, so that no block is larger than
    a sub state vector; the last one may be shorter. kind: the worst kind among them (see `Copies.host_memory`).
    """

    slots: list[Buffer]
    scratch: Buffer
    host: list[Any]
    kind: str


def allocate(needed: MigratedMemory, device: Any, allowed: tuple[int, int] | None = None) -> WindowMemory:
    """Allocate all memory of a migrated state, or none of it.

    device: a `Device` that is a `Copies`. allowed: bytes of device and host that may be used, in place of the free
    bytes. Raises `OutOfMemory` with the sum, before anything is allocated where that can be known.
    """
    _check(device)
    shared = 0
    if allowed is not None:
        free = allowed
    elif device.in_host_memory:  # both lie in the same memory
        shared, unasked = needed.device_bytes, thresholds.now.unasked_bytes
        free = (unasked if shared + needed.host_bytes <= unasked else device.memory()[0],) * 2
    else:
        free = device.memory()[0], memory_of_host()[0]
    if needed.device_bytes > free[0] or needed.host_bytes + shared > free[1]:
        raise OutOfMemory(f"{_sum(needed, device)}; {human(free[0])} and {human(free[1])} are free. {_ADVICE}")
    size, counts, blocks = 1 << needed.levels.local, needed.blocks, list[tuple[Any, str]]()
    slots: list[Buffer] = []
    try:
        slots += [device.allocate(size, needed.dtype) for _ in range(needed.slots)]
        scratch = device.allocate(needed.scratch << needed.slice, needed.dtype)
        blocks += [device.host_memory(count << needed.slice, needed.dtype) for count in counts]
    except (OutOfMemory, MemoryError) as error:
        scratch = None
        slots.clear()
        raise OutOfMemory(f"{_sum(needed, device)}, which could not be allocated: {error}") from error
    host, kinds = [block for block, _ in blocks], {kind for _, kind in blocks}
    worst = next((kind for kind in ("pageable", "plain", "pinned") if kind in kinds), "none")
    return WindowMemory(slots, scratch, host, worst)


def _check(device: Any) -> None:
    if not isinstance(device, Copies):
        raise InvalidInput(f"{device.name} has no queues of copies, so no state can migrate to it. Use another device.")


_ADVICE = "Use fewer wires, precision='single', fewer local bits, or the scenario 'spread'."


def _sum(needed: MigratedMemory, device: Any) -> str:
    """Return the sum of the memory, for an error."""
    return (
        f"{needed.num_wires} wires in {needed.dtype.name} need {human(needed.device_bytes)} of {device.name} "
        f"({needed.slots} windows of {human(needed.rows * needed.slice_bytes)}) and {human(needed.host_bytes)} "
        f"of host memory ({needed.scenario})"
    )
