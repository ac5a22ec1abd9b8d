"""Sums over the amplitudes of a divided state, all in float64: norms, marginals, Pauli strings, density matrices.

Each function adds up what the sub state vectors here have of the answer of `base.Placement`'s method of its name.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.circuit.ops import ALWAYS, When, mask_of, wires_of
from qsim_ex.placement import index_bits as at
from qsim_ex.placement.divided import near as one
from qsim_ex.placement.divided import strings
from qsim_ex.placement.divided.near import NearSubState, Visited, fits, unknown_wires, visit_with
from qsim_ex.placement.index_bits import move_bits
from qsim_ex.placement.overlap import dot
from qsim_ex.steps.layout import Layout


def norm_squared(state: Visited) -> float:
    """Return Σ |amplitude|²."""
    return sum(float(near.device.norms(near.buffer, 1)[0]) for near in state.visit())


def marginal(state: Visited, wires: Sequence[int], when: When = ALWAYS) -> NDArray[np.float64]:
    """Return Σ |amplitude|² for each value of `wires`, over the basis values at which `when` (on wires) holds.

    float64 [2^wires], ``wires[0]`` least significant. One visit, of the parts where the condition can hold.
    """
    out = np.zeros(1 << len(wires))
    local = state.levels.local
    for near in state.visit_some(lambda layout, high: one.local_when(layout, local, high, when) is not None):
        one.add_marginal(near, wires, when, out)
    return out


def search(
    state: Visited,
    wires: Sequence[int],
    opened: tuple[Sequence[int], int],
    prefixes: NDArray[np.int64],
    runs: NDArray[np.int64],
    targets: NDArray[np.float64],
) -> NDArray[np.int64]:
    """Return for each target that lies here the bits of its value of `wires` that are not known; 0 for all others.

    opened: the places of the wires with unknown bits, and the known bits (`near.unknown_wires`).
    """
    places, value = opened
    given = at.held(ALWAYS, wires, value).value
    searched, local = [wires[k] for k in places], state.levels.local

    @cache
    def lie(layout: Layout) -> tuple[NDArray[np.int64], NDArray[np.int64], set[int]]:
        bases = at.indices(layout, prefixes | given, range(state.num_wires))
        highs = bases >> local
        return bases & (1 << local) - 1, highs, one.distinct(highs)

    found = np.zeros(len(targets), dtype=np.int64)
    counts = np.diff(runs)
    for near in visit_with(state, searched, lambda layout, high: high in lie(layout)[2]):
        bases, highs, _ = lie(near.layout)
        mine = highs == near.high
        here = np.repeat(mine, counts)
        own = np.concatenate(([0], np.cumsum(counts[mine])))
        bits = at.index_bits(near.layout, searched)
        found[here] = near.device.search(near.buffer, bits, bases[mine], own, targets[here])
    return move_bits(found, places)


def paulis(state: Visited, parts: Sequence[tuple[int, Sequence[int]]]) -> list[NDArray[np.complex128]]:
    """Return <ψ| X-part · Z-part |ψ> for each X-part (a mask of wires) and each of its Z-parts, no factors of i.

    X-parts that fit near together share a visit. One that is too wide for any visit costs further visits, during
    which amplitudes are exchanged and put back.
    """
    found = [np.zeros(len(zs), dtype=np.complex128) for _, zs in parts]
    fresh = mask_of(at.wires_on(state.layout, state.fresh))  # X on these leads to zero amplitudes
    mixed = [k for k, (x, _) in enumerate(parts) if not x & fresh]
    fitting = [k for k in mixed if fits(state, wires_of(parts[k][0]))]
    for near, places in strings.visits_of(state, [parts[k][0] for k in fitting]):
        for sub in state.visit(near):
            for k in (fitting[place] for place in places):
                found[k] += one.pauli(sub, *parts[k])
    for k in sorted(set(mixed) - set(fitting)):
        with strings.made_narrow(state, *parts[k]) as narrow:
            (found[k],) = paulis(state, [narrow])
    return found


def density(state: Visited, wires: Sequence[int]) -> NDArray[np.complex128]:
    """Return the reduced density matrix of wires, not normalised, ``wires[0]`` least significant. One visit."""
    places, value = unknown_wires(state, wires)
    chosen = [wires[k] for k in places]
    out = np.zeros((1 << len(wires), 1 << len(wires)), dtype=np.complex128)
    values = np.arange(1 << len(chosen), dtype=np.int64)
    inside = move_bits(values, places) | value
    for near in visit_with(state, chosen):
        rho = near.device.density(near.buffer, near.local, at.index_bits(near.layout, chosen))
        stored = values ^ at.flipped_values(near.layout, chosen)
        out[np.ix_(inside, inside)] += rho[np.ix_(stored, stored)]
    return out


def inner(near: NearSubState, other: Visited) -> complex:
    """Return the part of one sub state vector in <self|other>."""
    total = 0j
    for same in other.visit_some(lambda _, high: high == near.high):
        if same.device is near.device:
            total += near.device.inner(near.buffer, same.buffer)
            continue
        for first, last in thresholds.pieces(1 << near.local, thresholds.now.copied_at_once):
            left, right = (sub.device.read(sub.buffer, first, last) for sub in (near, same))
            total += dot(left, right)
    return total
