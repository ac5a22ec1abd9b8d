"""Each rule of planning may be left out: plans are then others, and as right.

``QSIM_EX_PLANS=10000 pytest tests/planning/test_rules.py`` tries so many cases.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest
from support.checked_plans import fault_of

from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.errors import OptionError
from qsim_ex.planning.planner import make_plan
from qsim_ex.planning.rules import mask_of_rules, rules
from qsim_ex.steps import Layout, Plan, Shape
from qsim_ex.steps.compiled import NativeCoefficients
from qsim_ex.steps.plan_arrays import NAMES
from tools.drawn_plans import case, plan_of, staged_case, staged_plan_of

CASES = int(os.environ.get("QSIM_EX_PLANS", "20"))
"""How many drawn cases are planned without each rule."""

SEEN_THERE = (68, 94, 147, 218, 301)
"""Cases of few wires in which rules matter that seldom do: pairs of rotations, dense blocks, fewer lowest bits."""

MADE = ((case, plan_of), (staged_case, staged_plan_of))
"""Cases on one device and on several levels, and their plans."""


class Planned(NamedTuple):
    """A drawn case, its plan, and what plans it without some rules."""

    number: int
    circuit: Circuit
    given: dict[str, Any]
    plan: Plan
    without: Callable[[int, tuple[str, ...]], Plan | None]


GPU = Shape(tile=12, registers=4, low=4, edge=4, most_blocks=None, dense=4, start=20)


def is_same(one: Plan, other: Plan) -> bool:
    """Whether two plans are equal in everything but their names."""
    arrays = []
    for plan in (one, other):
        assert isinstance(plan.coefficients, NativeCoefficients)
        arrays.append(plan.coefficients.arrays)
    motions = [[(stage.motion, stage.fresh, len(stage.steps)) for stage in plan.stages] for plan in (one, other)]
    return (
        motions[0] == motions[1]
        and (one.start, one.end) == (other.start, other.end)
        and all(np.array_equal(getattr(arrays[0], name), getattr(arrays[1], name)) for name, _, _ in NAMES)
    )


@pytest.fixture(scope="module")
def cases() -> list[Planned]:
    """All cases that have a plan."""
    return [
        Planned(number, *drawn, plan, planned)
        for number in (*range(CASES), *(number for number in SEEN_THERE if number >= CASES))
        for draw, planned in MADE
        if (drawn := draw(number)) is not None and (plan := planned(number)) is not None
    ]


@pytest.mark.parametrize("rule", rules())
def test_plans_without_a_rule_are_right(rule: str, cases: list[Planned]) -> None:
    """Without one rule some plans are others, and each of them keeps all other rules and does what its circuit says."""
    others = 0
    for one in cases:
        without = one.without(one.number, (rule,))
        if without is None:  # a SWAP is work, and mixes more bits than are local
            assert rule == "relabel"
        elif not is_same(one.plan, without):
            others += 1
            assert fault_of(without, one.circuit, one.given) == "", one.number
    assert others, f"no plan is another one without the rule {rule!r}"


def test_plans_without_several_rules_are_right(cases: list[Planned]) -> None:
    """Rules do not need each other: without drawn sets of them, and without all, plans are right."""
    for one in cases:
        random = Random(one.number)
        some = tuple(rule for rule in rules() if one.number % 10 == 0 or random.random() < 0.5)
        without = one.without(one.number, some)
        if without is None:
            assert "relabel" in some
        else:
            assert fault_of(without, one.circuit, one.given) == "", (one.number, some)


def test_plans_without_rules_have_names_of_their_own() -> None:
    """Nothing that is kept by a plan's name or its arguments is taken for that of a plan with other rules."""
    circuit = CircuitBuilder(3).gate("h", [0]).gate("cx", [0, 1]).gate("swap", [1, 2]).build()
    plans = [
        make_plan(circuit.instructions, 3, Layout.identity(3), replace(GPU, left_out=left_out))
        for left_out in ((), ("relabel",), ("fuse",), ("relabel", "fuse"))
    ]
    assert len({plan.key for plan in plans}) == len({id(plan) for plan in plans}) == len(plans)
    assert plans[0].key == make_plan(circuit.instructions, 3, Layout.identity(3), GPU).key


def test_names_of_rules() -> None:
    """Each rule has a bit of its own, and what is no rule is refused by name."""
    assert sorted(mask_of_rules([rule]) for rule in rules()) == [1 << bit for bit in range(len(rules()))]
    assert mask_of_rules(rules()) == (1 << len(rules())) - 1
    assert mask_of_rules(()) == 0
    with pytest.raises(OptionError, match=r"got 'magic'; choose from relabel,"):
        mask_of_rules(["relabel", "magic"])


@pytest.mark.parametrize("indices", [(0, 1), (0, 1, 2, 3)])
def test_a_permutation_that_moves_nothing_is_no_work(indices: tuple[int, ...]) -> None:
    """Also where layouts stay, one between two H is nothing, and no X."""
    shape, wires = replace(GPU, left_out=("relabel",)), range(len(indices) // 2)
    plans = []
    for there in (False, True):
        builder = CircuitBuilder(2).gate("ry", [0], 0.3).gate("h", [0])
        if there:
            builder.permutation(indices, wires)
        circuit = builder.gate("h", [0]).build()
        plans.append(make_plan(circuit.instructions, 2, Layout.identity(2), shape, 0))  # type: ignore[arg-type]
    items = [
        [type(item) for sweep in plan.sweeps for block in sweep.register_blocks for item in block.items]
        for plan in plans
    ]
    assert items[0] == items[1]
