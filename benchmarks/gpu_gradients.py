"""Values and gradients on one GPU beside runs of the same circuits: ``python -m benchmarks.gpu_gradients [--n 28]``.

Circuits of ten layers with the energy of an Ising chain in a transverse field: *ising* (an RZZ for each pair of
neighbours and an RX for each qubit, 550 angles on 28 qubits), *qaoa* (the same with two angles for each layer), *su2*
(RY, RZ and a chain of CX). *run* is one run of the circuit from new angles, warm, and *gradient* the value with all
derivatives; both are the median of some turns. *sums* is H|ψ⟩, and *back* all that follows it. The goals of a gradient
are 4.0 runs, and the memory of two states and an eighth.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from statistics import median
from time import perf_counter

import numpy as np

from benchmarks.memory import Peak, watched_pool
from qsim_ex import ParameterSweepBuilder, PauliString, PauliSum, Simulator
from qsim_ex.circuit.parameters.sweep import ParameterSweep
from qsim_ex.devices import discover
from qsim_ex.devices.gpu.device import GpuDevice
from qsim_ex.run.reversed_plan import ReversedPlan

LAYERS = 10


def angle(rng: np.random.Generator) -> np.ndarray:
    """Return one column."""
    return rng.normal(size=1)


def ising(n: int, rng: np.random.Generator) -> ParameterSweep:
    """Return layers of RZZ and RX, each with an angle of its own."""
    builder = plus(n)
    for _ in range(LAYERS):
        for wire in range(n - 1):
            builder.gate("rzz", [wire, wire + 1], angle(rng))  # type: ignore[arg-type]
        for wire in range(n):
            builder.gate("rx", [wire], angle(rng))  # type: ignore[arg-type]
    return builder.sweep(1)


def qaoa(n: int, rng: np.random.Generator) -> ParameterSweep:
    """Return layers of RZZ and RX with two angles for each layer."""
    builder = plus(n)
    for _ in range(LAYERS):
        gamma, beta = angle(rng), angle(rng)
        for wire in range(n - 1):
            builder.gate("rzz", [wire, wire + 1], gamma)  # type: ignore[arg-type]
        for wire in range(n):
            builder.gate("rx", [wire], beta)  # type: ignore[arg-type]
    return builder.sweep(1)


def su2(n: int, rng: np.random.Generator) -> ParameterSweep:
    """Return layers of RY, RZ and a chain of CX."""
    builder = ParameterSweepBuilder(n, 0)
    for _ in range(LAYERS):
        for name in ("ry", "rz"):
            for wire in range(n):
                builder.gate(name, [wire], angle(rng))  # type: ignore[arg-type]
        for wire in range(n - 1):
            builder.gate("cx", [wire, wire + 1])
    return builder.sweep(1)


def plus(n: int) -> ParameterSweepBuilder:
    """Return a circuit that begins in |+…+⟩."""
    builder = ParameterSweepBuilder(n, 0)
    for wire in range(n):
        builder.gate("h", [wire])
    return builder


def energy(n: int) -> PauliSum:
    """Return an Ising chain in a transverse field."""
    zz = [PauliString(0, 3 << wire, 1.0) for wire in range(n - 1)]
    return PauliSum((*zz, *(PauliString(1 << wire, 0, 0.7) for wire in range(n))))


CIRCUITS: dict[str, Callable[[int, np.random.Generator], ParameterSweep]] = {"ising": ising, "qaoa": qaoa, "su2": su2}


class Parts:
    """The seconds of the parts of a gradient, each waited for."""

    def __init__(self, device: GpuDevice) -> None:
        self.seconds: dict[str, list[float]] = {"sums": [], "back": []}
        self._device = device
        self._sums, self._back = device.begin_sums, ReversedPlan.run
        device.begin_sums = self._timed("sums", self._sums)  # type: ignore[method-assign]
        ReversedPlan.run = self._timed("back", self._back)  # type: ignore[assignment]

    def _timed(self, name: str, call: Callable[..., object]) -> Callable[..., object]:
        def timed(*given: object) -> object:
            self._device.synchronize()
            began = perf_counter()
            found = call(*given)
            self._device.synchronize()
            self.seconds[name].append(perf_counter() - began)
            return found

        return timed

    def end(self) -> None:
        """Put the parts back as they were."""
        self._device.begin_sums, ReversedPlan.run = self._sums, self._back  # type: ignore[method-assign]


def measure(name: str, n: int, turns: int) -> None:
    """Print what one circuit takes."""
    rng = np.random.default_rng(n)
    simulator, total = Simulator(device="gpu", precision="single", compile="always"), energy(n)
    sweep, nothing = CIRCUITS[name](n, rng), PauliSum(())
    device = discover.gpu(0)
    assert isinstance(device, GpuDevice)

    def run(one: ParameterSweep) -> None:
        simulator.run_batch(one.template, one.bindings(), observables=[nothing])
        device.synchronize()

    timed: dict[str, Callable[[ParameterSweep], object]] = {
        "run": run,
        "gradient": lambda one: simulator.gradient(one, total),
    }
    seconds: dict[str, list[float]] = {what: [] for what in timed}
    first = {}
    for what, call in timed.items():
        began = perf_counter()
        call(sweep)
        first[what] = perf_counter() - began
    for _ in range(turns):
        for what, call in timed.items():
            again = CIRCUITS[name](n, rng)
            began = perf_counter()
            call(again)
            seconds[what].append(perf_counter() - began)
    parts = Parts(device)
    simulator.gradient(sweep, total)
    simulator.gradient(sweep, total)
    parts.end()
    peak = Peak()
    with watched_pool(peak):
        simulator.gradient(sweep, total)
    alone, whole = (1e3 * median(seconds[what]) for what in timed)
    columns = 0 if sweep.columns is None else sweep.columns.shape[1]
    state = 8 << n
    print(
        f"{name}, {n} qubits, {columns} angles: run {alone:.2f} ms, gradient {whole:.2f} ms, {whole / alone:.2f} runs; "
        f"sums {1e3 * parts.seconds['sums'][-1]:.2f} ms, back {1e3 * parts.seconds['back'][-1]:.2f} ms; "
        f"first {first['run']:.1f} s and {first['gradient']:.1f} s; peak {peak.bytes_on(1)[0] / state:.3f} states",
        flush=True,
    )


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=28)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--circuits", nargs="*", default=list(CIRCUITS))
    given = parser.parse_args()
    for name in given.circuits:
        measure(name, given.n, given.turns)


if __name__ == "__main__":
    main()
