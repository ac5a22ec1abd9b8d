"""Values and gradients on one GPU beside runs of the same circuits: ``python -m benchmarks.gpu_gradients [--n 28]``.

Circuits are those of `benchmarks.gradient_circuits`, with the energy of an Ising chain in a transverse field. *run* is
one run of the circuit from new angles, warm, and *gradient* the value with all derivatives; both are the median of some
turns, and *runs* is the latter over the former. *sums* is H|ψ⟩, and *back* all that follows it. *ex* is one run of
cuStateVec Ex, the faster of two ways to say controls, where that library is there: set to zero, apply, synchronise,
without its enqueueing. *times* is three such runs over a gradient. The goals of a gradient are 4 runs, 5 of ucc,
*times* 5, and the memory of two states and an eighth.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np

from benchmarks import machine
from benchmarks.gradient_circuits import CIRCUITS, FAMILIES, energy, sweep_of
from benchmarks.memory import Peak, give_back_pools, watched_pool
from benchmarks.peers import Peer, PeerMissing, load
from benchmarks.peers.base import Setup
from qsim_ex import BatchResult, Gradient, PauliSum, Simulator
from qsim_ex.circuit.parameters.sweep import ParameterSweep
from qsim_ex.devices import discover
from qsim_ex.devices.gpu.device import GpuDevice
from qsim_ex.run.gradients.reversed_plan import ReversedPlan

WARM = 3
"""Calls after the first one that are not timed: what is written out of a circuit is compared when it comes again."""

Found = dict[str, float | str]


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


class Circuits:
    """Runs and gradients of one family, each from new angles."""

    def __init__(self, name: str, n: int) -> None:
        self._name, self._n, self._rng, self._total = name, n, np.random.default_rng(n), energy(n)
        self._simulator = Simulator(device="gpu", precision="single", compile="always")
        device = discover.gpu(0)
        assert isinstance(device, GpuDevice)
        self.device = device

    def run(self, one: ParameterSweep) -> BatchResult:
        """Run a circuit, and wait for it."""
        found = self._simulator.run_batch(one.template, one.bindings(), observables=[PauliSum(())])
        self.device.synchronize()
        return found

    def gradient(self, one: ParameterSweep) -> Gradient:
        """Return the gradient of a circuit."""
        return self._simulator.gradient(one, self._total)

    def seconds(self, call: Callable[[ParameterSweep], object]) -> float:
        """Return how long a call takes for new angles."""
        again = self.sweep()
        began = perf_counter()
        call(again)
        return perf_counter() - began

    def sweep(self) -> ParameterSweep:
        """Return the circuit with new angles."""
        return CIRCUITS[self._name](self._n, self._rng)

    def explained(self) -> list[str]:
        """Return what the engine says of a gradient."""
        return str(self._simulator.explain_gradient(self.sweep(), self._total)).splitlines()[:12]


def ours(name: str, n: int, turns: int) -> Found:
    """Return what a run and a gradient of a family take, in milliseconds unless it says otherwise."""
    circuits = Circuits(name, n)
    calls: dict[str, Callable[[ParameterSweep], object]] = {"run": circuits.run, "gradient": circuits.gradient}
    found: Found = {f"first_{what}_s": circuits.seconds(call) for what, call in calls.items()}
    seconds: dict[str, list[float]] = {what: [] for what in calls}
    for _ in range(WARM + turns):
        for what, call in calls.items():
            seconds[what].append(circuits.seconds(call))
    run, gradient = (1e3 * median(each[WARM:]) for each in seconds.values())
    found |= {"run": run, "gradient": gradient, "runs": gradient / run}
    sweep = circuits.sweep()
    parts, peak = Parts(circuits.device), Peak()
    for _ in range(3):
        circuits.gradient(sweep)
    parts.end()
    found |= {part: 1e3 * median(each) for part, each in parts.seconds.items()}
    with watched_pool(peak):
        circuits.gradient(sweep)
    found["peak_states"] = peak.bytes_on(1)[0] / (8 << n)
    found["parameters"] = 0 if sweep.columns is None else sweep.columns.shape[1]
    found["run_is"] = str(circuits.run(sweep).provenance.facts.get("written", "as it came"))
    print("\n".join(circuits.explained()), flush=True)
    return found


def of_peer(peer: Peer, name: str, n: int, turns: int) -> Found:
    """Return what a run of the peer takes, in milliseconds, in each of its ways, and how far amplitudes differ."""
    gates = FAMILIES[name](n, np.random.default_rng(n))
    watch = (*np.random.default_rng(1).integers(1 << n, size=8).tolist(), (1 << n // 2) - 1)
    setup = Setup(n, "single", threads=1, watch=watch)
    with Simulator(device="gpu", precision="single").state(sweep_of(gates, n).circuit(0)) as state:
        expected = state.amplitudes(watch)
    give_back_pools()
    found: Found = {}
    for variant in peer.variants(setup):
        session = peer.open(setup, variant)
        try:
            session.load(gates)
            times = [1e3 * session.run().seconds for _ in range(WARM + turns)]
            found[f"ex_{variant}"] = median(times[WARM:])
            off = np.abs(session.amplitudes() - expected).max() / np.abs(expected).max()
            found[f"ex_{variant}_differs"] = float(off)
        finally:
            session.close()
    found["ex"] = min(float(found[f"ex_{variant}"]) for variant in peer.variants(setup))
    return found


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=28)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--circuits", nargs="*", default=list(CIRCUITS))
    parser.add_argument("--commit", default="")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    try:
        peer = load("custatevec_ex", "gpu")
    except PeerMissing as missing:
        peer = None
        print(f"without cuStateVec Ex: {missing}", flush=True)
    rows: dict[str, Found] = {}
    for name in given.circuits:
        rows[name] = found = ours(name, given.n, given.turns)
        if peer is not None:
            found |= of_peer(peer, name, given.n, given.turns)
            found["times"] = 3 * float(found["ex"]) / float(found["gradient"])
        cells = (f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}" for key, value in found.items())
        print(f"{name}, {given.n} qubits: {', '.join(cells)}", flush=True)
        if given.out is not None:
            about = {"machine": machine.describe(), "commit": given.commit, "qubits": given.n, "turns": given.turns}
            given.out.write_text(json.dumps({**about, "precision": "single", "ms": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
