"""How the bits of an index are used: which wire sits on each, `Layout`, and which memory it divides, `Levels`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal


@dataclass(frozen=True, slots=True)
class Layout:
    """Which index bit each wire sits on, and which wires are stored inverted.

    address: ``address[wire]`` is the wire's index bit; a permutation of 0 … n − 1.
    flip: mask of index bits; a wire whose bit is in it is stored inverted (bit = wire value XOR 1).
    """

    address: tuple[int, ...]
    flip: int = 0

    @staticmethod
    @lru_cache(maxsize=64)
    def identity(num_wires: int) -> Layout:
        """Wire w on index bit w, nothing inverted."""
        return Layout(tuple(range(num_wires)))

    def __len__(self) -> int:
        return len(self.address)

    def wires(self) -> tuple[int, ...]:
        """The wire on each index bit: the wire ordering, least significant first."""
        order = [0] * len(self.address)
        for wire, bit in enumerate(self.address):
            order[bit] = wire
        return tuple(order)

    def index(self, value: int) -> int:
        """The amplitude's index at which the basis state `value` (bit w = wire w) is stored."""
        stored = 0
        for wire, bit in enumerate(self.address):
            stored |= (value >> wire & 1) << bit
        return stored ^ self.flip

    def is_identity(self) -> bool:
        """Whether the amplitudes lie in the order of the wires."""
        return self.flip == 0 and self.address == tuple(range(len(self.address)))


@dataclass(frozen=True, slots=True)
class Levels:
    """The memory hierarchy above the tile: how the n bits of an index are divided. `Levels(n)` is one device.

    Positions 0 … local − 1 are **local** bits, the next `peers` are **device** bits, all above are **migration** bits.
    local: index bits of one sub state vector, which lies in one piece in the memory of one device.
    peers: 2^peers devices of this process hold one sub state vector each at the same time.
    slice: the lowest bits, which are contiguous wherever amplitudes are copied, and always local; at most `local`.
    network: 'switch' (any two devices at full speed) or 'mesh' (each pair has a link of its own).
    """

    local: int
    peers: int = 0
    slice: int = 0
    network: Literal["switch", "mesh"] = "switch"
