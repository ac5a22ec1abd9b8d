"""Pairs of CX around phases disappear from plans, and from no other place."""

from __future__ import annotations

import pytest
from support.plan_items import permutes

from benchmarks.counts import MACHINES, circuit_of
from benchmarks.cx_rich import Named, pauli_rotation, ucc, uccsd
from qsim_ex import thresholds
from qsim_ex.planning.planner import make_plan
from qsim_ex.steps import Layout, Levels, Plan, Shape

LIMITS = thresholds.now

WIDE = Shape(tile=6, registers=4, low=2, edge=2, most_blocks=None, dense=4)


def planned(gates: list[Named], wires: int) -> Plan:
    """Return the plan of some gates for a state that fills its memory."""
    return make_plan(circuit_of(gates, wires).instructions, wires, Layout.identity(wires), WIDE)


def test_a_pauli_rotation_mixes_the_wires_of_x_and_y_alone() -> None:
    """Of a Pauli rotation's CX ladder no permutation is left, in a plan for one device and for several."""
    gates = pauli_rotation([(0, "X"), *[(wire, "Z") for wire in range(1, 7)], (7, "Y")])
    for levels in (None, Levels(7, 1, 2)):
        plan = make_plan(circuit_of(gates, 8).instructions, 8, Layout.identity(8), WIDE, 0, levels)
        assert permutes(plan) == []


@pytest.mark.parametrize(
    ("between", "left"),
    [
        (("rz", (1,), (0.3,)), 0),
        (("t", (1,), ()), 0),
        (("cz", (0, 1), ()), 0),
        (("cz", (1, 2), ()), 0),
        (("ry", (0,), (0.3,)), 2),
        (("ry", (1,), (0.3,)), 2),
        (("ry", (2,), (0.3,)), 0),
        (("cx", (2, 1), ()), 1),
        (("cx", (0, 2), ()), 1),
        (("cx", (1, 2), ()), 3),
        (("cx", (2, 0), ()), 3),
        (("cry", (1, 2), (0.3,)), 2),
        (("cry", (0, 2), (0.3,)), 0),
    ],
    ids=str,
)
def test_what_may_stand_between(between: Named, left: int) -> None:
    """Two equal CX disappear unless what stands between mixes the control, or needs the target as it is."""
    gates: list[Named] = [("cx", (0, 1), ()), between, ("cx", (0, 1), ())]
    assert len(permutes(planned(gates, 3))) == left


@pytest.mark.parametrize(("others", "wires", "left"), [
    (LIMITS.window - 1, 2, 0), (LIMITS.window, 2, 2), (LIMITS.looked_at - 1, 1, 0), (LIMITS.looked_at, 1, 2),
])  # fmt: skip
def test_a_cx_looks_back_so_far(others: int, wires: int, left: int) -> None:
    """A CX looks `window` pieces back, and passes fewer than `looked_at` that touch its bits."""
    turned: list[Named] = [("t", (0 if wires == 1 else 2,), ())] * others
    gates: list[Named] = [("cx", (0, 1), ()), *turned, ("cx", (0, 1), ())]
    assert len(permutes(planned(gates, 3))) == left


def test_a_swap_of_three_cx_moves_nothing() -> None:
    """SWAPs written as three CX, with phases between, change the layout alone, as SWAPs do."""
    swap: list[Named] = [("cx", (0, 1), ()), ("rz", (1,), (0.3,)), ("cx", (1, 0), ()), ("cx", (0, 1), ())]
    plan = planned([*swap, ("swap", (1, 2), ())], 3)
    assert permutes(plan) == []
    assert plan.end == planned([("swap", (0, 1), ()), ("swap", (1, 2), ())], 3).end


def test_opposite_cx_become_one() -> None:
    """Two CX in opposite directions are one CX and an exchange; another CX into the target may stand between."""
    for between in ([], [("cx", (2, 0), ())], [("t", (0,), ())]):
        gates: list[Named] = [("cx", (0, 1), ()), *between, ("cx", (1, 0), ())]
        assert len(permutes(planned(gates, 3))) == 1 + (between[:1] == [("cx", (2, 0), ())])


@pytest.mark.parametrize(("family", "most"), [(ucc, 11), (uccsd, 15)])
def test_chemistry_takes_few_sweeps(family: object, most: int) -> None:
    """60 Pauli rotations, and excitations of 28 wires, take as few sweeps as decision 0023 says."""
    assert callable(family)
    shape, _ = MACHINES["gpu single"]
    plan = make_plan(circuit_of(family(28), 28).instructions, 28, Layout.identity(28), shape)
    assert len(plan.steps) <= most
