"""The plan that takes least time of several."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.plain_device import PlainDevice

from benchmarks.engine import circuit_of
from benchmarks.held_out import FAMILIES
from qsim_ex import reference
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.devices.gpu.device import shape_of
from qsim_ex.planning.attempt import time_of
from qsim_ex.planning.cost.summary import Rates, summary
from qsim_ex.planning.planner import bind, make_plan
from qsim_ex.planning.verify import verify
from qsim_ex.steps import Layout, Plan, Shape, ZeroFill

N = 18
EVERY = (1 << N) - 1
GPU = Shape(
    tile=8, near=4, low=3, edge=3, phases=None, dense=4, start=6, floats=True, seen=0.2, counted=72.0, exchanged=8.0
)
"""A small GPU: a run of 18 wires takes long beside a launch."""


def plan_of(family: str, shape: Shape, fresh: int = EVERY, wires: int = N) -> Plan:
    """The plan of a family of circuits, whose wires have no places yet."""
    instructions = circuit_of(FAMILIES[family](wires), wires).instructions
    return make_plan(instructions, wires, Layout.identity(wires), shape, fresh, place=bool(fresh))


@pytest.mark.parametrize("fresh", [0, EVERY])
def test_no_plan_takes_longer_than_the_usual_one(fresh: int) -> None:
    """The plan that is taken is predicted to take at most as long as the usual one; from |0…0⟩ some take less."""
    gained = 0
    for family in ("qft", "su2", "grid", "iqp", "clifford_t", "surface_code"):
        usual, taken = (plan_of(family, replace(GPU, counted=counted), fresh) for counted in (0.0, GPU.counted))
        before, after = (time_of(plan.steps, N, replace(usual.shape, counted=GPU.counted)) for plan in (usual, taken))
        assert after <= before
        gained += after < before
    assert gained or not fresh


@pytest.mark.parametrize("fresh", [0, EVERY])
def test_fewer_lowest_bits_save_sweeps(fresh: int) -> None:
    """Where fewer lowest bits save sweeps, such a plan is taken, unless memory takes much longer with them."""
    cheap, dear = (plan_of("grover", replace(GPU, tile=7, fewer=1, scattered=times), fresh) for times in (1.01, 3.0))
    assert (cheap.shape.low, dear.shape.low) == (1, 3)
    assert len(cheap.steps) < len(dear.steps)
    verify(cheap)


@pytest.mark.parametrize("itemsize", [8, 16])
@pytest.mark.parametrize("family", ["qft", "brick", "grover"])
def test_times_are_those_of_the_cost(family: str, itemsize: int) -> None:
    """The time in terms of a shape is that which `cost` predicts on an H200, beside the time of launches."""
    shape, wires = shape_of(itemsize, tensor=True), 27
    plan = plan_of(family, shape, (1 << wires) - 1, wires)
    rates = Rates(launch=2 * itemsize * (1 << shape.start) / Rates().memory)
    took = time_of(plan.steps, wires, plan.shape) * 2 * itemsize / rates.memory
    assert took == pytest.approx(summary(plan, itemsize, rates).seconds, rel=0.005)


def test_all_kinds_of_steps_take_time() -> None:
    """Zeros are written once, a wide matrix reads and writes what its condition leaves, and computes."""
    shape = replace(GPU, seen=0.0, start=0)
    builder = CircuitBuilder(10)
    builder.unitary(np.linalg.qr(np.random.default_rng(0).normal(size=(64, 64)))[0], range(6), controls=[9])
    plan = make_plan(builder.build().instructions, 10, Layout.identity(10), shape)
    assert time_of(plan.steps, 10, shape) == max(512.0, 4 * 64 * 512 / shape.counted) + 1
    assert time_of([ZeroFill(0b11)], 10, shape) == (1024 - 256) / 2 + 1


@pytest.mark.parametrize("fewer", [0, 1])
@pytest.mark.parametrize("family", ["qft", "su2", "iqp", "clifford_t"])
def test_plans_of_other_ways_are_right(family: str, fewer: int) -> None:
    """The plan that is taken does what its circuit says, also where fewer lowest bits are free to have."""
    wires, shape = 12, replace(GPU, tile=6, low=2, edge=2, start=2, fewer=fewer)
    plan = plan_of(family, shape, (1 << wires) - 1, wires)
    verify(plan)
    circuit = circuit_of(FAMILIES[family](wires), wires)
    buffer = np.full(1 << wires, np.nan, dtype=np.complex128)
    buffer[0] = 1
    device = PlainDevice(shape)
    for step, numbers in zip(plan.steps, bind(plan, circuit.operands), strict=True):
        device.run(buffer, wires, step, numbers)
    found = buffer[[plan.end.index(value) for value in range(1 << wires)]]
    assert found == pytest.approx(reference.simulate(circuit, reference.zero_state(wires)), abs=1e-12)
