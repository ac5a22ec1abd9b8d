"""Circuits full of what rewriting changes, from any layout, give the state of the definitions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from support import literal_executor as literal

from qsim_ex import reference, thresholds
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.planning.planner import make_plan
from qsim_ex.steps import Layout, Shape
from tools.drawn_plans import ladder, turned

WIDE = Shape(tile=6, registers=4, low=2, edge=2, most_blocks=None, dense=4)

Append = Callable[[np.random.Generator, CircuitBuilder, list[int]], None]


def phases(rng: np.random.Generator, builder: CircuitBuilder, wires: list[int]) -> None:
    """RZ, SX, CX and phases of other kinds."""
    for _ in range(8):
        name = ("rz", "rz", "rz", "sx", "cx", "cx", "cp", "rzz", "t")[rng.integers(9)]
        angles = [float(rng.normal())] if name in ("rz", "cp", "rzz") else []
        on = rng.permutation(wires)[: 2 if name in ("cx", "cp", "rzz") else 1].tolist()
        builder.gate(name, on, *angles)


def runs(rng: np.random.Generator, builder: CircuitBuilder, wires: list[int]) -> None:
    """Runs of gates on a pair of neighbours, which share wires with the runs around them."""
    first = int(rng.integers(len(wires) - 1))
    for _ in range(15):
        name = ("u", "h", "cx", "rz", "cp", "sx")[rng.integers(6)]
        angles = rng.uniform(-3, 3, {"u": 3, "rz": 1, "cp": 1}.get(name, 0)).tolist()
        pair = [first, first + 1][:: rng.choice([1, -1])]
        builder.gate(name, pair if name in ("cx", "cp") else pair[:1], *angles)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("append", [ladder, turned, phases, runs])
def test_circuits_keep_their_meaning(append: Append, seed: int) -> None:
    """Ladders of CX around phases, H with eighth turns between, phases of the same parities, runs on two wires.

    Where pieces leave soon, fewer find each other, and the state is the same.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    builder = CircuitBuilder(n)
    for wire in range(n):
        builder.gate("ry", [wire], float(rng.normal()))
    for _ in range(int(rng.integers(1, 8))):
        append(rng, builder, rng.permutation(n).tolist())
    circuit = builder.build()
    start = Layout(tuple(rng.permutation(n).tolist()), int(rng.integers(1 << n)))
    limits = {"window": 1 + seed % 7, "looked_at": 3 + seed % 5} if seed % 4 > 1 else {}
    with thresholds.instead(**limits):
        plan = make_plan(circuit.instructions, n, start, replace(WIDE, start=0 if seed % 2 else 14))
    found = literal.after(plan, circuit, reference.zero_state(n))
    assert np.linalg.norm(found - reference.simulate(circuit)) <= 1e-12
