"""Tests of many turns that are each as small as rounding, and mean something together."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from qsim_ex import Circuit, CircuitBuilder, reference
from qsim_ex.planning.written.out import Manner, written_out

Add = Callable[[CircuitBuilder, float, float], object]
ADDED: dict[str, Add] = {
    "rx": lambda to, small, _: to.gate("rx", (0,), small),
    "rxx": lambda to, small, _: to.gate("rxx", (0, 1), small),
    "between rz": lambda to, small, turn: to.gate("rz", (0,), turn).gate("rx", (0,), small).gate("rz", (0,), -turn),
    "between rzz": lambda to, small, turn: (
        to.gate("rzz", (0, 1), turn).gate("rx", (0,), small).gate("rzz", (0, 1), -turn)
    ),
    "under a control": lambda to, small, turn: (
        to.gate("rx", (1,), turn).gate("crx", (1, 0), small).gate("rx", (1,), -turn)
    ),
    "by cx": lambda to, small, turn: (
        to.gate("cx", (1, 0)).gate("rz", (0,), turn).gate("rx", (0,), small).gate("rz", (0,), -turn).gate("cx", (1, 0))
    ),
    "rzz between rx": lambda to, small, turn: (
        to.gate("rx", (0,), turn).gate("rzz", (0, 1), small).gate("rx", (0,), -turn)
    ),
    "phase between rx": lambda to, small, turn: (
        to.gate("rx", (0,), turn)
        .gate("rx", (1,), turn)
        .gate("cp", (0, 1), 4 * small)
        .gate("rx", (0,), -turn)
        .gate("rx", (1,), -turn)
    ),
    "rxx between rzz": lambda to, small, turn: (
        to.gate("rzz", (1, 2), turn).gate("rxx", (0, 1), small).gate("rzz", (1, 2), -turn)
    ),
    "beside a quarter": lambda to, small, turn: (
        to.gate("rx", (0,), np.pi / 2 + small)
        .gate("rxx", (0, 2), turn)
        .gate("rx", (0,), -np.pi / 2)
        .gate("rxx", (0, 2), -turn)
    ),
}
"""What is added again and again: a small turn, beside some that are undone."""


def circuit_of(add: Add, small: float, count: int = 400) -> Circuit:
    """Return a circuit of small turns on three wires."""
    builder = CircuitBuilder(3)
    for turn in np.random.default_rng(1).uniform(0.2, 1.2, count):
        add(builder, small, float(turn))
    return builder.build()


@pytest.mark.parametrize("added", ADDED)
@pytest.mark.parametrize("small", [9e-13, 5e-12])
def test_small_turns_are_not_lost(added: str, small: float) -> None:
    """What is left out is little more in all than what gates are rounded by; of clusters, a few times that."""
    circuit = circuit_of(ADDED[added], small)
    rounded = 32 * np.finfo(float).eps * len(circuit.instructions)
    wanted = reference.simulate(circuit)
    assert np.abs(wanted - reference.simulate(circuit_of(ADDED[added], 0.0))).max() > 4 * rounded
    for manner in Manner:
        written = written_out(circuit, manner=manner)
        assert written or manner is Manner.CLUSTERS
        if written:
            most = 8 * rounded if manner is Manner.CLUSTERS else 2 * rounded
            assert np.abs(reference.simulate(written.circuit(circuit.operands)) - wanted).max() < most, manner


def test_what_is_rounded_is_no_turn() -> None:
    """Quarter turns that are off by their last digits stay quarter turns, however many there are."""
    builder = CircuitBuilder(3)
    for off in np.random.default_rng(2).uniform(-4e-15, 4e-15, 2000):
        builder.gate("rx", (0,), np.pi / 2 + off).gate("cx", (0, 1)).gate("ry", (1,), off).gate("cz", (1, 2))
    written = written_out(builder.build())
    assert written
    assert written.rotations == 0
