"""The sweeps of compiled plans are sweeps like any others; fields are made from arrays when they are asked for."""

from __future__ import annotations

from dataclasses import fields, replace

from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.planning.planner import make_plan
from qsim_ex.steps import Layout, Levels, Sweep
from qsim_ex.steps.compiled import PlannedSweep, arrays_of
from tools.drawn_plans import REAL_SHAPES, plan_of


def test_steps_of_stages_are_not_launched_at_once() -> None:
    """Between the steps of stages amplitudes move, so their arrays are not those of one run; each sweep has them."""
    builder = CircuitBuilder(14)
    for wire in range(42):
        builder.gate("ry", [wire % 14], 0.1).gate("cx", [wire % 14, (wire + 5) % 14])
    given = builder.build().instructions, 14, Layout.identity(14), REAL_SHAPES[0], (1 << 14) - 1
    whole, divided = make_plan(*given), make_plan(*given, Levels(12, 2, 6))
    assert arrays_of(whole.steps) is not None
    assert arrays_of(divided.steps) is None
    assert all(isinstance(sweep, PlannedSweep) and sweep.arrays is not None for sweep in divided.sweeps)


def test_a_compiled_sweep_is_a_sweep() -> None:
    """A compiled sweep equals a sweep with the same fields, from both sides, and can be changed like one."""
    sweep = plan_of(3).sweeps[0]
    plain = Sweep(sweep.tile, sweep.register_blocks, sweep.numbers, sweep.tables, sweep.fresh, sweep.store)
    assert isinstance(sweep, PlannedSweep)
    assert sweep == plain
    assert plain == sweep
    assert (hash(sweep), repr(sweep)) == (hash(plain), repr(plain))
    changed = replace(sweep, register_blocks=sweep.register_blocks[:1])
    assert (changed.register_blocks, changed.tile) == (sweep.register_blocks[:1], sweep.tile)
    assert (changed == plain) == (len(plain.register_blocks) == 1)


def test_fields_of_a_compiled_sweep_are_made_when_they_are_asked_for() -> None:
    """Each field can be asked for first, and what is no field is absent."""
    known = plan_of(3).sweeps[0]
    for field in fields(Sweep):
        sweep = plan_of(3).sweeps[0]
        assert getattr(sweep, field.name) == getattr(known, field.name)
    assert not hasattr(known, "tiles")
