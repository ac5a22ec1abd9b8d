"""Plans in a CNOT frame of new states: right amplitudes, a plain end for nothing, small states that stay small."""

from __future__ import annotations

from dataclasses import replace
from time import process_time

import numpy as np
import pytest
from planning.linear.test_schedule import CPU, GPU, NARROW, drawn, is_linear, right
from support.promises import verify

from benchmarks.counts import MACHINES, circuit_of
from benchmarks.cx_rich import FAMILIES
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.planning.cost.summary import summary
from qsim_ex.planning.planner import make_plan
from qsim_ex.precision import SINGLE
from qsim_ex.reference import zero_state
from qsim_ex.steps import Layout, Plan, Shape


def new_plan(circuit: Circuit, shape: Shape) -> Plan:
    """The plan for a state of which only amplitude 0 is there."""
    wires = circuit.num_qubits
    every = (1 << wires) - 1
    return make_plan(circuit.instructions, wires, Layout.identity(wires), shape, every, None, place=True)


@pytest.mark.usefixtures("every_linear_plan")
@pytest.mark.parametrize("shape", [GPU, CPU, NARROW])
def test_any_plan_of_a_new_state_is_right(shape: Shape) -> None:
    """It does what its circuit says, on any machine, and ends in a plain layout."""
    linear = 0
    for seed in range(24):
        circuit = drawn(seed, 7 + seed % 4, 10 + 2 * seed)
        plan = new_plan(circuit, shape)
        linear += is_linear(plan)
        assert right(plan, circuit, zero_state(circuit.num_qubits)), seed
    assert linear >= (8 if shape.most_blocks and shape.registers < shape.tile else 24)


SHAPES = [GPU, CPU, replace(CPU, tile=5, registers=5, low=1, start=4), replace(GPU, tile=4, start=3)]


# --- bad inputs -------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("every_linear_plan")
@pytest.mark.parametrize("gates", [300, 10_000])
def test_cx_alone_on_thirty_wires(gates: int) -> None:
    """CX alone leave |0…0⟩ as it is: there is no sweep, the zeros are written, and planning takes a moment."""
    builder, rng = CircuitBuilder(30), np.random.default_rng(0)
    for _ in range(gates):
        builder.gate("cx", rng.permutation(30)[:2].tolist())
    circuit = builder.build()
    shape = replace(MACHINES["cpu single, linear"][0], start=14)
    begin = process_time()
    plan = new_plan(circuit, shape)
    assert process_time() - begin < 0.5
    verify(plan)
    assert plan.sweeps == ()
    assert len(plan.steps) == 1


@pytest.mark.usefixtures("every_linear_plan")
def test_many_cx_behind_one_turn() -> None:
    """Behind a turn of one wire 10,000 CX on 30 wires are a map: two amplitudes are all that any sweep reads."""
    builder, rng = CircuitBuilder(30), np.random.default_rng(1)
    builder.gate("h", [4])
    for _ in range(10_000):
        builder.gate("cx", rng.permutation(30)[:2].tolist())
    plan = new_plan(builder.build(), MACHINES["gpu single, linear"][0])
    verify(plan)
    assert is_linear(plan)
    assert len(plan.sweeps) <= 4
    assert summary(plan, SINGLE).bytes_moved <= 0.6 * (16 << 30)


@pytest.mark.usefixtures("every_linear_plan")
def test_a_mixed_space_of_no_dimension() -> None:
    """Phases and CX alone mix nothing: the state keeps one amplitude, with its phase; no gate at all leaves zeros."""
    builder = CircuitBuilder(9)
    builder.gate("x", [3])
    for wire in range(8):
        builder.gate("cx", [wire, wire + 1])
        builder.gate("t", [wire + 1])
        builder.gate("rz", [wire], 0.1 + wire)
        builder.gate("ccx", [wire, (wire + 2) % 9, (wire + 5) % 9])
    circuit, nothing = builder.build(), CircuitBuilder(9).build()
    for shape in SHAPES:
        assert right(new_plan(circuit, shape), circuit, zero_state(9))
        assert right(new_plan(nothing, shape), nothing, zero_state(9))


@pytest.mark.usefixtures("every_linear_plan")
def test_conditions_that_become_one() -> None:
    """Two controls that agree in all of the state are one, and two that never agree are none."""
    for flipped in (False, True):
        builder = CircuitBuilder(7)
        builder.gate("h", [0])
        builder.gate("cx", [0, 5])
        if flipped:
            builder.gate("x", [5])
        builder.gate("ch", [0, 3], controls=[5])
        builder.gate("rx", [6], 0.4)
        builder.gate("ccx", [0, 5, 6])
        circuit = builder.build()
        for shape in SHAPES:
            assert right(new_plan(circuit, shape), circuit, zero_state(circuit.num_qubits))


# --- what it gains ----------------------------------------------------------------------------------------------------


def test_a_small_state_stays_small() -> None:
    """Of circuits full of CX less is moved than on bits, by prediction alone, and of no family more."""
    least = {"cx_only": 0.35, "surface_code": 0.6, "su2_8": 1.0, "qaoa": 1.0}
    shape, precision = MACHINES["gpu single, floating"]
    for family, share in least.items():
        circuit = circuit_of(FAMILIES[family](28), 28)
        before, after = (new_plan(circuit, replace(shape, linear=linear)) for linear in (False, True))
        verify(after)
        moved = [summary(plan, precision).bytes_moved for plan in (before, after)]
        assert moved[1] <= share * moved[0], family


def test_only_what_pays_is_tried() -> None:
    """A CPU tries circuits full of CX, of so many wires that planning takes less time than it saves, and no others."""
    shape = CpuDevice(1).shape(np.complex64)
    tried = {"cx_only": 22, "surface_code": 20}
    left = {"cx_only": 16, "qft": 22, "qaoa": 22, "su2_8": 22, "heisenberg": 22, "ucc": 22, "clifford_t": 22}
    for families, linear in ((tried, True), (left, False)):
        for family, wires in families.items():
            assert is_linear(new_plan(circuit_of(FAMILIES[family](wires), wires), shape)) == linear, family


def test_a_plan_that_is_tried_is_left_where_it_takes_longer() -> None:
    """Of small circuits that are tried some have plans in a CNOT frame and others have not, and all are right."""
    shape, linear = replace(CPU, start=1), 0
    for seed in range(30):
        plan = new_plan(circuit := drawn(seed, 9, 60), shape)
        assert right(plan, circuit, zero_state(9)), seed
        linear += is_linear(plan)
    assert 0 < linear < 30
