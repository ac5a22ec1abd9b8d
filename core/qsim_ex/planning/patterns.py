"""Properties of matrices that follow from the classes of their entries alone. Every function is pure and cached."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import Entry, Pattern

_TRIVIAL = bytes([Entry.ZERO, Entry.ONE])
_ZERO = bytes([Entry.ZERO])
_RENAMED = (bytes([Entry.ONE]), bytes([Entry.MINUS_ONE]))
_WORK = {Entry.ZERO: 0, Entry.ONE: 2, Entry.MINUS_ONE: 2, Entry.REAL: 2, Entry.IMAG: 2, Entry.COMPLEX: 4}
"""Multiply-adds (or adds) per amplitude for one entry, as part of a row with other entries."""


def _times(a: int, b: int) -> int:
    if Entry.ZERO in (a, b):
        return Entry.ZERO
    if a == Entry.ONE:
        return b
    if b == Entry.ONE:
        return a
    if Entry.COMPLEX in (a, b):
        return Entry.COMPLEX
    if a == b == Entry.MINUS_ONE:
        return Entry.ONE
    return Entry.IMAG if (a == Entry.IMAG) != (b == Entry.IMAG) else Entry.REAL


def _plus(a: int, b: int) -> int:
    if a == Entry.ZERO:
        return b
    if b == Entry.ZERO:
        return a
    if Entry.COMPLEX in (a, b) or (a == Entry.IMAG) != (b == Entry.IMAG):
        return Entry.COMPLEX
    return Entry.IMAG if a == Entry.IMAG else Entry.REAL


@lru_cache(maxsize=4096)
def product(left: Pattern, right: Pattern, blocks: int) -> Pattern:
    """Return the pattern of left · right, block by block, for patterns of `blocks` square matrices."""
    size = round((len(left) // blocks) ** 0.5)
    out = bytearray()
    for b in range(blocks):
        base = b * size * size
        for i in range(size):
            for j in range(size):
                total: int = Entry.ZERO
                for k in range(size):
                    total = _plus(total, _times(left[base + i * size + k], right[base + k * size + j]))
                out.append(total)
    return bytes(out)


@lru_cache(maxsize=4096)
def elementwise(patterns: tuple[Pattern, ...]) -> Pattern:
    """Return the pattern of a product of tables, entry by entry."""
    out = np.frombuffer(patterns[0], dtype=np.uint8)
    for other in patterns[1:]:
        out = _TIMES.take(out * np.uint8(_CLASSES) + np.frombuffer(other, dtype=np.uint8))
    return out.tobytes()


_CLASSES = len(Entry)
_TIMES = np.array([_times(a, b) for a in range(_CLASSES) for b in range(_CLASSES)], dtype=np.uint8)
"""The class of a·b at place 6a + b."""


@lru_cache(maxsize=4096)
def mix_work(of: Pattern, size: int) -> float:
    """Return the multiply-adds per amplitude of a matrix [blocks, size, size]; a row with one ±1 is a renaming."""
    total = 0
    for start in range(0, len(of), size):
        row = of[start : start + size].translate(None, _ZERO)
        total += 0 if row in _RENAMED else _work(row)
    return total * size / len(of)


@lru_cache(maxsize=4096)
def diagonal_work(of: Pattern) -> float:
    """Return the multiply-adds per amplitude of a table of phases; a factor of 1 costs nothing."""
    return (_work(of) - _WORK[Entry.ONE] * of.count(Entry.ONE)) / len(of)


def _work(entries: Pattern) -> int:
    """Return the multiply-adds of some entries; counted by class, since a table has a thousand entries."""
    return sum([work * entries.count(entry) for entry, work in _WORK.items()])


@lru_cache(maxsize=4096)
def renaming(of: Pattern, size: int) -> tuple[int, ...] | None:
    """Return where each value moves to, if there is one matrix [size, size] and it holds zeros and ones alone."""
    if len(of) != size * size or of.strip(_TRIVIAL):
        return None
    grid = np.frombuffer(of, dtype=np.uint8).reshape(size, size)
    return tuple(int(r) for r in grid.argmax(axis=0))


class Relabeling(NamedTuple):
    """An operation that is a relabelling of wires followed by phases.

    source: new bit j of the mixed value is old bit ``source[j]``, XOR bit j of `flip`.
    phases: entry numbers of the diagonal, in the order of the new value, for each block [blocks, size].
    trivial: whether all those phases are 1.
    """

    source: tuple[int, ...]
    flip: int
    phases: NDArray[np.int64]
    trivial: bool


@lru_cache(maxsize=4096)
def relabeling(of: Pattern, size: int) -> Relabeling | None:
    """Read a pattern as SWAPs and Xs followed by phases; None if it is not, or differs between blocks."""
    grid = np.frombuffer(of, dtype=np.uint8).reshape(-1, size, size)
    used = grid != Entry.ZERO
    if not ((used.sum(axis=1) == 1).all() and (used.sum(axis=2) == 1).all() and (used == used[0]).all()):
        return None
    column = used[0].argmax(axis=1)  # column[row]: the old value that arrives at `row`
    moved = affine(tuple(int(r) for r in np.argsort(column)))
    if moved is None:
        return None
    rows = np.arange(size)
    phases = (np.arange(len(grid))[:, None] * size + rows) * size + column
    trivial = bool((grid[:, rows, column] == Entry.ONE).all())
    return Relabeling(moved[0], moved[1], phases, trivial)


@lru_cache(maxsize=4096)
def affine(to: tuple[int, ...]) -> tuple[tuple[int, ...], int] | None:
    """Return x ↦ ``to[x]`` as bits and a flip, if it is that: new bit j = old bit source[j] XOR flip's bit j."""
    bits = (len(to) - 1).bit_length()
    flip = to[0]
    images = [to[1 << k] ^ flip for k in range(bits)]
    if any(image.bit_count() != 1 for image in images):
        return None
    source = [0] * bits
    for k, image in enumerate(images):
        source[image.bit_length() - 1] = k
    for x, image in enumerate(to):
        if image ^ flip != sum((x >> k & 1) << j for j, k in enumerate(source)):
            return None
    return tuple(source), flip
