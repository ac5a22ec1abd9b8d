"""Shots: basis values drawn from |amplitude|², the same for a seed on every device and in every layout.

Shot k owns one number u_k in [0, 1). It is the basis value v with CDF(v − 1) ≤ u_k·norm < CDF(v), where the CDF
runs over the values in increasing order (the highest wire first), never in the order of memory. The CDF is never
computed as a whole: the highest wires are drawn from their marginal, and the other wires are read only where shots
fall, so memory is read about once for any number of shots. What is counted one by one is native (kernels/shots.cpp).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.circuit.ops import When
from qsim_ex.devices.drawing import Drawing, DrawsShots
from qsim_ex.errors import StateError
from qsim_ex.kernels import host
from qsim_ex.kernels.cpu import pool
from qsim_ex.native.library import address, function
from qsim_ex.placement.base import Placement, States

Floats = NDArray[np.float64]
Values = NDArray[np.int64]
Seeds = NDArray[np.uint64]
Check = Callable[[float], object]  # called with a squared norm

STEP = 4
"""Random numbers in one step of the generator's counter; shots are divided at multiples of it."""

MOST_THREADS = 16
"""The most threads that work on the shots of one state if the options give no number."""

_begun: WeakKeyDictionary[Placement, Drawing] = WeakKeyDictionary()
"""The sums that `begin` has queued, by the state."""

BYTES_PER_SHOT = 64
"""The bytes of host memory that drawing takes for each shot: its number, its value, and some orders of them."""


def uniforms(seed: int, instruction: int, count: int) -> Floats:
    """Return a number in [0, 1) for each shot, from Philox (Salmon et al., SC 2011) keyed by (seed, instruction)."""
    out = np.empty(count, dtype=np.float64)
    if count:
        keys = np.array((seed, instruction), dtype=np.uint64)
        given = address(keys), address(keys[1:]), 0, address(out), count
        pool.in_ranges(function("philox_fill"), *given, size=1, each=2 * count, threads=1)
    return out


def uniforms_of(
    seeds: Sequence[int] | Seeds, keys: int | Seeds, count: int, threads: int = 1, first: int = 0
) -> Floats:
    """Return the numbers of generators with keys (seed, key), float64 [seeds, count]; computed on `threads` threads.

    They are those of NumPy's Philox (core/native/base/philox.cpp), without an object for each key. keys: one for all
    seeds, or one for each. first: the number of the first one, a multiple of `STEP`.
    """
    out = np.empty((len(seeds), count), dtype=np.float64)
    if out.size:
        seeded = np.ascontiguousarray(seeds, dtype=np.uint64)
        keyed = np.ascontiguousarray(np.broadcast_to(np.asarray(keys, dtype=np.uint64), seeded.shape))
        given = address(seeded), address(keyed), first // STEP, address(out), count
        pool.in_ranges(function("philox_fill"), *given, size=len(seeded), each=2 * count, threads=threads)
    return out


def threads_for(wanted: int | None) -> int:
    """Return the number of threads that work on shots: the number given, or about the number of cores."""
    return min(MOST_THREADS, host.cores()) if wanted is None else wanted


def begin(placement: Placement, shots: int) -> None:
    """Queue the sums that shots are drawn from, if these are asked of the state next, before it changes."""
    if (drawing := drawing_of(placement, shots)) is not None:
        _begun[placement] = drawing


def drawing_of(placement: Placement, shots: int) -> Drawing | None:
    """Return what draws the shots of a state at once; None if its devices cannot do so."""
    device = getattr(placement, "device", None)
    if not isinstance(device, DrawsShots) or placement.planning_levels is not None or shots > device.most_drawn:
        return None
    if (begun := _begun.pop(placement, None)) is not None:
        return begun
    (near,) = placement.visit_one(0)  # all amplitudes of a state in one piece
    return device.weigh(near.buffer, near.layout.address, near.layout.flip)


def draw(placement: Placement, numbers: Floats, check: Check | None = None, threads: int = 1) -> Values:
    """Return the basis value of each shot, int64 [shots], bit w = wire w; raises `StateError` for a state of norm 0.

    numbers: the shots' numbers in [0, 1). check: called with the state's squared norm, a by-product of drawing; an
    exception that it raises ends the drawing. threads: the number of CPU threads that work on many shots.
    """
    return _of(placement, len(numbers), lambda: numbers, check, threads)


