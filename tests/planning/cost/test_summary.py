"""Tests of summaries of plans."""

from __future__ import annotations

from qsim_ex.planning.cost.summary import NO_WORK, PlanSummary


def test_no_work_adds_nothing() -> None:
    """The summary of no work is neutral: a sum with it has each count of the other summary."""
    some = PlanSummary(1, 2, 3, 4, 5, 6, 7, 8.0, "key", 9, 10, 11, 12, 13.0, (5, 6), (1.0, 2.0))
    assert NO_WORK + some == some + NO_WORK == some
