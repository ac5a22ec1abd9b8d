"""Tests of ladders of CX and Toffolis, which a transpiler takes apart, in `Manner.CLUSTERS`."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planning.form.test_written_clusters import BASES, clusters
from planning.form.test_written_pairs import ops

from benchmarks.forms import transpiled
from benchmarks.gates import Gate
from qsim_ex import thresholds
from qsim_ex.circuit.ops import Entry
from qsim_ex.planning.written.out import WrittenCircuit


def turned(wires: range) -> list[Gate]:
    """Return a turn about Y of some wires, by an angle of its own."""
    return [Gate("ry", (wire,), (0.3 + 0.2 * wire,)) for wire in wires]


def adder(bits: int) -> list[Gate]:
    """Return the sum of two numbers, by majorities and what undoes them, on 2 · bits + 2 wires."""
    down, up, carry = list[Gate](), list[Gate](), 0
    for a, b in zip(range(1, bits + 1), range(bits + 1, 2 * bits + 1), strict=True):
        down += [Gate("cx", (a, b)), Gate("cx", (a, carry)), Gate("ccx", (carry, b, a))]
        up = [Gate("ccx", (carry, b, a)), Gate("cx", (a, carry)), Gate("cx", (carry, b)), *up]
        carry = a
    return [*down, Gate("cx", (carry, 2 * bits + 1)), *up]


def flips(written: WrittenCircuit) -> Counter[int]:
    """Return under how many controls X is, whatever its phase."""
    x = bytes([1, 0, 0, 1])
    found = [one for one in ops(written) if bytes(entry == Entry.ZERO for entry in one.pattern) == x]
    return Counter(one.when.mask.bit_count() for one in found)


def mixed(written: WrittenCircuit) -> int:
    """Return how many matrices there are that are no X and no phases."""
    return sum(1 for one in ops(written) if one.mixes) - sum(flips(written).values())


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("level", [1, 3])
def test_an_adder_is_an_adder_again(basis: tuple[str, ...], level: int) -> None:
    """An adder is CX and Toffolis, and nothing but the turns before it mixes wires else, whatever signs there were."""
    bits = 4
    wires = 2 * bits + 2
    found = clusters(transpiled([*turned(range(1, wires - 1)), *adder(bits)], wires, basis, level), zeros=True)
    assert mixed(found) == 2 * bits
    assert flips(found)[1] >= 4 * bits - 3
    assert flips(found)[2] <= 2 * bits


@pytest.mark.parametrize("basis", BASES)
def test_conditions_that_are_added_to_wires_are_not_computed(basis: tuple[str, ...]) -> None:
    """Conditions that are computed and added to many wires flip each of these, ten in all: (0, 1) flips wire 4 twice.

    Where rotations about two wires are the basis they are computed, as they were given, in 8 Toffolis, and added by CX.
    """
    wires, into = 9, 3
    for order in (range(wires), range(wires)[::-1]):
        gates = turned(range(3)) + turned(range(4, wires))
        for a, b, data in ((0, 1, (4, 5, 7)), (1, 2, (5, 6, 8)), (0, 2, (4, 6, 7, 8)), (0, 1, (4, 8))):
            gates += [
                Gate("ccx", (a, b, into)),
                *(Gate("cx", (into, wire)) for wire in data),
                Gate("ccx", (a, b, into)),
            ]
        placed = [Gate(gate.name, tuple(order[wire] for wire in gate.wires), gate.params) for gate in gates]
        found = clusters(transpiled(placed, wires, basis, 1), zeros=True)
        several = Counter(one.when.mask.bit_count() + len(one.mixes) for one in ops(found))
        assert mixed(found) == (wires - 1 if "rzz" in basis else wires + 4)  # one of the ten flips is a matrix
        assert several == {0: 1} | ({1: wires - 1, 2: 12, 3: 8} if "rzz" in basis else {1: wires + 3, 3: 10})


_KINDS = st.sampled_from(["x", "rz", "cx", "cx", "ccx", "ccx", "cz", "ry"])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(_KINDS, st.integers(0, 1 << 20)), min_size=6, max_size=30), st.booleans(), st.integers(0, 9))
def test_whatever_stands_in_a_ladder_stays_what_it_is(drawn: list[tuple[str, int]], zeros: bool, way: int) -> None:
    """Drawn CX, Toffolis, signs and turns, and what undoes them, are what is written of them."""
    gates = list[Gate]()
    for name, seed in drawn:
        rng = np.random.default_rng(seed)
        on = {"cx": 2, "cz": 2, "ccx": 3}.get(name, 1)
        angles = {"ry": (float(rng.uniform(-4, 4)),), "rz": (np.pi,)}.get(name, ())
        gates.append(Gate(name, tuple(rng.permutation(5)[:on].tolist()), angles))
    undone = [gate for gate in reversed(gates) if gate.name != "ry"]
    with thresholds.instead(clustered_percent=0):
        clusters(transpiled([*turned(range(5)), *gates, *undone], 5, BASES[way % len(BASES)], way % 2), zeros=zeros)
