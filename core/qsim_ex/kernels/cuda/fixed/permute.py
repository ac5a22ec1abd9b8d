"""Moving the index bits of a state in place, in passes over tiles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from qsim_ex.circuit.ops import wires_of
from qsim_ex.kernels.cuda.fixed.fixed import THREADS, bits_of, launch
from qsim_ex.kernels.cuda.runtime import Array, ByValue, Runtime
from qsim_ex.precision import BY_DTYPE


def permute(runtime: Runtime, buffer: Array, num_bits: int, sources: Sequence[int], flip: int) -> None:
    """Move index bits in place; a few passes over memory, no workspace."""
    precision = BY_DTYPE[buffer.dtype]
    capacity = min(num_bits, precision.geometry.tile_bits)
    for tile, moved, flipped in passes(num_bits, sources, flip, capacity):
        raw = np.zeros(12, dtype=np.uint8)
        raw[: len(tile)] = [tile.index(moved.get(bit, bit)) for bit in tile]
        mask = sum(1 << bit for bit in tile)
        change = np.uint32(sum(1 << k for k, bit in enumerate(tile) if flipped >> bit & 1))
        blocks, threads = 1 << num_bits - len(tile), min(THREADS, 1 << len(tile))
        launch(runtime, "permute", precision, blocks, threads, buffer, bits_of(tile), mask, ByValue(raw), change)


def passes(
    num_bits: int, sources: Sequence[int], flip: int, capacity: int
) -> list[tuple[tuple[int, ...], dict[int, int], int]]:
    """Split a permutation of index bits into passes within tiles: (tile, source of each moved bit, flips).

    A cycle too long for one tile is split into shorter ones that share a bit. Bits are flipped in the last pass.
    """
    low = min(4, capacity - 2) if num_bits > capacity else 0
    room = capacity - low
    pieces = [piece for cycle in _cycles(sources) for piece in _cut(cycle, room)]
    found: list[tuple[tuple[int, ...], dict[int, int], int]] = []
    current: dict[int, int] = {}
    for piece in pieces:
        source = {bit: piece[(k + 1) % len(piece)] for k, bit in enumerate(piece)}
        if set(source) & set(current) or _outside(low, {**current, **source}) > room:
            found.append((_tile(num_bits, capacity, current), current, 0))
            current = {}
        current |= source
    if current:
        found.append((_tile(num_bits, capacity, current), current, 0))
    left = flip
    if found:  # the last pass also flips bits of its tile
        tile, moved, _ = found.pop()
        inside = sum(1 << bit for bit in tile)
        found.append((tile, moved, flip & inside))
        left = flip & ~inside
    while left:
        bits = wires_of(left)[:room]
        tile = _tile(num_bits, capacity, dict.fromkeys(bits, 0))
        inside = sum(1 << bit for bit in tile)
        found.append((tile, {}, left & inside))
        left &= ~inside
    return found


def _outside(low: int, bits: dict[int, int]) -> int:
    return sum(bit >= low for bit in bits)


def _tile(num_bits: int, capacity: int, bits: dict[int, int]) -> tuple[int, ...]:
    """Return a tile that holds some bits and otherwise the lowest."""
    others = [bit for bit in range(num_bits) if bit not in bits]
    return tuple(sorted([*bits, *others[: capacity - len(bits)]]))


def _cycles(sources: Sequence[int]) -> list[list[int]]:
    """Return the cycles of a permutation: each bit is followed by its source."""
    left = {bit for bit, source in enumerate(sources) if bit != source}
    cycles = []
    while left:
        bit = min(left)
        cycle = []
        while bit in left:
            left.remove(bit)
            cycle.append(bit)
            bit = sources[bit]
        cycles.append(cycle)
    return cycles


def _cut(cycle: list[int], most: int) -> list[list[int]]:
    """Return a cycle as shorter ones, to be run in this order.

    In (c0 c1 … cL) each bit takes its successor's value. Running (c0 … cm) first leaves the old c0 at cm; the cycle
    (cm … cL) then gives every later bit its successor's value, and cL that of the old c0.
    """
    pieces = []
    while len(cycle) > most:
        pieces.append(cycle[:most])
        cycle = cycle[most - 1 :]
    return [*pieces, cycle]
