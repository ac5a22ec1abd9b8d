"""Stored structure is that of the circuits that were transpiled."""

from __future__ import annotations

from math import pi

import pytest

from benchmarks.engine import circuit_of
from benchmarks.gates import Gate
from tools.golden_counts import FAMILIES
from tools.transpiled_circuits import BASIS, WIRES, circuits, read, written

GATES = [
    Gate("rz", (11,), (0.7,)),
    Gate("sx", (0,)),
    Gate("cz", (3, 17)),
    Gate("x", (9,)),
    *(Gate("rz", (k,), (k * pi / 4,)) for k in range(1, 16)),
    *(Gate("rz", (k,), (-k * pi / 2 + 1e-15,)) for k in range(1, 4)),
    *(Gate("rz", (1,), (angle,)) for angle in (0.0, 2 * pi, pi / 2 + 1e-9)),
]


def test_structure_stays() -> None:
    """Gates that are written and read again are the same structure, whose quarter and eighth turns are known."""
    given, found = (circuit_of(gates, 18) for gates in (GATES, read(written(GATES))))
    assert found.instructions == given.instructions


@pytest.mark.parametrize("name", ["qft", "walk", "three_wires"])
def test_a_transpiled_circuit_is_the_same(name: str) -> None:
    """A family in rz, sx, x and cz makes the state of the family, but for a phase."""
    pytest.importorskip("qiskit")
    import numpy as np

    from benchmarks.dense import simulate
    from benchmarks.warm import transpiled

    gates = FAMILIES[name](7)
    made = transpiled(gates, 7, list(BASIS))
    assert {gate.name for gate in made} <= BASIS.keys()
    assert abs(np.vdot(simulate(made, 7), simulate(gates, 7))) == pytest.approx(1)


def test_all_families_are_stored() -> None:
    """The file has every family, on wires that it has."""
    found = circuits()
    assert list(found) == list(FAMILIES)
    assert all(wire < WIRES for gates in found.values() for gate in gates for wire in gate.wires)
