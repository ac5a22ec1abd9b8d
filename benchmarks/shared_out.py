"""Many bindings shared out among processes, beside one process: ``mpirun -n 4 python -m benchmarks.shared_out``.

1,000 bindings of a circuit (rotations about two axes and chains of CX, four times), 100 shots of each, one thread in
each process. Rank 0 runs all of them alone, several times, while the others sleep; then all ranks share them out,
several times, as in a user's loop; and this in turns. Both times begin with the same plans and end with all shots on
rank 0; the shots have to be equal.

    taskset -c 0-3 mpirun -n 4 python -m benchmarks.shared_out --out FILE.json     # 4 cores: 40 s
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks import machine
from benchmarks.ansatz import Ansatz, in_engine
from qsim_ex.comm.connection import current
from qsim_ex.comm.protocol import Communicator
from qsim_ex.simulator import Simulator

SHOTS = 100
TURNS = 3


def measure(ranks: Communicator, wires: int, bindings: int, repeat: int) -> dict[str, Any]:
    """Return the least seconds of one process and of all ranks, and how many times as fast they are."""
    ansatz = Ansatz(wires, ("ry", "rz"), 3, ring=False)
    sweep = in_engine(ansatz, ansatz.angles(0, bindings))
    options: dict[str, Any] = {"device": "cpu", "threads": 1}
    alone = Simulator(**options, processes="never")
    together = Simulator(**options, processes=ranks.size)
    seconds: dict[str, list[float]] = {"one": [], "all": []}
    shots: dict[int, Any] = {}
    for _turn in range(TURNS):
        for seed in range(repeat + 1):  # the first time makes the plans, and warms what slept meanwhile
            if ranks.rank == 0:
                began = perf_counter()
                shots[seed] = alone.run_batch(sweep.template, sweep.bindings(), shots=SHOTS, seeds=seed).packed
                seconds["one"] += [perf_counter() - began] * (seed > 0)
        ranks.barrier()
        for seed in range(repeat + 1):
            ranks.barrier()
            began = perf_counter()
            every = together.run_batch(sweep.template, sweep.bindings(), shots=SHOTS, seeds=seed)
            seconds["all"] += [perf_counter() - began] * (seed > 0)
            assert every.provenance.facts["shared_out"] == "bindings"
            assert every.packed is not None
            assert seed not in shots or np.array_equal(shots[seed], every.packed)
    if ranks.rank:
        return {}
    least, middle = [{name: of(found) for name, found in seconds.items()} for of in (min, median)]
    times = {"times": least["one"] / least["all"], "times_of_medians": middle["one"] / middle["all"]}
    return {"wires": wires, "bindings": bindings, "seconds": least, "medians": middle, **times}


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, and print one line of JSON for each width on rank 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shared_out", description=__doc__)
    parser.add_argument("--wires", type=int, nargs="+", default=[8, 10, 12, 14, 16])
    parser.add_argument("--bindings", type=int, default=1000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args(argv)
    ranks = current()
    rows = []
    for wires in given.wires:
        rows.append(measure(ranks, wires, given.bindings, given.repeat))
        if ranks.rank == 0:
            print(json.dumps(rows[-1]), flush=True)
    if ranks.rank == 0 and given.out is not None:
        about = {"ranks": ranks.size, "connection": ranks.description, "cores": len(os.sched_getaffinity(0))}
        given.out.write_text(json.dumps({"environment": machine.describe(), **about, "rows": rows}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
