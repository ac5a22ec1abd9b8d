"""The multiply-adds of matrices and phases follow from the classes of their entries."""

from __future__ import annotations

import pytest

from qsim_ex.circuit.ops import pattern
from qsim_ex.planning.cost.pattern_work import diagonal_work, mix_work


@pytest.mark.parametrize(("entry", "work"), [("0", 0), ("1", 2), ("-", 2), ("r", 2), ("i", 2), ("c", 4)])
def test_a_row_costs_the_sum_of_its_entries(entry: str, work: int) -> None:
    """A complex entry takes four real multiply-adds, any other two, be it 1 or −1 that is only added, and 0 none."""
    assert mix_work(pattern(f"r{entry}{entry}r"), 2) == 2 + work


def test_amplitudes_that_only_move_cost_nothing() -> None:
    """Neither a row of one ±1 nor a phase of 1 takes a multiply-add."""
    assert mix_work(pattern("01-0"), 2) == 0
    assert diagonal_work(pattern("1c1r"), looked_up=0) == (4 + 2) / 4


@pytest.mark.parametrize(
    ("entries", "looked_up", "work"),
    [("11", 1, 0), ("1i", 1, 4), ("1-", 1, 2), ("1c1r", 3, 4), ("111c", 3, 4), ("111c", 1, 2), ("111c", 2, 2)],
)
def test_factors_that_are_looked_up_are_of_one_class(entries: str, looked_up: int, work: int) -> None:
    """A factor of 1 that is looked up costs what the others cost, but for those that registers tell."""
    assert diagonal_work(pattern(entries), looked_up) == work
