"""New processes on a GPU: ``python -m benchmarks.fresh_gpu --n 20 28 --out fresh_gpu.json``.

Each case is a process of its own with empty caches: it imports the package, asks CuPy for the GPU's context, and runs a
circuit twice; a run is the whole call of ``Simulator.state`` until the GPU is done. Which package that is, is printed:
measure an installed wheel (``PYTHONPATH=.``), since a checkout has neither compiled kernels nor bytecode.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks import machine


def measure_here(family: str, n: int) -> dict[str, Any]:
    """Measure in this very process, which must not have run anything before."""
    from benchmarks.families import by_name

    gates = list(by_name(family).build(n, 0))
    began = perf_counter()
    import cupy

    cupy.cuda.runtime.free(cupy.cuda.runtime.malloc(1 << 20))  # the driver's context, and CuPy's own import
    context = perf_counter() - began
    began = perf_counter()
    import qsim_ex
    from qsim_ex import Options, Simulator

    imported = perf_counter() - began
    from benchmarks.engine import circuit_of

    circuit, times = circuit_of(gates, n), []
    for _ in range(2):
        began = perf_counter()
        state = Simulator(Options(device="gpu")).state(circuit)
        state.synchronize()
        times.append(1e3 * (perf_counter() - began))
        state.close()
    found = {"n": n, "family": family, "context": 1e3 * context, "import": 1e3 * imported}
    return found | {"first": times[0], "second": times[1], "package": str(Path(qsim_ex.__file__).parent)}


def measure_fresh(family: str, n: int) -> dict[str, Any]:
    """Measure in a new process with empty caches."""
    with tempfile.TemporaryDirectory() as folder:
        caches = {name: f"{folder}/{name}" for name in ("QSIM_EX_CACHE_DIR", "CUPY_CACHE_DIR", "CUDA_CACHE_PATH")}
        command = [sys.executable, "-m", "benchmarks.fresh_gpu", "--here", "--families", family, "--n", str(n)]
        told = subprocess.run(command, env=os.environ | caches, check=True, capture_output=True, text=True).stdout
    return dict(json.loads(told))


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, nargs="+", default=[20, 28])
    parser.add_argument("--families", nargs="+", default=["ghz", "qft", "su2", "brick"])
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--here", action="store_true", help="measure one case in this process, and print it as JSON")
    parser.add_argument("--commit", help="default: what git says; name it where there is no git")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.here:
        print(json.dumps(measure_here(given.families[0], given.n[0])))
        return
    cells = []
    for _ in range(given.turns):
        for n in given.n:
            for family in given.families:
                cells.append(cell := measure_fresh(family, n))
                told = "  ".join(f"{name} {cell[name]:7.1f}" for name in ("context", "import", "first", "second"))
                print(f"{n} {family:8} ms: {told}  {cell['package']}", flush=True)
    if given.out:
        found = {"kind": "fresh_gpu", "commit": given.commit or machine.commit(), "machine": machine.describe()}
        given.out.write_text(json.dumps({**found, "cells": cells}, indent=1) + "\n")


if __name__ == "__main__":
    main()
