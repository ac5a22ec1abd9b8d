"""The lowest wires of a new state are chosen, and nothing else about it changes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from support.plain_device import PlainDevice
from support.strategies import circuits

from qsim_ex import reference
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.planning.cost.summary import plan_cost
from qsim_ex.planning.numbers.program import NumberProgram
from qsim_ex.planning.ordering import foresee, order_of
from qsim_ex.planning.planner import bind, make_plan
from qsim_ex.planning.rewrite.absorb import absorb
from qsim_ex.planning.rewrite.rotate import rotate
from qsim_ex.planning.verify import verify
from qsim_ex.steps import Layout, Plan, Shape

TINY = Shape(tile=3, near=2, low=1, edge=1, phases=None, dense=2, table=3, start=0, balance=4.0)
"""Starting a sweep costs next to nothing, so that trying pays."""


def plan_for(circuit: Circuit, shape: Shape, *, place: bool) -> Plan:
    """The plan of a circuit on a new state."""
    n = circuit.num_qubits
    return make_plan(circuit.instructions, n, Layout.identity(n), shape, (1 << n) - 1, place=place)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(circuit=circuits(min_qubits=4))
def test_a_placed_plan_equals_the_definition(circuit: Circuit) -> None:
    """A plan that chooses where the wires are gives the defined state, and its layout says where they are."""
    n = circuit.num_qubits
    plan = plan_for(circuit, TINY, place=True)
    verify(plan)
    buffer = np.full(1 << n, np.nan, dtype=np.complex128)
    buffer[0] = 1
    device = PlainDevice(TINY)
    for step, numbers in zip(plan.steps, bind(plan, circuit.operands), strict=True):
        device.run(buffer, n, step, numbers)
    found = buffer[[plan.end.index(value) for value in range(1 << n)]]
    assert found == pytest.approx(reference.simulate(circuit, reference.zero_state(n)), abs=1e-12)


def idle_low_wires(wires: int) -> Circuit:
    """The first four wires are never mixed; the others are, in pairs, again and again."""
    rng = np.random.default_rng(0)
    builder = CircuitBuilder(wires)
    for _ in range(8 * wires):
        pair = [int(wire) for wire in rng.permutation(wires - 4)[:2] + 4]
        builder.gate("ry", pair[:1], 0.3).gate("rxx", pair, 0.2)
    return builder.build()


def test_idle_wires_do_not_stay_low() -> None:
    """Wires that no sweep needs leave the tiles, which costs fewer bytes, and the plan is repeatable."""
    shape = Shape(tile=4, near=3, low=2, edge=1, phases=None, dense=2, start=0, balance=4.0)
    circuit = idle_low_wires(12)
    placed, plain = plan_for(circuit, shape, place=True), plan_for(circuit, shape, place=False)
    assert plan_cost(placed, 16).bytes < plan_cost(plain, 16).bytes
    assert placed.key != plain.key
    make_plan.cache_clear()
    again = plan_for(circuit, shape, place=True)
    assert (again.start, again.key) == (placed.start, placed.key)


def test_small_states_try_nothing() -> None:
    """A state whose run is shorter than the search for a better order keeps its order."""
    shape = Shape(tile=12, near=4, low=5, edge=5, phases=None, dense=4, start=20)
    plan = plan_for(idle_low_wires(14), shape, place=True)
    assert plan.start.is_identity()


def test_a_tile_that_holds_the_state_leaves_no_choice() -> None:
    """Where one sweep does everything, no wire moves."""
    shape = Shape(tile=12, near=3, low=2, edge=1, phases=None, dense=2, start=0, balance=4.0)
    plan = plan_for(idle_low_wires(12), shape, place=True)
    assert plan.start.is_identity()
    assert len(plan.steps) == len(plan.sweeps) == 1


@pytest.mark.parametrize("low", [0b11, 0b110000, 0b100000100000])
def test_times_are_worked_out_as_far_as_they_matter(low: int) -> None:
    """A time is worked out in full unless it exceeds the best so far; then a lower bound above that is given."""
    shape = Shape(tile=4, near=3, low=2, edge=1, phases=None, dense=2, start=0, balance=4.0)
    work, _ = absorb(idle_low_wires(12).instructions, Layout.identity(12), shape)
    work = rotate(work, NumberProgram(10_000))
    whole = foresee(work, 12, shape, low)
    for most in (0.1 * whole, 0.7 * whole, 0.99 * whole):
        assert most < foresee(work, 12, shape, low, most) <= whole
    assert foresee(work, 12, shape, low, 1.01 * whole) == whole


@pytest.mark.parametrize("low", [0b11, 0b110, 0b100000100000])
def test_an_order_puts_the_chosen_bits_lowest(low: int) -> None:
    """The chosen bits come first and the others behind them, both in order; bits that are lowest already stay."""
    to = order_of(low, 12)
    if low == 0b11:
        assert to is None
    else:
        assert to is not None
        chosen = [bit for bit in range(12) if low >> bit & 1]
        assert sorted(range(12), key=to.__getitem__) == [*chosen, *(bit for bit in range(12) if bit not in chosen)]
