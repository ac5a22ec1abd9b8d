"""Trajectories of narrow states: all steps of a circuit for some shots, in one call.

Shots with equal outcomes so far are a *group*, which has one state. A choice has a *window*, an interval of random
numbers in which it is made without the state and comes out in its most likely way. Random numbers outside of their
window are *events*. They are found first, for all choices and shots, so that a group runs from one event of its
shots to the next without a look at random numbers. At an event a group is divided by outcomes, and its smaller parts
are run first: then few states wait at a time, and all of them stay in cache.

A state is two planes, the real and the imaginary parts of its 2^n amplitudes. Steps, and the tables that they refer
to, are laid out by `run.trajectory_tables`. Functions with arrays as arguments are inlined, since a call counts
references to each of its arrays, which takes longer than a gate.
"""

from __future__ import annotations

import numpy as np

from qsim_ex.kernels.cpu.philox import high
from qsim_ex.kernels.cpu.sums import odd
from qsim_ex.kernels.numba_cache import inlined, kernel, part

_FIRST, _SECOND = np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157)
_GOLDEN, _ROOT = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBB67AE8584CAA73B)
_ROUNDS = 10
_TO_UNIT = 2.0**-53
_VECTOR = 8  # index bits from this one on leave whole vectors between the two amplitudes of a pair

BLOCK = 32
"""The steps of a block. If all of them are certain, they are one matrix on all wires, made at the beginning."""

GATE, CHOICE, READING = range(3)
"""Kinds of steps."""

KIND, NUMBER, AT, WIRES, READS, MASK, VALUE, OUTCOME = range(8)
"""Columns of a step.

NUMBER: the first entry of a gate's matrix; the channel of a choice; of a reading the channel for the true value 0.
AT: where the step's integers begin: the masks of its wires, then the masks that it reads; of a reading the columns of
its bits (−1: the bit is 0), then those of what is read. WIRES, READS: how many. MASK, VALUE: of `ops.When`.
OUTCOME: of a gate where its condition begins, −1 without one; of a choice its column, which is the place of its key
too; of a reading the place of its key.
"""

COUNT, SIZE, ENTRIES, WIDTH, FLOATS, DIAGONAL, MIXED, DEFAULT, SKIPS, WINDOW = range(10)
"""Columns of a channel.

COUNT, SIZE: matrices, and their rows. ENTRIES, WIDTH: the first entry of the first matrix, and the entries of each, or
of its factors. FLOATS: where its numbers begin. DIAGONAL: whether populations are enough for its probabilities. MIXED:
whether it is mixed-unitary. DEFAULT: the matrix that is chosen inside the window. SKIPS: whether that is 1, once
scaled. WINDOW: whether it has one; without, every random number is an event.
"""

LOW, HIGH, FACTOR, TABLES = range(4)
"""Numbers of a channel (see `program.kraus`).

First are its window and the factor on random numbers. Then there are [COUNT] each: the ends of the intervals in which
matrices are chosen without the state, scales, least eigenvalues, and the matrices that belong to the ends; then the
gains [COUNT, SIZE], and the grams [COUNT, SIZE, SIZE], real and imaginary parts in turn.
"""


# --- random numbers ---------------------------------------------------------------------------------------------------


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


