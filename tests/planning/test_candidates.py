"""Of several candidate plans the fastest is kept: other wires lowest, fewer lowest bits, bits that float."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from support import literal_executor as literal
from support.promises import verify
from support.strategies import circuits

from benchmarks.engine import circuit_of
from benchmarks.held_out import FAMILIES
from qsim_ex import reference
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.devices.gpu.shape import shape_of
from qsim_ex.planning.cost.summary import Rates, summary
from qsim_ex.planning.planner import make_plan
from qsim_ex.precision import DOUBLE, PRECISIONS, Precision
from qsim_ex.steps import Layout, Plan, Shape

GPU = Shape(
    tile=8,
    registers=4,
    low=3,
    edge=3,
    most_blocks=None,
    dense=4,
    start=6,
    floats=True,
    seen=0.2,
    counted=72.0,
    exchanged=8.0,
)
"""A small GPU: a run of 18 wires takes long beside a launch."""

TINY = Shape(tile=3, registers=2, low=1, edge=1, most_blocks=None, dense=2, table=3, start=0, balance=4.0)
"""Starting a sweep costs next to nothing, so that trying pays."""


def plan_of(circuit: Circuit, shape: Shape, *, new: bool = True, place: bool = True) -> Plan:
    """The plan of a circuit for a new state, or for a full one. place: whether wires may be put on other bits."""
    n = circuit.num_qubits
    fresh = (1 << n) - 1 if new else 0
    return make_plan(circuit.instructions, n, Layout.identity(n), shape, fresh, place=place and new)


def family(name: str, wires: int) -> Circuit:
    """A circuit of a family."""
    return circuit_of(FAMILIES[name](wires), wires)


def right(plan: Plan, circuit: Circuit) -> bool:
    """Whether a plan makes of |0…0⟩ what the circuit says."""
    psi = reference.zero_state(circuit.num_qubits)
    return bool(np.linalg.norm(literal.after(plan, circuit, psi) - reference.simulate(circuit, psi)) <= 1e-12)


@pytest.mark.parametrize("new", [False, True])
@pytest.mark.parametrize("precision", PRECISIONS.values(), ids=list(PRECISIONS))
def test_no_plan_takes_longer_than_the_standard_one(new: bool, precision: Precision) -> None:
    """The plan that is taken is predicted to take at most as long as the standard one; from |0…0⟩ some take less."""
    shape, wires, gained = replace(shape_of(precision, tensor=True), linear=False), 27, 0
    rates = Rates(launch=precision.storage.nbytes(2 << shape.start) / Rates().memory)
    for name in ("qft", "su2", "grid", "iqp", "clifford_t", "surface_code"):
        standard, taken = (
            summary(plan_of(family(name, wires), replace(shape, counted=counted), new=new), precision, rates).seconds
            for counted in (0.0, shape.counted)
        )
        assert taken <= 1.005 * standard, name  # sums are rounded otherwise here
        gained += taken < 0.99 * standard
    assert gained or not new


def amplified(wires: int, marked: int, steps: int) -> Circuit:
    """Amplitude amplification from turns and CX, with phases under `marked` controls."""
    builder, pairs = CircuitBuilder(wires), [(wire, (wire + 3) % wires) for wire in range(0, wires - 3, 2)]

    def begin(sign: int) -> None:
        turns = [("ry", wire, (sign * (0.7 + 0.1 * wire),), ()) for wire in range(wires)]
        added = [("x", target, (), (control,)) for control, target in pairs[::sign]]
        for name, wire, angles, controls in [*turns, *added] if sign > 0 else [*added, *turns]:
            builder.gate(name, [wire], *angles, controls=controls)

    begin(1)
    for step in range(steps):
        builder.gate("p", [marked], 1.1 + 0.2 * step, controls=range(marked))
        begin(-1)
        zeros = range(wires - marked - 1, wires - 1)
        builder.gate("p", [wires - 1], 0.1 * step - 1.3, controls=zeros, control_values=0)
        begin(1)
    return builder.build()


def test_bits_that_hardly_any_work_waits_for_join_last() -> None:
    """Work on a part of the bits runs while the state has these alone, where all of it would be little for a pass."""
    shape, single = replace(shape_of(PRECISIONS["single"], tensor=True), linear=False), PRECISIONS["single"]
    rates = Rates(launch=single.storage.nbytes(2 << shape.start) / Rates().memory)
    circuit = amplified(27, 10, 3)
    standard, taken = (
        summary(plan_of(circuit, replace(shape, counted=counted)), single, rates).seconds
        for counted in (0.0, shape.counted)
    )
    assert taken < 0.7 * standard


@pytest.mark.parametrize("new", [False, True])
def test_fewer_lowest_bits_save_sweeps(new: bool) -> None:
    """Where fewer lowest bits save sweeps, such a plan is taken, unless memory takes much longer with them."""
    circuit = family("grover", 18)
    cheap, dear = (plan_of(circuit, replace(GPU, tile=7, fewer=1, scattered=s), new=new) for s in (1.01, 3.0))
    assert (cheap.shape.low, dear.shape.low) == (1, 3)
    assert len(cheap.steps) < len(dear.steps)
    verify(cheap)


@pytest.mark.parametrize("fewer", [0, 1])
@pytest.mark.parametrize("name", ["qft", "su2", "iqp", "clifford_t"])
def test_other_candidates_are_right(name: str, fewer: int) -> None:
    """The plan that is taken does what its circuit says, also where fewer lowest bits are free to have."""
    circuit = family(name, 12)
    assert right(plan_of(circuit, replace(GPU, tile=6, low=2, edge=2, start=2, fewer=fewer)), circuit)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(circuit=circuits(min_qubits=4))
def test_a_placed_plan_equals_the_definition(circuit: Circuit) -> None:
    """A plan that chooses where the wires are gives the defined state, and its layout says where they are."""
    assert right(plan_of(circuit, TINY), circuit)


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
    shape = Shape(tile=4, registers=3, low=2, edge=1, most_blocks=None, dense=2, start=0, balance=4.0)
    circuit = idle_low_wires(12)
    placed, plain = plan_of(circuit, shape), plan_of(circuit, shape, place=False)
    assert summary(placed, DOUBLE).bytes_moved < summary(plain, DOUBLE).bytes_moved
    assert placed.key != plain.key
    again = plan_of(circuit, shape)
    assert (again.start, again.key) == (placed.start, placed.key)


def test_small_states_try_nothing() -> None:
    """A state whose run is shorter than the search for a better order keeps its order."""
    shape = Shape(tile=12, registers=4, low=5, edge=5, most_blocks=None, dense=4, start=20)
    assert plan_of(idle_low_wires(14), shape).start.is_identity()


def test_a_tile_that_holds_the_state_leaves_no_choice() -> None:
    """Where one sweep does everything, no wire moves."""
    shape = Shape(tile=12, registers=3, low=2, edge=1, most_blocks=None, dense=2, start=0, balance=4.0)
    plan = plan_of(idle_low_wires(12), shape)
    assert plan.start.is_identity()
    assert len(plan.steps) == len(plan.sweeps) == 1
