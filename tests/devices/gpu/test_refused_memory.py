"""A GPU that is refused memory raises `OutOfMemory`, loses nothing, and the next run is right.

Each allocation of a run is refused in turn: the first one alone, then the second one, and so on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.cuda.emulated_runtime import EmulatedRuntime

from qsim_ex import Circuit, CircuitBuilder, ParameterSweepBuilder, PauliSum, Simulator
from qsim_ex.circuit.noise.channels import amplitude_damping, depolarizing
from qsim_ex.devices import discover
from qsim_ex.devices.gpu.device import GpuDevice
from qsim_ex.errors import OutOfMemory
from qsim_ex.kernels.cuda.runtime import Array

N = 5
SOME = PauliSum.from_labels({"ZZIII": 1.0, "IXYIZ": 0.5})


class Refusing(EmulatedRuntime):
    """A GPU that grants memory, but for one allocation. asked: how often memory was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.refused = 0, -1

    def empty(self, count: int, dtype: Any) -> Array:
        """Return an array, unless this allocation is the one that is refused."""
        self.asked += 1
        if self.asked == self.refused:
            raise OutOfMemory(f"{count} numbers are refused")
        return super().empty(count, dtype)

    def upload(self, host: Any) -> Array:
        """Return a copy, in memory that may be refused, too."""
        array = self.empty(np.asarray(host).size, np.asarray(host).dtype)
        array[...] = np.asarray(host).ravel()
        return array


def layers(builder: CircuitBuilder) -> CircuitBuilder:
    """Append gates that mix all wires and join them."""
    for wire in range(N):
        builder.gate("ry", [wire], 0.3 + wire).gate("cx", [wire, (wire + 2) % N]).gate("rz", [wire], 0.2 * wire)
    return builder


def gates() -> Circuit:
    """Return a circuit of gates."""
    return layers(CircuitBuilder(N)).build()


def noisy() -> Circuit:
    """Return a circuit with channels, a measurement in the middle, a reset and a condition."""
    builder = layers(CircuitBuilder(N, N)).channel(depolarizing(0.2), [0]).channel(amplitude_damping(0.3), [3])
    builder.measure([1], [1]).reset([2])
    with builder.condition([1], [1]):
        builder.gate("x", [4])
    return layers(builder).measure(range(N), range(N)).build()


def saved() -> Circuit:
    """Return a circuit that saves its state and a part's density matrix."""
    return layers(CircuitBuilder(N).save("psi").save("rho", "density_matrix", wires=[2, 0])).build()


def swept() -> Any:
    """Return a sweep of three bindings."""
    builder = ParameterSweepBuilder(N, N)
    for wire in range(N):
        builder.gate("rx", [wire], np.array([0.1, 0.7, 1.3]) + wire).gate("cz", [wire, (wire + 1) % N])
    return builder.sweep(3)


def state(simulator: Simulator) -> np.ndarray:
    """Return a state vector."""
    with simulator.state(gates()) as found:
        return found.to_numpy()


def questions(simulator: Simulator) -> np.ndarray:
    """Return what a state answers."""
    with simulator.state(gates()) as found:
        asked = found.expectation(SOME), found.norm(), found.probabilities([0, 3]), found.sample(20, seed=3)
    return np.concatenate([np.ravel(np.real(one)) for one in asked])


def collapsed(simulator: Simulator) -> np.ndarray:
    """Return a state after a measurement and another gate."""
    with simulator.state(gates()) as found:
        found.measure([2], seed=4)
        found.apply(gates())
        return found.to_numpy()


def batch(simulator: Simulator) -> np.ndarray:
    """Return means of three bindings."""
    sweep = swept()
    return simulator.run_batch(sweep.template, sweep.bindings(), observables=[SOME]).values


RUNS: dict[str, tuple[dict[str, Any], Callable[[Simulator], np.ndarray]]] = {
    "state": ({}, state),
    "questions": ({}, questions),
    "collapse": ({}, collapsed),
    "two peers": ({"virtual_peers": 2, "device_wires": 4}, state),
    "host memory": ({"device_wires": 3}, state),
    "batch": ({}, batch),
    "shots": ({}, lambda one: one.run(layers(CircuitBuilder(N, N)).measure(range(N), range(N)).build(), 50, 5).packed),
    "chance": ({}, lambda one: one.run(noisy(), 40, seed=6).packed),
    "density matrix": ({"method": "density_matrix"}, lambda one: one.run(noisy(), 40, seed=6).packed),
    "saves": ({}, lambda one: np.concatenate([np.ravel(v) for v in one.run(saved()).saved.values()])),
    "gradient": ({}, lambda one: one.gradient(swept(), SOME).jacobian),
}


@pytest.mark.parametrize("kind", RUNS)
def test_each_allocation_of_a_gpu_that_is_refused_is_an_error(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever allocation is refused, the run ends in `OutOfMemory`, and the next one finds what a CPU does."""
    options, run = RUNS[kind]
    expected = run(Simulator(device="cpu", precision="double", **options))
    runtime = Refusing()
    device = GpuDevice.on(runtime)
    monkeypatch.setattr(discover, "cpu", lambda _threads=None: device)
    monkeypatch.setattr(discover, "gpu", lambda _number=0: device)
    monkeypatch.setattr(discover, "gpu_count", lambda: 1)

    def found() -> np.ndarray:
        return run(Simulator(device="cpu", precision="double", **options))

    def ends_in_an_error(refused: int) -> bool:
        runtime.asked, runtime.refused = 0, refused
        try:
            found()
        except OutOfMemory:
            return True
        assert runtime.asked < refused, "a refused allocation is an error"
        return False

    np.testing.assert_allclose(found(), expected, atol=1e-12)
    refused = 1
    while ends_in_an_error(refused):
        runtime.refused, refused = -1, refused + 1
        np.testing.assert_allclose(found(), expected, atol=1e-12)
    assert refused > 1