@inlined
def _events(steps, floats, channels, keys, order, first, shots, found, begins, next_event):
    """Find the events of all shots, and return their steps: in order, those of shot s begin at ``begins[s]``.

    order: the steps that are choices with a window, in order. found: int32 [2, at least `shots` for each of them].
    """
    count = 0
    for shot in range(shots + 1):
        begins[shot] = 0
    for step in order:
        numbers, key = channels[steps[step, NUMBER], FLOATS], steps[step, OUTCOME]
        low, high_end, factor = floats[numbers + LOW], floats[numbers + HIGH], floats[numbers + FACTOR]
        for block in range(0, shots, 4):
            x0, x1, x2, x3 = _philox(keys[key, 0], keys[key, 1], (first + block) // 4)
            a, b, c, d = _unit(x0) * factor, _unit(x1) * factor, _unit(x2) * factor, _unit(x3) * factor
            inside = a >= low and a < high_end and b >= low and b < high_end
            if inside and c >= low and c < high_end and d >= low and d < high_end:
                continue
            for k in range(4):
                u = a if k == 0 else b if k == 1 else c if k == 2 else d
                if (u < low or u >= high_end) and block + k < shots:
                    found[0, count], found[1, count] = step, block + k
                    begins[block + k + 1] += 1
                    count += 1
    for shot in range(shots):
        begins[shot + 1] += begins[shot]
        next_event[shot] = begins[shot]
    events = np.empty(count, dtype=np.int64)
    for k in range(count):
        shot = found[1, k]
        events[next_event[shot]] = found[0, k]
        next_event[shot] += 1
    for shot in range(shots):
        next_event[shot] = begins[shot]
    return events


# --- states -----------------------------------------------------------------------------------------------------------


@inlined
def _pairs(re, im, bit, mask, value, m, at, scale):
    """Apply a 2×2 matrix to one index bit, where the bits of `mask` have a value."""
    ar, ai, br, bi = m[at] * scale, m[at + 1] * scale, m[at + 2] * scale, m[at + 3] * scale
    cr, ci, dr, di = m[at + 4] * scale, m[at + 5] * scale, m[at + 6] * scale, m[at + 7] * scale
    low = 0
    while low < len(re):
        if bit >= _VECTOR:  # whole vectors, the same loop for each of them
            for k in range(low, low + bit):
                if k & mask == value:
                    xr, xi, yr, yi = re[k], im[k], re[k + bit], im[k + bit]
                    re[k] = ar * xr - ai * xi + br * yr - bi * yi
                    im[k] = ar * xi + ai * xr + br * yi + bi * yr
                    re[k + bit] = cr * xr - ci * xi + dr * yr - di * yi
                    im[k + bit] = cr * xi + ci * xr + dr * yi + di * yr
            low += 2 * bit
        else:
            if low & mask == value:
                xr, xi, yr, yi = re[low], im[low], re[low + bit], im[low + bit]
                re[low] = ar * xr - ai * xi + br * yr - bi * yi
                im[low] = ar * xi + ai * xr + br * yi + bi * yr
                re[low + bit] = cr * xr - ci * xi + dr * yr - di * yi
                im[low + bit] = cr * xi + ci * xr + dr * yi + di * yr
            low = (low | bit) + 1 & ~bit  # the next index with 0 in this bit


@inlined
def _dense(re, im, ints, at, wires, reads, mask, value, m, entries, scale, places, old):
    """Apply an operation: dense on `wires` wires, diagonal in `reads` masks, where the bits of `mask` have a value."""
    size = 1 << wires
    for v in range(size):
        places[v] = 0
        for k in range(wires):
            if v >> k & 1:
                places[v] |= ints[at + k]
    for base in range(len(re)):
        if base & places[size - 1] or base & mask != value:
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


@inlined
def _probabilities(re, im, ints, at, wires, channels, number, floats, places, p):
    """Write the probability of each matrix of a channel in a state, as `Kraus.populated` and `Kraus.dense` do."""
    size, count = 1 << wires, channels[number, COUNT]
    gains = channels[number, FLOATS] + TABLES + 4 * count
    grams = gains + count * size
    for v in range(size):
        places[v] = 0
        for k in range(wires):
            if v >> k & 1:
                places[v] |= ints[at + k]
    for k in range(count):
        p[k] = 0.0
    norm = 0.0
    for base in range(len(re)):
        if base & places[size - 1]:
            continue
        for v in range(size):
            a, b = re[base | places[v]], im[base | places[v]]
            weight = a * a + b * b
            norm += weight
            if channels[number, DIAGONAL]:
                for k in range(count):
                    p[k] += floats[gains + k * size + v] * weight
            else:
                for w in range(size):  # conj(a_v) a_w
                    c, d = re[base | places[w]], im[base | places[w]]
                    real, imag = a * c + b * d, a * d - b * c
                    for k in range(count):
                        g = grams + 2 * ((k * size + v) * size + w)
                        p[k] += floats[g] * real - floats[g + 1] * imag
    for k in range(count):
        p[k] /= norm


# --- choices ----------------------------------------------------------------------------------------------------------


@inlined
def _chosen(channels, number, floats, u, p):
    """Return the matrix that a random number chooses; p: the probability of each, unless the channel is mixed."""
    count, at = channels[number, COUNT], channels[number, FLOATS]
    ends, least, order = at + TABLES, at + TABLES + 2 * count, at + TABLES + 3 * count
    found, target = 0, u * floats[at + FACTOR]
    while found < count and floats[ends + found] <= target:
        found += 1
    chosen = 0
    if found < count or channels[number, MIXED]:  # rounding never leads beyond the last matrix
        chosen = np.int64(floats[order + min(found, count - 1)])
    else:
        sure = floats[ends + count - 1]
        total, running = 0.0, 0.0
        for k in range(count):
            total += max(p[k] - floats[least + k], 0.0)
        target = min((u - sure) / max(1 - sure, 1e-300) * total, np.nextafter(total, -1.0))
        for k in range(count):
            running += max(p[k] - floats[least + k], 0.0)
            if running <= target:
                chosen += 1
    return chosen


@inlined
def _value(ints, at, bits, outcomes):
    """Return the value of some classical bits, from the columns at `at` (−1: the bit is 0)."""
    value = 0
    for k in range(bits):
        if ints[at + k] >= 0:
            value |= np.int64(outcomes[ints[at + k]]) << k
    return value


@part
def _holds(ints, at, outcomes):
    """Return whether a condition holds: how many bits, the column of each, how many values, the values."""
    value = _value(ints, at + 1, ints[at], outcomes)
    at += 1 + ints[at]
    for k in range(ints[at]):
        if ints[at + 1 + k] == value:
            return True
    return False


@inlined
def _next_stop(perm, begin, end, events, begins, next_event, step, last):
    """Return the next step, from `step` on, at which a shot of a group has an event; `last` if there is none."""
    stop = last
    for k in range(begin, end):
        shot = perm[k]
        at, behind = next_event[shot], begins[shot + 1]
        while at < behind and events[at] < step:
            at += 1
        next_event[shot] = at
        if at < behind:
            stop = min(stop, events[at])
    return stop


@inlined
def _in_order(perm, begin, end, found, parts, most, aside):
    """Put the shots of a group in the order of what they found, without changing that of equals.

    Return the most frequent value, and whether there are others; parts: where each value begins, and where it ends.
    """
    largest = 0
    for one in range(most + 1):
        parts[one] = 0
    for k in range(begin, end):
        parts[found[k] + 1] += 1
    for one in range(most):
        if parts[one + 1] > parts[largest + 1]:
            largest = one
    divides = parts[largest + 1] < end - begin
    if divides:
        parts[0] = begin
        for one in range(most):
            parts[one + 1] += parts[one]
        for k in range(begin, end):
            aside[parts[found[k]]] = perm[k]
            parts[found[k]] += 1
        for k in range(begin, end):
            perm[k] = aside[k]
        for one in range(most, 0, -1):
            parts[one] = parts[one - 1]
        parts[0] = begin
    return largest, divides


@kernel
def run(
    steps, next_work, blocks, products, ints, floats, m, channels, keys, order, defaults, first, shots, most, slots, outcomes, waiting,
    perm, found_events, out, out_shots, out_begins, out_outcomes,
):  # fmt: skip
    """Run shots `first` … `first + shots − 1` through all steps, and return the number of groups at the end.

    steps, ints, floats, channels: see the head of this file. next_work: for each step, and the end, the first one from
    there on that does something without an event, or where a block begins. blocks: the steps at which those
    blocks begin whose matrices are made. products: for each step the place in `m` of such a matrix, −1 without one.
    m: the entries of all matrices, real and imaginary parts in turn; ``ints[: n]``: the masks of all wires. keys: uint64 [numbers, 2]. order: the choices with a window. defaults: the outcome of each column inside its window.
    most: the largest number of outcomes of a step.
    Memory: slots, float64 [states, 2, 2^n], and outcomes, uint8 [states, columns], of groups that wait; waiting, int64
    [states, 6]; perm: 0 … shots − 1; found_events: see `_events`.
    Written: out, complex128 [shots, 2^n], the state of each group; out_shots, out_begins: its shots, ascending, counted
    from `first`; out_outcomes: uint8 [shots, columns].
    """
    size, last, num_slots, num_wires = slots.shape[2], len(steps), len(slots), 0
    while 1 << num_wires < size:
        num_wires += 1
    begins, next_event = np.empty(shots + 1, dtype=np.int64), np.empty(shots, dtype=np.int64)
    aside, found = np.empty(shots, dtype=np.int64), np.empty(shots, dtype=np.int64)
    places, parts = np.empty(size, dtype=np.int64), np.empty(most + 1, dtype=np.int64)
    old, p, scales, scale_of = np.empty(2 * size), np.empty(most), np.empty(most), np.empty(num_slots)
    events = _events(steps, floats, channels, keys, order, first, shots, found_events, begins, next_event)
    for k in range(size):
        slots[0, 0, k] = slots[0, 1, k] = 0.0
    slots[0, 0, 0] = 1.0
    for k in range(len(defaults)):
        outcomes[0, k] = defaults[k]
    for k in range(num_slots):
        waiting[k, 5] = k  # the slots that are free, from place `used` on
    # A group that waits: where its shots begin and end, its slot, its step, and the outcome there, −1 for none yet.
    waiting[0, 0], waiting[0, 1], waiting[0, 2], waiting[0, 3], waiting[0, 4] = 0, shots, 0, 0, -1
    left, used, groups, written = 1, 1, 0, 0
    out_begins[0] = 0
    made, column = 0, 0
    while left:
        makes = made < len(blocks)
        if makes:  # a column of a block's matrix is what comes of a basis state, whatever the shots
            begin, end, slot, step, outcome, scale = 0, 0, num_slots - 1, blocks[made], -1, 1.0
            limit = step + BLOCK
            for k in range(size):
                slots[slot, 0, k] = slots[slot, 1, k] = 0.0
            slots[slot, 0, column] = 1.0
        else:
            left -= 1
            begin, end, slot, step = waiting[left, 0], waiting[left, 1], waiting[left, 2], waiting[left, 3]
            outcome, scale, limit = waiting[left, 4], scale_of[left], last
        re, im, mine = slots[slot, 0], slots[slot, 1], outcomes[slot]
        stop, divides = -1, False
        while True:
            if stop < step or (outcome >= 0 and stop == step):
                stop = _next_stop(perm, begin, end, events, begins, next_event, step + (outcome >= 0), last)
            as_block = outcome < 0 and products[step] >= 0 and stop >= step + BLOCK and not makes
            if outcome < 0 and not as_block:
                step = min(next_work[step], stop)
                if step >= limit:
                    break
            kind, number, at, wires = steps[step, KIND], steps[step, NUMBER], steps[step, AT], steps[step, WIRES]
            if as_block:
                kind = GATE
            elif outcome < 0 and kind == CHOICE and step != stop and channels[number, WINDOW]:
                outcome = channels[number, DEFAULT]
                scale = floats[channels[number, FLOATS] + TABLES + channels[number, COUNT] + outcome]
            elif outcome < 0 and kind != GATE:
                if kind == READING:
                    number += _value(ints, at, wires, mine)
                elif not channels[number, MIXED]:
                    _probabilities(re, im, ints, at, wires, channels, number, floats, places, p)
                key = steps[step, OUTCOME]
                for k in range(begin, end):
                    at_event = next_event[perm[k]]
                    if step == stop and (at_event == begins[perm[k] + 1] or events[at_event] != step):
                        found[k] = channels[number, DEFAULT]  # it is another shot that has an event
                        continue
                    shot = first + perm[k]
                    x0, x1, x2, x3 = _philox(keys[key, 0], keys[key, 1], shot // 4)
                    x = x0 if shot % 4 == 0 else x1 if shot % 4 == 1 else x2 if shot % 4 == 2 else x3
                    found[k] = _chosen(channels, number, floats, _unit(x), p)
                for k in range(channels[number, COUNT]):
                    mean = floats[channels[number, FLOATS] + TABLES + channels[number, COUNT] + k]
                    scales[k] = mean if channels[number, MIXED] else p[k] ** -0.5
                outcome, divides = _in_order(perm, begin, end, found, parts, most, aside)
                scale = scales[outcome]
                if divides:  # the largest part keeps the slot, and waits below the others
                    largest = outcome
                    for k in range(-1, most):
                        one, to = k, slot
                        if k < 0:
                            one = largest
                        elif k == largest or parts[k] == parts[k + 1]:
                            continue
                        else:
                            to = waiting[used, 5]
                            used += 1
                            for j in range(size):
                                slots[to, 0, j], slots[to, 1, j] = re[j], im[j]
                            for j in range(len(mine)):
                                outcomes[to, j] = mine[j]
                        waiting[left, 0], waiting[left, 1], waiting[left, 2] = parts[one], parts[one + 1], to
                        waiting[left, 3], waiting[left, 4], scale_of[left] = step, one, scales[one]
                        left += 1
                    break
            reads, mask, value, entries, factors = steps[step, READS], steps[step, MASK], steps[step, VALUE], number, 1
            if as_block:
                at, wires, reads, mask, value, entries, scale = 0, num_wires, 0, 0, 0, products[step], 1.0
                step += BLOCK - 1
            elif kind == READING:
                for k in range(wires):
                    mine[ints[at + wires + k]] = outcome >> k & 1
                factors = 0
            elif kind == CHOICE:
                mine[steps[step, OUTCOME]] = outcome
                entries = channels[number, ENTRIES] + outcome * channels[number, WIDTH]
                if channels[number, WIDTH] < channels[number, SIZE] * channels[number, SIZE]:
                    factors = wires
            else:
                scale = 1.0
                factors = np.int64(steps[step, OUTCOME] < 0 or _holds(ints, steps[step, OUTCOME], mine))
            if factors and factors == wires and reads == 0:
                for k in range(factors):
                    _pairs(re, im, ints[at + k], mask, value, m, 2 * entries + 8 * k, scale)
                    scale = 1.0
            elif factors:
                _dense(re, im, ints, at, wires, reads, mask, value, m, 2 * entries, scale, places, old)
            step += 1
            outcome = -1
        if makes:
            for k in range(size):
                at = 2 * (products[blocks[made]] + k * size + column)
                m[at], m[at + 1] = re[k], im[k]
            column = (column + 1) % size
            made += column == 0
        elif not divides:
            for k in range(size):
                out[groups, k] = complex(re[k], im[k])
            for k in range(len(mine)):
                out_outcomes[groups, k] = mine[k]
            for k in range(begin, end):
                out_shots[written] = perm[k]
                written += 1
            groups += 1
            out_begins[groups] = written
            used -= 1
            waiting[used, 5] = slot
    return groups
