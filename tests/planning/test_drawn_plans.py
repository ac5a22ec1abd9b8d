"""Plans of drawn circuits keep every rule, and do what their circuits say: on one device and on several levels.

``QSIM_EX_PLANS=10000 pytest tests/planning/test_drawn_plans.py`` does the same with so many circuits; `.ci/full` does.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
from support import literal_executor as literal
from support.promises import verify

from qsim_ex import reference
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.ops import Initialize, mask_of
from qsim_ex.steps import Plan
from tools.drawn_plans import case, plan_of, staged_case, staged_plan_of

MOST = 10
"""Wires of states that are run to the letter."""

CASES = 40
BATCHES = int(os.environ.get("QSIM_EX_PLANS", "160")) // CASES


def state(plan: Plan, circuit: Circuit, number: int) -> np.ndarray:
    """A state, in wire order, that a plan may begin with: fresh bits are 0, and so are wires that are initialised."""
    size, rng = 1 << plan.num_wires, np.random.default_rng([number, 1])
    psi = rng.normal(size=size) + 1j * rng.normal(size=size)
    set_later = mask_of(tuple(w for i in circuit.instructions if isinstance(i, Initialize) for w in i.wires))
    for value in range(size):
        if value & set_later or plan.start.index(value) & plan.fresh:
            psi[value] = 0
    return psi


def does_what_it_says(plan: Plan, circuit: Circuit, number: int) -> bool:
    """Whether a plan, run to the letter, ends as the definition does."""
    psi = state(plan, circuit, number)
    wanted = reference.simulate(circuit, psi)
    return bool(np.abs(literal.after(plan, circuit, psi) - wanted).max() <= 1e-11 * max(1, np.abs(wanted).max()))


@pytest.mark.parametrize("batch", range(BATCHES))
def test_drawn_plans(batch: int) -> None:
    """Each plan keeps all rules, and those of few wires end as defined."""
    executed = 0
    for number in range(batch * CASES, (batch + 1) * CASES):
        plan, (circuit, given) = plan_of(number), case(number)
        verify(plan)
        assert plan.start == given["start"] or given["place"] or given["shape"].floats
        if not (given["shape"].relabels or given["shape"].floats or given["shape"].linear):
            assert plan.start == plan.end  # SWAPs and Xs are work then
        if plan.num_wires <= MOST:
            executed += 1
            assert does_what_it_says(plan, circuit, number), number
    assert executed > CASES / 2


@pytest.mark.parametrize("batch", range(BATCHES))
def test_drawn_plans_on_levels(batch: int) -> None:
    """So do plans for several levels: devices near and far, host memory, ranks, and with far parities."""
    found = []
    for number in range(batch * CASES, (batch + 1) * CASES):
        plan, drawn = staged_plan_of(number), staged_case(number)
        if plan is None or drawn is None:
            continue
        found.append(plan)
        verify(plan)
        assert plan.start == drawn[1]["start"] or drawn[1]["place"]
        if plan.num_wires <= MOST:
            assert does_what_it_says(plan, drawn[0], number), number
    assert len(found) > CASES / 2


def test_some_of_them_have_far_parities() -> None:
    """Of the first plans for several levels some have far parities; of any 40 there may be none."""
    plans = filter(None, map(staged_plan_of, range(BATCHES * CASES)))
    assert any(plan.made_from[-1] == "far parities" for plan in plans)


@pytest.mark.parametrize("number", [5313, 9867])
def test_bits_that_have_to_leave_do_not_lie_lowest(number: int) -> None:
    """Where changing the lowest bits would leave none that an exchange may take, they stay, and there is a plan."""
    plan, drawn = staged_plan_of(number), staged_case(number)
    assert plan is not None
    assert drawn is not None
    verify(plan)
    assert does_what_it_says(plan, drawn[0], number)


def test_a_dense_block_takes_the_matrices_that_its_rows_read() -> None:
    """Where the condition of an operation decides a parity that it reads, a block has no matrix for the other value."""
    number = 9582
    plan, (circuit, _) = plan_of(number), case(number)
    verify(plan)
    assert does_what_it_says(plan, circuit, number)
