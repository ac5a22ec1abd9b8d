"""Tests of plans that nobody wants, since something else takes less time."""

from __future__ import annotations

from typing import cast

import pytest

from benchmarks.engine import circuit_of
from qsim_ex.circuit.ops import Unitary
from qsim_ex.planning.longer import Longer, shorter_than
from qsim_ex.planning.planner import make_plan
from qsim_ex.steps import Layout
from qsim_ex.steps.compiled import arrays_of
from qsim_ex.steps.plan import Plan
from tools.golden_counts import FAMILIES, MACHINES

WIRES = 28


def planned(name: str) -> Plan:
    """Return the plan of a family for a GPU."""
    circuit, shape = circuit_of(FAMILIES[name](WIRES), WIRES), MACHINES["gpu single"].shape
    instructions = cast(tuple[Unitary, ...], circuit.instructions)
    return make_plan(instructions, WIRES, Layout.identity(WIRES), shape, (1 << WIRES) - 1, place=True)


@pytest.mark.parametrize("name", ["brick", "clifford", "ucc", "surface_code"])  # two of them in a CNOT frame
def test_a_plan_is_the_same_unless_it_takes_as_long(name: str) -> None:
    """A plan that takes less than its bound is the same as without; one that takes as long or longer is none."""
    plan = planned(name)
    passes = arrays_of(plan.steps).passes
    with shorter_than(1.001 * passes):
        assert planned(name).key == plan.key
    for most in (passes, 0.5 * passes, 0.01 * passes):
        with shorter_than(most), pytest.raises(Longer):
            planned(name)
    assert planned(name).key == plan.key
