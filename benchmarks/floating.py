"""Whether lowest bits that change from sweep to sweep pay on a GPU: ``python -m benchmarks.floating --n 28``.

Each circuit is planned with `Shape.floats` off and on, from a full state and from |0…0⟩, and run with compiled kernels
until nothing is left to wait for; the least of some times counts. Amplitudes are compared: those of both plans with one
another at this size, and at ``--small`` wires those of the interpreter with the CPU's. It stops when ``--seconds`` are
over. Kernels of all plans of one kind are compiled together, before anything is timed.

For memory errors and races: ``compute-sanitizer --tool racecheck python tests/devices/sanitize.py``, where half of the
sweeps store their tiles permuted.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from statistics import geometric_mean
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks import machine
from benchmarks.counts import circuit_of
from benchmarks.cx_rich import FAMILIES
from benchmarks.engine import circuit_of as seven
from benchmarks.families import FAMILIES as SEVEN
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.devices.base import Device
from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.execution.prepare import prepare
from qsim_ex.planning.planner import make_plan
from qsim_ex.steps import Layout, Plan

RICH = ("heisenberg", "su2_8", "qv_cx", "uccsd", "qaoa", "clifford_t", "surface_code")
OTHERS = ("brick", "qv", "qft")
KINDS = ((8, "full"), (16, "full"), (8, "zero"), (16, "zero"))
"""Bytes of an amplitude, and what the state is before: any state, or |0…0⟩, from which it grows."""

_COMPARED = 4096
_BOUND = {8: 1e-4, 16: 1e-10}


def circuits(wires: int) -> dict[str, Circuit]:
    """The circuits by name."""
    made = {name: circuit_of(FAMILIES[name](wires), wires) for name in RICH}
    return made | {f"{name} (seven)": seven(SEVEN[name].build(wires, 0), wires) for name in OTHERS}


def plan_of(circuit: Circuit, device: Device, dtype: np.dtype[Any], kind: str, *, floats: bool) -> Plan:
    """The plan of a circuit whose lowest bits may change, or stay."""
    wires, shape = circuit.num_qubits, replace(device.shape(dtype), floats=floats)
    fresh = (1 << wires) - 1 if kind == "zero" else 0
    return make_plan(circuit.instructions, wires, Layout.identity(wires), shape, fresh, None, bool(fresh))


class Run:
    """A plan that is ready to run on a buffer."""

    def __init__(self, device: Device, plan: Plan, circuit: Circuit, dtype: np.dtype[Any], compile: str) -> None:
        self.device, self.plan = device, plan
        ((self._ready, numbers),) = prepare(plan, circuit.operands, [device], dtype, compile)
        self._numbers = list(numbers)

    def begin(self, buffer: Any) -> None:
        """Write |0…0⟩; a plan of a growing state needs no more than amplitude 0."""
        if self.plan.fresh:
            self.device.begin(buffer)
        else:
            self.device.set_basis(buffer, 0)

    def __call__(self, buffer: Any) -> float:
        """Run the plan; return the seconds until it is done."""
        self.device.synchronize()
        begin = perf_counter()
        for step, numbers in zip(self.plan.steps, self._numbers, strict=True):
            self.device.run(buffer, self.plan.num_wires, step, numbers, self._ready)
        self.device.synchronize()
        return perf_counter() - begin

    def amplitudes(self, buffer: Any) -> Any:
        """Some amplitudes of |0…0⟩ after the circuit, by wires: the first, and drawn ones."""
        self.begin(buffer)
        self(buffer)
        rng, size = np.random.default_rng(1), 1 << self.plan.num_wires
        values = [*range(min(size, _COMPARED)), *rng.integers(0, size, _COMPARED).tolist()]
        places = np.array([self.plan.end.index(value) for value in values], dtype=np.int64)
        return np.asarray(self.device.gather(buffer, places)).astype(np.complex128)


def difference(one: Any, other: Any, size: int) -> float:
    """The difference of some amplitudes of a state of `size`, relative to their norm, or to what it is on average."""
    usual = (len(other) / size) ** 0.5  # the norm of as many amplitudes of a drawn state
    return float(np.linalg.norm(one - other) / max(float(np.linalg.norm(other)), usual))


def checked(device: Device, wires: int) -> None:
    """Compare floating plans on a small state, interpreted, with fixed ones on the CPU."""
    host = CpuDevice()
    for (itemsize, kind), (name, circuit) in ((k, c) for k in KINDS for c in circuits(wires).items()):
        dtype = np.dtype(f"complex{8 * itemsize}")
        found = []
        for on, floats in ((device, True), (host, False)):
            run = Run(on, plan_of(circuit, on, dtype, kind, floats=floats), circuit, dtype, "never")
            found.append(run.amplitudes(on.allocate(1 << wires, dtype)))
        off = difference(*found, 1 << wires)
        assert off < _BOUND[itemsize], f"{name} {kind} complex{8 * itemsize}: {off}"
    print(f"all circuits of {wires} wires agree with the CPU")


def measured(device: Device, wires: int, itemsize: int, kind: str, repeat: int, until: float) -> list[dict[str, Any]]:
    """Time all circuits both ways, until it is too late."""
    dtype, begin = np.dtype(f"complex{8 * itemsize}"), perf_counter()
    both = {
        name: (circuit, [plan_of(circuit, device, dtype, kind, floats=floats) for floats in (False, True)])
        for name, circuit in circuits(wires).items()
    }
    every = tuple(step for _, plans in both.values() for plan in plans for step in plan.steps)
    device.prepare(every, wires, dtype, "always")
    print(f"complex{8 * itemsize}, {kind}: {len(every)} steps compiled in {perf_counter() - begin:.0f} s")
    buffer, cells = device.allocate(1 << wires, dtype), []
    for name, (circuit, plans) in both.items():
        if perf_counter() > until:
            print("stopped: the time is over")
            break
        runs = [Run(device, plan, circuit, dtype, "always") for plan in plans]
        off = difference(*[run.amplitudes(buffer) for run in runs], 1 << wires)
        assert off < _BOUND[itemsize], f"{name}: amplitudes differ by {off}"
        times: list[list[float]] = [[], []]
        for _ in range(repeat):
            for run, found in zip(runs, times, strict=True):
                run.begin(buffer)
                found.append(run(buffer))
        fixed, floating = (1e3 * min(found) for found in times)
        sweeps = [len(plan.steps) for plan in plans]
        permuted = sum(bool(sweep.store) for sweep in plans[1].sweeps)
        print(
            f"{name:16} sweeps {sweeps[0]:3} {sweeps[1]:3} ({permuted} permuted)  ms {fixed:8.2f} {floating:8.2f}  "
            f"{floating / fixed:.2f}",
            flush=True,
        )
        cells.append({"circuit": name, "kind": kind, "itemsize": itemsize, "sweeps": sweeps, "ms": [fixed, floating]})
    if cells:
        print(f"geometric mean {geometric_mean(c['ms'][1] / c['ms'][0] for c in cells):.3f}")
    return cells


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=28)
    parser.add_argument("--small", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    from qsim_ex.devices.gpu.device import GpuDevice

    device, until = GpuDevice(), perf_counter() + given.seconds
    cells: list[dict[str, Any]] = []
    for itemsize, kind in KINDS:
        if perf_counter() < until:
            cells += measured(device, given.n, itemsize, kind, given.repeat, until)
        if (itemsize, kind) == KINDS[1]:
            checked(device, given.small)
    if given.out:
        found = {"kind": "floating", "commit": machine.commit(), "wires": given.n, "cells": cells}
        given.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
