"""The time of planning on several levels, beside the run that it is for: ``python -m benchmarks.first_on_levels``.

The families of `held_out` and `cx_rich`, on states in host memory, on several devices, on both, and on a few processes
of CPUs. Times of planning are processor time, the least of some tries; those of runs are predicted, for H200s and for
CPUs of a laptop. Prints each of them, and the means of each place. It takes no device.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import fmean
from time import process_time
from typing import Any, NamedTuple

from benchmarks import cx_rich, held_out, machine
from benchmarks.engine import circuit_of
from benchmarks.first_gpu import neutral
from benchmarks.gates import Gate
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.devices.hypothetical import HypotheticalGpu
from qsim_ex.planning.cost.stage_cost import H200, Rates, seconds, stage_costs
from qsim_ex.planning.planner import make_plan
from qsim_ex.steps import Layout, Levels, Plan, Shape

ITEMSIZE = 8
"""Bytes of an amplitude in single precision."""

LAPTOP = Rates(memory=12e9, fma=12e9, peer=6e9, launch=20e-6, trade=2e-4)
"""The rates of each process on a CPU, roughly: of two cores of a machine with 16."""


class Place(NamedTuple):
    """Where states are: migration wires, device bits, the wires of the circuits, the shape, and the rates."""

    migrating: int
    peers: int
    wires: tuple[int, ...]
    shape: Shape
    rates: Rates


def places() -> dict[str, Place]:
    """Return all places by name."""
    gpu, cpu = HypotheticalGpu(0).shape("complex64"), CpuDevice(1).shape("complex64")
    on_gpus = {"2 devices": (0, 1), "4 devices": (0, 2), "3 migration wires": (3, 0), "both": (2, 1)}
    found = {name: Place(*bits, (28, 32), gpu, H200) for name, bits in on_gpus.items()}
    on_cpus = {"2 processes": (0, 1), "4 processes": (0, 2)}
    return found | {name: Place(*bits, (20, 24), cpu, LAPTOP) for name, bits in on_cpus.items()}


def families() -> dict[str, Callable[[int], list[Gate]]]:
    """Return the families of `held_out`, and those of `cx_rich` that it lacks."""
    rich = {name: family for name, family in cx_rich.FAMILIES.items() if name not in held_out.FAMILIES}
    return held_out.FAMILIES | {f"{name}*": _gates(family) for name, family in rich.items()}


def _gates(family: Callable[[int], list[cx_rich.Named]]) -> Callable[[int], list[Gate]]:
    return lambda wires: neutral(family(wires))


def planned(circuit: Circuit, place: Place, *, new: bool) -> Plan:
    """Return a plan, made now."""
    wires, peers = circuit.num_qubits, place.peers
    local = wires - place.migrating - peers
    levels = Levels(local, peers, max(0, min(16, local - 4)))
    fresh = (1 << wires) - 1 if new else 0
    make_plan.cache_clear()
    return make_plan(circuit.instructions, wires, Layout.identity(wires), place.shape, fresh, levels, place=new)


def digest(plan: Plan) -> str:
    """Return a name of the steps of a plan, by which plans before and after a change are compared."""
    told = json.dumps({**plan.to_json(), "shape": None}, sort_keys=True)
    return hashlib.blake2b(told.encode(), digest_size=6).hexdigest()


def cells(names: list[str], chosen: list[str], tries: int) -> Iterator[dict[str, Any]]:
    """Yield what was measured, one plan after another."""
    for name, place in places().items():
        for wires in place.wires if name in chosen else ():
            for family in names:
                circuit = circuit_of(families()[family](wires), wires)
                for new in (True, False):
                    times = []
                    for _ in range(tries):
                        begin = process_time()
                        plan = planned(circuit, place, new=new)
                        times.append(process_time() - begin)
                    costs = stage_costs(plan.stages, wires, plan.levels, ITEMSIZE, place.rates, block=place.shape.block)
                    yield {
                        "place": name,
                        "wires": wires,
                        "family": family,
                        "start": "zero" if new else "full",
                        "planning_ms": round(1e3 * min(times), 2),
                        "run_ms": round(1e3 * seconds(plan.stages, costs), 3),
                        "motions": sum(stage.motion is not None for stage in plan.stages),
                        "sweeps": len(plan.sweeps),
                        "plan": digest(plan),
                    }


def main() -> None:
    """Measure, print, and write JSON where asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--families", nargs="*", choices=families(), default=list(families()))
    parser.add_argument("--places", nargs="*", choices=places(), default=list(places()))
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    found = []
    for cell in cells(given.families, given.places, given.repeat):
        found.append(cell)
        words = [str(value) for key, value in cell.items() if key != "plan"]
        print(*words, f"{cell['planning_ms'] / cell['run_ms']:.2f}", flush=True)
    print("| place | wires | start | planning, ms: mean | most | run, ms: mean | planning / run: mean | most |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for place, wires, start in dict.fromkeys((cell["place"], cell["wires"], cell["start"]) for cell in found):
        of = [cell for cell in found if (cell["place"], cell["wires"], cell["start"]) == (place, wires, start)]
        planning, run = [cell["planning_ms"] for cell in of], [cell["run_ms"] for cell in of]
        shares = [one / other for one, other in zip(planning, run, strict=True)]
        row = (
            f"{fmean(planning):.1f} | {max(planning):.0f} | {fmean(run):.1f} | {fmean(shares):.2f} | {max(shares):.2f}"
        )
        print(f"| {place} | {wires} | {start} | {row} |")
    if given.out:
        written = {"kind": "planning on levels", "commit": machine.commit(), "cells": found}
        given.out.write_text(json.dumps(written, indent=1) + "\n")


if __name__ == "__main__":
    main()
