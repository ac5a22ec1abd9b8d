"""Device memory: ``python -m benchmarks.peak --n 24 28 30 [--out FILE.json]`` needs a GPU.

Each family runs five times through `Simulator.run` with 1,000 shots. The figure is the largest use of CuPy's memory
pool: state, numbers and tables of sweeps, including those kept for the next run, and the workspace of sampling. Beside
it is the figure in the result. The goal is the state and 5 % of it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.engine import appended
from benchmarks.families import FAMILIES
from benchmarks.memory import Peak, watched_pool
from qsim_ex import CircuitBuilder, Options, Simulator
from qsim_ex.circuit.circuit import Circuit

GOAL = 1.05

RUNS = 5
"""After three of them all kernels are settled."""


def measured(family: str, n: int, seed: int) -> Circuit:
    """A family's circuit with all wires measured at its end."""
    builder = appended(CircuitBuilder(n, n), FAMILIES[family].build(n, seed))
    return builder.measure(range(n), range(n)).build()


def cell(simulator: Simulator, family: str, n: int) -> dict[str, Any]:
    """What one family takes at one size."""
    peak = Peak()
    with watched_pool(peak):
        for seed in range(RUNS):
            result = simulator.run(measured(family, n, seed), shots=1000, seed=seed)
    state = simulator.options.dtype.itemsize << n
    taken = peak.bytes_on(1)[0]
    return {
        "family": family, "n": n, "precision": simulator.options.precision, "state_bytes": state, "peak_bytes": taken,
        "ratio": taken / state, "stated_bytes": result.peak_bytes,
    }  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, write; returns 1 if a run takes more than the goal."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, nargs="+", default=[24, 28, 30])
    parser.add_argument("--precision", nargs="+", choices=("single", "double"), default=["single", "double"])
    parser.add_argument("--commit", help="default: what git says; name it where there is no git")
    parser.add_argument("--out", type=Path, help="the JSON file to write")
    given = parser.parse_args(argv)
    cells = []
    for precision in given.precision:
        simulator = Simulator(Options(device="gpu", precision=precision))
        for n in given.n:
            for family in FAMILIES:
                cells.append(cell(simulator, family, n))
                one = cells[-1]
                print(
                    f"{family} n={n} {precision}: {one['peak_bytes']} bytes, {one['ratio']:.4f} of the state; "
                    f"stated {one['stated_bytes']}"
                )
    if given.out:
        about = {"kind": "peak", "commit": given.commit or machine.commit(), "machine": machine.describe()}
        given.out.write_text(json.dumps({**about, "cells": cells}, indent=1) + "\n")
    worst = max(cells, key=lambda one: one["ratio"])
    print(f"most: {worst['family']} n={worst['n']} {worst['precision']}, {worst['ratio']:.4f} (goal {GOAL})")
    return int(worst["ratio"] > GOAL)


if __name__ == "__main__":
    sys.exit(main())
