"""Tests of matrices that other wires select or control, and of phases without a spare wire, in `Manner.CLUSTERS`."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planning.form.test_written_clusters import BASES, clusters, entangled, turns, wires_of
from planning.form.test_written_pairs import ops

from benchmarks.forms import transpiled
from benchmarks.gates import MANY_CONTROLS, Gate
from qsim_ex import thresholds
from qsim_ex.planning.written.out import WrittenCircuit


def selected(rng: np.random.Generator, target: int, selectors: list[int]) -> list[Gate]:
    """Return a matrix of a wire for each value of others, as turns of it between CX in the order of Gray's code."""
    out: list[Gate] = []
    for axis in ("rz", "ry", "rz"):
        for k in range(1, (1 << len(selectors)) + 1):
            control = selectors[min((k & -k).bit_length() - 1, len(selectors) - 1)]
            out += [Gate(axis, (target,), (rng.uniform(-3, 3),)), Gate("cx", (control, target))]
    return out


def reading(written: WrittenCircuit) -> list[tuple[int, int]]:
    """Return which wire each matrix that wires select mixes, and how many wires select it."""
    return [(one.mixes[0], len(one.reads)) for one in ops(written) if len(one.mixes) == 1 and len(one.reads) > 1]


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("level", [0, 1, 3])
def test_matrices_that_wires_select_come_back(basis: tuple[str, ...], level: int) -> None:
    """A matrix under three selectors, and one under four, are one gate each, also where they share wires."""
    rng = np.random.default_rng(5)
    gates = entangled(6)
    for target, selectors in ((3, [0, 1, 2]), (0, [2, 5, 4, 1]), (4, [3, 1, 5])):
        gates += [*selected(rng, target, selectors), *turns(6)]
    assert reading(clusters(transpiled(gates, 6, basis, level))) == [(3, 3), (0, 4), (4, 3)]


def hop(angle: float, controls: tuple[int, ...], a: int, b: int) -> list[Gate]:
    """Return a rotation that mixes 01 and 10 of two wires where others are 1, as X, and a turn under controls."""
    turned = [(angle / 2, (*controls, b, a)), (-angle / 2, (*controls, b, a))]
    parts = [one for by, wires in turned for one in (Gate("ry", (a,), (by,)), Gate(MANY_CONTROLS, wires))]
    return [Gate("cx", (a, b)), *parts, Gate("cx", (a, b))]


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("level", [0, 1, 3])
def test_matrices_of_two_wires_under_several_controls_come_back(basis: tuple[str, ...], level: int) -> None:
    """Hopping under two controls, on wires that overlap, is one matrix of two wires each."""
    gates = entangled(6)
    for k, (controls, a, b) in enumerate([((0, 3), 1, 2), ((2, 5), 3, 4), ((4, 1), 5, 0)]):
        gates += [*hop(0.4 + 0.2 * k, controls, a, b), *turns(6)]
    made = [one for one in ops(clusters(transpiled(gates, 6, basis, level))) if len(one.mixes) == 2]
    assert [one.when.mask.bit_count() for one in made] == [2, 2, 2]


def phase(angle: float, wires: tuple[int, ...]) -> list[Gate]:
    """Return a phase where all wires are 1, by phases of two wires and X under controls, with no wire to spare."""
    *rest, last, target = wires
    if not rest:
        return [Gate("cp", (last, target), (angle,))]
    flip = [Gate("h", (last,)), Gate(MANY_CONTROLS, (*rest, last)), Gate("h", (last,))]
    out = [Gate("cp", (last, target), (angle / 2,)), *flip, Gate("cp", (last, target), (-angle / 2,)), *flip]
    return [*out, *phase(angle / 2, (*rest, target))]


@pytest.mark.parametrize("basis", BASES)
def test_phases_under_many_controls_come_back_without_a_wire_to_spare(basis: tuple[str, ...]) -> None:
    """A phase under six controls that was taken apart on its own wires is one, between turns of all of them."""
    gates = 2 * [*turns(7), *phase(0.7, (*range(7),)), *turns(7)]
    assert wires_of(clusters(transpiled(gates, 7, basis, 1))) == {7: 2}


@given(st.lists(st.integers(0, 1 << 30), min_size=1, max_size=3), st.sampled_from(BASES), st.integers(0, 3))
@settings(max_examples=20, deadline=None)
def test_drawn_matrices_that_wires_select_do_what_they_did(
    seeds: list[int], basis: tuple[str, ...], level: int
) -> None:
    """Whatever is between turns of a wire that others select, what is written is the circuit, however few turns."""
    gates = entangled(5)
    for seed in seeds:
        rng = np.random.default_rng(seed)
        target, *selectors = rng.permutation(5)[: 3 + seed % 3].tolist()
        own = selected(rng, target, selectors)
        for _ in range(rng.integers(4)):
            a, b = rng.permutation(selectors)[:2].tolist()
            own.insert(int(rng.integers(len(own))), Gate("cz", (a, b)) if seed % 2 else Gate("cx", (a, b)))
        gates += own
    with thresholds.instead(clustered_percent=0, selected_turns=2 + seeds[0] % 7):
        clusters(transpiled(gates, 5, basis, level))
