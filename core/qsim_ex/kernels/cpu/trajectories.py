"""Trajectories of narrow states: all steps of a circuit for some shots, in one call.

Shots with equal outcomes so far are a *group*, which has one state. A choice has a *window*, an interval of random
numbers in which it is made without the state and comes out in its most likely way. Random numbers outside of their
window are *events*. They are found first, for all choices and shots, so that a group runs from one event of its
shots to the next without a look at random numbers. The shots of a group are in the order of their next events. At an
event the shots that have it choose, and the group is divided by outcomes; the others wait until those parts are done.

A state is two planes, the real and the imaginary parts of its 2^n amplitudes. Steps, and the tables that they refer
to, are laid out by `run.trajectory_tables`. Functions with arrays as arguments are inlined, since a call counts
references to each of its arrays, which takes longer than a gate.
"""

from __future__ import annotations

import numpy as np

from qsim_ex.kernels.cpu.narrow_states import dense, pairs
from qsim_ex.kernels.cpu.philox import high
from qsim_ex.kernels.numba_cache import inlined, kernel, part

_FIRST, _SECOND = np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157)
_GOLDEN, _ROOT = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBB67AE8584CAA73B)
_ROUNDS = 10
_TO_UNIT = 2.0**-53

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
def _events(steps, floats, channels, keys, order, first, shots, found, begins, next_event, perm):
    """Find the events of all shots, and return their steps: in order, those of shot s begin at ``begins[s]``.

    order: the steps that are choices with a window, in order. found: int32 [2, at least `shots` for each of them].
    perm: becomes the shots in the order of their first events.
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
    events, placed = np.empty(count, dtype=np.int64), 0
    for k in range(count):
        shot = found[1, k]
        if next_event[shot] == begins[shot]:
            perm[placed] = shot
            placed += 1
        events[next_event[shot]] = found[0, k]
        next_event[shot] += 1
    for shot in range(shots):
        if next_event[shot] == begins[shot]:
            perm[placed] = shot
            placed += 1
        next_event[shot] = begins[shot]
    return events


# --- states -----------------------------------------------------------------------------------------------------------


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
    chosen = np.int64(0)
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
    value = np.int64(0)
    for k in range(bits):
        if ints[at + k] >= 0:
            value |= np.int64(outcomes[ints[at + k]]) << k
    return value


@inlined
def _holds(ints, at, outcomes):
    """Return whether a condition holds: how many bits, the column of each, how many values, the values."""
    value, holds = _value(ints, at + 1, ints[at], outcomes), False
    at += 1 + ints[at]
    for k in range(ints[at]):
        holds |= ints[at + 1 + k] == value
    return holds


@inlined
def _step_of_event(shot, events, begins, next_event, last):
    """Return the step of the next event of a shot, `last` if there is none."""
    step = last
    if next_event[shot] < begins[shot + 1]:
        step = events[next_event[shot]]
    return step


@inlined
def _by_outcome(perm, begin, end, found, keeps, parts, most, aside):
    """Put shots in the order of their outcomes, with `keeps` as the last one; equals stay in their order.

    parts: where each outcome begins, and after it where the last one ends; that of `keeps` is empty.
    """
    for one in range(most + 1):
        parts[one] = 0
    for k in range(begin, end):
        parts[found[k] + 1] += found[k] != keeps
    parts[0] = begin
    for one in range(most):
        parts[one + 1] += parts[one]
    at = parts[most]
    for k in range(begin, end):
        if found[k] == keeps:
            aside[at] = perm[k]
            at += 1
        else:
            aside[parts[found[k]]] = perm[k]
            parts[found[k]] += 1
    for k in range(begin, end):
        perm[k] = aside[k]
    for one in range(most, 0, -1):
        parts[one] = parts[one - 1]
    parts[0] = begin


@inlined
def _by_event(perm, begin, end, events, begins, next_event, last):
    """Put shots that are nearly in that order in the order of their next events."""
    for k in range(begin + 1, end):
        shot, to = perm[k], k
        step = _step_of_event(shot, events, begins, next_event, last)
        while to > begin and _step_of_event(perm[to - 1], events, begins, next_event, last) > step:
            perm[to] = perm[to - 1]
            to -= 1
        perm[to] = shot


@inlined
def _choose(perm, begin, end, first, channels, number, floats, keys, key, p, found, scales):
    """Write what shots choose by their random numbers, and the factor on each matrix; return whether they differ."""
    differ = False
    for k in range(begin, end):
        shot = first + perm[k]
        x0, x1, x2, x3 = _philox(keys[key, 0], keys[key, 1], shot // 4)
        x = x0 if shot % 4 == 0 else x1 if shot % 4 == 1 else x2 if shot % 4 == 2 else x3
        found[k] = _chosen(channels, number, floats, _unit(x), p)
        differ |= found[k] != found[begin]
    of_mixed = channels[number, FLOATS] + TABLES + channels[number, COUNT]
    for k in range(channels[number, COUNT]):
        scales[k] = floats[of_mixed + k] if channels[number, MIXED] else p[k] ** -0.5
    return differ


@inlined
def _wait(waiting, scale_of, at, begin, end, slot, step, outcome, scale):
    """Let a group wait: where its shots begin and end, its slot, its step, and the outcome there, −1 for none yet."""
    waiting[at, 0], waiting[at, 1], waiting[at, 2] = begin, end, slot
    waiting[at, 3], waiting[at, 4], scale_of[at] = step, outcome, scale


@inlined
def _copy(slots, outcomes, source, to):
    """Copy the state and the outcomes of a group; in loops, since assigning a whole row takes seconds to compile."""
    for k in range(slots.shape[2]):
        slots[to, 0, k], slots[to, 1, k] = slots[source, 0, k], slots[source, 1, k]
    for k in range(outcomes.shape[1]):
        outcomes[to, k] = outcomes[source, k]


@inlined
def _walk(
    steps, next_work, products, ints, floats, m, channels, keys, first, events, begins, next_event, perm, begin, end,
    re, im, mine, step, outcome, scale, limit, makes, places, old, p, found, scales,
):  # fmt: skip
    """Run a group until its end, or until a step at which it divides.

    Return that step, the outcome of the shots that stay, and where those begin that did not choose. Operations stand
    here and in no function of their own, since references to arrays would be counted for each of them.
    """
    last, stop, asked, divides = len(steps) - 1, -1, end, False
    while not divides:
        at = step
        if outcome < 0:
            scale = 1.0
            if stop < step:
                stop = last if makes else _step_of_event(perm[begin], events, begins, next_event, last)
            if products[step] >= 0 and stop >= step + BLOCK and not makes:
                at = last
            else:
                at = step = min(next_work[step], stop)
                if step >= limit:
                    break
        kind, number, wires, reads = steps[at, KIND], steps[at, NUMBER], steps[at, WIRES], steps[at, READS]
        if outcome < 0 and kind == CHOICE and step != stop and channels[number, WINDOW]:
            outcome = channels[number, DEFAULT]
            scale = floats[channels[number, FLOATS] + TABLES + channels[number, COUNT] + outcome]
        elif outcome < 0 and kind != GATE:
            if kind == READING:
                number += _value(ints, steps[at, AT], wires, mine)
            elif not channels[number, MIXED]:
                _probabilities(re, im, ints, steps[at, AT], wires, channels, number, floats, places, p)
            asked = end
            if step == stop:  # only shots with an event choose here
                asked = begin
                while asked < end and _step_of_event(perm[asked], events, begins, next_event, last) == step:
                    next_event[perm[asked]] += 1
                    asked += 1
            key = steps[at, OUTCOME]
            divides = _choose(perm, begin, asked, first, channels, number, floats, keys, key, p, found, scales)
            outcome = found[begin]
            if asked < end:
                divides |= outcome != channels[number, DEFAULT]
                outcome = channels[number, DEFAULT]
            scale = scales[outcome]
            if divides:
                break
            if step == stop:
                _by_event(perm, begin, end, events, begins, next_event, last)
                stop = -1
        entries, factors = number, np.int64(1)
        if at == last:
            entries = products[step]
            step += BLOCK - 1
        elif kind == READING:
            factors = np.int64(0)
            for k in range(wires):
                mine[ints[steps[at, AT] + wires + k]] = outcome >> k & 1
        elif kind == CHOICE:
            mine[steps[at, OUTCOME]] = outcome
            entries = channels[number, ENTRIES] + outcome * channels[number, WIDTH]
            if channels[number, WIDTH] < channels[number, SIZE] * channels[number, SIZE]:
                factors = wires
        elif steps[at, OUTCOME] >= 0:
            factors = np.int64(_holds(ints, steps[at, OUTCOME], mine))
        if factors and factors == wires and reads == 0:
            for k in range(factors):
                bit = ints[steps[at, AT] + k]
                pairs(re, im, bit, steps[at, MASK], steps[at, VALUE], m, 2 * entries + 8 * k, scale)
                scale = 1.0
        elif factors:
            mask, value = steps[at, MASK], steps[at, VALUE]
            dense(re, im, ints, steps[at, AT], wires, reads, mask, value, m, 2 * entries, scale, places, old)
        step += 1
        outcome = -1
    return step, outcome, asked


@kernel
def run(
    steps, next_work, blocks, products, ints, floats, m, channels, keys, order, defaults, first, shots, most, slots,
    outcomes, waiting, perm, found_events, out, out_shots, out_begins, out_outcomes,
):  # fmt: skip
    """Run shots `first` … `first + shots − 1` through all steps, and return the number of groups at the end.

    steps, ints, floats, channels: see the head of this file. The last step is one more, which applies the matrix of a
    block. next_work: for each step the first one from there on that does something without an event, or where a block
    begins. blocks: where those begin whose matrices are made. products: for each step the place in `m` of such a
    matrix, −1 without one. m: the entries of all matrices, real and imaginary parts in turn. keys: uint64 [numbers, 2].
    order: the choices with a window. defaults: the outcome of each column inside its window. most: the largest number
    of outcomes of a step.
    Memory: slots, float64 [states, 2, 2^n], and outcomes, uint8 [states, columns], of groups that wait; waiting, int64
    [states, 6]; perm: int64 [shots]; found_events: see `_events`.
    Written: out, complex128 [shots, 2^n], the state of each group; out_shots, out_begins: its shots in any order,
    counted from `first`; out_outcomes: uint8 [shots, columns].
    """
    size, last, num_slots = slots.shape[2], len(steps) - 1, len(slots)
    begins, next_event = np.empty(shots + 1, dtype=np.int64), np.empty(shots, dtype=np.int64)
    aside, found = np.empty(shots, dtype=np.int64), np.empty(shots, dtype=np.int64)
    places, parts = np.empty(size, dtype=np.int64), np.empty(most + 1, dtype=np.int64)
    old, p, scales, scale_of = np.empty(2 * size), np.empty(most), np.empty(most), np.empty(num_slots)
    events = _events(steps, floats, channels, keys, order, first, shots, found_events, begins, next_event, perm)
    for k in range(len(defaults)):
        outcomes[0, k] = defaults[k]
    for k in range(num_slots):
        waiting[k, 5] = k  # the slots that are free, from place `used` on
    _wait(waiting, scale_of, 0, 0, shots, 0, 0, -1, 1.0)
    left, used, groups, written, made, column = 1, 1, 0, 0, 0, 0
    out_begins[0] = 0
    while left:
        makes = made < len(blocks)  # a column of a block's matrix is what comes of a basis state, whatever the shots
        left -= not makes
        begin, end, slot, step = waiting[left, 0], waiting[left, 1], waiting[left, 2], waiting[left, 3]
        outcome, scale, limit = waiting[left, 4], scale_of[left], last
        if makes:
            end, slot, step, outcome, limit = begin, 0, blocks[made], -1, blocks[made] + BLOCK
        re, im, mine = slots[slot, 0], slots[slot, 1], outcomes[slot]
        if makes or (step == 0 and outcome < 0):
            for k in range(size):
                re[k] = im[k] = 0.0
            re[column] = 1.0
        step, outcome, asked = _walk(
            steps, next_work, products, ints, floats, m, channels, keys, first, events, begins, next_event, perm, begin,
            end, re, im, mine, step, outcome, scale, limit, makes, places, old, p, found, scales,
        )  # fmt: skip
        if makes:
            for k in range(size):
                at = 2 * (products[blocks[made]] + k * size + column)
                m[at], m[at + 1] = re[k], im[k]
            column = (column + 1) % size
            made += column == 0
        elif step < last:  # the part with this outcome keeps the slot, and waits below the others
            _by_outcome(perm, begin, asked, found, outcome, parts, most, aside)
            chose = steps[step, KIND] == CHOICE and channels[steps[step, NUMBER], WINDOW]
            if chose and parts[most] < asked:  # some of the shots that have chosen stay with those that have not
                _by_event(perm, parts[most], end, events, begins, next_event, last)
            _wait(waiting, scale_of, left, parts[most], end, slot, step, outcome, scales[outcome])
            left += 1
            for one in range(most):
                if parts[one] < parts[one + 1]:
                    to, used = waiting[used, 5], used + 1
                    _copy(slots, outcomes, slot, to)
                    if chose:
                        _by_event(perm, parts[one], parts[one + 1], events, begins, next_event, last)
                    _wait(waiting, scale_of, left, parts[one], parts[one + 1], to, step, one, scales[one])
                    left += 1
        else:
            for k in range(size):
                out[groups, k] = complex(re[k], im[k])
            for k in range(len(mine)):
                out_outcomes[groups, k] = mine[k]
            for k in range(begin, end):
                out_shots[written + k - begin] = perm[k]
            written += end - begin
            groups += 1
            out_begins[groups] = written
            used -= 1
            waiting[used, 5] = slot
    return groups
