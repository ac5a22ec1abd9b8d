"""Measure peers side by side: ``python -m benchmarks.run cpu --n 20 22 24 --out FILE.json``.

Warm: plans, kernels and compiled code are cached by one warm-up of the same structure; every
repetition that counts has fresh numbers. `benchmarks.cold` measures first calls.

States larger than one device: --device-wires puts wires above this number into host memory, --gpus
divides a state among GPUs. Peers that have no such states are named and left out. The time of a command
is that of its runs: (warm-up + repetitions) times all peers and variants. At n = 30 in single
precision every pass over host memory takes 0.1 to 0.2 s, so the seven families may take minutes: name
some with --families and use --repeat 3. Locking host memory takes 0.2 s for each GiB: once in the
process for ours, and once for each family for cuStateVec Ex. On 4 GPUs the seven take less
than a minute.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.copies import Copier, ceilings
from benchmarks.families import EXTRA, FAMILIES, by_name
from benchmarks.measure import Case, Cell, able, measure
from benchmarks.peers import PEERS, Peer, PeerMissing, load
from benchmarks.peers.base import Setup
from benchmarks.table import markdown

FORMAT = 1
"""Raised when the meaning of a field in the JSON changes."""


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("device", choices=("cpu", "gpu"))
    parser.add_argument("--n", type=int, nargs="+", required=True, help="numbers of qubits")
    parser.add_argument("--precision", nargs="+", choices=("single", "double"), default=["single"])
    parser.add_argument("--families", nargs="+", choices=[*FAMILIES, *EXTRA], default=list(FAMILIES))
    parser.add_argument("--peers", nargs="+", help="default: all of the device")
    parser.add_argument("--repeat", type=int, default=5, help="repetitions that count")
    parser.add_argument("--warmup", type=int, default=1, help="repetitions that do not")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="CPU threads of each peer")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first repetition")
    parser.add_argument("--gpus", type=int, default=1, help="devices that share a state; on a CPU sub state vectors")
    parser.add_argument("--device-wires", type=int, help="wires of one sub state vector; the rest is in host memory")
    parser.add_argument(
        "--in-flight",
        type=int,
        help="ours: sub state vectors on a device beside host memory; default: 3, but never all of them",
    )
    parser.add_argument("--commit", help="default: what git says; name it where there is no git")
    parser.add_argument("--out", type=Path, help="the JSON file to write")
    chosen = parser.parse_args(argv)
    for name in set(chosen.peers or ()) - set(PEERS[chosen.device]):
        parser.error(f"no peer {name!r} on {chosen.device}; known: {', '.join(PEERS[chosen.device])}")
    if chosen.repeat < 1 or chosen.warmup < 0 or chosen.threads < 1:
        parser.error("--repeat and --threads must be at least 1, --warmup at least 0")
    for n in chosen.n:
        try:
            Setup(n, "single", 1, gpus=chosen.gpus, device_wires=chosen.device_wires, in_flight=chosen.in_flight)
        except ValueError as error:
            parser.error(str(error))
    return chosen


def set_threads(threads: int) -> None:
    """Tell OpenMP, which reads it once, when it is loaded, so this comes first."""
    os.environ["OMP_NUM_THREADS"] = str(threads)


def load_peers(device: str, names: Iterable[str] | None) -> tuple[list[Peer], dict[str, str]]:
    """Load the peers; return those that are here and, by name, why the others are not."""
    here, missing = [], {}
    for name in names or PEERS[device]:
        try:
            here.append(load(name, device))
        except PeerMissing as error:
            missing[name] = str(error)
            print(f"skipped {error}", file=sys.stderr)
    return here, missing


def cases(chosen: argparse.Namespace) -> list[Case]:
    """List the cases, small sizes first; families that make no sense at a size are said."""
    result = []
    for n in sorted(chosen.n):
        names = [name for name in chosen.families if n >= by_name(name).smallest]
        for name in set(chosen.families) - set(names):
            print(f"skipped {name} at n = {n}: it starts at {by_name(name).smallest}", file=sys.stderr)
        divided = (chosen.gpus, chosen.device_wires, chosen.in_flight)
        result += [Case(name, n, precision, *divided) for precision in chosen.precision for name in names]
    return result


def progress(case: Case, cells: Iterable[Cell]) -> None:
    """Print one line for a finished case."""
    figures = ", ".join(
        f"{c.peer}/{c.variant} "
        + (f"{c.median * 1e3:.3f} ms" if c.median is not None else f"{c.error}")
        + ("" if c.correct in (True, None) else f" WRONG by {c.deviation:.1e}")
        for c in cells
    )
    print(f"{case.family} n={case.n} {case.precision}: {figures}", file=sys.stderr, flush=True)


def document(
    chosen: argparse.Namespace,
    peers: Sequence[Peer],
    missing: dict[str, str],
    cells: list[Cell],
    links: dict[str, Any] | None,
) -> dict[str, Any]:
    """Put everything that a reader needs to believe or repeat the figures into one object."""
    return {
        "format": FORMAT,
        "kind": "warm",
        "device": chosen.device,
        "threads": chosen.threads,
        "repeat": chosen.repeat,
        "warmup": chosen.warmup,
        "seed": chosen.seed,
        "gpus": chosen.gpus,
        "device_wires": chosen.device_wires,
        "in_flight": chosen.in_flight,
        "links": links,
        "commit": chosen.commit or machine.commit(),
        "machine": machine.describe(),
        "peers": {p.name: {"version": p.version, "note": p.note} for p in peers},
        "missing": missing,
        "cells": [cell.to_json() for cell in cells],
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, write; return 1 if a peer failed or deviated, 2 if device or peers are missing."""
    chosen = arguments(argv)
    set_threads(chosen.threads)
    try:
        memory = machine.memory_bytes(chosen.device)
        host_memory = machine.memory_bytes("cpu") if chosen.device == "gpu" else None
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 2
    peers, missing = load_peers(chosen.device, chosen.peers)
    if not peers:
        return 2
    cells: list[Cell] = []
    result: dict[str, Any] = {}
    divided = chosen.gpus > 1 or chosen.device_wires is not None
    links = ceilings(Copier.of(chosen.device), chosen.gpus) if divided else None
    for case in cases(chosen):
        here, refused = able(case, peers)
        for name, reason in refused.items():
            if name not in missing:
                print(f"skipped {reason}", file=sys.stderr)
            missing[name] = reason
        done = measure(
            *(case, here),
            threads=chosen.threads,
            repeat=chosen.repeat,
            warmup=chosen.warmup,
            memory=memory,
            host_memory=host_memory,
            seed=chosen.seed,
        )
        progress(case, done)
        cells += done
        result = document(chosen, [p for p in peers if p.name not in missing], missing, cells, links)
        if chosen.out:  # after every case: an hour of measuring should survive a crash
            chosen.out.write_text(json.dumps(result, indent=1) + "\n")
    if result:
        print(markdown(result))
    return int(any(c.error is not None or c.correct is False for c in cells))


if __name__ == "__main__":
    sys.exit(main())
