"""The cache of plans: equal work has one plan, wherever it stands, and few large plans are kept."""

from __future__ import annotations

import numpy as np

from qsim_ex import CircuitBuilder
from qsim_ex.circuit.structure import straight_work
from qsim_ex.devices.hypothetical import HypotheticalGpu
from qsim_ex.execution.prepare import plan_of, plans_of
from qsim_ex.program.divide import program_of
from qsim_ex.program.one_state import unitary_program
from qsim_ex.program.program import Program
from qsim_ex.steps.layout import Layout
from qsim_ex.thresholds import Thresholds

SHAPE = HypotheticalGpu(0).shape(np.dtype(np.complex64))


def gates(count: int, measured: int = 0, rounds: int = 1) -> CircuitBuilder:
    """A row of CX in rounds, and after each round a reset of wire 2 where others are measured at the end."""
    builder = CircuitBuilder(3, measured)
    for _ in range(rounds):
        for k in range(count):
            builder.gate("cx", [k % 3, (k + 1) % 3]).gate("h", [k % 3])
        if rounds > 1:
            builder.reset([2])
    return builder.measure(range(measured), range(measured)) if measured else builder


def planned(program: Program) -> list[object]:
    """The plans of a program on three wires that begins in |000⟩."""
    return list(plans_of(program, 3, SHAPE, None).values())


def test_equal_work_has_one_plan() -> None:
    """The gates of a circuit have one plan whether it is measured or not, and equal rounds of another one have one."""
    (bare,) = planned(unitary_program(gates(4).build().structure))
    (measured,) = planned(program_of(gates(4, measured=2).build().structure))
    assert measured is bare
    rounds = program_of(gates(4, measured=2, rounds=6).build().structure)
    misses = plan_of.cache_info().misses
    plans = planned(rounds)
    assert len(plans) >= 6
    assert plan_of.cache_info().misses - misses < len(plans)
    assert len({id(segment.work) for segment in rounds.segments}) < len(rounds.segments)


def test_few_large_plans_are_kept() -> None:
    """Of large circuits the last four plans are kept, of small ones many more."""
    plan_of.cache_clear()
    large = gates(Thresholds.large_plan).build().instructions
    for flip in range(6):
        for some in (large, large[:5]):
            plan_of(straight_work(some), 3, Layout((0, 1, 2), flip), SHAPE, 0)
    assert plan_of.cache_info().currsize == 4 + 6
    plan_of.cache_clear()
