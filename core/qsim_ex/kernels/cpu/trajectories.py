"""Trajectories of narrow states: all steps of a circuit for some shots, in one call.

Shots with equal outcomes so far are a *group*, which has one state. A choice has a *window*, an interval of random
numbers in which it is made without the state and comes out in its most likely way. Random numbers outside of their
window are *events*. They are found first, for all choices and shots, so that a group runs from one event of its
shots to the next without a look at random numbers. At an event a group is divided by outcomes, and its smaller parts
are run first: then few states wait at a time, and all of them stay in cache.

A state is two planes, the real and the imaginary parts of its 2^n amplitudes. Steps, and the tables that they refer
to, are laid out by `run.trajectory_tables`.
"""

from __future__ import annotations

import numpy as np

from qsim_ex.kernels.cpu.philox import high
from qsim_ex.kernels.cpu.sums import odd
from qsim_ex.kernels.numba_cache import kernel, part

_FIRST, _SECOND = np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157)
_GOLDEN, _ROOT = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBB67AE8584CAA73B)
_ROUNDS = 10
_TO_UNIT = 2.0**-53

GATE, PERMUTATION, INITIALIZE, CHOICE, READING = range(5)
"""Kinds of steps."""

KIND, NUMBER, AT, WIRES, READS, MASK, VALUE, OUTCOME = range(8)
"""Columns of a step.

NUMBER: the first entry of a gate's matrix or of a state; of a choice its channel, of a reading its key. AT: where the
step's integers begin: the masks of its wires, then the masks that it reads, or a permutation; of a reading the columns
of its bits (−1: the bit is 0), then those of what is read. WIRES, READS: how many. MASK, VALUE: of `ops.When`.
OUTCOME: of a gate where its condition begins, of a reading where its probabilities begin, −1 without; of a choice its
column, which is the place of its key too.
"""

COUNT, ENTRIES, SIZE, FLOATS, DIAGONAL, MIXED, DEFAULT, SKIPS, ALWAYS = range(9)
"""Columns of a channel.

COUNT, ENTRIES, SIZE: matrices, the first entry of the first one, and their rows. FLOATS: where its numbers begin.
DIAGONAL: whether populations are enough for its probabilities. MIXED: whether it is
mixed-unitary. DEFAULT: the matrix that is chosen inside the window. SKIPS: whether that is 1, once scaled.
ALWAYS: whether its window is so small that every random number of it is an event.
"""

LOW, HIGH, FACTOR, TABLES = range(4)
"""Numbers of a channel (see `program.kraus`).

First are its window and the factor on random numbers. Then there are [COUNT] each: the ends of the intervals in which
matrices are chosen without the state, scales, least eigenvalues, and the matrices that belong to the ends; then the
gains [COUNT, SIZE], and the grams [COUNT, SIZE, SIZE], real and imaginary parts in turn.
"""


@part
def _philox(seed, key, block):
    """Return the four 64-bit numbers of a block of four shots, as `philox.fill` makes them."""
    x0, x1, x2, x3 = np.uint64(block + 1), np.uint64(0), np.uint64(0), np.uint64(0)
    k0, k1 = seed, key
    for _ in range(_ROUNDS):
        h0, h1 = high(_FIRST, x0), high(_SECOND, x2)
        x0, x1, x2, x3 = h1 ^ x1 ^ k0, _SECOND * x2, h0 ^ x3 ^ k1, _FIRST * x0
        k0 += _GOLDEN
        k1 += _ROOT
    return x0, x1, x2, x3


@part
def _unit(x):
    """Return a number in [0, 1) made of 64 bits."""
    return np.float64(x >> np.uint64(11)) * _TO_UNIT


