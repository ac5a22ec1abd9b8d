"""First runs of new processes with kernels on disk: ``python -m benchmarks.kept_gpu --texts drawn.xz --out kept.json``.

Each family is run in processes of their own, with no kernels on disk and with those that ``qsim-ex warm`` has made. A
process imports the package, makes a context, and has run another circuit that is as large before its clock starts, but
with ``--bare``; its first run is timed until the GPU is done, then another one, and in the end those that are compiled.
--texts: the file of transpiled circuits (see `first_drawn`).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from shutil import copytree
from threading import Event
from time import perf_counter, sleep
from typing import Any

import numpy as np

from benchmarks import first_drawn, machine
from benchmarks.engine import circuit_of
from benchmarks.families import by_name
from benchmarks.gates import Gate
from qsim_ex import Options, Simulator
from tools.golden_counts import FAMILIES

SIX = ("qft cz", "ions as", "hubbard as", "heisenberg as", "three_wires as", "kernel as")


def gates_of(what: str, wires: int, texts: Path) -> list[Gate]:
    """Return the gates of a family in a basis: "qft cz"."""
    family, basis = what.split()
    if basis == first_drawn.CZ:
        return first_drawn.kept(texts)[wires, family, 0]
    return first_drawn.structure(FAMILIES[family](wires), wires, 0)


def warm(circuit: Any, options: Options, arch: str) -> int:
    """Make a circuit's kernels as the command does; return how many there are."""
    from qsim_ex.devices.hypothetical import HypotheticalGpu
    from qsim_ex.kernels.cuda.compile import beforehand
    from qsim_ex.precision import PRECISIONS
    from qsim_ex.run import preview

    gpu = HypotheticalGpu(0, beforehand.multiplies(arch))
    plans = [plan for again in (False, True) for plan in preview.plans(circuit, options, gpu, again=again)]
    what = [step for plan in plans for step in plan.steps], PRECISIONS[options.precision], arch
    texts = beforehand.texts(*what)
    beforehand.keep_entries(*what)
    return sum(beforehand.compile_all(texts, arch, lambda _done, _all: None, Event()))


def child(given: argparse.Namespace) -> dict[str, Any]:
    """Return what one process measures: milliseconds of its first runs, and what the index took of them."""
    import cupy

    from qsim_ex.kernels.cuda.compile.kernel_index import KernelIndex
    from qsim_ex.kernels.cuda.cupy_runtime import CupyRuntime

    circuit = circuit_of(gates_of(given.child, given.n, given.texts), given.n)
    cupy.zeros(1).sum()
    spent = {"found": 0.0, "take": 0.0, "kernels": 0.0}

    def timed(owner: Any, name: str) -> None:
        work = getattr(owner, name)

        def measured(*arguments: Any) -> Any:
            began = perf_counter()
            result = work(*arguments)
            spent[name] += 1e3 * (perf_counter() - began)
            spent["kernels"] += name == "take"
            return result

        setattr(owner, name, measured)

    timed(KernelIndex, "found"), timed(CupyRuntime, "take")
    options = Options(device="gpu", precision=given.precision)
    if not given.bare:
        with Simulator(replace(options, compile="never")).state(circuit_of(by_name("su2").build(given.n, 0), given.n)):
            sleep(0.3)
    simulator = Simulator(options)
    watch = np.random.default_rng(given.n).integers(0, 1 << given.n, 16).tolist()
    ms, amplitudes, first = [], [], dict(spent)
    for run in range(6):
        sleep(0.5 * (run == 2))
        began = perf_counter()
        with simulator.state(circuit) as state:
            state.synchronize()
            ms.append(1e3 * (perf_counter() - began))
            amplitudes = np.abs(state.amplitudes(watch)).tolist()
        if not run:
            first = dict(spent)
    return {"ms": ms, "index": first, "amplitudes": amplitudes}


def main() -> None:
    """Measure, or be one of the processes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=28)
    parser.add_argument("--precision", default="single")
    parser.add_argument("--families", nargs="+", default=SIX)
    parser.add_argument("--texts", type=Path)
    parser.add_argument("--arch", default="90")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--bare", action="store_true", help="time what a process does in its first run alone, too")
    given = parser.parse_args()
    if given.child:
        print(json.dumps(child(given)))
        return
    cells = []
    for what in given.families:
        with tempfile.TemporaryDirectory(prefix="kept") as folder:
            cell = measured(what, given, Path(folder))
        cells.append(cell)
        print(told(cell), flush=True)
    if given.out:
        given.out.write_text(json.dumps({"machine": machine.describe(), "n": given.n, "cells": cells}, indent=1))


def measured(what: str, given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Return a family's figures, from processes of their own."""
    options = Options(device="gpu", precision=given.precision)
    os.environ["QSIM_EX_CACHE_DIR"] = str(folder / "kept")
    began = perf_counter()
    count = warm(circuit_of(gates_of(what, given.n, given.texts), given.n), options, given.arch)
    cell: dict[str, Any] = {"what": what, "kernels": count, "warm_seconds": perf_counter() - began}
    for name in ("cold", "kept"):
        for turn in range(given.repeat):
            (folder / "none").mkdir(exist_ok=True)
            cache = folder / f"{name}{turn}"
            copytree(folder / ("none" if name == "cold" else "kept"), cache)
            command = [sys.executable, "-m", "benchmarks.kept_gpu", "--child", what, "--n", str(given.n)]
            command += ["--precision", given.precision, "--texts", str(given.texts), *["--bare"] * given.bare]
            environment = os.environ | {"QSIM_EX_CACHE_DIR": str(cache)}
            done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
            cell.setdefault(name, []).append(json.loads(done.stdout.splitlines()[-1]))
    np.testing.assert_allclose(cell["kept"][0]["amplitudes"], cell["cold"][0]["amplitudes"], rtol=1e-3, atol=1e-6)
    return cell


def told(cell: dict[str, Any]) -> str:
    """Return a line of the table: first and second runs in milliseconds, and what the index took."""
    cold, kept = ([run["ms"] for run in cell[name]] for name in ("cold", "kept"))
    index, first = cell["kept"][0]["index"], [min(run[0] for run in runs) for runs in (cold, kept)]
    told = f"{cell['what']:14} first: nothing kept {first[0]:6.1f}, kernels kept {first[1]:6.1f}"
    told += f" | second {cold[0][1]:6.1f} {kept[0][1]:6.1f} | compiled {min(kept[0][2:]):6.2f} | "
    told += f"{index['kernels']:.0f} kernels of {cell['kernels']} found in {index['found']:.1f} ms"
    return f"{told}, loaded in {index['take']:.1f} ms"


if __name__ == "__main__":
    main()
