"""Plans as charts: for each register block its index bits and its gates, and bytes by level."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import assert_never

from qsim_ex.circuit.ops import mask_of
from qsim_ex.devices.memory import state_bytes
from qsim_ex.display.plans.chart import ChartColumn, ChartStep, PlanChart
from qsim_ex.execution.costs import total_of
from qsim_ex.placement.deployment import Deployment
from qsim_ex.planning.cost.summary import step_cost
from qsim_ex.precision import BY_DTYPE, AmplitudeDtype, Precision
from qsim_ex.steps.plan import Exchange, Migration, Motion, Plan, fresh_after
from qsim_ex.steps.step import BasisPermutation, DenseMatrix, InitialAmplitudes, RegisterBlock, Step, Sweep, ZeroFill

_MERGED = re.compile(r"(\d+) phases")
"""The label of a table that merges several phases, with their number."""


def chart_of(plan: Plan, dtype: AmplitudeDtype, deployment: Deployment, title: str = "") -> PlanChart:
    """Return what a picture of a plan shows; title: what the plan is for."""
    total = total_of((plan,), dtype, deployment)
    whole = state_bytes(plan.num_wires, dtype)
    levels = {
        "one pass for each gate": 2.0 * whole * plan.num_gates,
        "device memory": float(total.bytes_moved),
        "between devices": float(total.bytes_peers),
        "to and from the host": float(total.bytes_host),
    }
    return PlanChart(
        title=title,
        num_bits=plan.num_wires,
        local_bits=plan.levels.local,
        gates=plan.num_gates,
        state_bytes=whole,
        steps=tuple(_steps(plan, BY_DTYPE[dtype])),
        levels={name: count for name, count in levels.items() if count},
    )


def kinds(block: RegisterBlock) -> Counter[str]:
    """Return how many operations of each kind run in a register block; merged phases count as so many."""
    found: Counter[str] = Counter()
    for item in block.items:
        merged = _MERGED.fullmatch(item.label)
        found["phase" if merged else item.label or type(item).__name__.lower()] += int(merged[1]) if merged else 1
    return found


def _steps(plan: Plan, precision: Precision) -> Iterator[ChartStep]:
    motion = ""
    for stage in plan.stages:
        fresh, motion = stage.fresh, _name(stage.motion) or motion
        for step in stage.steps:
            after = fresh_after(fresh, (step,))
            cost = step_cost(step, plan.levels.local, precision, plan.shape)
            yield _step(step, after, cost.bytes, motion)
            fresh, motion = after, ""


def _step(step: Step, absent: int, moved: float, motion: str) -> ChartStep:
    match step:
        case Sweep(tile, register_blocks):
            masks = ((mask_of(block.registers), kinds(block)) for block in register_blocks)
            columns = tuple(ChartColumn(registers, mask_of(tile), absent, gates) for registers, gates in masks)
            return ChartStep("sweep", columns, moved, motion)
        case DenseMatrix(bits, label=label):
            return _whole("matrix", mask_of(bits), absent, label, moved, motion)
        case BasisPermutation(bits, label=label):
            return _whole("shuffle", mask_of(bits), absent, label, moved, motion)
        case InitialAmplitudes(bits, label=label):
            return _whole("spread", mask_of(bits), absent, label, moved, motion)
        case ZeroFill(bits):
            return _whole("clear", bits, absent, "", moved, motion)
        case _:
            assert_never(step)


def _whole(kind: str, bits: int, absent: int, label: str, moved: float, motion: str) -> ChartStep:
    """Return a step that is no sweep: one column, in which the bits that it works on count as register bits."""
    gates = {label: 1} if label else {}
    return ChartStep(kind, (ChartColumn(bits, bits, absent, gates),), moved, motion)


def _name(motion: Motion | None) -> str:
    match motion:
        case None:
            return ""
        case Exchange():
            return "exchange"
        case Migration():
            return "pass"
        case _:
            assert_never(motion)
