"""The held-out families: what we run and what peers are given is one circuit."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.dense import simulate
from benchmarks.engine import circuit_of
from benchmarks.gates import Gate
from benchmarks.held_out import FAMILIES, adder
from benchmarks.peers.base import Setup
from benchmarks.warm import predicted, transpiled
from qsim_ex import reference


@pytest.mark.parametrize("family", ["iqp", "adder", "grover", "heisenberg", "ucc", "su2_8", "clifford_t"])
def test_circuits_are_what_their_matrices_say(family: str) -> None:
    """The engine's gates and the neutral matrices make one state, but for a phase."""
    gates = FAMILIES[family](6)
    ours, theirs = reference.simulate(circuit_of(gates, 6)), simulate(gates, 6)
    assert abs(np.vdot(ours, theirs)) == pytest.approx(1)


def test_the_adder_adds() -> None:
    """Without superposition the second register becomes the sum, and the last wire is its carry."""
    gates = [gate for gate in adder(8) if gate.name != "ry"]
    for a, b in ((5, 6), (7, 1), (0, 3), (7, 7)):
        given = [Gate("x", (1 + 2 * k,)) for k in range(3) if a >> k & 1]
        given += [Gate("x", (2 + 2 * k,)) for k in range(3) if b >> k & 1]
        index = int(np.argmax(np.abs(simulate([*given, *gates], 8))))
        total = sum((index >> 2 + 2 * k & 1) << k for k in range(3)) | (index >> 7) << 3
        assert total == a + b
        assert sum((index >> 1 + 2 * k & 1) << k for k in range(3)) == a


def test_in_rz_sx_and_cx() -> None:
    """A transpiled circuit has three kinds of gates and makes the same state, but for a phase."""
    gates = FAMILIES["surface_code"](6)
    made = transpiled(gates, 6)
    assert {gate.name for gate in made} <= {"rz", "sx", "cx"}
    assert abs(np.vdot(simulate(made, 6), simulate(gates, 6))) == pytest.approx(1)


def test_what_is_planned() -> None:
    """Beside each time stands what the planner counts."""
    found = predicted(circuit_of(FAMILIES["ghz"](12), 12), Setup(12, "single", 1), "cpu")
    assert found["sweeps"] >= 1
    assert found["ms"] > 0
