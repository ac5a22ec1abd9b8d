"""Tests of turns under a control, which a transpiler takes apart, in `Manner.CLUSTERS`."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from planning.form.test_written_clusters import BASES, clusters, turns
from planning.form.test_written_pairs import ops, pair

from benchmarks.forms import transpiled
from benchmarks.gates import Gate, Matrix, haar
from qsim_ex import thresholds
from qsim_ex.circuit.ops import Entry
from qsim_ex.planning.written.out import WrittenCircuit

H = np.array([[1, 1], [1, -1]]) / np.sqrt(2)


def under_control(control: int, wire: int, matrix: Matrix) -> Gate:
    """Return a matrix of one wire under the control of another one."""
    whole = np.kron(np.eye(2), np.diag([1, 0])) + np.kron(matrix, np.diag([0, 1]))
    return Gate("unitary", (control, wire), matrix=whole.astype(np.complex128))


def phase_of_parity(control: int, a: int, b: int, angle: float) -> list[Gate]:
    """Return exp(-i angle/2 ZZ) of two wires under a control, as a circuit's gates are put under it one by one."""
    middle = under_control(control, b, np.diag(np.exp(np.array([-0.5j, 0.5j]) * angle)))
    return [Gate("ccx", (control, a, b)), middle, Gate("ccx", (control, a, b))]


def turned(written: WrittenCircuit) -> Counter[int]:
    """Return under how many controls the matrices of one wire are that are not X."""
    found = [one for one in ops(written) if len(one.mixes) == 1 and set(one.pattern) - {Entry.ZERO, Entry.ONE}]
    return Counter(one.when.mask.bit_count() for one in found)


@pytest.mark.parametrize("basis", BASES)
def test_turns_under_a_control_that_are_undone_have_none(basis: tuple[str, ...]) -> None:
    """A chain of RXX under a control is phases under it between H, which are not, whatever was put under it."""
    wires = 6
    gates = turns(wires)
    for a in range(1, wires - 1):
        around = [under_control(0, wire, H) for wire in (a, a + 1)]
        gates += [*around, *phase_of_parity(0, a, a + 1, 0.3 + a), *around]
    found = clusters(transpiled([*gates, *turns(wires)], wires, basis, 1))
    assert set(turned(found)) == {0}
    phases = Counter(one.when.mask.bit_count() for one in ops(found) if not one.mixes)
    assert phases[3] <= 2 * (wires - 2)


@pytest.mark.parametrize("basis", BASES)
def test_a_turn_under_a_control_is_one_matrix(basis: tuple[str, ...]) -> None:
    """Turns about any axis under a control are a matrix each, and no others are between them."""
    rng = np.random.default_rng(8)
    on = [(0, 1), (2, 3), (4, 5), (0, 2), (3, 4), (0, 5), (2, 1), (4, 3)]
    gates = [under_control(control, wire, haar(rng, 1)) for control, wire in on]
    with thresholds.instead(clustered_percent=0):
        found = turned(clusters(transpiled([*turns(6), *gates, *turns(6)], 6, basis, 1)))
    assert found[1] == len(on)
    assert found[0] <= 2 * 6


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("angles", [(0.3, 0.3, 0.3), (0.3, 0.3, 0.1), (0.2, -0.2, 0.2)])
def test_few_turns_are_between_pairs(basis: tuple[str, ...], angles: tuple[float, float, float]) -> None:
    """What mixes two of four states is so again in a brick of pairs, between no more turns than two."""
    made = pair(*angles, seed=None)
    bricks = [Gate("unitary", (wire, wire + 1), matrix=made) for wire in (0, 2, 1, 3, 0, 2, 1, 3)]
    found = clusters(transpiled([*turns(5), *bricks, *turns(5)], 5, basis, 1))
    assert turned(found)[0] <= 2 * 5 + 2
    matrices = [one for one in ops(found) if len(one.mixes) == 2 and one.name == "unitary"]
    assert len(matrices) == len(bricks)
    assert all(one.pattern[0] == Entry.ONE for one in matrices)


_KINDS = st.sampled_from(["turn", "h", "z", "phase", "ccx", "any", "rz"])


@settings(max_examples=40, deadline=None)
@example([("turn", 451), ("turn", 1), ("phase", 91), ("ccx", 0)], False, 0)
@given(st.lists(st.tuples(_KINDS, st.integers(0, 1 << 20)), min_size=4, max_size=16), st.booleans(), st.integers(0, 9))
def test_whatever_is_under_a_control_stays_what_it_is(drawn: list[tuple[str, int]], zeros: bool, way: int) -> None:
    """Drawn turns under a control, their inverses, Toffolis and others are what is written of them."""
    gates, undone = turns(4), list[Gate]()
    for kind, seed in drawn:
        rng = np.random.default_rng(seed)
        control, a, b = (0, *(1 + rng.permutation(3)[:2]).tolist()) if seed % 3 else rng.permutation(4)[:3].tolist()
        match kind:
            case "turn" | "h":
                made = under_control(control, a, H if kind == "h" else haar(rng, 1))
                gates.append(made)
                assert made.matrix is not None
                undone.append(Gate("unitary", made.wires, matrix=made.matrix.conj().T))
            case "z":
                gates.append(undone.pop() if undone else Gate("cz", (control, a)))
            case "phase":
                gates += phase_of_parity(control, a, b, float(rng.uniform(-4, 4)))
            case "ccx":
                gates.append(Gate("ccx", (control, a, b)))
            case "rz":
                gates.append(Gate("rz", (a,), (float(rng.uniform(-4, 4)),)))
            case _:
                gates.append(Gate("unitary", (a, b), matrix=haar(rng, 2)))
    gates += reversed(undone)
    with thresholds.instead(clustered_percent=0):
        clusters(transpiled(gates, 4, BASES[way % len(BASES)], way % 2), zeros=zeros)


@pytest.mark.parametrize("basis", BASES[1:])
def test_x_that_has_passed_signs_of_its_wire_does_not_hide_turns_under_them(basis: tuple[str, ...]) -> None:
    """Turns of wires between signs of one control are under it, also where X of it has left Z on the other wires."""
    wires, layers = 7, 3
    chain, gates = range(1, wires), turns(wires)
    signs = [Gate("cz", (0, wire)) for wire in chain]
    for layer in range(layers):
        gates += [Gate("cp", (wire, wire + 1), (0.3 + 0.1 * wire,)) for wire in chain[:-1]]
        gates += [
            *(Gate("ry", (wire,), (0.4 + 0.1 * wire,)) for wire in chain),
            *signs,
            Gate("rx", (0,), (0.5 + layer,)),
        ]
        gates += [*signs, *(Gate("rz", (wire,), (np.pi,)) for wire in chain)]
        gates += [Gate("ry", (wire,), (-0.4 - 0.1 * wire,)) for wire in chain]
    with thresholds.instead(clustered_percent=0):
        found = clusters(transpiled([*gates, *turns(wires)], wires, basis, 1))
    assert turned(found)[0] <= layers * wires