@part
def _random(keys, number, shot):
    """Return the random number of one shot for one key."""
    x0, x1, x2, x3 = _philox(keys[number, 0], keys[number, 1], shot // 4)
    which = shot % 4
    return _unit(x0 if which == 0 else x1 if which == 1 else x2 if which == 2 else x3)


@part
def _events(tables, order, first, shots, next_event, begins):
    """Find the events of all shots, and return their steps: in order, those of shot s begin at ``begins[s]``.

    order: the steps that are choices with a window, in order. next_event: becomes `begins` without its end.
    """
    steps, _, floats, _, channels, keys = tables
    room = shots * len(order)
    found_step, found_shot = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.int32)
    count = 0
    begins[:] = 0
    for step in order:
        at = channels[steps[step, NUMBER], FLOATS]
        low, high_end, factor = floats[at + LOW], floats[at + HIGH], floats[at + FACTOR]
        seed, key = keys[steps[step, OUTCOME], 0], keys[steps[step, OUTCOME], 1]
        for block in range(0, shots, 4):
            x0, x1, x2, x3 = _philox(seed, key, (first + block) // 4)
            a, b, c, d = _unit(x0) * factor, _unit(x1) * factor, _unit(x2) * factor, _unit(x3) * factor
            if min(min(a, b), min(c, d)) >= low and max(max(a, b), max(c, d)) < high_end:
                continue
            for k in range(4):
                u = a if k == 0 else b if k == 1 else c if k == 2 else d
                if (u < low or u >= high_end) and block + k < shots:
                    found_step[count], found_shot[count] = step, block + k
                    begins[block + k + 1] += 1
                    count += 1
    for shot in range(shots):
        begins[shot + 1] += begins[shot]
        next_event[shot] = begins[shot]
    events = np.empty(count, dtype=np.int64)
    for k in range(count):
        shot = found_shot[k]
        events[next_event[shot]] = found_step[k]
        next_event[shot] += 1
    for shot in range(shots):
        next_event[shot] = begins[shot]
    return events


@part
def _next_stop(group, next_event, begins, events, last):
    """Return the step of the next event of a group of shots, `last` if there is none."""
    stop = last
    for shot in group:
        if next_event[shot] < begins[shot + 1]:
            stop = min(stop, events[next_event[shot]])
    return stop


# --- states -------------------------------------------------------------------------------------------------------


@part
def _pairs(re, im, bit, mask, value, m, at, scale):
    """Apply a 2×2 matrix to one index bit, where the bits of `mask` have a value."""
    ar, ai, br, bi = m[at] * scale, m[at + 1] * scale, m[at + 2] * scale, m[at + 3] * scale
    cr, ci, dr, di = m[at + 4] * scale, m[at + 5] * scale, m[at + 6] * scale, m[at + 7] * scale
    for base in range(0, len(re), 2 * bit):
        for low in range(base, base + bit):
            if low & mask == value:
                xr, xi, yr, yi = re[low], im[low], re[low + bit], im[low + bit]
                re[low] = ar * xr - ai * xi + br * yr - bi * yi
                im[low] = ar * xi + ai * xr + br * yi + bi * yr
                re[low + bit] = cr * xr - ci * xi + dr * yr - di * yi
                im[low + bit] = cr * xi + ci * xr + dr * yi + di * yr


@part
def _spread(ints, at, wires, places):
    """Write where each value of some wires is in an index."""
    for value in range(1 << wires):
        place = 0
        for k in range(wires):
            if value >> k & 1:
                place |= ints[at + k]
        places[value] = place


@part
def _gate(state, ints, at, wires, reads, mask, value, m, entries, scale, scratch):
    """Apply an operation: dense on `wires` wires, diagonal in `reads` masks, where the bits of `mask` have a value."""
    re, im = state
    places, old = scratch
    if wires == 1 and reads == 0:
        _pairs(re, im, ints[at], mask, value, m, entries, scale)
        return
    size = 1 << wires
    _spread(ints, at, wires, places)
    mixed = places[size - 1]
    for base in range(len(re)):
        if base & mixed or base & mask != value:
            continue
        block = 0
        for k in range(reads):
            block |= odd(base & ints[at + wires + k]) << k
        here = entries + 2 * block * size * size
        for column in range(size):
            old[2 * column] = re[base | places[column]] * scale
            old[2 * column + 1] = im[base | places[column]] * scale
        for row in range(size):
            real, imag = 0.0, 0.0
            for column in range(size):
                a, b = m[here + 2 * (row * size + column)], m[here + 2 * (row * size + column) + 1]
                c, d = old[2 * column], old[2 * column + 1]
                real += a * c - b * d
                imag += a * d + b * c
            re[base | places[row]] = real
            im[base | places[row]] = imag


@part
def _permute(state, ints, at, wires, scratch):
    """Move the amplitude at value x of some wires to value ``indices[x]``."""
    re, im = state
    places, old = scratch
    size = 1 << wires
    _spread(ints, at, wires, places)
    for base in range(len(re)):
        if not base & places[size - 1]:
            for value in range(size):
                old[2 * value], old[2 * value + 1] = re[base | places[value]], im[base | places[value]]
            for value in range(size):
                to = base | places[ints[at + wires + value]]
                re[to], im[to] = old[2 * value], old[2 * value + 1]


@part
def _initialize(state, ints, at, wires, m, entries, scratch):
    """Put wires that are |0⟩ into a state."""
    re, im = state
    places = scratch[0]
    size = 1 << wires
    _spread(ints, at, wires, places)
    for base in range(len(re)):
        if not base & places[size - 1]:
            a, b = re[base], im[base]
            for value in range(size):
                c, d = m[entries + 2 * value], m[entries + 2 * value + 1]
                re[base | places[value]] = a * c - b * d
                im[base | places[value]] = a * d + b * c


@part
def _probabilities(state, ints, at, wires, channel, floats, scratch, p):
    """Write the probability of each matrix of a channel in a state, as `Kraus.populated` and `Kraus.dense` do."""
    re, im = state
    places, old = scratch
    size, count = channel[SIZE], channel[COUNT]
    gains = channel[FLOATS] + TABLES + 4 * count
    grams = gains + count * size
    _spread(ints, at, wires, places)
    p[:count] = 0.0
    norm = 0.0
    if channel[DIAGONAL]:
        old[:size] = 0.0
        for base in range(len(re)):
            if not base & places[size - 1]:
                for v in range(size):
                    a, b = re[base | places[v]], im[base | places[v]]
                    old[v] += a * a + b * b
        for v in range(size):
            norm += old[v]
            for k in range(count):
                p[k] += floats[gains + k * size + v] * old[v]
    else:
        for base in range(len(re)):
            if base & places[size - 1]:
                continue
            for v in range(size):
                a, b = re[base | places[v]], im[base | places[v]]
                norm += a * a + b * b
                for w in range(size):  # conj(a_v) a_w
                    c, d = re[base | places[w]], im[base | places[w]]
                    real, imag = a * c + b * d, a * d - b * c
                    for k in range(count):
                        g = grams + 2 * ((k * size + v) * size + w)
                        p[k] += floats[g] * real - floats[g + 1] * imag
    for k in range(count):
        p[k] /= norm


# --- choices ------------------------------------------------------------------------------------------------------


@part
def _ends_at_most(floats, at, count, number):
    """Return how many of some ascending ends are at most a number."""
    found = 0
    while found < count and floats[at + found] <= number:
        found += 1
    return found


@part
def _chosen(channel, floats, u, p):
    """Return the matrix that a random number chooses, −1 if p is needed and not known yet (``p[0] < 0``)."""
    count, at = channel[COUNT], channel[FLOATS]
    ends, least, order = at + TABLES, at + TABLES + 2 * count, at + TABLES + 3 * count
    if channel[MIXED]:
        return min(_ends_at_most(floats, ends, count, u * floats[at + FACTOR]), count - 1)
    found = _ends_at_most(floats, ends, count, u)
    if found < count:
        return np.int64(floats[order + found])
    if p[0] < 0:
        return -1
    sure = floats[ends + count - 1]
    rest = (u - sure) / max(1 - sure, 1e-300)
    total = 0.0
    for k in range(count):
        total += max(p[k] - floats[least + k], 0.0)
    target = min(rest * total, np.nextafter(total, -1.0))
    found, running = 0, 0.0
    for k in range(count):
        running += max(p[k] - floats[least + k], 0.0)
        if running <= target:
            found += 1
    return found


@part
def _holds(ints, at, outcomes):
    """Return whether a condition holds: the number of bits, the column of each (−1: it is 0), the values' number."""
    value = 0
    for k in range(ints[at]):
        column = ints[at + 1 + k]
        if column >= 0:
            value |= np.int64(outcomes[column]) << k
    at += 1 + ints[at]
    for k in range(ints[at]):
        if ints[at + 1 + k] == value:
            return True
    return False


@part
def _read(tables, step, group, first, outcomes, found):
    """Write the value that each shot of a group reads; `group` holds the numbers of its shots."""
    steps, ints, floats, _, _, keys = tables
    bits, at, table = steps[step, WIRES], steps[step, AT], steps[step, OUTCOME]
    true = 0
    for k in range(bits):
        if ints[at + k] >= 0:
            true |= np.int64(outcomes[ints[at + k]]) << k
    for k in range(len(group)):
        found[k] = true
        if table >= 0:
            u = _random(keys, steps[step, NUMBER], first + group[k])
            found[k] = _ends_at_most(floats, table + (true << bits), 1 << bits, u)


@part
def _choose(tables, step, group, first, state, found, scales, scratch, p):
    """Write the matrix that each shot of a group chooses, and the factor on each of them."""
    steps, ints, floats, _, channels, keys = tables
    channel, column = channels[steps[step, NUMBER]], steps[step, OUTCOME]
    by_mean = channel[FLOATS] + TABLES + channel[COUNT]
    p[0] = -1.0
    for k in range(len(group)):
        u = _random(keys, column, first + group[k])
        one = _chosen(channel, floats, u, p)
        if one < 0:
            _probabilities(state, ints, steps[step, AT], steps[step, WIRES], channel, floats, scratch, p)
            one = _chosen(channel, floats, u, p)
        found[k] = one
    for one in range(channel[COUNT]):  # the norm is only kept near 1: without the state the mean is good enough
        scales[one] = floats[by_mean + one] if p[0] < 0 or p[one] <= 0 else p[one] ** -0.5


@part
def _matrix(tables, step, one, scale, state, scratch):
    """Apply a matrix of a choice."""
    steps, ints, _, m, channels, _ = tables
    channel = channels[steps[step, NUMBER]]
    entries, none = 2 * (channel[ENTRIES] + one * channel[SIZE] * channel[SIZE]), np.int64(0)
    _gate(state, ints, steps[step, AT], steps[step, WIRES], none, none, none, m, entries, scale, scratch)


@part
def _happen(tables, step, one, scales, state, outcomes, scratch):
    """Note an outcome of a choice or reading, and apply its matrix."""
    steps, ints = tables[0], tables[1]
    if steps[step, KIND] == CHOICE:
        outcomes[steps[step, OUTCOME]] = one
        _matrix(tables, step, one, scales[one], state, scratch)
    else:
        bits = steps[step, WIRES]
        for k in range(bits):
            outcomes[ints[steps[step, AT] + bits + k]] = one >> k & 1


@part
def _certain(tables, step, state, outcomes, scratch):
    """Run a step that leaves a group as it is: an operation, or a choice without an event."""
    steps, ints, floats, m, channels, _ = tables
    kind, at, wires = steps[step, KIND], steps[step, AT], steps[step, WIRES]
    if kind == CHOICE:
        channel = channels[steps[step, NUMBER]]
        if not channel[SKIPS]:
            scale = floats[channel[FLOATS] + TABLES + channel[COUNT] + channel[DEFAULT]]
            _matrix(tables, step, channel[DEFAULT], scale, state, scratch)
    elif kind == GATE:
        if steps[step, OUTCOME] < 0 or _holds(ints, steps[step, OUTCOME], outcomes):
            _gate(
                state, ints, at, wires, steps[step, READS], steps[step, MASK], steps[step, VALUE], m,
                2 * steps[step, NUMBER], 1.0, scratch,
            )  # fmt: skip
    elif kind == PERMUTATION:
        _permute(state, ints, at, wires, scratch)
    else:
        _initialize(state, ints, at, wires, m, 2 * steps[step, NUMBER], scratch)


@part
def _in_order(group, found, begins, aside):
    """Put the shots of a group in the order of what was found, without changing that of equals.

    Return the most frequent value; begins: where each value begins, and at the end where the last one ends.
    """
    most, largest = len(begins) - 1, 0
    begins[:] = 0
    for k in range(len(group)):
        begins[found[k] + 1] += 1
    for one in range(most):
        if begins[one + 1] > begins[largest + 1]:
            largest = one
    if begins[largest + 1] == len(group):
        return largest, False
    for one in range(most):
        begins[one + 1] += begins[one]
    for k in range(len(group)):
        aside[begins[found[k]]] = group[k]
        begins[found[k]] += 1
    for one in range(most, 0, -1):
        begins[one] = begins[one - 1]
    begins[0] = 0
    for k in range(len(group)):
        group[k] = aside[k]
    return largest, True


@part
def _copy(slots, outcomes, source, to):
    """Copy the state and the outcomes of a group; in loops, since assigning a whole row takes seconds to compile."""
    for k in range(slots.shape[2]):
        slots[to, 0, k], slots[to, 1, k] = slots[source, 0, k], slots[source, 1, k]
    for k in range(outcomes.shape[1]):
        outcomes[to, k] = outcomes[source, k]


@kernel
def run(
    steps, ints, floats, m, channels, keys, order, defaults, first, shots, most, slots, outcomes, out, out_shots,
    out_begins, out_outcomes,
):  # fmt: skip
    """Run shots `first` … `first + shots − 1` through all steps, and return the number of groups at the end.

    steps, ints, floats, channels: see the head of this file. m: the entries of all matrices, real and imaginary parts
    in turn. keys: uint64 [numbers, 2]. order: the steps that are choices with a window. defaults: the outcome of each
    column inside its window. most: the largest number of outcomes of a step. slots: float64 [states, 2, 2^n], and
    outcomes: uint8 [states, columns], of groups that wait.
    Written: out, complex128 [shots, 2^n], the state of each group; out_shots, out_begins: its shots, ascending, counted
    from `first`; out_outcomes: uint8 [shots, columns].
    """
    tables = (steps, ints, floats, m, channels, keys)
    scratch = (np.empty(slots.shape[2], dtype=np.int64), np.empty(2 * slots.shape[2], dtype=np.float64))
    p, scales, parts = np.empty(most), np.empty(most), np.empty(most + 1, dtype=np.int64)
    next_event, begins = np.empty(shots, dtype=np.int64), np.empty(shots + 1, dtype=np.int64)
    events = _events(tables, order, first, shots, next_event, begins)
    perm, aside, found = np.arange(shots), np.empty(shots, dtype=np.int64), np.empty(shots, dtype=np.int64)
    waiting = np.empty((len(slots), 4), dtype=np.int64)  # groups: the step, where its shots begin and end, its slot
    free = np.arange(len(slots))
    waiting[0, 0], waiting[0, 1], waiting[0, 2], waiting[0, 3] = 0, 0, shots, 0
    slots[0] = 0.0
    slots[0, 0, 0] = 1.0
    for k in range(len(defaults)):
        outcomes[0, k] = defaults[k]
    left, used, groups, written = 1, 1, 0, 0
    out_begins[0] = 0
    while left:
        left -= 1
        step, begin, end, slot = waiting[left, 0], waiting[left, 1], waiting[left, 2], waiting[left, 3]
        group, state, mine = perm[begin:end], (slots[slot, 0], slots[slot, 1]), outcomes[slot]
        stop, divided = _next_stop(group, next_event, begins, events, len(steps)), False
        while step < len(steps) and not divided:
            kind = steps[step, KIND]
            if kind < CHOICE or (kind == CHOICE and step != stop and not channels[steps[step, NUMBER], ALWAYS]):
                _certain(tables, step, state, mine, scratch)
                step += 1
                continue
            if kind == CHOICE:
                _choose(tables, step, group, first, state, found, scales, scratch, p)
            else:
                _read(tables, step, group, first, mine, found)
            if step == stop:
                for shot in group:
                    if next_event[shot] < begins[shot + 1] and events[next_event[shot]] == step:
                        next_event[shot] += 1
                stop = _next_stop(group, next_event, begins, events, len(steps))
            largest, divided = _in_order(group, found, parts, aside)
            if divided:  # the largest part stays in this slot, and waits below the others
                at, left = left, left + 1
                for one in range(most):
                    if one != largest and parts[one] < parts[one + 1]:
                        to = free[used]
                        used += 1
                        _copy(slots, outcomes, slot, to)
                        _happen(tables, step, one, scales, (slots[to, 0], slots[to, 1]), outcomes[to], scratch)
                        waiting[left, 0], waiting[left, 3] = step + 1, to
                        waiting[left, 1], waiting[left, 2] = begin + parts[one], begin + parts[one + 1]
                        left += 1
                waiting[at, 0], waiting[at, 3] = step + 1, slot
                waiting[at, 1], waiting[at, 2] = begin + parts[largest], begin + parts[largest + 1]
            _happen(tables, step, largest, scales, state, mine, scratch)
            step += 1
        if not divided:
            for k in range(slots.shape[2]):
                out[groups, k] = complex(state[0][k], state[1][k])
            for k in range(len(mine)):
                out_outcomes[groups, k] = mine[k]
            for shot in group:
                out_shots[written] = shot
                written += 1
            groups += 1
            out_begins[groups] = written
            used -= 1
            free[used] = slot
    return groups
