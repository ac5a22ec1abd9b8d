"""The table of deployments reaches every placement, and says rightly where each row leads."""

from __future__ import annotations

import pytest
from support.deployments import ROWS, DeploymentRow

from qsim_ex.deployment.choice import candidates
from qsim_ex.errors import OptionError
from qsim_ex.options import Options
from qsim_ex.placement import kinds
from qsim_ex.placement.deployment import Deployment, FreeMemory

GIB = 1 << 30


def first_choice(row: DeploymentRow, num_wires: int) -> Deployment | None:
    """Return the first choice of a row's options on a machine with room for it, or None where they contradict."""
    numbers = range(max(row.gpus, 1))
    free = FreeMemory(not row.gpus, tuple((number, GIB) for number in numbers), GIB)
    try:
        return next(candidates(num_wires, Options(device="gpu" if row.gpus else "cpu", **row.options), free))
    except OptionError:
        return None


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_row_leads_where_it_says(row: DeploymentRow) -> None:
    """From its fewest wires on a row's options lead to its kind and its devices, and with one wire less they do not."""
    for num_wires in range(row.wires, row.wires + 4):
        found = first_choice(row, num_wires)
        assert found is not None
        assert (found.kind, found.devices) == (row.kind, row.devices)
    if row.wires:
        less = first_choice(row, row.wires - 1)
        assert less is None or less.kind != row.kind


def test_every_placement_is_reached() -> None:
    """Each row of `qsim_ex.placement.kinds` is the kind of some row that runs on the CPU, so everywhere.

    A state over several processes needs some; tests/contract runs it over threads and over MPI.
    """
    assert {row.kind for row in ROWS if not row.gpus} == set(kinds.KINDS) - {"ranks", "ranks over host"}


def test_both_uses_of_host_memory_are_reached() -> None:
    """Among the rows are states in device memory alone, wholly in host memory, and spread over both."""
    found = [first_choice(row, row.wires) for row in ROWS]
    assert {one.host_memory for one in found if one is not None} == {None, "whole", "spread"}


def test_names_are_unique() -> None:
    """No two rows have one name, by which tests are called."""
    assert len({row.name for row in ROWS}) == len(ROWS)
