"""Phases of the same parities become one where nothing between them mixes their bits, and nothing else changes."""

from __future__ import annotations

from math import pi

import numpy as np
import pytest
from support.plain_device import PlainDevice

from benchmarks.counts import MACHINES, circuit_of
from benchmarks.cx_rich import Named
from qsim_ex import reference
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.planning.cost.summary import summary
from qsim_ex.planning.numbers.program import NumberProgram
from qsim_ex.planning.planner import bind, make_plan
from qsim_ex.planning.rewrite.absorb import absorb
from qsim_ex.planning.rewrite.cancel import cancel
from qsim_ex.planning.rewrite.rotate import gather
from qsim_ex.planning.work import Work
from qsim_ex.steps import Layout, Product, Shape

WIDE = Shape(tile=6, near=4, low=2, edge=2, phases=None, dense=4)


def gathered(circuit: Circuit) -> list[Work]:
    """Return the work of a circuit with phases joined, as it was before neighbours are fused."""
    work, _ = absorb(circuit.instructions, Layout.identity(circuit.num_qubits), WIDE)
    work, _ = cancel(work, circuit.num_qubits)
    return gather(work, NumberProgram(10_000), cheap=True)


def phases(work: list[Work]) -> list[int]:
    """Return the bits that each phase touches, but for phases of the whole state."""
    return [piece.touch for piece in work if piece.kind == "diagonal" and piece.touch]


def qft(wires: int, *, transpiled: bool) -> Circuit:
    """Return RY on all wires and a QFT without SWAPs, as it is or in rz, sx, cx."""
    gates: list[Named] = [("ry", (w,), (0.3 + w,)) for w in range(wires)]
    for target in reversed(range(wires)):
        hadamard: list[Named] = [("rz", (target,), (pi / 2,)), ("sx", (target,), ()), ("rz", (target,), (pi / 2,))]
        gates += hadamard if transpiled else [("h", (target,), ())]
        for c in reversed(range(target)):
            angle = pi / 2 ** (target - c)
            gates += cp(c, target, angle) if transpiled else [("cp", (c, target), (angle,))]
    return circuit_of(gates, wires)


def cp(control: int, target: int, angle: float) -> list[Named]:
    """Return a CP as transpilers write it, but for the phase of the whole state."""
    half = angle / 2
    cx: Named = ("cx", (control, target), ())
    return [("rz", (control,), (half,)), cx, ("rz", (target,), (-half,)), cx, ("rz", (target,), (half,))]


def test_a_transpiled_qft_has_a_phase_for_each_pair_and_each_wire() -> None:
    """Three RZ for each CP leave one phase for each pair, and one on each wire before and behind its H."""
    found = phases(gathered(qft(8, transpiled=True)))
    pairs = [mask for mask in found if mask.bit_count() == 2]
    assert len(pairs) == len(set(pairs)) == 28
    assert len(found) - len(pairs) <= 2 * 8


@pytest.mark.parametrize("seed", range(40))
def test_gathered_phases_keep_their_meaning(seed: int) -> None:
    """Circuits of RZ, SX, CX and phases of other kinds, from any layout, give the state of the definitions."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    builder = CircuitBuilder(n)
    for _ in range(60):
        pair = rng.permutation(n)[:2].tolist()
        name = ("rz", "rz", "rz", "sx", "cx", "cx", "cp", "rzz", "t")[rng.integers(9)]
        angles = [float(rng.normal())] if name in ("rz", "cp", "rzz") else []
        builder.gate(name, pair if name in ("cx", "cp", "rzz") else pair[:1], *angles)
    circuit = builder.build()
    start = Layout(tuple(rng.permutation(n).tolist()), int(rng.integers(1 << n)))
    plan = make_plan(circuit.instructions, n, start, WIDE)
    buffer = np.zeros(1 << n, dtype=np.complex128)
    buffer[start.index(0)] = 1
    for step, numbers in zip(plan.steps, bind(plan, circuit.operands), strict=True):
        PlainDevice(WIDE).run(buffer, n, step, numbers)
    found = buffer[[plan.end.index(value) for value in range(1 << n)]]
    assert np.linalg.norm(found - reference.simulate(circuit)) <= 1e-12


def test_what_mixes_a_bit_is_between() -> None:
    """Phases on both sides of a gate that mixes one of their bits stay two; with other bits mixed they are one."""
    between = CircuitBuilder(3).gate("rzz", [0, 1], 0.3).gate("ry", [1], 0.2).gate("rzz", [0, 1], 0.4).build()
    beside = CircuitBuilder(3).gate("rzz", [0, 1], 0.3).gate("ry", [2], 0.2).gate("rzz", [0, 1], 0.4).build()
    assert phases(gathered(between)) == [0b11, 0b11]
    assert phases(gathered(beside)) == [0b11]


def test_many_phases_are_multiplied_in_few_rounds() -> None:
    """The product of 100 phases takes 7 rounds, all products of a round at once."""
    builder = CircuitBuilder(2).gate("ry", [0], 0.1).gate("ry", [1], 0.1)
    for k in range(100):
        builder.gate("rzz", [0, 1], 0.01 * k)
    circuit = builder.build()
    plan = make_plan(circuit.instructions, 2, Layout.identity(2), WIDE)
    products = [row for row in plan.numbers.program if isinstance(row, Product)]
    assert len({row.left.shape[1:] for row in products}) <= 2
    assert len(products) <= 2 * 7


def test_a_transpiled_qft_is_planned_as_well_as_a_qft() -> None:
    """On 28 wires of a GPU it is predicted to take at most 1.3 times as long, from |0…0⟩ and from a full state."""
    shape, itemsize = MACHINES["gpu single"]
    for fresh in ((1 << 28) - 1, 0):
        times = []
        for transpiled in (False, True):
            made = qft(28, transpiled=transpiled).instructions
            plan = make_plan(made, 28, Layout.identity(28), shape, fresh, place=bool(fresh))
            times.append(summary(plan, itemsize).seconds)
        assert times[1] <= 1.3 * times[0]
