"""What the plan that is taken of several gains: ``python -m benchmarks.predicted --out predicted.json``.

For the families of `held_out`, as they are and in rz, sx, cx, from |0…0⟩ and from a full state: the time that is
predicted on an H200 for the usual plan, and for the one that is taken (decision 0036), and the processor time of
planning both. It needs no device.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from statistics import geometric_mean
from time import process_time
from typing import Any

from benchmarks import machine
from benchmarks.engine import circuit_of
from benchmarks.held_out import FAMILIES
from benchmarks.warm import transpiled
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.devices.gpu.device import shape_of
from qsim_ex.planning.cost.summary import summary
from qsim_ex.planning.planner import make_plan
from qsim_ex.steps import Layout

_ONE_GATE = ("grover",)
"""Families with a gate that Qiskit's transpiler has no definition of."""

_TRIES = 3


def cell(circuit: Circuit, wires: int, itemsize: int, fresh: int) -> dict[str, float]:
    """Return the predicted times of both plans, and the least processor time of some plannings, in ms."""
    out = {}
    for name, counted in (("usual", False), ("taken", True)):
        shape = shape_of(itemsize, tensor=True)
        shape = shape if counted else replace(shape, counted=0.0)
        times = []
        for _ in range(_TRIES):
            make_plan.cache_clear()
            begin = process_time()
            plan = make_plan(circuit.instructions, wires, Layout.identity(wires), shape, fresh, place=bool(fresh))
            times.append(process_time() - begin)
        out[name] = round(1e3 * summary(plan, itemsize).seconds, 4)
        out[f"{name}_planning"] = round(1e3 * min(times), 3)
    return out


def main() -> None:
    """Predict, print a table, and write JSON where asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, nargs="*", default=[28])
    parser.add_argument("--families", nargs="*", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--commit", default="")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    cells: list[dict[str, Any]] = []
    print("| circuit | wires | bytes | start | usual, ms | taken, ms | of the usual | planning, ms |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for wires in given.n:
        for name in given.families:
            gates = FAMILIES[name](wires)
            bases = (
                {name: gates} if name in _ONE_GATE else {name: gates, f"{name} in rz, sx, cx": transpiled(gates, wires)}
            )
            for shown, of in bases.items():
                circuit = circuit_of(of, wires)
                for itemsize in (8, 16):
                    for start, fresh in (("zero", (1 << wires) - 1), ("full", 0)):
                        found = cell(circuit, wires, itemsize, fresh)
                        cells.append({"circuit": shown, "wires": wires, "itemsize": itemsize, "start": start, **found})
                        share = found["taken"] / found["usual"]
                        times = f"{found['usual_planning']} → {found['taken_planning']}"
                        row = f"{found['usual']:.3g} | {found['taken']:.3g} | {share:.3f} | {times}"
                        print(f"| {shown} | {wires} | {itemsize} | {start} | {row} |")
    for key in sorted({(one["wires"], one["itemsize"], one["start"]) for one in cells}):
        of = [one["taken"] / one["usual"] for one in cells if (one["wires"], one["itemsize"], one["start"]) == key]
        print(f"\n{key}: geometric mean {geometric_mean(of):.3f}, most {max(of):.3f}, least {min(of):.3f}")
    if given.out:
        found = {"kind": "predicted", "commit": given.commit or machine.commit(), "cells": cells}
        given.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
