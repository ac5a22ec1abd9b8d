"""Gradients on a GPU against the rule of shifts and the CPU: on an emulated GPU everywhere, and on the real one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.cuda.emulated_runtime import EmulatedRuntime
from support.gpus import gpu_missing
from support.gradients import compare, compare_overlaps, layers, observables

from qsim_ex import ParameterSweepBuilder, PauliSum, Simulator
from qsim_ex.circuit.parameters.sweep import ParameterSweep
from qsim_ex.devices import discover
from qsim_ex.devices.gpu.device import GpuDevice

Make = Callable[..., Simulator]


def needs_gpu() -> None:
    """Skip what needs a GPU where there is none."""
    if missing := gpu_missing():
        pytest.skip(missing)


@pytest.fixture(params=["emulated", pytest.param("real", marks=pytest.mark.gpu)])
def gpu(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Make:
    """A function that makes simulators on a GPU."""
    if request.param == "real":
        needs_gpu()
        return lambda **options: Simulator(device="gpu", **options)
    device = GpuDevice.on(EmulatedRuntime())
    monkeypatch.setattr(discover, "cpu", lambda _threads=None: device)
    monkeypatch.setattr(discover, "gpu", lambda _number=0: device)
    monkeypatch.setattr(discover, "gpu_count", lambda: 1)
    return lambda **options: Simulator(device="cpu", **options)


@pytest.mark.parametrize("seed", range(4))
def test_drawn_circuits(gpu: Make, seed: int) -> None:
    """Values and derivatives of random circuits of the gate table are those by definition."""
    num_wires = 2 + seed
    sweep, sums = layers(num_wires, seed), observables(num_wires, 1 + seed % 3, seed)
    compare(sweep, gpu().gradient(sweep, sums), sums)


def test_single_precision(gpu: Make) -> None:
    """They are in complex64, to its precision."""
    sweep, sums = layers(5, 3), observables(5, 2, 3)
    compare(sweep, gpu(precision="single").gradient(sweep, sums), sums, tolerance=2e-5)


@pytest.mark.parametrize("letters", ["IZ", "XY"])
def test_strings_that_differ_on_wires_of_devices(gpu: Make, letters: str) -> None:
    """Strings that are the same within each device, on one of several, are each their own part of a sum."""
    sweep = layers(4, 5)
    sums = [
        PauliSum.from_labels({"ZXYZ"[:at] + one + "ZXYZ"[at + 1 :]: 0.3 + k for k, one in enumerate(letters)})
        for at in range(4)
    ]
    compare(sweep, gpu(virtual_peers=2).gradient(sweep, sums), sums)


def test_angles_at_zero(gpu: Make) -> None:
    """Derivatives are right where all angles are 0, and the entries of matrices with them."""
    builder = ParameterSweepBuilder(3, 0)
    for wire in range(3):
        builder.gate("u", [wire], np.zeros(1), np.zeros(1), np.zeros(1)).gate("rx", [wire], np.zeros(1))
    builder.gate("crx", [0, 1], np.zeros(1)).gate("rzz", [1, 2], np.zeros(1)).gate("cu3", [0, 2], *np.zeros((3, 1)))
    sweep, sums = builder.sweep(1), observables(3, 2, 1)
    compare(sweep, gpu().gradient(sweep, sums), sums, most=20)


def test_many_bindings(gpu: Make, hold: Callable[..., None]) -> None:
    """Bindings that are worked on in several parts have the derivatives that the CPU finds."""
    sweep, sums = layers(4, 9, bindings=13), observables(4, 2, 9)
    there = gpu().gradient(sweep, sums)
    hold(batch_rows=5)
    in_parts = gpu().gradient(sweep, sums)
    assert in_parts.jacobian == pytest.approx(there.jacobian, abs=1e-12)
    compare(sweep, in_parts, sums, most=1)


def test_twice_the_same(gpu: Make) -> None:
    """A gradient is the same to the last bit when it is asked for again."""
    sweep, sums = layers(6, 2), observables(6, 2, 2)
    simulator = gpu()
    first, second = (simulator.gradient(sweep, sums) for _ in range(2))
    assert np.array_equal(first.jacobian, second.jacobian)
    assert np.array_equal(first.values, second.values)


def ising(num_wires: int, layer_count: int) -> tuple[ParameterSweep, PauliSum]:
    """Layers of RZZ on neighbours and RX, and the energy of a chain in a transverse field."""
    builder, rng = ParameterSweepBuilder(num_wires, 0), np.random.default_rng(num_wires)
    for wire in range(num_wires):
        builder.gate("h", [wire])
    for _ in range(layer_count):
        for wire in range(num_wires - 1):
            builder.gate("rzz", [wire, wire + 1], rng.normal(size=1))
        for wire in range(num_wires):
            builder.gate("rx", [wire], rng.normal(size=1))
    zz = {"I" * (num_wires - wire - 2) + "ZZ" + "I" * wire: 1.0 for wire in range(num_wires - 1)}
    x = {"I" * (num_wires - wire - 1) + "X" + "I" * wire: 0.7 for wire in range(num_wires)}
    return builder.sweep(1), PauliSum.from_labels(zz | x)


@pytest.mark.gpu
@pytest.mark.parametrize(("precision", "tolerance"), [("single", 1e-4), ("double", 1e-11)])
def test_as_on_the_cpu(precision: Any, tolerance: float) -> None:
    """A state of many tiles has the derivatives that the CPU finds, in single precision to 1e-4 of the largest."""
    needs_gpu()
    sweep, energy = ising(18, 6)
    found = Simulator(device="gpu", precision=precision).gradient(sweep, energy)
    expected = Simulator(device="cpu").gradient(sweep, energy)
    largest = np.abs(expected.jacobian).max()
    assert found.values == pytest.approx(expected.values, abs=tolerance * 35)
    assert found.jacobian == pytest.approx(expected.jacobian, abs=tolerance * largest)


def test_vjp(gpu: Make) -> None:
    """Products with weights of each binding are those with the Jacobian."""
    sweep, sums = layers(5, 6, bindings=3), observables(5, 3, 6)
    weights = np.random.default_rng(0).normal(size=(3, 3))
    products, whole = gpu().vjp(sweep, sums, weights), gpu().gradient(sweep, sums)
    assert products.values == pytest.approx(whole.values, abs=1e-12)
    assert products.products == pytest.approx(np.einsum("ro,roc->rc", weights, whole.jacobian), abs=1e-11)


def test_overlaps(gpu: Make) -> None:
    """Overlaps with the states of another sweep, and their derivatives, are those by definition."""
    sweep, other = layers(5, 6, gates=12), layers(5, 7, gates=12)
    compare_overlaps(sweep, [other.circuit(0), other.circuit(1)], gpu().overlap(sweep, other), most=2)


@pytest.mark.parametrize("options", [{"virtual_peers": 4}, {"device_wires": 5}])
def test_divided_states(gpu: Make, options: dict[str, Any]) -> None:
    """Sweeps backwards on pieces read the bits that number them."""
    sweep, sums = layers(7, 4, bindings=1), observables(7, 1, 4)
    compare(sweep, gpu(**options).gradient(sweep, sums), sums, most=3)
