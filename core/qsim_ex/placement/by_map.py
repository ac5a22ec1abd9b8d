"""Questions to a state in one piece whose wires are sums of index bits: no amplitude moves for them.

No plan leaves such a state (decision 0048); these are what is known of asking one, until it is decided whether plans
should.

An X-part flips the directions of its wires, a Z-part reads their parities, a marginal is a sum along directions. Shots
are drawn in the order of the wires as from any other state, so a seed means the same shots.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.circuit.ops import When
from qsim_ex.devices.base import Buffer, Device
from qsim_ex.steps.algebra import image
from qsim_ex.steps.index_map import IndexMap, images

_FEWEST = 6
"""The fewest wires that are drawn from amplitudes; their sums take less time than those of a marginal over them.

No row of `thresholds`, nor is the next, as long as no run comes here."""

_AT_ONCE = 1 << 20
"""The most amplitudes that are gathered at a time."""


def indices(found: IndexMap, values: NDArray[np.int64], wires: Sequence[int]) -> NDArray[np.int64]:
    """Return the indices at which basis values are stored; bit k of a value is wire ``wires[k]``, other wires are 0."""
    return images([found.directions[wire] for wire in wires], values) ^ np.int64(image(found.directions, found.flip))


def strings(found: IndexMap, x: int, zs: Sequence[int]) -> tuple[int, list[int], list[int]]:
    """Return a mask x and masks z of wires as masks of index bits, and the sign of each string."""
    signs = [-1 if (found.flip & z).bit_count() & 1 else 1 for z in zs]
    return image(found.directions, x), [image(found.parities, z) for z in zs], signs


def marginal(device: Device, buffer: Buffer, found: IndexMap, wires: Sequence[int], when: When) -> NDArray[np.float64]:
    """Return Σ |amplitude|² for each value of `wires`, over the basis values at which `when` (on wires) holds."""
    others = [wire for wire in range(len(found)) if wire not in wires and not when.mask >> wire & 1]
    along, rest = ([found.directions[wire] for wire in chosen] for chosen in (wires, others))
    return device.marginal_along(buffer, image(found.directions, when.value ^ found.flip), along, rest)


def searched_bits(num_wires: int) -> int:
    """Return how many of the lowest wires are drawn from amplitudes: those that one marginal leaves."""
    return min(num_wires, max(_FEWEST, num_wires - thresholds.now.marginal_wires), 2 * _FEWEST)


def search(
    device: Device,
    buffer: Buffer,
    found: IndexMap,
    wires: Sequence[int],
    prefixes: NDArray[np.int64],
    runs: NDArray[np.int64],
    targets: NDArray[np.float64],
) -> NDArray[np.int64]:
    """Return for each target the value of the lowest wires that it falls on behind its prefix; see `Device.search`."""
    values, out = np.arange(1 << len(wires)), np.empty(len(targets), dtype=np.int64)
    runs, some = np.asarray(runs), max(1, _AT_ONCE >> len(wires))
    for first in range(0, len(prefixes), some):
        bases = indices(found, prefixes[first : first + some], range(len(found)))
        places = bases[:, None] ^ images([found.directions[wire] for wire in wires], values)
        amplitudes = device.gather(buffer, places.reshape(-1)).astype(np.complex128)
        ends = np.cumsum((amplitudes.real**2 + amplitudes.imag**2).reshape(places.shape), axis=1)
        here = slice(int(runs[first]), int(runs[first + len(bases)]))
        rows = np.repeat(np.arange(len(bases)), np.diff(runs[first : first + len(bases) + 1]))
        out[here] = _fallen(ends, rows, targets[here])
    return out


def _fallen(ends: NDArray[np.float64], rows: NDArray[np.int64], targets: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return where each target falls on the running sums of its row, by bisection of all targets at once."""
    below = np.minimum(targets, np.nextafter(ends[rows, -1], -1))
    found = np.zeros(len(rows), dtype=np.int64)
    step = ends.shape[1] >> 1
    while step:
        found += step * (ends[rows, found + step - 1] <= below)
        step >>= 1
    return found
