"""Amplitudes in and out of matrices: rows are values of some bits, columns are all other bits.

Columns are named by *bases*, the indices at which all row bits are 0; row r is `offsets[r]` further on. The work is
done by `core/native/kernels/blocks.cpp`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qsim_ex.kernels.cpu.pool import in_ranges
from qsim_ex.native.library import address, function, unchecked
from qsim_ex.precision import BY_DTYPE, Amplitudes

Places = NDArray[np.int64]


def bases(free: int, fixed: int, first: int, count: int) -> Places:
    """Return indices number `first`, `first` + 1, … that are `fixed` plus any value of the bits in `free`."""
    out = np.empty(count, dtype=np.int64)
    function("bases")(free, fixed, first, address(out), count)
    return out


def gather(state: Amplitudes, offsets: Places, columns: Places, threads: int) -> Amplitudes:
    """Return ``out[r, c] = state[offsets[r] + columns[c]]``."""
    out = np.empty((len(offsets), len(columns)), dtype=state.dtype)
    given = address(offsets), len(offsets), address(columns), address(out)
    _share("gather", state, given, len(columns), len(offsets), threads)
    return out


def scatter(state: Amplitudes, offsets: Places, columns: Places, values: Amplitudes, threads: int) -> None:
    """Set ``state[offsets[r] + columns[c]] = values[r, c]``."""
    assert values.dtype == state.dtype
    given = address(offsets), len(offsets), address(columns), address(values)
    _share("scatter", state, given, len(columns), len(offsets), threads)


def spread(
    state: Amplitudes, offsets: Places, held: int, columns: Places, amplitudes: Amplitudes, threads: int
) -> None:
    """Set every row to its amplitude times row `held`."""
    assert amplitudes.dtype == state.dtype
    given = address(offsets), len(offsets), int(offsets[held]), address(columns), address(amplitudes)
    _share("spread", state, given, len(columns), len(offsets), threads)


def scale(state: Amplitudes, mask: int, value: int, inside: float, outside: float, threads: int) -> None:
    """Multiply amplitudes by `inside` where bits under `mask` are `value`, else by `outside`."""
    _share("scale", state, (mask, value, inside, outside), state.size, 1, threads)


def clear(state: Amplitudes, mask: int, threads: int) -> None:
    """Write zeros to the amplitudes at which a bit under `mask` is 1."""
    _share("clear_bits", state, (mask,), state.size, 1, threads)


def exchange(state: Amplitudes, columns: Places, here: int, there: int, threads: int) -> None:
    """Exchange the amplitudes at column + `here` and at column + `there`."""
    _share("exchange", state, (address(columns), here, there), len(columns), 2, threads)


def permute_tiles(state: Amplitudes, tile: Places, sources: Places, flip: int, free: int, threads: int) -> None:
    """Move bits inside tiles: new bit k is old bit ``sources[k]``, XOR bit k of `flip`.

    tile: index bits of a tile, ascending, which are numbered in this order; free: mask of all others.
    """
    given = address(tile), address(sources), len(tile), flip, free
    _share("permute_tiles", state, given, state.size >> len(tile), 1 << len(tile), threads)


def _share(name: str, state: Amplitudes, given: tuple[object, ...], size: int, each: int, threads: int) -> None:
    """Call a native function on amplitudes: `size` items of `each` amplitudes; given: its other arguments."""
    before = address(state), BY_DTYPE[state.dtype].storage.native_single
    in_ranges(unchecked(name), *before, *given, size=size, each=each, threads=threads)
