"""One state over processes beside one process: ``mpirun -n 2 python -m benchmarks.processes gpu --n 30 --out FILE``.

Each family is measured in both ways in one run: all ranks together, then rank 0 alone on the same devices, while the
others wait. A time is that of `Simulator.state` until its work is done, allocation included, on the slowest rank; its
numbers are fresh in each repetition, and the fastest one counts.

Beside them: exchanges of a state of which nothing is known to be zero, and plain copies of as many bytes between the
same memories, all ranks at once; and what the first divided run of a process takes. On two H200s it takes 20 s.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

_BEGUN = time.perf_counter()

from mpi4py import MPI  # noqa: E402  (what comes before is the interpreter's own start)

_CONNECTED = time.perf_counter()

import numpy as np  # noqa: E402

from benchmarks import machine  # noqa: E402
from benchmarks.engine import circuit_of  # noqa: E402
from benchmarks.families import FAMILIES  # noqa: E402
from benchmarks.memory import give_back_pools, wait_for_all  # noqa: E402
from qsim_ex import Simulator, StateVector  # noqa: E402
from qsim_ex.placement.divided import exchanged  # noqa: E402
from qsim_ex.placement.ranks.ranks import Ranks  # noqa: E402

FORMAT = 1
WORLD = MPI.COMM_WORLD


def seconds(work: Callable[[], Any], wait: Callable[[], None], together: bool) -> float:
    """Return the time of some work until it is done; of the slowest rank, if all work together."""
    if together:
        WORLD.Barrier()
    begun = time.perf_counter()
    work()
    wait()
    taken = time.perf_counter() - begun
    return max(WORLD.allgather(taken)) if together else taken


class Family:
    """The states of one family on some devices, in one way: over all ranks, or in one process."""

    def __init__(self, name: str, wires: int, options: dict[str, Any], wait: Callable[[], None]) -> None:
        self._build, self._wires, self._wait = FAMILIES[name].build, wires, wait
        self._simulator = Simulator(**options)
        self._together = options["processes"] != "never"
        self.facts: dict[str, Any] = {}

    def run(self, seed: int) -> float:
        """Make a state with fresh numbers; return the seconds."""
        circuit = circuit_of(self._build(self._wires, seed), self._wires)
        made: list[StateVector] = []
        taken = seconds(lambda: made.append(self._simulator.state(circuit)), self._wait, self._together)
        with made[0].placed() as placed:
            self.facts = placed.report()
        made[0].close()
        return taken


def families(args: argparse.Namespace, options: dict[str, Any], alone: dict[str, Any], wait: Any) -> list[Any]:
    """Measure all families, both ways by turns."""
    cells = []
    for name in args.families:
        ranks, one = Family(name, args.n, options, wait), Family(name, args.n, alone, wait)
        found: dict[str, list[float]] = {"processes": [], "one process": []}
        for turn in range(args.repeat + 1):
            taken = ranks.run(turn)
            if turn:
                found["processes"].append(taken)
        for turn in range(args.repeat + 1):
            if WORLD.rank == 0:
                taken = one.run(turn)
                if turn:
                    found["one process"].append(taken)
        if args.device == "gpu":
            give_back_pools()
        WORLD.Barrier()
        cells.append({"family": name, "seconds": found, "facts": ranks.facts})
    return cells


def exchange(args: argparse.Namespace, options: dict[str, Any], wait: Callable[[], None]) -> dict[str, Any]:
    """Measure an exchange of the lowest device bit, and plain copies of as many bytes between the same ranks."""
    with StateVector(args.n, **options) as state, state.placed() as placed:
        assert isinstance(placed, Ranks)
        placed.forget()
        local = placed.levels.local
        moved = [placed.bytes_moved]

        def trade() -> None:
            exchanged.bring(placed, placed.layout.wires()[local : local + 1])

        times = []
        for _ in range(args.repeat + 3):
            times.append(seconds(trade, wait, together=True))
            moved.append(placed.bytes_moved)
        each = (moved[-1] - moved[-2]) // WORLD.size
        plain = _plain(placed, each, wait, args.repeat + 3) if args.device == "gpu" else None
    found = {"bytes_each_way": each, "seconds": times, "plain_copies": plain}
    if plain:
        found["of_plain_copies"] = min(plain) / min(times)
    return found


def _plain(placed: Ranks, size: int, wait: Callable[[], None], repeat: int) -> list[float] | None:
    """Copy bytes from the memory of the other rank by the copy engine, all ranks at once."""
    import cupy

    memory = placed._links._mapped
    if memory is None or not memory.ranks:
        return None
    number = next(iter(placed._held))
    theirs = memory._theirs[0, placed.places[number ^ 1]]
    runtime = cupy.cuda.runtime
    with theirs.device:
        to, stream = cupy.empty(size, dtype=cupy.uint8), cupy.cuda.Stream(non_blocking=True)

        def copy() -> None:
            runtime.memcpyAsync(to.data.ptr, theirs.data.ptr, size, runtime.memcpyDefault, stream.ptr)
            stream.synchronize()

        return [seconds(copy, wait, together=True) for _ in range(repeat)]


def start(options: dict[str, Any]) -> dict[str, float]:
    """Measure what a first divided run takes, with connecting, and the second one."""
    loaded = time.perf_counter()
    found = []
    for seed in range(2):
        begun = time.perf_counter()
        circuit = circuit_of(FAMILIES["su2"].build(20, seed), 20)
        Simulator(**options).state(circuit).close()
        found.append(time.perf_counter() - begun)
    return {"mpi": _CONNECTED - _BEGUN, "import": loaded - _CONNECTED, "first_run": found[0], "second_run": found[1]}


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, print a table, and write JSON on rank 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.processes", description=__doc__)
    parser.add_argument("device", choices=("cpu", "gpu"))
    parser.add_argument("--n", type=int, required=True)
    parser.add_argument("--precision", choices=("single", "double"), default="single")
    parser.add_argument("--families", nargs="+", choices=[*FAMILIES], default=list(FAMILIES))
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--commit")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args(argv)
    both: dict[str, Any] = {"device": args.device, "precision": args.precision}
    if args.device == "gpu":
        both["compile"] = "always"  # the repetition that does not count waits for the compiler
    options, alone = {**both, "processes": WORLD.size}, {**both, "processes": "never"}
    gpus = 0
    if args.device == "gpu":
        import cupy

        gpus = min(cupy.cuda.runtime.getDeviceCount(), WORLD.size)
        if gpus > 1:
            alone["devices"] = tuple(range(gpus))

    def wait() -> None:
        """Wait for all devices that this process has used."""
        if gpus:
            wait_for_all(gpus if WORLD.rank == 0 else 0)
            cupy.cuda.Device(WORLD.rank % gpus).synchronize()

    begun = start(options)
    found = {
        "format": FORMAT,
        "kind": "processes",
        "arguments": {key: str(value) for key, value in vars(args).items() if key not in ("out", "commit")},
        "ranks": WORLD.size,
        "gpus": gpus,
        "commit": args.commit,
        "machine": machine.describe(),
        "start": WORLD.allgather(begun),
        "cells": families(args, options, alone, wait),
        "exchange": exchange(args, options, wait),
    }
    if WORLD.rank == 0:
        print(table(found))
        if args.out:
            args.out.write_text(json.dumps(found, indent=1))


def table(found: dict[str, Any]) -> str:
    """Render the ratios, and their geometric mean."""
    rows, ratios = [], []
    for cell in found["cells"]:
        many, one = (min(cell["seconds"][way]) for way in ("processes", "one process"))
        ratios.append(many / one)
        rows.append(f"{cell['family']:6} {many * 1e3:9.2f} ms  one process {one * 1e3:9.2f} ms  {many / one:5.2f}")
    trade = found["exchange"]
    rows.append(f"geometric mean {np.exp(np.mean(np.log(ratios))):.3f}")
    rate = trade["bytes_each_way"] / min(trade["seconds"])
    rows.append(f"exchange {rate / 1e9:.0f} GB/s each way, {trade.get('of_plain_copies', 0):.2f} of plain copies")
    rows.append(f"start {found['start'][0]}")
    rows.append(f"memory {found['cells'][0]['facts'].get('device_memory')}")
    return "\n".join(rows)


if __name__ == "__main__":
    main(sys.argv[1:])
