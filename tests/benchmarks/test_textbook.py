"""The families of `textbook` are the circuits that they say they are."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import textbook
from benchmarks.dense import simulate
from benchmarks.engine import circuit_of
from benchmarks.gates import Gate, parts
from benchmarks.textbook import FAMILIES
from qsim_ex import reference


@pytest.mark.parametrize("family", FAMILIES)
def test_circuits_are_what_their_matrices_say(family: str) -> None:
    """The engine's gates and the neutral matrices make one state, but for a phase."""
    gates = FAMILIES[family](8)
    ours, theirs = reference.simulate(circuit_of(gates, 8)), simulate(gates, 8)
    assert abs(np.vdot(ours, theirs)) == pytest.approx(1)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("n", [11, 28])
def test_every_gate_is_unitary_on_distinct_wires_in_range(family: str, n: int) -> None:
    """No gate has a wire twice or beyond n, and every matrix times its adjoint is the identity."""
    for gate in FAMILIES[family](n):
        assert len(set(gate.wires)) == len(gate.wires)
        assert all(0 <= w < n for w in gate.wires)
        matrix = parts(gate).matrix
        assert np.allclose(matrix @ matrix.conj().T, np.eye(len(matrix)), atol=1e-13)


def test_draper_adds() -> None:
    """Without superposition the second register becomes the sum, modulo its size."""
    gates = [gate for gate in textbook.draper(8) if gate.name != "ry"]
    for a, b in ((5, 6), (7, 15), (0, 3), (9, 9)):
        given = [Gate("x", (w,)) for w in range(8) if (a | b << 4) >> w & 1]
        found = np.abs(simulate([*given, *gates], 8))
        assert found[a | ((a + b) % 16) << 4] == pytest.approx(1)


@pytest.mark.parametrize("family", ["hubbard", "givens"])
def test_particles_stay(family: str) -> None:
    """Hops and Givens rotations leave the number of particles, half of the wires, as it is."""
    found = np.abs(simulate(FAMILIES[family](8), 8)) ** 2
    assert sum(p for index, p in enumerate(found) if index.bit_count() == 4) == pytest.approx(1)
    assert np.max(found) < 0.99


def test_givens_rotations_are_a_diamond() -> None:
    """A Slater determinant of m of 2m orbitals takes m² rotations."""
    assert sum(gate.name == "rxx" for gate in textbook.givens(28)) == 14 * 14


def test_a_hop_keeps_spin() -> None:
    """One particle with spin up reaches all sites of the ladder in a step, and none with spin down."""
    gates = textbook.hubbard(12)
    step = gates[6 : 6 + (len(gates) - 6) // 4]
    reached = np.abs(simulate([Gate("x", (0,)), *step], 12)) ** 2
    assert np.flatnonzero(reached > 1e-12).tolist() == [1 << site for site in range(6)]


def test_routing_brings_edges_together() -> None:
    """The routed circuit has gates on neighbours alone, and a phase for each edge of the graph in each layer."""
    gates = textbook.qaoa_routed(28)
    assert all(abs(gate.wires[0] - gate.wires[-1]) <= 1 for gate in gates)
    assert sum(gate.params == (0.3,) for gate in gates) == 2 * 42


def test_the_kernel_of_a_point_with_itself_is_one() -> None:
    """The second half undoes the first one where both points are one."""
    there = textbook.feature_map([0.4, 1.1, 2.0])
    assert abs(simulate([*there, *textbook.inverse(there)], 3)[0]) == pytest.approx(1)


def test_the_coin_names_the_coordinate_that_changes() -> None:
    """A walker whose coin has the value k changes coordinate k, and a coin that names none changes nothing."""
    coin, positions = textbook.walkers(8)
    assert (len(coin), len(positions)) == (3, 5)
    for value in range(8):
        given = [Gate("x", (w,)) for w in coin if value >> w & 1]
        found = np.abs(simulate([*given, *textbook.shift(coin, positions)], 8))
        assert found[value | (8 << value if value < 5 else 0)] == pytest.approx(1)
