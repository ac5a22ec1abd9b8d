"""Tests of matrices of two wires under a control that are one again, in `Manner.CLUSTERS`."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planning.form.test_written_clusters import BASES, clusters, entangled
from planning.form.test_written_pairs import ops, pair

from benchmarks.forms import transpiled
from benchmarks.gates import Gate, Matrix, haar
from qsim_ex import thresholds
from qsim_ex.planning.written.out import WrittenCircuit

SWAP = np.eye(4)[[0, 2, 1, 3]]


def under_control(matrix: Matrix) -> Matrix:
    """Return a matrix under the control of one wire more, the lowest one."""
    return np.kron(np.eye(len(matrix)), np.diag([1, 0])) + np.kron(matrix, np.diag([0, 1]))


def swap_under_control(control: int, a: int, b: int) -> list[Gate]:
    """Return a swap under a control, as a Toffoli between CX."""
    return [Gate("cx", (b, a)), Gate("ccx", (control, a, b)), Gate("cx", (b, a))]


def step_under_control(control: int, a: int, b: int) -> list[Gate]:
    """Return turns about XX, YY and ZZ by the same angle, each under a control, one behind the other."""
    turn = Gate("unitary", (control, b), matrix=under_control(np.diag(np.exp([-0.2j, 0.2j]))))
    out: list[Gate] = []
    for before, behind in (("h", "h"), ("sxdg", "sx"), ("rz", "rz")):
        around = [[Gate(name, (wire,), (0.0,) * (name == "rz")) for wire in (a, b)] for name in (before, behind)]
        out += [*around[0], Gate("cx", (a, b)), turn, Gate("cx", (a, b)), *around[1]]
    return out


def filled(written: WrittenCircuit) -> list[int]:
    """Return how many entries that are not 0 each matrix of two wires under a control has."""
    found = [one for one in ops(written) if len(one.mixes) == 2 and one.when.mask.bit_count() == 1]
    return [sum(entry != 0 for entry in one.pattern) for one in found if one.pattern]


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("level", [1, 3])
def test_swaps_under_a_control_come_back(basis: tuple[str, ...], level: int) -> None:
    """Swaps under a control are that, also where a transpiler has made one of two gates of each."""
    chain = [(0, 1, 2), (0, 2, 3), (4, 3, 1), (0, 1, 2), (4, 2, 3)]
    gates = entangled(5) + [gate for wires in chain for gate in swap_under_control(*wires)]
    found = filled(clusters(transpiled(gates, 5, basis, level)))
    assert len(found) >= len(chain) - 1  # one may be mixed up with what is before it
    assert max(found) == 4


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("level", [1, 3])
def test_steps_of_an_evolution_under_a_control_are_one_sparse_matrix_each(basis: tuple[str, ...], level: int) -> None:
    """XX + YY + ZZ under a control mixes two of four states, however its three rotations were taken apart."""
    gates = entangled(5)
    for wires in [(0, 1, 2), (0, 2, 3), (0, 3, 4)]:
        gates += step_under_control(*wires)
    found = filled(clusters(transpiled(gates, 5, basis, level)))
    assert len(found) >= 2  # one may be mixed up with what is before it
    assert max(found) <= 8


@given(st.lists(st.integers(0, 1 << 30), min_size=1, max_size=4), st.sampled_from(BASES), st.integers(0, 3))
@settings(max_examples=40, deadline=None)
def test_drawn_matrices_under_controls_do_what_they_did(seeds: list[int], basis: tuple[str, ...], level: int) -> None:
    """Whatever is under a control, sparse or dense or a product, what is written is the circuit."""
    gates = entangled(4)
    for seed in seeds:
        rng = np.random.default_rng(seed)
        wires = tuple(rng.permutation(4)[:3].tolist())
        turns = np.kron(haar(rng, 1), haar(rng, 1))
        kinds = [SWAP, turns @ SWAP @ turns.conj().T, pair(0.3, 0.3, 0.1), haar(rng, 2), turns, pair(0.2, 0, 0)]
        matrix = under_control(kinds[seed % 6])
        gates += swap_under_control(*wires) if seed % 7 == 0 else [Gate("unitary", wires, matrix=matrix)]
        if seed % 5 == 0:
            gates.append(Gate("unitary", wires[1:], matrix=haar(rng, 2)))
    with thresholds.instead(clustered_percent=0):
        clusters(transpiled(gates, 4, basis, level))
