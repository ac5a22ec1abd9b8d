"""Plans in a CNOT frame: the same amplitudes, whatever CX a circuit has, and fewer sweeps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support import literal_executor as literal
from support.states import random_state

from benchmarks.counts import MACHINES, circuit_of
from benchmarks.cx_rich import FAMILIES
from qsim_ex import reference
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.planning.planner import make_plan
from qsim_ex.planning.verify import verify
from qsim_ex.steps import Layout, Plan, Shape

GPU = Shape(tile=5, registers=2, low=2, edge=2, most_blocks=None, dense=2, start=2, linear=True)
CPU = replace(GPU, tile=6, registers=6, edge=0, most_blocks=3, dense=3, item_work=2.0)
NARROW = replace(GPU, tile=4, edge=1, most_blocks=3)
"""Small machines whose tiles may be spanned by directions."""


def drawn(seed: int, wires: int, gates: int) -> Circuit:
    """A circuit of which half is CX, with controls on 0, phases of parities, and conditions on several wires."""
    rng, builder = np.random.default_rng(seed), CircuitBuilder(wires)
    for _ in range(gates):
        one, other, third = rng.permutation(wires)[:3].tolist()
        kind = rng.integers(12)
        if kind < 6:
            if kind == 0:
                builder.gate("x", [one])
            builder.gate("cx", [one, other])
            if kind == 0:
                builder.gate("x", [one])
        elif kind == 6:
            builder.gate("u3", [one], *rng.uniform(-3, 3, 3).tolist())
        elif kind == 7:
            builder.gate(("h", "t", "sx")[rng.integers(3)], [one])
        elif kind == 8:
            builder.gate("rxx", [one, other], float(rng.normal()))
        elif kind == 9:
            builder.gate("ccz", [one, other, third])
        elif kind == 10:
            builder.gate("ccx", [one, other, third])
        else:
            builder.gate("ch", [one, other])
    return builder.build()


def plan_of(circuit: Circuit, shape: Shape) -> Plan:
    """The plan for a state with all amplitudes."""
    return make_plan(circuit.instructions, circuit.num_qubits, Layout.identity(circuit.num_qubits), shape)


def is_linear(plan: Plan) -> bool:
    """Whether a plan is in a CNOT frame."""
    return plan.made_from[-1] == "linear"


def right(plan: Plan, circuit: Circuit, psi: np.ndarray) -> bool:
    """Whether a plan does to a state, given by wires, what the circuit says."""
    return bool(np.linalg.norm(literal.after(plan, circuit, psi) - reference.simulate(circuit, psi)) <= 1e-12)


@pytest.mark.usefixtures("every_linear_plan")
@pytest.mark.parametrize("floats", [False, True])
@pytest.mark.parametrize(("shape", "least"), [(GPU, 16), (CPU, 16), (NARROW, 1)])
def test_any_linear_plan_is_right(shape: Shape, least: int, floats: bool) -> None:
    """A plan in a CNOT frame does what its circuit says, from any state, on any machine, and ends in a plain layout.

    Where register blocks are few and narrow, hardly any circuit fits into them.
    """
    linear = 0
    for seed in range(16):
        wires = 7 + seed % 4
        circuit = drawn(seed, wires, 50)
        plan = plan_of(circuit, replace(shape, floats=floats))
        linear += is_linear(plan)
        assert right(plan, circuit, random_state(wires)), seed
    assert linear >= least


@pytest.mark.usefixtures("every_linear_plan")
@pytest.mark.parametrize("shape", [GPU, CPU])
def test_a_circuit_that_comes_again_ends_where_it_began(shape: Shape) -> None:
    """On a state that is there, and where layouts stay, a plan in a CNOT frame ends as the one on bits does."""
    for seed in range(16):
        circuit = drawn(seed, 9, 60)
        plan, on_bits = (plan_of(circuit, replace(shape, linear=linear).staying()) for linear in (True, False))
        assert is_linear(plan)
        assert plan.end == on_bits.end
        assert plan.key not in (on_bits.key, plan_of(circuit, replace(shape, floats=True)).key)
    cx_alone = CircuitBuilder(9)
    for wire in range(8):
        cx_alone.gate("cx", [wire, wire + 1])
    assert plan_of(cx_alone.build(), shape.staying()).end == Layout.identity(9)


@pytest.mark.usefixtures("every_linear_plan")
def test_cx_alone() -> None:
    """A circuit of CX alone is what makes the layout plain in the end; without gates there is no sweep."""
    builder, rng = CircuitBuilder(10), np.random.default_rng(0)
    for _ in range(10_000):
        builder.gate("cx", rng.permutation(10)[:2].tolist())
    for floats, most in ((True, 4), (False, 5)):
        plan = plan_of(builder.build(), replace(GPU, floats=floats))
        assert right(plan, builder.build(), random_state(10))
        assert len(plan.steps) <= most
    assert plan_of(CircuitBuilder(10).build(), GPU).steps == ()


@pytest.mark.usefixtures("every_linear_plan")
def test_wires_that_only_change_places_need_no_sweep() -> None:
    """Three CX that are a SWAP behind a condition that cancels leave wires on other bits, which costs nothing."""
    builder = CircuitBuilder(9)
    for one, other in ((0, 8), (3, 5)):
        for pair in ((one, other), (other, one), (one, other)):
            builder.gate("cx", list(pair))
    for relabels in (True, False):
        plan = plan_of(builder.build(), replace(GPU, floats=True, relabels=relabels))
        assert right(plan, builder.build(), random_state(9))
        assert plan.steps == ()


def test_fewer_sweeps() -> None:
    """A circuit of 280 CX and turns on 28 wires takes four sweeps, not eight, and no plan has more than it had."""
    for family, most in (("cx_only", 4), ("heisenberg", 6)):
        circuit = circuit_of(FAMILIES[family](28), 28)
        shape = MACHINES["cpu single, floating"][0]
        before, after = plan_of(circuit, shape), plan_of(circuit, replace(shape, linear=True))
        verify(after)
        assert len(after.steps) <= min(most, len(before.steps)), family


def test_only_what_pays_is_tried() -> None:
    """A CPU tries circuits full of CX, of so many wires that planning takes less time than it saves, and no others."""
    shape = CpuDevice(1).shape(np.complex64)
    tried = {"cx_only": 20}
    left = {"cx_only": 15, "surface_code": 22, "qft": 22, "su2_8": 22, "heisenberg": 22, "clifford_t": 22}
    for given in (shape, shape.staying()):
        for families, linear in ((tried, True), (left, False)):
            for family, wires in families.items():
                assert is_linear(plan_of(circuit_of(FAMILIES[family](wires), wires), given)) == linear, family


def test_bits_where_they_are_needed() -> None:
    """Steps that are no sweeps, states that are there in part, and small machines keep plans, by the same names."""
    circuit, steps = drawn(1, 9, 40), CircuitBuilder(9)
    steps.gate("cx", [0, 8])
    steps.permutation(np.random.default_rng(0).permutation(16).tolist(), [8, 1, 3, 5])
    steps.gate("cx", [0, 8])
    for given, new, wide in ((steps.build(), 0, False), (circuit, 384, False), (circuit, 0, True)):
        shape = replace(GPU, tile=9 if wide else 5)
        args = given.instructions, 9, Layout.identity(9)
        plans = [make_plan(*args, replace(shape, linear=linear), new) for linear in (False, True)]
        assert plans[0].steps == plans[1].steps
        assert plans[0].key == plans[1].key
    assert "linear" not in repr(GPU)
