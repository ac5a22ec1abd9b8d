"""The rest of a plan, planned anew for a state that is divided otherwise, ends in the state of the whole plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from planning.linear.test_schedule import CPU, drawn
from planning.test_drawn_plans import state
from support import literal_executor as literal
from support.promises import verify

from qsim_ex import reference
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.errors import NotSupported
from qsim_ex.planning import rules
from qsim_ex.planning.coefficients.binding import bind
from qsim_ex.planning.cut import cut
from qsim_ex.planning.planner import make_plan
from qsim_ex.planning.resumed import operands_of, resumed
from qsim_ex.steps import Layout, Levels, Plan
from tools.drawn_plans import case, plan_of, staged_case, staged_plan_of


def by_parts(plan: Plan, operands: np.ndarray, buffer: np.ndarray, begin: int, end: int) -> np.ndarray:
    """The amplitudes after some parts of a plan."""
    for part in cut(plan)[begin:end]:
        buffer = literal.run(part, bind(part, operands), buffer, whole=False)
    return buffer


@pytest.mark.parametrize(("make", "case_of"), [(plan_of, case), (staged_plan_of, staged_case)])
def test_drawn_plans_continue_on_other_levels(
    make: Callable[[int], Plan | None], case_of: Callable[[int], tuple[Circuit, dict[str, Any]] | None]
) -> None:
    """A state is stopped after any part of a plan, and again after any part of the rest, and ends as defined."""
    stopped = 0
    for number in range(70):
        plan, drawn_case = make(number), case_of(number)
        if plan is None or drawn_case is None or plan.num_wires > 8:
            continue
        circuit, given = drawn_case
        n, rng, psi = plan.num_wires, np.random.default_rng(number), state(plan, circuit, number)
        operands, buffer = circuit.operands, literal.stored(psi, plan.start)
        choices = [Levels(n), *([Levels(n - 1, 1, 1), Levels(n - 2, 0, 1), Levels(n - 2, 1)] if n > 4 else [])]
        try:
            for choice in rng.integers(len(choices), size=2):
                parts = int(rng.integers(len(cut(plan)) + 1))
                buffer = by_parts(plan, operands, buffer, 0, parts)
                operands, plan = operands_of(plan, operands), resumed(plan, parts, choices[choice], given["shape"])
                verify(plan)
        except NotSupported:  # an operation that is wider than a sub state vector
            continue
        found = literal.in_order(by_parts(plan, operands, buffer, 0, len(cut(plan))), plan.end)
        wanted, stopped = reference.simulate(circuit, psi), stopped + 1
        assert np.abs(found - wanted).max() <= 1e-11 * max(1, np.abs(wanted).max()), number
    assert stopped > 12


def test_a_plan_over_subspaces_continues_on_other_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped between sweeps whose layouts are linear maps, a run goes on wherever index bits are divided otherwise."""
    monkeypatch.setattr(rules, "PROMISE", rules.ANY_PROMISE)
    shape, n = replace(CPU, tile=5, registers=5), 8
    for seed in range(6):
        circuit = drawn(seed, n, 40)
        plan = make_plan(circuit.instructions, n, Layout.identity(n), shape, (1 << n) - 1, place=True)
        assert plan.made_from[-1] == "linear"
        for parts in range(len(cut(plan)) + 1):
            buffer = by_parts(plan, circuit.operands, reference.zero_state(n), 0, parts)
            for levels in (Levels(n), Levels(n - 1, 1), Levels(n - 2), Levels(n - 2, 1)):
                rest = resumed(plan, parts, levels, shape)
                verify(rest)
                after = by_parts(rest, operands_of(plan, circuit.operands), buffer.copy(), 0, len(cut(rest)))
                found = literal.in_order(after, rest.end)
                assert np.allclose(found, reference.simulate(circuit), rtol=0, atol=1e-12), (seed, parts, levels)
