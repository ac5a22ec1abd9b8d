"""First calls: ``python -m benchmarks.cold cpu|gpu --n 20 28`` measures in fresh processes.

Each case runs twice, each time in a process of its own. *cold*: all caches on disk are empty.
*reopened*: the caches of the first process are there. The report has the seconds of the import,
of the GPU's context (which is the driver's, not the engine's), and of the first and second whole
call: open, translate, plan, compile, run, synchronise; the second has fresh numbers.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks import machine
from benchmarks.families import FAMILIES
from benchmarks.peers import PEERS

_CACHES = {
    "QSIM_EX_CACHE_DIR": "own",
    "XDG_CACHE_HOME": "xdg",
    "CUPY_CACHE_DIR": "cupy",
    "CUDA_CACHE_PATH": "cuda",
}


def measure_here(device: str, peer_name: str, family: str, n: int, precision: str) -> dict[str, float]:
    """Measure in this very process, which must not have run anything before."""
    from benchmarks.measure import Case
    from benchmarks.peers.base import Setup

    assert precision in ("single", "double")
    case = Case(family, n, precision)  # type: ignore[arg-type]
    first, second = case.gates(0), case.gates(1)
    start = perf_counter()
    from benchmarks.peers import load

    peer = load(peer_name, device)
    if device == "gpu":
        import cupy
    imported = perf_counter()
    if device == "gpu":
        cupy.cuda.runtime.free(0)  # does nothing but make the context
        cupy.cuda.runtime.deviceSynchronize()
    ready = perf_counter()
    setup = Setup(n, case.precision, os.cpu_count() or 1)
    session = peer.open(setup, peer.variants(setup)[0])
    session.load(first)
    session.run()
    called = perf_counter()
    session.load(second)
    session.run()
    again = perf_counter()
    session.close()
    return {
        "import": imported - start,
        "context": ready - imported,
        "first": called - ready,
        "second": again - called,
    }


def measure_fresh(caches: Path, *case: str) -> dict[str, Any]:
    """Measure in a new process whose caches lie in the given folder."""
    environment = {**os.environ, **{name: str(caches / sub) for name, sub in _CACHES.items()}}
    command = [sys.executable, "-m", "benchmarks.cold", "--here", *case]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return {"error": (done.stderr.strip() or f"exit {done.returncode}").splitlines()[-1]}
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def main(argv: Sequence[str] | None = None) -> int:
    """Measure every case cold and reopened; print a line each, write JSON if asked."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["--here"]:
        device, peer, family, n, precision = arguments[1:]
        print(json.dumps(measure_here(device, peer, family, int(n), precision)))
        return 0
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cold", description=__doc__)
    parser.add_argument("device", choices=("cpu", "gpu"))
    parser.add_argument("--n", type=int, nargs="+", required=True)
    parser.add_argument("--precision", default="single", choices=("single", "double"))
    parser.add_argument("--families", nargs="+", choices=list(FAMILIES), default=list(FAMILIES))
    parser.add_argument("--peers", nargs="+", help="default: all of the device")
    parser.add_argument("--commit", help="default: what git says; name it where there is no git")
    parser.add_argument("--out", type=Path, help="the JSON file to write")
    chosen = parser.parse_args(arguments)
    rows = []
    for n in chosen.n:
        for family in chosen.families:
            for peer in chosen.peers or PEERS[chosen.device]:
                rows += _both(chosen.device, peer, family, n, chosen.precision)
    if chosen.out:
        document = {
            "kind": "cold",
            "device": chosen.device,
            "commit": chosen.commit or machine.commit(),
            "machine": machine.describe(),
            "cells": rows,
        }
        chosen.out.write_text(json.dumps(document, indent=1) + "\n")
    return int(any("error" in row for row in rows))


def _both(device: str, peer: str, family: str, n: int, precision: str) -> list[dict[str, Any]]:
    """Measure one case with empty caches, then with those that this left."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for state in ("cold", "reopened"):
            times = measure_fresh(Path(folder), device, peer, family, str(n), precision)
            rows.append({"family": family, "n": n, "precision": precision, "peer": peer, "caches": state, **times})
            text = ", ".join(f"{k} {v:.3f} s" if isinstance(v, float) else f"{k}: {v}" for k, v in times.items())
            print(f"{family} n={n} {precision} {peer} {state}: {text}", flush=True)
    return rows


if __name__ == "__main__":
    sys.exit(main())
