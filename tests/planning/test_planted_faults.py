"""Whatever the planner might do wrong, its plans' rules or their definition show: faults are planted to see that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest
from support import motion_faults, plan_faults
from support.checked_plans import fault_of
from support.edited_plans import Fault

from qsim_ex.circuit.circuit import Circuit
from qsim_ex.planning.coefficients.binding import bind
from qsim_ex.steps import Plan
from tools.drawn_plans import case, plan_of, staged_case, staged_plan_of

FAULTS: dict[str, Fault] = {**plan_faults.FAULTS, **motion_faults.FAULTS}

CASES, WIRES = 50, 6
"""The drawn cases in which faults are planted, and the most wires of these."""


class Case(NamedTuple):
    """A drawn case, with its number, its plan, and the plan's numbers."""

    number: int
    circuit: Circuit
    given: dict[str, Any]
    plan: Plan
    numbers: list[np.ndarray]


@pytest.fixture(scope="module")
def plans() -> list[Case]:
    """Right plans of drawn circuits, for one device and for several levels, with their numbers."""
    return list(_plans())


def _plans() -> Iterator[Case]:
    for number in range(CASES):
        if case(number)[1]["num_wires"] > WIRES:
            continue
        for drawn, plan in ((case(number), plan_of(number)), (staged_case(number), staged_plan_of(number))):
            if drawn is not None and plan is not None:
                assert fault_of(plan, *drawn) == "", number
                yield Case(number, *drawn, plan, list(bind(plan, drawn[0].operands)))


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(name: str, plans: list[Case]) -> None:
    """A fault that always breaks a plan is found wherever a plan has a place for it, and others in most plans."""
    fault, seen = FAULTS[name], Counter[bool]()
    for one in plans:
        made = fault.plant(one.plan, one.numbers, Random(one.number))
        if made is not None:
            wrong, numbers = made
            seen[bool(fault_of(wrong, one.circuit, one.given, numbers))] += 1
    assert seen[True] >= 2
    assert seen[False] <= (seen[True] if fault.neutral else 0)
