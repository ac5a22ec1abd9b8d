"""Tests of gates on the same two wires that are one again, and of X under controls, in `Manner.CLUSTERS`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planning.form.test_written_clusters import BASES, clusters, entangled, turns

from benchmarks.forms import transpiled
from benchmarks.gates import Gate, Matrix, haar
from qsim_ex import thresholds
from qsim_ex.circuit.ops import Op
from qsim_ex.planning.written.out import WrittenCircuit

X, Y, Z = np.array([[0, 1], [1, 0]]), np.array([[0, -1j], [1j, 0]]), np.diag([1, -1])


def pair(a: float, b: float, c: float, seed: int | None = 0) -> Matrix:
    """Return e^{i (a XX + b YY + c ZZ)}, if there is a seed between drawn turns of both wires."""
    rng = np.random.default_rng(seed)
    before, behind = (np.eye(4) if seed is None else np.kron(haar(rng, 1), haar(rng, 1)) for _ in range(2))
    values, vectors = np.linalg.eigh(a * np.kron(X, X) + b * np.kron(Y, Y) + c * np.kron(Z, Z))
    made: Matrix = behind @ (vectors * np.exp(1j * values)) @ vectors.conj().T @ before
    return made


def ops(written: WrittenCircuit) -> Iterable[Op]:
    """Return the operations of what is written."""
    return [one for one in written.structure.instructions if isinstance(one, Op)]


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("angles", [(0.3, 0.3, 0.5), (0.3, 0.5, -0.3), (0.2, -0.7, -0.7), (0.75, 0.75, 0.1)])
def test_what_mixes_two_of_four_states_is_one_sparse_matrix(
    basis: tuple[str, ...], angles: tuple[float, float, float]
) -> None:
    """Where two angles are equal but for their signs, a pair is a matrix with six entries that are not 0."""
    gates = entangled(5)
    for number, wires in enumerate([(0, 1), (2, 3), (4, 0), (1, 2), (3, 0), (2, 4)]):
        gates.append(Gate("unitary", wires, matrix=pair(*angles, seed=number)))
    dense = [one for one in ops(clusters(transpiled(gates, 5, basis, 1))) if len(one.mixes) == 2 and not one.when.mask]
    matrices = [one for one in dense if one.name == "unitary"]
    assert len(matrices) == 6
    assert all(sum(entry != 0 for entry in one.pattern) == 6 for one in matrices)


@given(
    st.integers(0, 1 << 30),
    st.tuples(*[st.sampled_from([0.0, 0.2, -0.2, 0.6, np.pi / 4, -np.pi / 4, np.pi / 8, 1.3])] * 3),
    st.sampled_from(BASES),
)
@settings(max_examples=40, deadline=None)
def test_pairs_do_what_they_did(seed: int, angles: tuple[float, float, float], basis: tuple[str, ...]) -> None:
    """Whatever the angles, what is written of pairs and Toffolis around them is the circuit."""
    rng = np.random.default_rng(seed)
    gates = turns(4)
    for number in range(4):
        wires = rng.permutation(4).tolist()
        gates.append(Gate("unitary", tuple(wires[:2]), matrix=pair(*angles, seed=seed + number)))
        gates.append(Gate("ccx", tuple(wires[1:])))
    with thresholds.instead(clustered_percent=0):
        clusters(transpiled(gates, 4, basis, 1))


@pytest.mark.parametrize("basis", [basis for basis in BASES if "rzz" not in basis])
def test_toffolis_come_back_as_x_under_controls(basis: tuple[str, ...]) -> None:
    """CX and Toffolis are X under one control and two, with no turns between them but those at the beginning."""
    gates = [Gate("ry", (wire,), (0.3 + wire,)) for wire in range(6)]
    toffolis = [(0, 1, 2), (2, 3, 4), (4, 5, 0)]
    for a, b, c in toffolis:
        gates += [Gate("cx", (c, a)), Gate("ccx", (a, b, c))]
    found = list(ops(clusters(transpiled(gates, 6, basis, 1), zeros=True)))
    kinds = Counter(one.when.mask.bit_count() for one in found if len(one.mixes) == 1)
    assert kinds[2] == len(toffolis)
    assert kinds[0] <= 6 + 2