def draw_seeded(
    placement: Placement, seed: int, instruction: int, shots: int, check: Check | None = None, threads: int = 1
) -> Values:
    """Return what `draw` does for `uniforms` of a seed; these are made while a device adds up amplitudes."""
    return _of(placement, shots, lambda: uniforms(seed, instruction, shots), check, threads)


def _of(placement: Placement, shots: int, given: Callable[[], Floats], check: Check | None, threads: int) -> Values:
    if not shots:
        return np.zeros(0, dtype=np.int64)
    drawing, numbers = drawing_of(placement, shots), given()
    # Ascending, so that shots of one prefix stand together, and memory is walked through once.
    order, values = _ascending(numbers, threads), np.empty(shots, dtype=np.int64)
    if drawing is None:
        values[order] = _draw(placement, numbers[order], check, threads)
        return values
    values[order], norm = drawing(numbers[order])
    require_norm(norm)
    if check is not None:
        check(norm)
    return values


def _ascending(numbers: Floats, threads: int) -> Values:
    """Return the order in which numbers in [0, 1) ascend, by their first 32 bits; each thread sorts one range."""
    numbers = np.ascontiguousarray(numbers)
    parts = min(threads, len(numbers) // thresholds.now.sorted_shots, 256)
    if parts < 2:
        return ascending(numbers)
    part_of = (numbers * parts).astype(np.uint8)
    orders: dict[int, Values] = {}

    def sort(part: int) -> None:
        mine = np.flatnonzero(part_of == part)
        orders[part] = mine[ascending(numbers[mine])]

    pool.share(sort, parts, threads)
    return np.concatenate([orders[part] for part in range(parts)])


def _draw(placement: Placement, numbers: Floats, check: Check | None, threads: int) -> Values:
    """Draw as `draw` does, for numbers that about ascend."""
    n, most = placement.num_wires, placement.marginal_wires
    high = n - placement.searched_bits(len(numbers))  # wires that are drawn by marginals; the others by amplitudes
    first = high if high <= most else (high - 1) % most + 1
    weights = placement.marginal(range(n - first, n))
    norm = norm_of(weights)
    if check is not None:
        check(norm)
    values, rest = choose_on(weights, numbers * norm, threads)
    for below in range(n - first, n - high, -most):
        values, rest = _by_marginals(placement, values, rest, below, most)
    if high < n:
        values = _by_amplitudes(placement, values, rest, n - high)
    return values


def choose_on(weights: Floats, targets: Floats, threads: int = 1) -> tuple[Values, Floats]:
    """Return where targets fall on the running sum of weights, and how far they reach into that weight."""
    ends = running_sums(np.ascontiguousarray(weights))
    targets = np.ascontiguousarray(targets)
    found, rest = np.empty(len(targets), dtype=np.int64), np.empty(len(targets))

    def choose(part: int) -> None:
        here = slice(part * thresholds.now.sorted_shots, (part + 1) * thresholds.now.sorted_shots)
        choose_ascending(ends, targets[here], found[here], rest[here])

    pool.share(choose, -(-len(targets) // thresholds.now.sorted_shots), threads)
    return found, rest


def chosen(weights: Floats, numbers: Floats) -> tuple[Values, Floats]:
    """Return where numbers in [0, 1) fall on the running sum of weights, and what is left of them, in [0, 1) again."""
    found, rest = choose_on(weights, numbers * norm_of(weights))
    return found, np.clip(rest / weights[found], 0, np.nextafter(1.0, 0.0))


def _runs(prefixes: Values) -> Values:
    """Return where each run of equal prefixes begins, and at the end where the last one ends."""
    changes = np.flatnonzero(prefixes[1:] != prefixes[:-1]) + 1
    return np.concatenate(([0], changes, [len(prefixes)]))


def _by_marginals(
    placement: Placement, prefixes: Values, rest: Floats, below: int, wires: int
) -> tuple[Values, Floats]:
    """Draw the next `wires` wires under `below`, given the wires from `below` up; one marginal for each prefix."""
    mask = (1 << placement.num_wires) - (1 << below)
    values, left = np.empty_like(prefixes), np.empty_like(rest)
    runs = _runs(prefixes).tolist()
    for begin, end in pairwise(runs):
        prefix = int(prefixes[begin])
        weights = placement.marginal(range(below - wires, below), When(mask, prefix << below))
        found, left[begin:end] = choose_on(weights, rest[begin:end])
        values[begin:end] = prefix << wires | found
    return values, left


def _by_amplitudes(placement: Placement, prefixes: Values, rest: Floats, wires: int) -> Values:
    """Draw the lowest `wires` wires from the amplitudes of each prefix that a shot has fallen on."""
    runs = _runs(prefixes)
    found = placement.search(range(wires), prefixes[runs[:-1]] << wires, runs, rest)
    return prefixes << wires | found


def draw_rows(states: States, rows: Values, numbers: Floats) -> Values:
    """Return the value that `draw` gives for each shot's row of a batch, int64 [shots]; rows: of each, ascending."""
    if not len(rows):
        return np.zeros(0, dtype=np.int64)
    n = states.num_wires
    low = min(n, thresholds.now.searched_wires)
    weights = states.marginals(range(low, n))
    norms = weights.sum(axis=1)[rows]
    if not (norms.min() > 0 and norms.max() < np.inf):
        raise StateError(
            "a state whose squared norm is 0 or not finite cannot be sampled; set normalised amplitudes first."
        )
    if low == n:
        runs = _runs(rows)
        drawn = rows[runs[:-1]]
        return states.search(drawn, n, np.zeros_like(drawn), runs, numbers * norms)
    prefixes, rest = choose_in_rows(weights, rows, numbers * norms)
    keys = rows << n - low | prefixes
    order = np.argsort(keys, kind="stable")
    runs = _runs(keys[order])
    first = keys[order][runs[:-1]]
    prefix = (first & (1 << n - low) - 1) << low
    found = np.empty(len(rows), dtype=np.int64)
    found[order] = states.search(first >> n - low, low, prefix, runs, rest[order])
    return prefixes << low | found


def draw_states(
    states: States,
    rows: Values,
    numbers: Floats,
    check: Check | None = None,
    threads: int = 1,
) -> Values:
    """Return the basis value of each shot of states in any placement; arguments as of `draw_rows` and `draw`."""
    if states.single is not None:
        return draw(states.single, numbers, check, threads)
    if states.num_wires <= thresholds.now.searched_wires + 10:
        return draw_rows(states, rows, numbers)
    ends = np.searchsorted(rows, np.arange(states.rows + 1))
    parts = (numbers[begin:end] for begin, end in pairwise(ends.tolist()))
    return np.concatenate([draw(states.row(row), part) for row, part in enumerate(parts)])


def choose_in_rows(weights: Floats, rows: Values, targets: Floats) -> tuple[Values, Floats]:
    """Return what `choose_on` does, for targets with a row of weights each, by bisection of all targets at once."""
    ends = np.cumsum(weights, axis=1)
    below = np.minimum(targets, np.nextafter(ends[rows, -1], -1))
    found = np.zeros(len(rows), dtype=np.int64)
    step = weights.shape[1] >> 1
    while step:
        found += step * (ends[rows, found + step - 1] <= below)
        step >>= 1
    return found, below - np.where(found > 0, ends[rows, found - 1], 0)


def norm_of(weights: Floats) -> float:
    """Return the sum of weights; raises `StateError` if no value can be drawn from them."""
    return require_norm(float(weights.sum()))


def require_norm(norm: float) -> float:
    """Return a squared norm; raises `StateError` if no value can be drawn from such a state."""
    if not 0 < norm < np.inf:
        raise StateError(
            f"a state whose squared norm is {norm} cannot be measured or sampled; set normalised amplitudes first."
        )
    return norm


def ascending(numbers: Floats) -> Values:
    """Return the order in which numbers in [0, 1) ascend by their first 32 bits; equal ones stay in order."""
    order = np.empty(len(numbers), dtype=np.int64)
    function("shots_ascending")(address(numbers), len(numbers), address(order))
    return order


def running_sums(weights: Floats) -> Floats:
    """Return where each running sum of weights ends, added up one after the other."""
    ends = np.empty(len(weights), dtype=np.float64)
    function("shots_running_sums")(address(weights), len(weights), address(ends))
    return ends


def choose_ascending(ends: Floats, targets: Floats, found: Values, rest: Floats) -> None:
    """Write where targets fall on running sums, and how far they reach into that weight; fastest if they ascend.

    A target beyond the last sum, where rounding has led it, falls on the last weight.
    """
    given = address(ends), len(ends), address(targets), len(targets), address(found), address(rest)
    function("shots_choose")(*given)
