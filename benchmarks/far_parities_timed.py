"""What far parities gain on a GPU: ``python -m benchmarks.far_parities_timed --n 28 --out far_parities.json``.

Circuits full of CX on a state in host memory, of which the GPU holds windows that are some wires smaller (three
migration wires). From |0…0⟩ a run is the whole call of ``Simulator.state``; on a full state it is
``StateVector.apply``, again and again. Plans with far parities and plans with far bits alone take turns, all kernels
compiled, and their predicted times stand beside the measured ones. Where no parities are far nothing is measured.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks import machine
from benchmarks.counts import circuit_of
from benchmarks.cx_rich import FAMILIES, Named
from benchmarks.memory import wait_for_all
from qsim_ex import Options, Simulator
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.execution.prepare import plan_of
from qsim_ex.planning import compiled
from qsim_ex.planning.cost.stage_cost import seconds, stage_costs
from qsim_ex.planning.cost.summary import summary
from qsim_ex.planning.planner import make_plan
from qsim_ex.program.divide import unitary_program
from qsim_ex.steps.plan import Plan

PARITIES = {"bits": 0, "parities": -1}
"""Values of `compiled.PARITIES`."""

TURNS, REPEAT = 2, 3
MIGRATING = 3


def drawn(n: int) -> list[Named]:
    """500 gates on any wires, seven of ten CX, the others H, RX and RZ."""
    rng = np.random.default_rng(8)
    gates: list[Named] = []
    for _ in range(500):
        pair = tuple(rng.choice(n, 2, replace=False).tolist())
        other: Named = [("h", pair[:1], ()), ("rx", pair[:1], (0.3,)), ("rz", pair[:1], (0.4,))][rng.integers(3)]
        gates.append(("cx", pair, ()) if rng.random() < 0.7 else other)
    return gates


CIRCUITS: dict[str, Callable[[int], list[Named]]] = {
    **{name: FAMILIES[name] for name in ("cx_only", "surface_code", "heisenberg", "su2_8", "qaoa", "clifford_t")},
    "drawn, 70 % CX": drawn,
}


@contextmanager
def planning(way: str) -> Iterator[None]:
    """Let plans be made in one of the ways, and forget those that were made before."""
    plan_of.cache_clear()
    make_plan.cache_clear()
    with patch.object(compiled, "PARITIES", PARITIES[way]):
        yield


class Case:
    """A circuit from |0…0⟩, or on a full state."""

    def __init__(self, simulator: Simulator, circuit: Circuit, full: Any) -> None:
        self._simulator, self._circuit, self._full = simulator, circuit, full

    def run(self) -> float:
        """Return the milliseconds of a run."""
        wait_for_all(1)
        began = perf_counter()
        state = self._simulator.state(self._circuit) if self._full is None else self._full.apply(self._circuit)
        state.synchronize()
        wait_for_all(1)
        taken = 1e3 * (perf_counter() - began)
        if self._full is None:
            state.close()
        return taken

    def plan(self) -> Plan:
        """Return the plan that the next run has."""
        n, new = self._circuit.num_qubits, self._full is None
        state = self._simulator.state(num_wires=n) if new else self._full
        with state.placed() as placed:
            shape = self._simulator.placement(n).device.shape(placed.dtype)
            shape = shape if new else shape.staying()
            program = unitary_program(self._circuit.structure, 0 if new else (1 << n) - 1)
            plan = plan_of(program.whole, n, placed.layout, shape, placed.fresh, placed.planning_levels, new)
        if new:
            state.close()
        return plan


def told(plan: Plan) -> dict[str, Any]:
    """Return counts and the predicted milliseconds of a plan for a GPU in single precision."""
    found = summary(plan, 8)
    costs = stage_costs(plan.stages, plan.num_wires, plan.levels, 8, block=plan.shape.block)
    predicted = round(1e3 * seconds(plan.stages, costs), 1)
    far = "parities" if plan.made_from[-1] == "far parities" else "bits"
    return {"far": far, "passes": found.passes, "sweeps": found.sweeps + found.wide, "predicted_ms": predicted}


def cell(case: Case) -> dict[str, dict[str, Any]]:
    """Return the figures of both ways, times taken by turns; none if parities are not far in either."""
    found: dict[str, dict[str, Any]] = {}
    with planning("parities"):
        if told(case.plan())["far"] == "bits":
            return found
    for _ in range(TURNS):
        for way in PARITIES:
            with planning(way):
                figures = found.setdefault(way, told(case.plan()) | {"ms": []})
                case.run()  # plans, and compiles in the first turn
                figures["ms"] += [case.run() for _ in range(REPEAT)]
    return found


def line(found: dict[str, dict[str, Any]]) -> str:
    """Return the figures of both ways in a line."""
    counts = [" → ".join(str(found[way][key]) for way in PARITIES) for key in ("passes", "sweeps", "predicted_ms")]
    least = " → ".join(f"{min(found[way]['ms']):.1f}" for way in PARITIES)
    middle = " → ".join(f"{median(found[way]['ms']):.1f}" for way in PARITIES)
    return f"{counts[0]} passes, {counts[1]} sweeps, predicted {counts[2]} ms, least {least}, median {middle}"


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=28)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    n, cells = given.n, []
    simulator = Simulator(Options(device="gpu", precision="single", device_wires=n - MIGRATING, compile="always"))
    mixed = circuit_of([("h", (wire,), ()) for wire in range(n)], n)
    full = simulator.state(mixed)
    for name, gates in CIRCUITS.items():
        circuit = circuit_of(gates(n), n)
        for start, state in (("zero", None), ("full", full)):
            found = cell(Case(simulator, circuit, state))
            if found:
                cells.append({"circuit": name, "start": start, **found})
                print(f"{name:14} {start:4}  {line(found)}", flush=True)
    full.close()
    if given.out:
        head = {"kind": "far parities, timed", "commit": machine.commit(), "machine": machine.describe(), "wires": n}
        given.out.write_text(json.dumps(head | {"device_wires": n - MIGRATING, "cells": cells}, indent=1) + "\n")


if __name__ == "__main__":
    main()
