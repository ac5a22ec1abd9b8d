"""What a run would do on machines that are not here: planning needs no device."""

from __future__ import annotations

from typing import Literal

from qsim_ex.circuit.ops import Initialize, Op, Permutation
from qsim_ex.errors import NotSupported
from qsim_ex.planning.cost.stage_cost import H200, Rates
from qsim_ex.planning.explain import explain
from qsim_ex.planning.planner import make_plan
from qsim_ex.steps.layout import Layout, Levels, Shape
from qsim_ex.steps.plan import Plan

SHAPES = {
    "single": Shape(tile=12, near=4, low=4, edge=4, phases=None, dense=4, start=20),
    "double": Shape(tile=11, near=4, low=4, edge=4, phases=None, dense=4, start=20),
}
"""An H200 as planning sees it, for each precision."""


def preview(
    instructions: tuple[object, ...],
    num_wires: int,
    levels: Levels,
    precision: Literal["single", "double"] = "single",
    rates: Rates = H200,
    *,
    phases: bool = False,
) -> str:
    """Say how a circuit that begins in |0…0> would run on GPUs of some number and memory, without a GPU.

    instructions: unitary ones, as in `circuit.Circuit.instructions`. levels: how the state is divided. phases:
    whether the phases of each sweep are listed. Raises `NotSupported` for what is not unitary or does not fit.
    """
    itemsize = 8 if precision == "single" else 16
    return explain(new_state_plan(instructions, num_wires, levels, precision), itemsize, rates=rates, phases=phases)


def new_state_plan(
    instructions: tuple[object, ...], num_wires: int, levels: Levels, precision: Literal["single", "double"] = "single"
) -> Plan:
    """The plan of unitary instructions on |0…0>, for the GPUs of `preview`."""
    unitary = tuple(i for i in instructions if isinstance(i, Op | Permutation | Initialize))
    if len(unitary) < len(instructions):
        other = next(i for i in instructions if not isinstance(i, Op | Permutation | Initialize))
        raise NotSupported(f"a preview is of unitary instructions, and {type(other).__name__} is none; leave it out")
    fresh = (1 << num_wires) - 1
    return make_plan(unitary, num_wires, Layout.identity(num_wires), SHAPES[precision], fresh, levels, place=True)
