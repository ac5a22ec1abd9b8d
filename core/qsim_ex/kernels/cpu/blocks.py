"""Amplitudes in and out of matrices: rows are values of some bits, columns are all other bits.

Columns are named by *bases*, the indices at which all row bits are 0; row r is `offsets[r]` further on. The work is
done by `core/native/blocks.cpp`; functions that return work let threads share it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex.native.arguments import address
from qsim_ex.native.library import function

Buffer = NDArray[np.complexfloating[Any, Any]]
Places = NDArray[np.int64]
Work = Callable[[int, int], object]

_functions = lru_cache(maxsize=16)(function)


def bases(free: int, fixed: int, first: int, count: int) -> Places:
    """Return indices number `first`, `first` + 1, … that are `fixed` plus any value of the bits in `free`."""
    out = np.empty(count, dtype=np.int64)
    _functions("bases", "iiipi")(free, fixed, first, address(out), count)
    return out


def gather(state: Buffer, offsets: Places, columns: Places, out: Buffer) -> Work:
    """Return the work that sets ``out[r, c] = state[offsets[r] + columns[c]]`` for a range of c."""
    return _moved("gather", state, offsets, columns, out)


def scatter(state: Buffer, offsets: Places, columns: Places, values: Buffer) -> Work:
    """Return the work that sets ``state[offsets[r] + columns[c]] = values[r, c]`` for a range of c."""
    return _moved("scatter", state, offsets, columns, values)


def _moved(name: str, state: Buffer, offsets: Places, columns: Places, values: Buffer) -> Work:
    assert state.dtype == values.dtype
    call, rows, stride = _functions(name, "pipipipi"), len(offsets), values.shape[1]
    a, b, c, d, single = address(state), address(offsets), address(columns), address(values), _single(state)

    def work(first: int, last: int) -> None:
        call(a, single, b, rows, c + 8 * first, last - first, d + state.itemsize * first, stride)

    return work


def spread(state: Buffer, offsets: Places, held: int, columns: Places, amplitudes: Buffer) -> Work:
    """Return the work that sets every row to its amplitude times row `held`, for a range of columns."""
    assert state.dtype == amplitudes.dtype
    call, rows, begin = _functions("spread", "pipiipip"), len(offsets), int(offsets[held])
    a, b, c, d, single = address(state), address(offsets), address(columns), address(amplitudes), _single(state)
    return lambda first, last: call(a, single, b, rows, begin, c + 8 * first, last - first, d)


def scale(state: Buffer, mask: int, value: int, inside: float, outside: float) -> Work:
    """Return the work that multiplies amplitudes by `inside` where bits under `mask` are `value`, else by `outside`."""
    call, at, single = _functions("scale", "piiiddii"), address(state), _single(state)
    return lambda first, last: call(at, single, mask, value, inside, outside, first, last)


def clear(state: Buffer, mask: int) -> Work:
    """Return the work that writes zeros to the amplitudes at which a bit under `mask` is 1."""
    call, at, single = _functions("clear", "piiii"), address(state), _single(state)
    return lambda first, last: call(at, single, mask, first, last)


def exchange(state: Buffer, columns: Places, here: int, there: int) -> Work:
    """Return the work that exchanges the amplitudes at column + `here` and at column + `there`."""
    call, at, of, single = _functions("exchange", "pipiii"), address(state), address(columns), _single(state)
    return lambda first, last: call(at, single, of + 8 * first, last - first, here, there)


def permute_tiles(state: Buffer, tile: Places, sources: Places, flip: int, free: int) -> Work:
    """Return the work that moves bits inside tiles: new bit k is old bit ``sources[k]``, XOR bit k of `flip`.

    tile: index bits of a tile, ascending, which are numbered in this order; free: mask of all others.
    """
    call, at, single = _functions("permute_tiles", "pippiiiii"), address(state), _single(state)
    bits, origin, count, kept = address(tile), address(sources), len(tile), (tile, sources)

    def work(first: int, last: int, kept: Any = kept) -> None:  # noqa: ARG001  (alive as long as the work)
        call(at, single, bits, origin, count, flip, free, first, last)

    return work


def _single(state: Buffer) -> bool:
    return state.dtype == np.complex64
