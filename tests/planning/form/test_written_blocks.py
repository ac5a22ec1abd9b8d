"""Tests of matrices on four wires that are one again, with their zeros, in `Manner.CLUSTERS`."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planning.form.test_written_clusters import BASES, clusters, entangled
from planning.form.test_written_pairs import ops

from benchmarks.forms import transpiled
from benchmarks.gates import Gate, Matrix, haar
from qsim_ex import CircuitBuilder, reference, thresholds
from qsim_ex.planning.written.out import Manner, WrittenCircuit, written_out

CHAIN = [(0, 1, 2, 3), (2, 3, 4, 5), (0, 1, 2, 3), (2, 3, 4, 5)]


def hop(angle: float) -> Matrix:
    """Return what lets bosons hop between two sites of four levels each, with 44 entries that are not 0."""
    lower = np.diag(np.sqrt(np.arange(1, 4)), 1)
    values, vectors = np.linalg.eigh(np.kron(lower, lower.T) + np.kron(lower.T, lower))
    made: Matrix = (vectors * np.exp(1j * angle * values)) @ vectors.T
    return made


def excitation(size: int, states: tuple[int, int], angle: float) -> Matrix:
    """Return a turn of two states, with two entries more that are not 0 than the identity."""
    out = np.eye(size, dtype=np.complex128)
    first, second = states
    out[first, first] = out[second, second] = np.cos(angle)
    out[first, second], out[second, first] = np.sin(angle), -np.sin(angle)
    return out


def ternary_sum() -> Matrix:
    """Return the permutation that adds one number below 3 to another one, modulo 3, each on two wires."""
    out = np.zeros((16, 16), dtype=np.complex128)
    for a in range(4):
        for b in range(4):
            out[a + 4 * ((a + b) % 3 if a < 3 and b < 3 else b), a + 4 * b] = 1
    return out


def filled(written: WrittenCircuit) -> list[int]:
    """Return how many entries that are not 0 each matrix on four wires has."""
    blocks = [one for one in ops(written) if one.mixes and len(one.mixes) + len(one.reads) == 4]
    return [sum(entry != 0 for entry in one.pattern) for one in blocks]


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("level", [1, 3])
def test_matrices_of_which_a_transpiler_has_merged_the_ends_come_back(basis: tuple[str, ...], level: int) -> None:
    """Matrices that keep a number of particles have their zeros where the end of one and the next one are one gate."""
    gates = entangled(6) + [Gate("unitary", wires, matrix=hop(0.2 + 0.1 * k)) for k, wires in enumerate(CHAIN)]
    found = filled(clusters(transpiled(gates, 6, basis, level)))
    assert len(found) == len(CHAIN)
    assert max(found) < 50  # 44, and perhaps what rounding has made


def test_matrices_on_the_same_four_wires_are_one() -> None:
    """Three matrices one behind the other, of 94 CZ each as a transpiler writes them, have the zeros that all share."""
    gates = entangled(6) + [Gate("unitary", wires, matrix=hop(0.2 + 0.1 * k)) for wires in CHAIN[:2] for k in range(3)]
    found = filled(clusters(transpiled(gates, 6, BASES[0], 1)))
    assert len(found) == 2
    assert max(found) < 50


@pytest.mark.parametrize("basis", BASES)
def test_a_wire_that_chooses_what_becomes_of_three_others_is_read(basis: tuple[str, ...]) -> None:
    """A matrix on four wires does not mix the one that chooses between two of three, though turns are beside it."""
    rng = np.random.default_rng(3)
    chosen = np.kron(haar(rng, 3), np.diag([1, 0])) + np.kron(haar(rng, 3), np.diag([0, 1]))
    gates = entangled(6)
    for _ in range(2):
        gates += [Gate("unitary", (0, 1, 2, 3), matrix=chosen), Gate("unitary", (0,), matrix=haar(rng, 1))]
        gates += [Gate("unitary", wires, matrix=haar(rng, 2)) for wires in [(0, 4), (4, 5)]]
    of = [(one.mixes, one.reads) for one in ops(clusters(transpiled(gates, 6, basis, 1))) if len(one.mixes) > 2]
    assert of.count(((1, 2, 3), (1,))) == 2
    assert all(mixes == (1, 2, 3) for mixes, _ in of)


@pytest.mark.parametrize("basis", BASES)
def test_matrices_on_three_wires_of_which_pairs_are_part_come_back(basis: tuple[str, ...]) -> None:
    """A hopping that a third wire dilates is one matrix, though hoppings of two wires are part of what is written."""
    gates, hop_left = entangled(7), np.zeros((4, 4))
    hop_left[1, 2], hop_left[2, 1] = 1.5, 0.7
    values, vectors = np.linalg.eig(hop_left)
    left, lengths, right = np.linalg.svd(vectors * np.exp(-0.4j * values) @ np.linalg.inv(vectors))
    lengths /= lengths.max()
    rest = np.sqrt(np.clip(1 - lengths**2, 0, None))
    kept, beside = left * lengths @ right, left * rest @ left.conj().T
    dilated = np.block([[kept, beside], [right.conj().T * rest @ right, -kept.conj().T]])
    gates += [Gate("unitary", wires, matrix=dilated) for wires in [(0, 1, 4), (2, 3, 5), (1, 2, 6)]]
    found = [len(one.mixes) + len(one.reads) for one in ops(clusters(transpiled(gates, 7, basis, 1))) if one.mixes]
    assert [size for size in found if size > 2] == [3, 3, 3]


@pytest.mark.parametrize("basis", BASES)
def test_sums_between_dense_matrices_of_two_wires_have_zeros(basis: tuple[str, ...]) -> None:
    """A sum modulo 3 between dense matrices of two wires is one matrix, of which at least half is 0."""
    rng = np.random.default_rng(3)
    gates = entangled(6)
    pairs = [(0, 1), (2, 3), (4, 5)]
    for wires in [*CHAIN[:2], ()]:
        gates += [Gate("unitary", pair, matrix=haar(rng, 2)) for pair in pairs]
        gates += [Gate("unitary", wires, matrix=ternary_sum())] if wires else []
    found = filled(clusters(transpiled(gates, 6, basis, 1)))
    assert len(found) == 2
    assert max(found) <= 128


@pytest.mark.parametrize("basis", BASES)
def test_matrices_whose_wires_others_are_done_with_one_by_one_come_back(basis: tuple[str, ...]) -> None:
    """Pair excitations between turns of two states each, in whatever order their wires are ready, have their zeros."""
    rng = np.random.default_rng(3)
    gates = entangled(8)
    for _ in range(2):
        for wire in range(6):
            gates.append(Gate("unitary", (wire, wire + 2), matrix=excitation(4, (1, 2), rng.uniform(0.1, 1))))
        for _ in range(3):
            a, b = (2 * int(pair) for pair in rng.permutation(4)[:2])
            gates.append(Gate("unitary", (a, a + 1, b, b + 1), matrix=excitation(16, (3, 12), rng.uniform(0.2, 1))))
    circuit = transpiled(gates, 8, basis, 1)
    written = written_out(circuit, manner=Manner.CLUSTERS, zeros=False)
    assert written
    assert set(filled(written)) == {18}
    psi = rng.normal(size=256) / 16
    found = reference.simulate(written.circuit(circuit.operands), psi)
    assert np.abs(found - reference.simulate(circuit, psi)).max() < 1e-11


@given(st.lists(st.integers(0, 1 << 30), min_size=1, max_size=3), st.sampled_from(BASES), st.integers(0, 3))
@settings(max_examples=20, deadline=None)
def test_drawn_matrices_on_four_wires_do_what_they_did(seeds: list[int], basis: tuple[str, ...], level: int) -> None:
    """Whatever is on four wires, what is written of it is the circuit, also if ever so few gates are a matrix."""
    gates = entangled(5)
    for seed in seeds:
        rng = np.random.default_rng(seed)
        wires = tuple(rng.permutation(5)[:4].tolist())
        matrix = [hop(rng.uniform(0, 3)), ternary_sum(), np.kron(haar(rng, 2), haar(rng, 2)), haar(rng, 3)][seed % 4]
        gates.append(Gate("unitary", wires[: 3 if seed % 4 == 3 else 4], matrix=matrix))
        gates.append(Gate("unitary", wires[1:3], matrix=haar(rng, 2)))
    with thresholds.instead(clustered_percent=0, block_pieces=40 if seeds[0] % 3 else 3):
        clusters(transpiled(gates, 5, basis, level))


@pytest.mark.parametrize("strings", [6, 16])
def test_rotations_about_four_wires_count_as_the_gates_that_they_are_written_in(strings: int) -> None:
    """16 rotations about strings of four wires are one matrix, as where they are written in CX; six are not."""
    random = np.random.default_rng(strings)
    builder = CircuitBuilder(6)
    for wire in range(6):
        builder.gate("ry", [wire], 0.3 + 0.2 * wire)
    for _ in range(strings):
        letters = "".join(random.choice(list("XYZ"), 4))
        builder.pauli_rotation(float(random.uniform(0.3, 1.2)), letters, [1, 2, 3, 4])
    written = written_out(builder.build(), manner=Manner.CLUSTERS, zeros=True)
    assert len(filled(written) if written else []) == (strings == 16)
