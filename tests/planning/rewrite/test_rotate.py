"""Phases of the same parities become one where nothing between them mixes their bits, and nothing else changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from math import pi
from operator import or_

import numpy as np
import pytest
from support import literal_executor as literal
from support.plan_items import items, mixes

from benchmarks.counts import MACHINES, circuit_of
from benchmarks.cx_rich import Named
from qsim_ex import reference
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.ops import letters
from qsim_ex.planning.cost.summary import summary
from qsim_ex.planning.planner import make_plan
from qsim_ex.steps import Diagonal, Euler, Layout, Product, Shape

WIDE = Shape(tile=6, registers=4, low=2, edge=2, most_blocks=None, dense=4)
APART = replace(WIDE, table=1)
"""The same, where phases of different parities are no table."""

JOINING = replace(WIDE, start=0)
"""The same, where runs of small states are joined, too."""

PAIR = "r00i0ri00ir0i00r"


def phases(circuit: Circuit) -> list[int]:
    """Return the bits that each phase of a plan touches, but for phases of the whole state."""
    n = circuit.num_qubits
    plan = make_plan(circuit.instructions, n, Layout.identity(n), APART)
    found = [reduce(or_, item.reads, item.when.mask) for item in items(plan) if isinstance(item, Diagonal)]
    return [mask for mask in found if mask]


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


def test_a_transpiled_qft_has_a_phase_for_each_pair_and_few_on_each_wire() -> None:
    """Three RZ for each CP leave one phase for each pair, and at most three on each wire: around its RY and its H."""
    found = phases(qft(8, transpiled=True))
    pairs = [mask for mask in found if mask.bit_count() == 2]
    assert len(pairs) == len(set(pairs)) == 28
    assert len(found) - len(pairs) <= 3 * 8


def test_what_mixes_a_bit_is_between() -> None:
    """Phases on both sides of a gate that mixes one of their bits stay two; with other bits mixed they are one."""
    between = CircuitBuilder(3).gate("rzz", [0, 1], 0.3).gate("ry", [1], 0.2).gate("rzz", [0, 1], 0.4).build()
    beside = CircuitBuilder(3).gate("rzz", [0, 1], 0.3).gate("ry", [2], 0.2).gate("rzz", [0, 1], 0.4).build()
    assert phases(between) == [0b11, 0b11]
    assert phases(beside) == [0b11]


def test_many_phases_are_multiplied_in_few_rounds() -> None:
    """The product of 100 phases takes 7 rounds, all products of a round at once."""
    builder = CircuitBuilder(2).gate("ry", [0], 0.1).gate("ry", [1], 0.1)
    for k in range(100):
        builder.gate("rzz", [0, 1], 0.01 * k)
    circuit = builder.build()
    plan = make_plan(circuit.instructions, 2, Layout.identity(2), WIDE)
    products = [row for row in plan.coefficients.program if isinstance(row, Product)]
    assert len(products) <= 2 * 7


def bond(angles: Sequence[float], wires: tuple[int, int] = (0, 1)) -> list[Named]:
    """Return RXX, RYY and RZZ by three angles as transpilers write them."""
    gates: list[Named] = []
    for angle, before, behind in zip(angles, ("h", "sx", ""), ("h", "sxdg", ""), strict=True):
        gates += [(before, (wire,), ()) for wire in wires if before]
        gates += [("cx", wires, ()), ("rz", wires[1:], (angle,)), ("cx", wires, ())]
        gates += [(behind, (wire,), ()) for wire in wires if behind]
    return gates


FIELD: list[Named] = [("rz", (0,), (0.7,)), ("rz", (1,), (-1.9,))]
SIDES = {"none": (0, 0), "before": (1, 0), "behind": (0, 1), "both": (1, 1)}


@pytest.mark.parametrize("sides", SIDES.values(), ids=SIDES)
@pytest.mark.parametrize("first", [0.0, 1e-9, 0.4, pi / 2, pi, -2.0])
@pytest.mark.parametrize("second", [0.4, pi / 2, -3.0])
def test_transpiled_pairs_are_imaginary_rotations(sides: tuple[int, int], first: float, second: float) -> None:
    """RXX·RYY·RZZ is one pair, and RZ beside it on one side one phase more; with RZ on both sides the pair is real.

    Whatever the angles are, states are those of the definitions.
    """
    start: list[Named] = [("ry", (wire,), (0.3 + wire,)) for wire in (0, 1, 2)] + [
        ("cz", (0, 2), ()),
        ("cz", (1, 2), ()),
    ]
    gates = start + sides[0] * FIELD + bond((first, second, 0.3)) + sides[1] * FIELD
    circuit = circuit_of(gates, 3)
    plan = make_plan(circuit.instructions, 3, Layout.identity(3), JOINING)
    pairs = [letters(item.pattern) for item in mixes(plan) if len(item.bits) == 2]
    assert pairs == ["r00r0rr00rr0r00r" if all(sides) else PAIR]
    assert [row.imaginary for row in plan.coefficients.program if isinstance(row, Euler)] == [not all(sides)]
    found = literal.after(plan, circuit, reference.zero_state(3))
    assert np.linalg.norm(found - reference.simulate(circuit)) <= 1e-14


def test_a_transpiled_chain_has_the_pairs_of_the_chain() -> None:
    """A Heisenberg chain in H, √X, RZ and CX has as many pairs that kernels apply by tangents as the chain as it is."""
    shape, counts = replace(MACHINES["gpu single"][0], start=16), []
    for transpiled in (False, True):
        gates: list[Named] = [("ry", (w,), (0.3,)) for w in range(16)]
        for first in 5 * (0, 1):
            for w in range(first, 15, 2):
                angles, wires = (0.3, 0.3, 0.2), (w, w + 1)
                rotations: list[Named] = [(f"r{k}{k}", wires, (a,)) for k, a in zip("xyz", angles, strict=True)]
                gates += bond(angles, wires) if transpiled else rotations
            gates += [("rz", (w,), (0.4,)) for w in range(16)] if first else []
        plan = make_plan(circuit_of(gates, 16).instructions, 16, Layout.identity(16), shape, (1 << 16) - 1)
        counts.append(sum(letters(item.pattern) == PAIR for item in mixes(plan)))
    assert counts[0] == counts[1] > 50


def test_a_transpiled_qft_is_planned_as_well_as_a_qft() -> None:
    """On 28 wires of a GPU it is predicted to take at most 1.3 times as long, from |0…0⟩ and from a full state."""
    shape, precision = MACHINES["gpu single"]
    for fresh in ((1 << 28) - 1, 0):
        times = []
        for transpiled in (False, True):
            made = qft(28, transpiled=transpiled).instructions
            plan = make_plan(made, 28, Layout.identity(28), shape, fresh, place=bool(fresh))
            times.append(summary(plan, precision).seconds)
        assert times[1] <= 1.3 * times[0]
