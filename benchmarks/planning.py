"""The speed of planning: ``python -m benchmarks.planning`` plans the seven families at 28 wires, on one core.

Goal: 300,000 gates per second, counting the gates of the circuit and not the operations into which they are translated.
`benchmarks.ready` has the whole way to work that can be launched.
Times are processor time, so that a busy machine does not matter; no plan is reused.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from time import process_time
from typing import Any

from benchmarks import machine
from benchmarks.engine import circuit_of
from benchmarks.families import FAMILIES
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.planning.cost.summary import summary
from qsim_ex.planning.planner import make_plan
from qsim_ex.steps import Layout, Shape

SHAPES = {
    "gpu": Shape(tile=12, near=4, low=4, edge=4, phases=None, dense=4, start=20),
    "cpu": Shape(tile=12, near=12, low=5, edge=0, phases=3, dense=5, thin=7, item_work=2.0),
}
"""The devices of complex64, written out: planning needs no device."""


def circuit(name: str, wires: int) -> tuple[Circuit, int]:
    """A family's circuit, and how many gates it has."""
    gates = FAMILIES[name].build(wires, 0)
    return circuit_of(gates, wires), len(gates)


def cell(name: str, wires: int, device: str, repeat: int) -> dict[str, Any]:
    """The fastest of some plannings of one family for one device."""
    made, gates = circuit(name, wires)
    seconds = []
    for _ in range(repeat):
        make_plan.cache_clear()
        begin = process_time()
        plan = make_plan(made.instructions, wires, Layout.identity(wires), SHAPES[device], (1 << wires) - 1)
        seconds.append(process_time() - begin)
    counts = summary(plan, 8)
    return {
        "family": name,
        "device": device,
        "wires": wires,
        "gates": gates,
        "sweeps": counts.sweeps,
        "phases": counts.phases,
        "seconds": min(seconds),
        "gates_per_second": gates / min(seconds),
    }


def main() -> None:
    """Measure, print a table, and write JSON where asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=28)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--commit", default="")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    cells = [cell(name, given.n, device, given.repeat) for name in FAMILIES for device in SHAPES]
    print("| family | device | gates | sweeps | phases | ms | gates/s |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for c in cells:
        row = [c["family"], c["device"], c["gates"], c["sweeps"], c["phases"]]
        print("|", *(f"{value} |" for value in row), f"{1e3 * c['seconds']:.1f} | {c['gates_per_second']:,.0f} |")
    if given.out:
        found = {
            "kind": "planning",
            "commit": given.commit or machine.commit(),
            "machine": machine.describe(),
            "cells": cells,
        }
        given.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
