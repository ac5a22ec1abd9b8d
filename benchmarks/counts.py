"""What the planner makes of circuits, without running any: ``python -m benchmarks.counts`` prints and writes counts.

For each family, as it is and transpiled to rz, sx, cx, and for each machine: sweeps, bytes read and written in full
sweeps of the state, and multiply-adds for each amplitude. Once from |0…0⟩, where a state grows, and once from a full
state. With ``--levels`` also passes and exchanges of states in host memory and on two devices. It takes seconds, and no
device.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from benchmarks import machine
from benchmarks.cx_rich import FAMILIES, Named
from benchmarks.families import FAMILIES as SEVEN
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.planning.cost.summary import summary
from qsim_ex.planning.planner import make_plan
from qsim_ex.precision import DOUBLE, SINGLE, Precision
from qsim_ex.steps import Layout, Levels, Shape

_FIXED = {
    "gpu single": (Shape(tile=12, registers=4, low=4, edge=4, most_blocks=None, dense=4, start=20), SINGLE),
    "gpu double": (
        Shape(tile=11, registers=4, low=3, edge=3, most_blocks=None, dense=4, start=19, thin=7, balance=30.0),
        DOUBLE,
    ),
    "cpu single": (Shape(tile=15, registers=15, low=5, edge=0, most_blocks=3, dense=5, thin=7, item_work=2.0), SINGLE),
}

MACHINES = (
    _FIXED
    | {f"{name}, floating": (replace(shape, floats=True), row) for name, (shape, row) in _FIXED.items()}
    | {f"{name}, linear": (replace(shape, floats=True, linear=True), row) for name, (shape, row) in _FIXED.items()}
)
"""Devices, written out, and their precisions: planning needs no device. Divided states have plans on bits."""

LEVELS = {"3 migration wires": (3, 0), "2 devices": (0, 1)}
"""Migration wires and device bits of divided states."""

BASIS = ("rz", "sx", "cx")


def circuit_of(gates: Sequence[Named], wires: int) -> Circuit:
    """Return a circuit of the engine."""
    builder = CircuitBuilder(wires)
    for name, on, angles in gates:
        builder.gate(name, list(on), *angles)
    return builder.build()


def transpiled(gates: Sequence[Named], wires: int) -> list[Named]:
    """Return the gates in rz, sx and cx, as Qiskit's transpiler writes them at level 1."""
    from qiskit import QuantumCircuit, transpile

    circuit = QuantumCircuit(wires)
    for name, on, angles in gates:
        getattr(circuit, name)(*angles, *on)
    made = transpile(circuit, basis_gates=list(BASIS), optimization_level=1, seed_transpiler=1)
    return [
        (each.operation.name, tuple(made.find_bit(q).index for q in each.qubits), tuple(each.operation.params))
        for each in made.data
    ]


def circuits(wires: int) -> dict[str, Circuit]:
    """Return the circuits by name: families rich in CX, each also in rz, sx, cx, and the seven families."""
    from benchmarks.engine import circuit_of as seven

    made = {}
    for name, family in FAMILIES.items():
        gates = family(wires)
        made[name] = circuit_of(gates, wires)
        made[f"{name} in rz, sx, cx"] = circuit_of(transpiled(gates, wires), wires)
    return made | {f"{name} (seven)": seven(family.build(wires, 0), wires) for name, family in SEVEN.items()}


def cell(
    circuit: Circuit, wires: int, shape: Shape, precision: Precision, levels: Levels | None = None
) -> dict[str, Any]:
    """Return the counts of one circuit on one machine, from |0…0⟩ and from a full state."""
    out: dict[str, Any] = {"gates": len(circuit.instructions)}
    for start, fresh in (("zero", (1 << wires) - 1), ("full", 0)):
        begin = process_time()
        plan = make_plan(circuit.instructions, wires, Layout.identity(wires), shape, fresh, levels, place=bool(fresh))
        counts = summary(plan, precision)
        out[start] = {
            "sweeps": counts.sweeps + counts.wide,
            "phases": counts.register_blocks,
            "state_sweeps": round(counts.bytes_moved / precision.storage.nbytes(2 << wires), 3),
            "multiply_adds": round(counts.fma / (1 << wires), 1),
            "passes": counts.passes,
            "exchanges": counts.exchanges,
            "planning_ms": round(1e3 * (process_time() - begin), 2),
        }
    return out


def main() -> None:
    """Count, print a table, and write JSON where asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=28)
    parser.add_argument("--machine", nargs="*", choices=MACHINES, default=["gpu single", "gpu double"])
    parser.add_argument("--levels", action="store_true", help="also states in host memory and on two devices")
    parser.add_argument("--commit", default="")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    places: dict[str, tuple[int, int]] = {"one device": (0, 0), **(LEVELS if given.levels else {})}
    cells = []
    print(
        "| circuit | machine | place | sweeps, full | sweeps, zero | moved, zero | multiply-adds | passes, exchanges |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, circuit in circuits(given.n).items():
        for kind in given.machine:
            shape, precision = MACHINES[kind]
            for place, (migrating, peers) in places.items():
                levels = Levels(given.n - migrating - peers, peers, 16) if migrating or peers else None
                made = cell(circuit, given.n, shape, precision, levels)
                cells.append({"circuit": name, "machine": kind, "place": place, "wires": given.n, **made})
                full, zero = made["full"], made["zero"]
                moved = f"{zero['state_sweeps']} | {zero['multiply_adds']}"
                motions = f"{full['passes']}, {full['exchanges']}"
                print(f"| {name} | {kind} | {place} | {full['sweeps']} | {zero['sweeps']} | {moved} | {motions} |")
    for kind in given.machine:
        of = [c["full"]["sweeps"] for c in cells if c["machine"] == kind and c["place"] == "one device"]
        print(f"\n{kind}: geometric mean of the sweeps of a full state {np.exp(np.mean(np.log(of))):.2f}")
    if given.out:
        found = {"kind": "counts", "commit": given.commit or machine.commit(), "cells": cells}
        given.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
