"""Faults of the planner, planted into the plans that run: the fuzzer finds each, by what comes out of a run."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from support import motion_faults, plan_faults
from support.edited_plans import Plant

from qsim_ex.execution import prepare
from qsim_ex.planning.planner import make_plan
from qsim_ex.steps import Plan
from tools.fuzz.kinds import drawn
from tools.fuzz.options import DEVICES, devices
from tools.fuzz.run import outcome_of, quiet

FAULTS = (
    "a_step_is_dropped",
    "two_steps_change_places",
    "an_item_is_dropped",
    "two_items_change_places",
    "a_condition_is_inverted",
    "a_condition_is_forgotten",
    "a_parity_has_another_bit",
    "mixed_bits_change_places",
    "a_permutation_goes_elsewhere",
    "a_tile_is_written_elsewhere",
    "a_sweep_knows_wrong_zeros",
    "zeros_stay_unwritten",
    "a_flip_is_forgotten",
    "two_wires_change_places",
    "an_exchange_takes_another_bit",
    "a_pass_brings_other_bits",
)
"""Those whose plans still run, as they read and write nothing that is not there."""

MOST = 1000
"""Circuits within which a fault must be found."""


@pytest.fixture(autouse=True)
def _on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> Any:
    """All cases run on the CPU."""
    quiet()
    devices.cache_clear()
    monkeypatch.setenv(DEVICES, "cpu")
    yield
    devices.cache_clear()


def plant(patch: pytest.MonkeyPatch, fault: Plant) -> None:
    """Put the fault into one place of each plan that has one for it."""

    def wrong(*given: Any) -> Plan:
        plan: Plan = make_plan(*given)
        made = fault(plan, [], Random(0))
        return plan if made is None else made[0]

    patch.setattr(prepare, "make_plan", wrong)
    for name in ("plan_of", "ordered_plan_of", "plans_of"):
        getattr(prepare, name).cache_clear()


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans with a fault in one place give what some oracle refuses, and give it no more without the fault."""
    fault = {**plan_faults.FAULTS, **motion_faults.FAULTS}[name]
    with monkeypatch.context() as patch:
        plant(patch, fault.plant)
        found = next((seed for seed in range(MOST) if outcome_of(drawn(seed, ("state",))).trouble is not None), None)
    for kept in (prepare.plan_of, prepare.ordered_plan_of, prepare.plans_of):
        kept.cache_clear()
    assert found is not None
    assert outcome_of(drawn(found, ("state",))).trouble is None
