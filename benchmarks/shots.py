"""A million shots: ``python -m benchmarks.shots gpu --n 28`` times them, without the preparation of the state.

The state is a layer of rotations and a ring of CX, so that shots fall everywhere. The time is from a synchronised state
to the packed bits of all shots on the host; medians. Beside it: 200 different circuits, each run once with 1000 shots
in a process that has run nothing before (`--many`).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks import machine
from qsim_ex import CircuitBuilder, Options, Simulator
from qsim_ex.circuit.circuit import Circuit


def ring(wires: int) -> Circuit:
    """Rotations on all wires, a ring of CX, and rotations again."""
    angles = np.random.default_rng(0).uniform(0.5, 2.5, (2, wires))
    builder = CircuitBuilder(wires, wires)
    for layer in angles:
        for wire in range(wires):
            builder.gate("ry", [wire], layer[wire])
        for wire in range(wires):
            builder.gate("cx", [wire, (wire + 1) % wires])
    return builder.build()


def shots(device: str, wires: int, count: int, repeat: int) -> dict[str, Any]:
    """Seconds of some shots of one state, as packed bits."""
    simulator = Simulator(Options(device=device, precision="single"))  # type: ignore[arg-type]
    with simulator.state(ring(wires)) as state:
        state.sample(1000, seed=1, packed=True)
        seconds = []
        for seed in range(repeat):
            state.synchronize()
            begin = perf_counter()
            packed = state.sample(count, seed=seed, packed=True)
            seconds.append(perf_counter() - begin)
    assert packed.shape == (count, -(-wires // 8))
    return {"what": "shots", "wires": wires, "shots": count, "seconds": seconds, "median": median(seconds)}


def many(device: str, wires: int, gates: int, circuits: int) -> dict[str, Any]:
    """Seconds of different circuits, one after the other, each once."""
    rng = np.random.default_rng(1)
    names = ("h", "t", "sx", "ry", "rz", "cx", "cz", "rzz")
    made = []
    for _ in range(circuits):
        builder = CircuitBuilder(wires, wires)
        for _ in range(gates):
            name = names[rng.integers(len(names))]
            on = [int(w) for w in rng.choice(wires, 2 if name in ("cx", "cz", "rzz") else 1, replace=False)]
            builder.gate(name, on, *([rng.uniform(0, 6)] if name in ("ry", "rz", "rzz") else []))
        made.append(builder.measure(range(wires), range(wires)).build())
    simulator = Simulator(Options(device=device))  # type: ignore[arg-type]
    begin = perf_counter()
    for k, circuit in enumerate(made):
        simulator.run(circuit, shots=1000, seed=k)
    seconds = perf_counter() - begin
    return {
        "what": "many",
        "wires": wires,
        "gates": gates,
        "circuits": circuits,
        "seconds": [seconds],
        "median": seconds,
    }


def main() -> None:
    """Measure, print a line each, and write JSON where asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("device", choices=("cpu", "gpu"))
    parser.add_argument("--n", type=int, default=28)
    parser.add_argument("--shots", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--many", type=int, default=0, help="so many different circuits of 12 wires and 200 gates")
    parser.add_argument("--commit", default="")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    cells = [many(given.device, 12, 200, given.many)] if given.many else []
    cells.append(shots(given.device, given.n, given.shots, given.repeat))
    for cell in cells:
        print({key: value for key, value in cell.items() if key != "seconds"})
    if given.out:
        found = {"kind": "shots", "device": given.device, "commit": given.commit or machine.commit()}
        given.out.write_text(json.dumps({**found, "machine": machine.describe(), "cells": cells}, indent=1) + "\n")


if __name__ == "__main__":
    main()
