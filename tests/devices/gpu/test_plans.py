"""Whole plans on the GPU device: circuits of the benchmark families, compiled and interpreted, against plain NumPy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.cuda.emulated_runtime import EmulatedRuntime
from support.plain_device import PlainDevice

from benchmarks.engine import circuit_of
from benchmarks.families import FAMILIES
from qsim_ex import reference
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.deployment.assignment import on
from qsim_ex.devices.gpu.device import GpuDevice
from qsim_ex.errors import DeviceError, MissingPackage
from qsim_ex.options import Options
from qsim_ex.planning.coefficients.binding import bind
from qsim_ex.planning.planner import make_plan
from qsim_ex.state.vector import StateVector
from qsim_ex.steps import Layout

WIRES = 14


@pytest.fixture(scope="module", params=["emulated", pytest.param("real", marks=pytest.mark.gpu)])
def gpu(request):
    """An emulated GPU, and the real one."""
    if request.param == "emulated":
        return GpuDevice.on(EmulatedRuntime())
    try:
        return GpuDevice()
    except (DeviceError, MissingPackage) as error:
        pytest.skip(str(error))


def circuit(name, wires):
    """A family's circuit."""
    return circuit_of(FAMILIES[name].build(wires, 1), wires)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("compile", ["always", "never"])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128], ids=["single", "double"])
def test_a_plan_does_what_its_items_say(gpu, name, compile, dtype):
    """Kernels of real sweeps, with several tiles and a state that grows, agree with the executor by definition."""
    made = circuit(name, WIRES)
    assert error_of(gpu, made, gpu.shape(dtype), dtype, compile) < (
        1e-6 + 3e-8 * len(made.instructions) if dtype == np.complex64 else 1e-12
    )


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("compile", ["always", "never"])
def test_tiles_with_fewer_lowest_bits(gpu, name, compile):
    """Sweeps whose tiles have two lowest bits, which change from sweep to sweep, agree with the executor too."""
    shape = replace(gpu.shape(np.complex128).narrow(), start=8)
    assert shape.low == 2
    assert error_of(gpu, circuit(name, WIRES), shape, np.complex128, compile) < 1e-12


def error_of(gpu, made, shape, dtype, compile):
    """How far the state is from that of the executor by definition, for a plan of this shape."""
    everything = (1 << WIRES) - 1
    plan = make_plan(made.instructions, WIRES, Layout.identity(WIRES), shape, everything)
    assert plan.shape.low == shape.low
    numbers = bind(plan, made.operands)
    buffer, want = gpu.allocate(1 << WIRES, dtype), np.zeros(1 << WIRES, dtype=np.complex128)
    gpu.set_basis(buffer, 0)
    want[0] = 1
    prepared = gpu.prepare(plan.steps, WIRES, dtype, compile)
    plain = PlainDevice()
    for step, packed in zip(plan.steps, numbers, strict=True):
        gpu.run(buffer, WIRES, step, packed, prepared)
        plain.run(want, WIRES, step, packed)
    return np.linalg.norm(gpu.read(buffer, 0, 1 << WIRES) - want)


@pytest.mark.parametrize("wires", [0, 3, 13])
@pytest.mark.parametrize("compile", ["always", "never"])
@pytest.mark.parametrize("precision", ["single", "double"])
def test_sweeps_without_numbers(gpu, wires, compile, precision):
    """A GHZ state, whose later sweeps have no number to pass, and a plan without any step run like others."""
    builder = CircuitBuilder(wires)
    if wires:
        builder.gate("h", [0])
    for wire in range(1, wires):
        builder.gate("cx", [wire - 1, wire])
    made, where = builder.build(), on(gpu, wires, Options(precision=precision), "the test's")
    with StateVector(wires, compile=compile, precision=precision, where=where) as state:
        assert state.apply(made).to_numpy() == pytest.approx(reference.simulate(made), abs=1e-6)
