"""What cancels in products of known matrices and phases is seen, and nothing else is."""

from __future__ import annotations

import numpy as np
import pytest
from support.plain_device import PlainDevice

from qsim_ex import CircuitBuilder, reference
from qsim_ex.circuit.gates import GATES
from qsim_ex.circuit.ops import letters, pattern, plain
from qsim_ex.planning.numbers.program import NumberProgram
from qsim_ex.planning.planner import bind, make_plan
from qsim_ex.planning.rewrite import trial
from qsim_ex.planning.rewrite.absorb import absorb
from qsim_ex.planning.rewrite.cancel import cancel
from qsim_ex.planning.rewrite.fuse import fuse, product_of
from qsim_ex.steps import Layout, Shape

SHAPE = Shape(tile=6, near=4, low=2, edge=2, phases=None, dense=4)
FRAMES = {"rxx": ("h", "h"), "ryy": ("sx", "sx"), "rzx": (None, "h"), "rxx by roots": ("s sx s", "s sx s")}


def bond(frames: tuple[str | None, str | None], builder: CircuitBuilder) -> None:
    """Append CX, RZ, CX between quarter turns on each wire and their inverses, as transpilers write a rotation."""
    turned = [(wire, name) for wire, frame in enumerate(frames) for name in (frame or "").split()]
    for wire, name in turned:
        builder.gate(name, [wire])
    builder.gate("cx", [0, 1]).gate("rz", [1], 0.3).gate("cx", [0, 1])
    for wire, name in reversed(turned):
        builder.gate({"s": "sdg", "sx": "sxdg"}.get(name, name), [wire])


def joined(builder: CircuitBuilder) -> str:
    """Return the pattern of all gates of a circuit of two wires as one matrix."""
    circuit = builder.build()
    work, _ = absorb(circuit.instructions, Layout.identity(2), SHAPE)
    work, _ = cancel(work, 2)
    program = NumberProgram(1000)
    work = fuse([piece for piece in work if piece.touched], program)
    made = product_of(work, (0, 1), program, 0.0, 100.0)
    assert made is not None
    return letters(made.pattern)


@pytest.mark.parametrize("frames", FRAMES.values(), ids=FRAMES)
def test_rotations_between_quarter_turns_have_the_zeros_of_their_paulis(frames: tuple[str | None, str | None]) -> None:
    """CX·RZ·CX between H or √X is a rotation by a product of Pauli matrices: its other entries are 0."""
    builder = CircuitBuilder(2)
    bond(frames, builder)
    where = "1001011001101001" if None not in frames else "1100110000110011" if frames[0] is None else ""
    if frames == (None, "h"):
        where = "1010010110100101"
    assert joined(builder).translate(str.maketrans("ric", "111")) == where


def test_a_drawn_matrix_between_them_cancels_nothing() -> None:
    """With an RY in between no entry is 0."""
    builder = CircuitBuilder(2)
    bond(("h", "h"), builder)
    builder.gate("ry", [0], 0.3).gate("ry", [1], 0.2)
    bond(("h", "h"), builder)
    assert "0" not in joined(builder)


def test_numbers_that_are_known_stand_for_themselves() -> None:
    """At each draw 1, i and √½ are these; other entries are drawn, real and imaginary ones as such, by their place."""
    of = pattern("01-jJhHkKric")
    drawn = trial.drawn(of, np.arange(len(of)))
    r = np.sqrt(0.5)
    assert drawn[0, :9] == pytest.approx([0, 1, -1, 1j, -1j, r, -r, 1j * r, -1j * r])
    assert (drawn[:, 9].imag == 0).all()
    assert (drawn[:, 10].real == 0).all()
    assert (drawn[0, 9:] != drawn[1, 9:]).all()
    assert letters(plain(of)) == "01-iirriiric"


def test_numbers_are_the_same_if_they_are_at_all_draws() -> None:
    """Numbers that rounding alone has taken apart are the same, and others are not, if at one draw alone."""
    one = np.array([3 + 1e-3j, 1e-20])
    assert trial.same(one, one * (1 + 1e-12j))
    assert trial.same(0 * one, 0 * one)
    assert not trial.same(one, one * [1, 1 + 1e-6j])


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
    buffer = np.zeros(4, dtype=np.complex128)
    buffer[0] = 1
    for step, numbers in zip(plan.steps, bind(plan, circuit.operands), strict=True):
        PlainDevice(SHAPE).run(buffer, 2, step, numbers)
    found = buffer[[plan.end.index(value) for value in range(4)]]
    assert np.linalg.norm(found - reference.simulate(circuit)) <= 1e-11
