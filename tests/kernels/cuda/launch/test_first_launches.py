"""A first run whose launches native code lays out has the states of the definition, whatever kernels it needs."""

from __future__ import annotations

from math import pi
from typing import Any

import numpy as np
import pytest
from support.cuda.emulated_runtime import EmulatedRuntime
from support.held import Hold

from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.devices.gpu.device import GpuDevice
from qsim_ex.execution.prepare import prepare
from qsim_ex.kernels.cuda.compile.choosing import KernelChooser
from qsim_ex.kernels.cuda.compile.policy import RETURNS
from qsim_ex.kernels.cuda.interpret.interpreter import FEW, MANY
from qsim_ex.kernels.cuda.launch.loading import NumberLoader
from qsim_ex.placement.single import Single
from qsim_ex.planning.planner import Planner, compiled_plan
from qsim_ex.reference import simulate
from qsim_ex.steps import Layout, Plan, Shape
from qsim_ex.steps.compiled import PlannedSweep
from qsim_ex.steps.step import ZeroFill

SMALL = Shape(tile=5, registers=4, low=2, edge=2, most_blocks=None, dense=3, start=5)
"""Tiles of five bits, so that states of few wires take several sweeps."""

TOLERANCE = {np.complex64: 2e-5, np.complex128: 1e-12}


@pytest.fixture(params=[np.complex64, np.complex128], ids=["single", "double"])
def dtype(request: pytest.FixtureRequest) -> np.dtype:
    """Both precisions."""
    return np.dtype(request.param)


class FirstRuns:
    """Runs of plans on an emulated GPU, each of which is new to it."""

    def __init__(self, dtype: np.dtype, room: int = 32_764) -> None:
        self.runtime = EmulatedRuntime(room)
        self.device = GpuDevice.on(self.runtime)
        self.dtype = dtype

    def error(self, circuit: Circuit, times: int = 1) -> float:
        """How far the last of some runs is from the definition."""
        n = circuit.num_qubits
        fresh = (1 << n) - 1
        self.plan = compiled_plan(circuit.instructions, n, Layout.identity(n), SMALL, fresh, True)
        for _ in range(times):
            work = prepare(self.plan, circuit.operands, (self.device,), self.dtype, "never")
            state = Single(self.device, self.device.allocate(1 << n, self.dtype), self.plan.start, fresh, begun=False)
            self.ticks = 0
            state.run(self.plan, work, self._tick)
        return float(np.linalg.norm(state.read(0, 1 << n, range(n)) - simulate(circuit)))

    def _tick(self) -> None:
        self.ticks += 1


def drawn(seed: int, n: int, gates: int, touched: int | None = None) -> Circuit:
    """Rotations, phases with controls, dense matrices and CX on drawn wires below `touched`."""
    rng, builder = np.random.default_rng(seed), CircuitBuilder(n)
    for _ in range(gates):
        wires = rng.permutation(touched or n)[:4].tolist()
        match int(rng.integers(7)):
            case 0:
                builder.gate("u", wires[:1], *rng.uniform(-pi, pi, 3))
            case 1:
                builder.gate("rx", wires[:1], rng.uniform(-pi, pi))
            case 2:
                builder.gate("cp", wires[:2], rng.uniform(-pi, pi))
            case 3:
                builder.gate("rzz", wires[:2], rng.uniform(-pi, pi))
            case 4:
                builder.gate("cx", wires[:2])
            case 5:
                size = 1 << int(rng.integers(1, 4))
                matrix = np.linalg.qr(rng.normal(size=(size, size)) + 1j * rng.normal(size=(size, size)))[0]
                builder.unitary(matrix, wires[: size.bit_length() - 1])
            case _:
                builder.gate("h", wires[:1])
    return builder.build()


@pytest.mark.parametrize("room", [32_764, 4_096, 3_700], ids=["many", "few", "memory"])
def test_drawn_circuits(dtype: np.dtype, room: int) -> None:
    """Drawn circuits have the definition's states in their first run and in the next, queued natively.

    What an old driver takes by value, and less, leads to other kernels.
    """
    assert FEW.room <= 4_096 < MANY.room
    assert FEW.room > 3_700
    runs = FirstRuns(dtype, room)
    for seed in range(8):
        assert runs.error(drawn(seed, 8, 40), times=1 + seed % 2) < TOLERANCE[dtype.type]
        assert len(runs.plan.steps) > 1
        assert runs.ticks == len(runs.plan.steps)
    assert runs.runtime.natively_launched > 20


def test_wires_that_no_gate_touches(dtype: np.dtype) -> None:
    """The zeros of wires without gates are written by a launch of the same list."""
    runs = FirstRuns(dtype)
    circuit = drawn(1, 9, 12, touched=6)
    assert runs.error(circuit) < TOLERANCE[dtype.type]
    assert isinstance(runs.plan.steps[-1], ZeroFill)
    assert runs.runtime.natively_launched > len(runs.plan.steps)


