"""Written sweeps of gradients: on an emulated GPU everywhere, and on the real one, against the CPU's gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.cuda.emulated_runtime import EmulatedRuntime
from support.gpus import gpu_missing
from support.gradients import layers, observables
from support.held import Hold

from benchmarks.gradient_circuits import CIRCUITS, FAMILIES, energy, sweep_of
from qsim_ex import Gradient, ParameterSweepBuilder, PauliSum, Simulator
from qsim_ex.circuit.parameters.sweep import ParameterSweep
from qsim_ex.devices import discover
from qsim_ex.devices.gpu.device import GpuDevice
from qsim_ex.kernels.cuda.adjoint.reversed import collecting
from qsim_ex.kernels.cuda.adjoint.write import kernel, pieces
from qsim_ex.planning import rules
from qsim_ex.planning.planner import make_plan
from qsim_ex.precision import SINGLE
from qsim_ex.run.gradients import reversed_plan
from qsim_ex.steps.layout import Layout
from qsim_ex.steps.reversed import reversed_sweep
from qsim_ex.steps.step import Sweep
from tools.fuzz.thresholds import WRITTEN

Ask = Callable[..., Gradient]


@pytest.fixture(params=["emulated", pytest.param("real", marks=pytest.mark.gpu)])
def gradient(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """A function that asks a GPU for a gradient, with written kernels unless it is told otherwise."""
    real = request.param == "real"
    if real and (missing := gpu_missing()):
        pytest.skip(missing)
    device = None if real else GpuDevice.on(EmulatedRuntime())

    def ask(sweep: ParameterSweep, sums: list[PauliSum], compile: str = "always", **options: Any) -> Gradient:
        with monkeypatch.context() as patch:
            if device is not None:
                patch.setattr(discover, "cpu", lambda _threads=None: device)
            return Simulator(device="gpu" if real else "cpu", compile=compile, **options).gradient(sweep, sums)

    return ask


def as_on_the_cpu(gradient: Ask, sweep: ParameterSweep, sums: list[PauliSum], **options: Any) -> None:
    """Values and derivatives are those that the CPU finds."""
    found, expected = gradient(sweep, sums, **options), Simulator(device="cpu").gradient(sweep, sums)
    close = 2e-5 if options.get("precision") == "single" else 1e-12
    assert found.values == pytest.approx(expected.values, abs=close * 35)
    assert found.jacobian == pytest.approx(expected.jacobian, abs=close * 35)


def ising(num_wires: int, angles: Callable[[], float]) -> ParameterSweep:
    """Three layers of RZZ and RX."""
    builder = ParameterSweepBuilder(num_wires, 0)
    for wire in range(num_wires):
        builder.gate("h", [wire])
    for _ in range(3):
        for wire in range(num_wires - 1):
            builder.gate("rzz", [wire, wire + 1], np.array([angles()]))
        for wire in range(num_wires):
            builder.gate("rx", [wire], np.array([angles()]))
    return builder.sweep(1)


@pytest.mark.parametrize("seed", range(4))
def test_drawn_circuits(gradient: Ask, seed: int) -> None:
    """Gates of the table with and without parameters, under controls, for two bindings and two observables."""
    as_on_the_cpu(gradient, layers(9, seed), observables(9, 2, seed))


def test_what_reads_a_bit_that_cx_flips(gradient: Ask) -> None:
    """Matrices are told apart by what they read where a CX, which moves nothing, stands behind them."""
    rng, builder = np.random.default_rng(1), ParameterSweepBuilder(9, 0)
    for wire in range(9):
        builder.gate("ry", [wire], rng.normal(size=1))
    builder.gate("rzx", [0, 1], rng.normal(size=1)).gate("cx", [5, 0]).gate("ry", [0], rng.normal(size=1))
    as_on_the_cpu(gradient, builder.sweep(1), [energy(9)])


def test_what_is_written_out_of_a_form(gradient: Ask, hold: Hold) -> None:
    """Pauli rotations, written out in place of ladders of CX, also where another device has written them before."""
    hold(**WRITTEN)
    gates = FAMILIES["uccsd"](9, np.random.default_rng(0))
    sweep = sweep_of([*gates[:60], *gates[-200:]], 9)
    assert "written as Pauli rotations" in str(Simulator(device="cpu").explain_gradient(sweep, energy(9)))
    as_on_the_cpu(gradient, sweep, [energy(9)])


def test_states_that_grow(gradient: Ask) -> None:
    """Several sweeps, of which the last ones backwards leave out what began as zeros."""
    as_on_the_cpu(gradient, CIRCUITS["qaoa"](13, np.random.default_rng(0)), [energy(13)])


def test_single_precision(gradient: Ask) -> None:
    """They are in complex64, to its precision."""
    as_on_the_cpu(gradient, layers(9, 5), observables(9, 1, 5), precision="single")


def test_small_pieces(gradient: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep in many pieces, one of which begins amid a register block."""
    monkeypatch.setattr(pieces, "MOST", 700)
    as_on_the_cpu(gradient, CIRCUITS["su2"](9, np.random.default_rng(0)), [energy(9)])


