"""What cancels in products of known matrices and phases is seen, and nothing else is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support import literal_executor as literal
from support.plan_items import mixes

from qsim_ex import CircuitBuilder, reference
from qsim_ex.circuit.gates import GATES
from qsim_ex.circuit.ops import letters
from qsim_ex.planning.planner import make_plan
from qsim_ex.steps import Layout, Shape

SHAPE = Shape(tile=6, registers=4, low=2, edge=2, most_blocks=None, dense=4)
JOINING = replace(SHAPE, start=0, item_work=2.0)
"""The same, where runs are joined to one matrix as soon as that saves an item."""

FRAMES = {"rxx": ("h", "h"), "ryy": ("sx", "sx"), "rxx by roots": ("s sx s", "s sx s")}


def bond(frames: tuple[str, str], builder: CircuitBuilder) -> None:
    """Append CX, RZ, CX between quarter turns on each wire and their inverses, as transpilers write a rotation."""
    turned = [(wire, name) for wire, frame in enumerate(frames) for name in frame.split()]
    for wire, name in turned:
        builder.gate(name, [wire])
    builder.gate("cx", [0, 1]).gate("rz", [1], 0.3).gate("cx", [0, 1])
    for wire, name in reversed(turned):
        builder.gate({"s": "sdg", "sx": "sxdg"}.get(name, name), [wire])


def joined(builder: CircuitBuilder) -> str:
    """Return the pattern of all gates of a circuit of two wires, which a plan has as one matrix."""
    plan = make_plan(builder.build().instructions, 2, Layout.identity(2), JOINING)
    (made,) = mixes(plan)
    assert made.bits == (0, 1)
    return letters(made.pattern)


@pytest.mark.parametrize("frames", FRAMES.values(), ids=FRAMES)
def test_rotations_between_quarter_turns_have_the_zeros_of_their_paulis(frames: tuple[str, str]) -> None:
    """CX·RZ·CX between H or √X is a rotation by a product of Pauli matrices: its other entries are 0."""
    builder = CircuitBuilder(2)
    bond(frames, builder)
    assert joined(builder).replace("c", "1") == "1001011001101001"


def test_a_drawn_matrix_between_them_cancels_nothing() -> None:
    """With an RY in between no entry is 0."""
    builder = CircuitBuilder(2)
    bond(("h", "h"), builder)
    builder.gate("ry", [0], 0.3).gate("ry", [1], 0.2)
    bond(("h", "h"), builder)
    assert "0" not in joined(builder)


@pytest.mark.parametrize("seed", range(3))
def test_long_runs_lose_nothing(seed: int) -> None:
    """Of thousands of gates on two wires in one matrix no entry is taken for 0 that is not, whatever grew meanwhile."""
    rng, builder = np.random.default_rng(seed), CircuitBuilder(2)
    kinds = ("rxx", "ryy", "rzz", "rz") if seed else ("h", "cx", "rz", "sx", "s", "ry")
    builder.gate("h", [0]).gate("h", [1])
    for _ in range(4000):
        name = kinds[rng.integers(len(kinds))]
        gate = GATES[name]
        wires = rng.permutation(2)[: gate.qubits].tolist()
        builder.gate(name, wires, *rng.uniform(-3, 3, len(gate.parameters)).tolist())
    builder.gate("h", [0]).gate("h", [1])
    circuit = builder.build()
    plan = make_plan(circuit.instructions, 2, Layout.identity(2), SHAPE)
    found = literal.after(plan, circuit, reference.zero_state(2))
    assert np.linalg.norm(found - reference.simulate(circuit)) <= 1e-11