def test_factors_that_no_kernel_takes_by_value_go_step_by_step(dtype: np.dtype) -> None:
    """Where tables need a transfer of their own, nothing is queued natively, and the state is the definition's."""
    runs, builder = FirstRuns(dtype, room=96), CircuitBuilder(8)
    for target in reversed(range(8)):
        builder.gate("h", [target])
        for control in range(target):
            builder.gate("cp", [control, target], pi / 2 ** (target - control))
    assert runs.error(builder.build(), times=2) < TOLERANCE[dtype.type]
    assert runs.runtime.natively_launched == 0


def test_many_numbers_are_made_by_several_launches(dtype: np.dtype) -> None:
    """Numbers in memory that are more than a kernel takes by value are made part by part, all of them natively."""
    runs, builder, rng = FirstRuns(dtype, room=4096), CircuitBuilder(8), np.random.default_rng(5)
    for wire in range(8):
        builder.gate("h", [wire])
    for _ in range(24):
        *wires, control = [int(wire) for wire in rng.permutation(8)[:4]]
        matrix = np.linalg.qr(rng.normal(size=(8, 8)) + 1j * rng.normal(size=(8, 8)))[0]
        builder.unitary(matrix, wires, controls=[control])
    assert runs.error(builder.build()) < TOLERANCE[dtype.type]
    launched = runs.runtime.natively_launched
    assert launched > len(runs.plan.steps) + 3, launched


def test_long_runs_are_queued_in_pieces(dtype: np.dtype, hold: Hold) -> None:
    """Between pieces the host waits, so that a run that is cancelled ends soon; each step is counted once."""
    hold(queued_work=2 << 8 + dtype.itemsize.bit_length())
    runs = FirstRuns(dtype)
    assert runs.error(drawn(2, 8, 60)) < TOLERANCE[dtype.type]
    assert len(runs.runtime.reached) >= len(runs.plan.steps) // 2 - 1 > 0
    assert runs.ticks == len(runs.plan.steps)


def test_a_first_run_makes_no_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither register blocks nor takes become Python objects, though kernels may be compiled later; nor is the
    coefficient program listed: numbers are made in the planner's own order.
    """
    for owner, name in ((PlannedSweep, "register_blocks"), (NumberLoader, "__init__"), (Planner, "listed")):
        monkeypatch.setattr(owner, name, None)
    circuit, device = drawn(2, 8, 60), GpuDevice.on(EmulatedRuntime())
    plan: Plan = compiled_plan(circuit.instructions, 8, Layout.identity(8), SMALL, 255, True)
    ((_, loaded),) = prepare(plan, circuit.operands, (device,), np.dtype(np.complex64), "auto")
    assert loaded.queue(device.allocate(256, np.complex64), True, 1 << 30) is not None


def test_kernels_are_chosen_behind_the_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    """All sweeps of a run are queued before kernels are chosen for later runs, once for each run.

    The first run of few amplitudes chooses nothing, but it counts.
    """
    runtime, circuit, queued = EmulatedRuntime(), drawn(2, 8, 60), []
    runtime.waiting = []
    device, choose = GpuDevice.on(runtime), KernelChooser.kernels
    plan = compiled_plan(circuit.instructions, 8, Layout.identity(8), SMALL, 255, True)

    def chosen(self: KernelChooser, *given: Any, **named: Any) -> Any:
        queued.append(runtime.natively_launched)
        return choose(self, *given, **named)

    monkeypatch.setattr(KernelChooser, "kernels", chosen)
    for run in range(1, RETURNS + 2):
        work = prepare(plan, circuit.operands, (device,), np.dtype("complex64"), "auto")
        state = Single(device, device.allocate(256, np.complex64), plan.start, 255, begun=False)
        state.run(plan, work, lambda: None)
        assert queued == [runtime.natively_launched // run * one for one in range(2, run + 1)]
        assert len(runtime.waiting) == (run > RETURNS)


def test_kernels_take_over_in_the_background(dtype: np.dtype) -> None:
    """When kernels are made, the run that has them is laid out already, and no run before it waits."""
    runtime, circuit = EmulatedRuntime(), drawn(2, 8, 60)
    runtime.waiting = []
    device = GpuDevice.on(runtime)
    plan = compiled_plan(circuit.instructions, 8, Layout.identity(8), SMALL, 255, True)

    def run() -> int:
        work = prepare(plan, circuit.operands, (device,), dtype, "auto")
        state = Single(device, device.allocate(256, dtype), plan.start, 255, begun=False)
        before = runtime.natively_launched
        state.run(plan, work, lambda: None)
        assert np.linalg.norm(state.read(0, 256, range(8)) - simulate(circuit)) < TOLERANCE[dtype.type]
        assert runtime.natively_launched > before
        return work[0][0].compiled  # type: ignore[no-any-return]

    assert [run() for _ in range(RETURNS + 2)] == [0] * (RETURNS + 2)
    while runtime.waiting:
        runtime.waiting.pop(0)()
    made = NumberLoader.__init__
    NumberLoader.__init__ = None  # type: ignore[assignment, method-assign]
    try:
        assert [run(), run()] == [len(plan.sweeps)] * 2
    finally:
        NumberLoader.__init__ = made  # type: ignore[method-assign]
