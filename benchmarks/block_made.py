"""Dense blocks on smaller states: ``python -m benchmarks.block_made --n 22 24 --out block_made.json``.

For each family and each value of `Shape.block_made` (99: no blocks) a structure is run as in `first_gpu`: first runs,
each by a new simulator that plans, and interpreted; and warm runs whose sweeps are all compiled. Values take turns.
A run is the whole call of ``Simulator.state`` until the GPU is done.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

from benchmarks import counts, cx_rich, machine
from benchmarks.first_gpu import FAMILIES, RICH

TURNS = {"never": 4, "always": 10}
"""First runs, and warm ones."""


def run(simulator: Any, circuit: Any) -> float:
    """Return the milliseconds of one run."""
    begin = perf_counter()
    state = simulator.state(circuit)
    state.synchronize()
    taken = 1e3 * (perf_counter() - begin)
    state.close()
    return taken


class Compared:
    """Runs of circuits with several values of `Shape.block_made`, in turns."""

    def __init__(self, precision: str, values: Sequence[int]) -> None:
        from qsim_ex.devices.gpu import device

        self._precision, self._values = precision, values
        self._shape_of, self._made = device.shape_of, values[0]
        device.shape_of = self._shape  # type: ignore[assignment]

    def _shape(self, itemsize: int, tensor: bool = False) -> Any:
        return replace(self._shape_of(itemsize, tensor), block_made=self._made)

    def _simulator(self, compile: str) -> Any:
        from qsim_ex import Options, Simulator

        return Simulator(Options(device="gpu", precision=self._precision, compile=compile))

    def begin(self, n: int) -> None:
        """Take memory, and let what compiles in the background end."""
        run(self._simulator("never"), counts.circuit_of([("h", (0,), ()), ("cx", (0, n - 1), ())], n))
        sleep(2)

    def first(self, circuit: Any) -> dict[int, list[float]]:
        """Return first runs."""
        from qsim_ex.execution.prepare import plan_of

        found: dict[int, list[float]] = {value: [] for value in self._values}
        for _ in range(TURNS["never"]):
            for value in self._values:
                self._made = value
                plan_of.cache_clear()
                found[value].append(run(self._simulator("never"), circuit))
        return found

    def warm(self, circuit: Any) -> dict[int, list[float]]:
        """Return warm runs."""
        simulators = {value: self._simulator("always") for value in self._values}
        found: dict[int, list[float]] = {value: [] for value in self._values}
        for turn in range(2 + TURNS["always"]):
            for value in self._values:
                self._made = value
                taken = run(simulators[value], circuit)
                if turn > 1:  # kernels are made in the first run, and launches laid out in the second
                    found[value].append(taken)
        return found


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, nargs="+", default=[22, 24])
    parser.add_argument("--precision", default="single")
    parser.add_argument("--values", type=int, nargs="+", default=[99, 24, 26])
    parser.add_argument("--families", nargs="+", default=["brick_56", "qv", "qv_square", "brick", "su4_any_14", "grid"])
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    os.environ["QSIM_EX_CACHE_DIR"] = tempfile.mkdtemp(prefix="block_made")

    from benchmarks.engine import circuit_of

    compared, cells = Compared(given.precision, given.values), []
    for n in given.n:
        compared.begin(n)
        for name in given.families:
            rich = name in RICH
            circuit = counts.circuit_of(cx_rich.FAMILIES[name](n), n) if rich else circuit_of(FAMILIES[name](n), n)
            cell = {"n": n, "family": name, "first": compared.first(circuit), "warm": compared.warm(circuit)}
            told = [f"{v}: warm {min(cell['warm'][v]):.2f} first {min(cell['first'][v]):.2f}" for v in given.values]
            print(f"{n} {name:10}", "  ".join(told), flush=True)
            cells.append(cell)
        if given.out:
            found = {"kind": "block_made", "commit": machine.commit(), "machine": machine.describe()}
            given.out.write_text(json.dumps(found | {"precision": given.precision, "cells": cells}, indent=1) + "\n")


if __name__ == "__main__":
    main()