def test_rotations_without_a_cosine(gradient: Ask) -> None:
    """Rotations by half turns have no tangents, and take the kernel with matrices; so do reflections."""
    half = iter([np.pi, 0.3] * 40)
    as_on_the_cpu(gradient, ising(9, lambda: next(half)), [energy(9)])
    builder = ParameterSweepBuilder(9, 0)
    for wire in range(9):
        builder.gate("h", [wire]).gate("ry", [wire], np.array([0.1 * wire])).gate("z", [wire])
        builder.gate("ry", [wire], np.array([0.2]))
    as_on_the_cpu(gradient, builder.sweep(1), [energy(9)])


def test_subspaces(gradient: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sweeps over subspaces, whose tiles are read and written by maps that add bits."""
    rng, builder = np.random.default_rng(0), ParameterSweepBuilder(13, 0)
    for k in range(120):
        builder.gate("cx", rng.permutation(13)[:2].tolist())
        if k % 4 == 0:
            builder.gate(str(rng.choice(["rx", "ry", "rz"])), [int(rng.integers(13))], rng.normal(size=1))
        if k % 7 == 0:
            builder.gate("h", [int(rng.integers(13))])
    monkeypatch.setattr(rules, "PROMISE", rules.ANY_PROMISE)
    met, true = [], reversed_plan.reversed_sweep

    def spied(sweep: Sweep) -> Any:
        met.extend(mask & mask - 1 for mask in (*sweep.load, *sweep.store))
        return true(sweep)

    monkeypatch.setattr(reversed_plan, "reversed_sweep", spied)
    as_on_the_cpu(gradient, builder.sweep(1), [energy(13)])
    assert any(met)


def test_kernels_that_come_later() -> None:
    """With compile='auto' sweeps are interpreted until their kernels are there, and the results are as close."""
    device = GpuDevice.on(EmulatedRuntime())
    sweep, sums = ising(9, lambda: 0.4), [energy(9)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(discover, "cpu", lambda _threads=None: device)
        simulator, found, written = Simulator(device="cpu"), [], []
        for _ in range(4):
            found.append(simulator.gradient(sweep, sums).jacobian)
            runtime: Any = device._runtime
            written.append(any("cotangent" in text.code for text in runtime.compiled if text.name == "sweep"))
    assert written == [False, False, True, True]
    assert found[3] == pytest.approx(found[0], abs=1e-12)


def test_a_rotation_takes_one_sum() -> None:
    """A layer of RX has as many sums as gates, and a warp adds them up with fewer exchanges than lanes for each."""
    builder = ParameterSweepBuilder(9, 0)
    for wire in range(9):
        builder.gate("rx", [wire], np.array([0.1]))
    made = builder.sweep(1).template
    shape = GpuDevice.on(EmulatedRuntime()).batch_shape(np.complex64)
    (step,) = make_plan(made.instructions, 9, Layout.identity(9), shape, 0).steps
    assert isinstance(step, Sweep)
    wanted = np.ones(step.numbers + step.tables, dtype=np.bool_)
    found = kernel.emit(collecting(reversed_sweep(step), wanted), SINGLE, 1 << 15)
    assert found.tangents is not None
    assert found.tangents.before.tolist()[:9] == [*range(9)]
    assert found.code.count("c = joined(") == 4 + 2 + 1 + 5  # halves of halves, and what still waits for 32
