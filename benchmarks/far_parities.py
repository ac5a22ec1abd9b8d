"""What far parities gain, counted: ``python -m benchmarks.far_parities --out benchmarks/results/counts_levels.json``.

Circuits full of CX and others, as they are and in rz, sx, cx, on states in host memory, on several devices, or both;
from |0…0⟩ and from a full state. Each is planned twice: so that bits are far, and so that parities may be (decision
0037). It takes minutes, and no device.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from statistics import geometric_mean
from time import process_time
from typing import Any
from unittest.mock import patch

from benchmarks import machine
from benchmarks.counts import MACHINES, circuit_of, transpiled
from benchmarks.cx_rich import FAMILIES
from benchmarks.engine import circuit_of as neutral_circuit
from benchmarks.held_out import adder
from benchmarks.subspaces import MIXED, SHARES, drawn
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.planning import compiled
from qsim_ex.planning.cost.stage_cost import seconds, stage_costs
from qsim_ex.planning.cost.summary import summary
from qsim_ex.planning.planner import make_plan
from qsim_ex.steps import Layout, Levels

PLACES = {"3 migration wires": (3, 0), "2 devices": (0, 1), "4 devices": (0, 2), "2 migration wires, 2 devices": (2, 1)}
"""Migration wires and device bits."""

SLICE = 16
"""The lowest bits, which are never far."""

_SHAPE, _ITEMSIZE = MACHINES["gpu single, linear"]


def circuits(wires: int, *, draws: bool) -> Iterator[tuple[str, Circuit]]:
    """Return circuits by name: families rich in CX, each also in rz, sx, cx, an adder, and drawn ones."""
    for name, family in FAMILIES.items():
        gates = family(wires)
        yield name, circuit_of(gates, wires)
        yield f"{name} in rz, sx, cx", circuit_of(transpiled(gates, wires), wires)
    yield "adder", neutral_circuit(adder(wires), wires)
    for mixed in MIXED if draws else ():
        for share in SHARES:
            for near in (False, True):
                name = f"500 gates, {share:.0%} CX on {'neighbours' if near else 'any'}, {'/'.join(mixed)}"
                yield name, circuit_of(drawn(wires, mixed, share, 500, near=near), wires)


def counted(circuit: Circuit, levels: Levels, *, new: bool, parities: bool) -> dict[str, Any]:
    """Return the counts of one plan, and its predicted seconds. parities: whether parities may be far."""
    wires = circuit.num_qubits
    fresh = (1 << wires) - 1 if new else 0
    make_plan.cache_clear()
    with patch.object(compiled, "PARITIES", -1 if parities else 0):
        begin = process_time()
        plan = make_plan(circuit.instructions, wires, Layout.identity(wires), _SHAPE, fresh, levels, place=new)
        planning = process_time() - begin
    found = summary(plan, _ITEMSIZE)
    costs = stage_costs(plan.stages, wires, levels, _ITEMSIZE, block=_SHAPE.block)
    return {
        "passes": found.passes,
        "exchanges": found.exchanges,
        "sweeps": found.sweeps + found.wide,
        "predicted_ms": round(1e3 * seconds(plan.stages, costs), 2),
        "planning_ms": round(1e3 * planning, 1),
        "far": "parities" if plan.made_from[-1] == "far parities" else "bits",
    }


def main() -> None:
    """Count, print a table, and write JSON where asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=28)
    parser.add_argument("--drawn", action="store_true", help="also 32 drawn circuits")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    cells: list[dict[str, Any]] = []
    print("| circuit | place | start | passes | exchanges | sweeps | predicted, ms |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, circuit in circuits(given.n, draws=given.drawn):
        for place, (migrating, peers) in PLACES.items():
            levels = Levels(given.n - migrating - peers, peers, SLICE)
            for new in (True, False):
                bits, made = (counted(circuit, levels, new=new, parities=parities) for parities in (False, True))
                start = "zero" if new else "full"
                cells.append({"circuit": name, "place": place, "start": start, "bits": bits, "parities": made})
                row = [f"{bits[key]} → {made[key]}" for key in ("passes", "exchanges", "sweeps", "predicted_ms")]
                print(f"| {name} | {place} | {start} | {' | '.join(row)} |", flush=True)
    for place in PLACES:
        for start in ("zero", "full"):
            of = [cell for cell in cells if cell["place"] == place and cell["start"] == start]
            ratio = {
                key: geometric_mean(cell["parities"][key] / cell["bits"][key] for cell in of)
                for key in ("predicted_ms", "planning_ms")
            }
            print(f"{place}, {start}: predicted {ratio['predicted_ms']:.2f}, planning {ratio['planning_ms']:.2f}")
    if given.out:
        found = {"kind": "far parities", "commit": machine.commit(), "wires": given.n, "cells": cells}
        given.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
