"""Compare compiled plans with those of the Python planner, for drawn circuits: ``python -m tools.same_plans``.

A case is drawn from its number alone: a circuit of all kinds of gates, matrices, conditions, permutations, initial
states and operations that are not unitary; the shape of a machine (drawn, or a real one of either precision); a layout
to begin with, and fresh index bits. Each 25th circuit is long and begins in |0…0⟩. Each fourth one is full of CX, and
begins there or in a state that is there, in turns; of these two in three have a plan over subspaces wherever there is
one. Each case is planned for a state on several levels, too, of which one in three takes every plan with far parities.
Plans have to be equal in everything: steps, labels, layouts, number program, and the sweeps as a CPU runs them.
"""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import fields
from math import inf
from time import perf_counter
from typing import Any
from unittest.mock import patch

import numpy as np

from qsim_ex.circuit.circuit import Circuit
from qsim_ex.errors import NotSupported, PlanError
from qsim_ex.kernels.cpu.encode import encode, encode_in_python
from qsim_ex.kernels.cpu.encoding import EncodedSweep
from qsim_ex.planning import compiled as compiled_planning
from qsim_ex.planning.compiled import ANY_PROMISE, compiled_plan, compiled_stages
from qsim_ex.planning.planner import python_plan
from qsim_ex.planning.stages import staging
from qsim_ex.steps import Euler, Levels, Plan, Sweep
from tools.drawn_plans import MOST_STAGES, case, staged_case


def check(number: int) -> Plan:
    """Plan a case both ways, and encode its sweeps for a CPU; raises `AssertionError` at the first difference."""
    circuit, given = case(number)
    promise = ANY_PROMISE if number % 3 else compiled_planning.PROMISE
    with patch.object(compiled_planning, "PROMISE", promise):
        return _check(number, circuit, given)


def _check(number: int, circuit: Circuit, given: dict[str, Any]) -> Plan:
    compiled = compiled_plan(circuit.instructions, **given)
    expected = python_plan(circuit.instructions, **given, levels=Levels(given["num_wires"]))
    different = difference(compiled, expected)
    assert not different, f"case {number}: {different}"
    _check_sweeps(number, compiled, given["num_wires"])
    return compiled


def _check_sweeps(number: int, compiled: Plan, num_bits: int) -> None:
    """Encode the sweeps of a plan both ways; raises `AssertionError` at the first difference."""
    lane_bits, real_bytes = ((2, 4), (3, 4), (4, 4), (1, 8), (2, 8), (3, 8))[number % 6]
    for step in compiled.sweeps if num_bits >= lane_bits else ():
        ours, theirs = [make(step, num_bits, lane_bits, real_bytes) for make in (encode, encode_in_python)]
        for name in [field.name for field in fields(EncodedSweep)]:
            assert np.array_equal(getattr(ours, name), getattr(theirs, name)), f"case {number}: {name} of a sweep"


def check_levels(number: int) -> Plan | None:
    """Plan a case for a state on several levels, both ways; None if there is no such plan.

    Raises `AssertionError` at the first difference.
    """
    drawn = staged_case(number)
    if drawn is None:
        return None
    circuit, given = drawn
    levels = given.pop("levels")
    if number % 3:
        return _check_levels(number, circuit, given, levels)
    in_python = patch.multiple(staging, motions=lambda *_: MOST_STAGES + 1, least_seconds=lambda *_: inf)
    with in_python, patch.object(compiled_planning, "PARITIES", MOST_STAGES):
        return _check_levels(number, circuit, given, levels)


def _check_levels(number: int, circuit: Circuit, given: dict[str, Any], levels: Levels) -> Plan | None:
    try:
        expected = python_plan(circuit.instructions, **given, levels=levels)
    except (NotSupported, PlanError):
        assert compiled_stages(circuit.instructions, **given, levels=levels) is None, f"case {number}: it has a plan"
        return None
    compiled = compiled_stages(circuit.instructions, **given, levels=levels)
    assert compiled is not None, f"case {number}: it has no plan"
    different = difference(compiled, expected)
    assert not different, f"case {number} on {levels}: {different}"
    _check_sweeps(number, compiled, levels.local)
    return compiled


def difference(compiled: Plan, expected: Plan) -> str:
    """Return the name of the first part in which two plans differ, "" if they are equal."""
    for name in ("num_wires", "start", "end", "fresh", "left", "shape", "levels", "made_from", "num_gates", "key"):
        if getattr(compiled, name) != getattr(expected, name):
            return name
    if compiled.stages != expected.stages:
        return "stages"
    if _labels(compiled) != _labels(expected):
        return "labels"
    ours, theirs = compiled.numbers, expected.numbers
    if ours.num_operands != theirs.num_operands or not _equal(ours.packed, theirs.packed):
        return "packed places"
    if [type(row) for row in ours.program] != [type(row) for row in theirs.program]:
        return "number program"
    for one, other in zip(ours.program, theirs.program, strict=True):
        of, others = [[np.asarray(getattr(row, name)) for name in one.__slots__] for row in (one, other)]
        if not _equal(of, others):
            return type(one).__name__
    return ""


def _equal(ours: Any, theirs: Any) -> bool:
    same = [
        a.shape == b.shape and a.dtype == b.dtype and np.array_equal(a, b) for a, b in zip(ours, theirs, strict=False)
    ]
    return len(ours) == len(theirs) and all(same)


def _labels(plan: Plan) -> list[str]:
    found = []
    for step in plan.steps:
        items = [item for phase in step.phases for item in phase.items] if isinstance(step, Sweep) else [step]
        found += [getattr(item, "label", "") for item in items]
    return found


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10000)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args()
    begin, seen = perf_counter(), Counter[str]()
    for number in range(given.first, given.first + given.cases):
        plan, staged = check(number), check_levels(number)
        if staged:
            seen.update(type(stage.motion).__name__ for stage in staged.stages if stage.motion)
            seen["plans on levels"] += 1
            seen["far parities"] += staged.made_from[-1] == "far parities"
        seen.update(type(step).__name__ for step in plan.steps)
        seen["linear plans"] += "linear" in plan.made_from
        seen["of states that are there"] += "linear" in plan.made_from and not plan.fresh
        seen["permuted sweeps"] += sum(bool(sweep.store) for sweep in plan.sweeps)
        seen.update(type(item).__name__ for s in plan.sweeps for phase in s.phases for item in phase.items)
        seen.update(type(row).__name__ for row in plan.numbers.program)
        seen["imaginary rotations"] += any(isinstance(row, Euler) and row.imaginary for row in plan.numbers.program)
    print(f"{given.cases} plans are equal ({perf_counter() - begin:.0f} s): {dict(seen)}")


if __name__ == "__main__":
    main()
