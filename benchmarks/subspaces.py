"""What plans over subspaces gain on a CPU: ``python -m benchmarks.subspaces --n 20 22 --out subspaces.json``.

Circuits full of CX and others, as they are and in rz, sx, cx, and drawn ones with ``--drawn``, are run to 100 shots
with `Shape.linear` off and on, in turns. Each run is a whole call that has planned nothing before: from |0…0⟩; with
``--begin measured`` behind a measurement in the middle, so that two states are there; with ``--begin state`` on a state
vector that is there, which keeps its layout. The least processor time counts, which other processes disturb least.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import geometric_mean
from time import process_time
from unittest.mock import patch

import numpy as np

from benchmarks import machine
from benchmarks.counts import transpiled
from benchmarks.cx_rich import FAMILIES, Named
from qsim_ex import Options, Simulator, StateVector
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.execution.prepare import plan_of, plans_of
from qsim_ex.planning.planner import make_plan

RICH = ("cx_only", "surface_code")
OTHERS = ("qft", "qaoa", "su2_8", "heisenberg", "qv_cx", "ucc", "clifford_t")

MIXED = (("h", "t"), ("ry",), ("ry", "rz", "rz"), ("h", "ccx", "t"))
SHARES, GATES = (0.5, 0.65, 0.8, 0.93), (150, 500, 1500)
"""What stands between the CX of drawn circuits, the share of CX, and how many gates there are."""

_ANGLES = ("ry", "rz")


def drawn(wires: int, mixed: tuple[str, ...], share: float, gates: int, *, near: bool) -> list[Named]:
    """CX on neighbours or any wires, with other gates between them."""
    rng = np.random.default_rng([wires, len(mixed), int(100 * share), gates, near])
    out: list[Named] = []
    for _ in range(gates):
        on = rng.permutation(wires)[:3].tolist()
        name = "cx" if rng.random() < share else mixed[rng.integers(len(mixed))]
        if name == "cx" and near:
            on[1] = (on[0] + 1) % wires
        size = {"cx": 2, "ccx": 3}.get(name, 1)
        out.append((name, tuple(on[:size]), (0.3,) if name in _ANGLES else ()))
    return out


def circuits(wires: int, begin: str, *, others: bool, draws: bool) -> Iterator[tuple[str, Circuit]]:
    """Return circuits by name, measured at the end."""
    for name in (*RICH, *(OTHERS if others else ())):
        gates = FAMILIES[name](wires)
        yield name, _measured(gates, wires, begin)
        yield f"{name} in rz, sx, cx", _measured(transpiled(gates, wires), wires, begin)
    for mixed in MIXED if draws else ():
        for share in SHARES:
            for size in GATES:
                for near in (False, True):
                    name = f"{size} gates, {share:.0%} CX on {'neighbours' if near else 'any'}, {'/'.join(mixed)}"
                    yield name, _measured(drawn(wires, mixed, share, size, near=near), wires, begin)


def _measured(gates: list[Named], wires: int, begin: str) -> Circuit:
    builder = CircuitBuilder(wires, wires)
    if begin == "measured":
        _turned(builder).measure([0], [0])
    for name, on, angles in gates:
        builder.gate(name, list(on), *angles)
    return builder.measure(range(wires), range(wires)).build()


def _turned(builder: CircuitBuilder) -> CircuitBuilder:
    for wire in range(builder.num_qubits):
        builder.gate("ry", [wire], 0.5 + 0.1 * wire)
    return builder


def seconds(circuit: Circuit, options: Options, begin: str, *, linear: bool) -> float:
    """Return the processor time of a call that plans anew."""
    for kept in (make_plan, plan_of, plans_of):
        kept.cache_clear()
    shape_of = CpuDevice.shape
    with patch.object(CpuDevice, "shape", lambda self, dtype: replace(shape_of(self, dtype), linear=linear)):
        if begin == "state":
            with StateVector(circuit.num_qubits, options=options) as state:
                state.apply(_turned(CircuitBuilder(circuit.num_qubits)).build())
                began = process_time()
                state.apply(circuit)
                return process_time() - began
        simulator = Simulator(options)
        began = process_time()
        simulator.run(circuit, shots=100, seed=1)
        return process_time() - began


def main() -> None:
    """Measure, print a table, and write JSON where asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, nargs="*", default=[20, 21, 22, 23])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--precision", choices=("single", "double"), default="single")
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--others", action="store_true", help="also families that are not full of CX")
    parser.add_argument("--drawn", action="store_true", help="also 96 drawn circuits")
    parser.add_argument("--begin", choices=("zero", "measured", "state"), default="zero")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    options = Options(device="cpu", threads=given.threads, precision=given.precision)
    cells: list[dict[str, str | float]] = []
    print("| circuit | wires | bits, ms | subspaces, ms | ratio |")
    print("| --- | --- | --- | --- | --- |")
    for wires in given.n:
        for name, circuit in circuits(wires, given.begin, others=given.others, draws=given.drawn):
            turns = [
                [seconds(circuit, options, given.begin, linear=linear) for linear in (False, True)]
                for _ in range(given.repeat)
            ]
            bits, subspaces = (1e3 * min(times) for times in zip(*turns, strict=True))
            cells.append({"circuit": name, "wires": wires, "bits_ms": bits, "subspaces_ms": subspaces})
            print(f"| {name} | {wires} | {bits:.2f} | {subspaces:.2f} | {subspaces / bits:.2f} |", flush=True)
    ratios = [float(cell["subspaces_ms"]) / float(cell["bits_ms"]) for cell in cells]
    print(f"\ngeometric mean {geometric_mean(ratios):.3f}, worst {max(ratios):.2f}")
    if given.out:
        told = {"threads": given.threads, "precision": given.precision, "repeat": given.repeat, "begin": given.begin}
        found = {"kind": "subspaces", "commit": machine.commit(), **machine.describe(), **told, "cells": cells}
        given.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
