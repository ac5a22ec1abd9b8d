"""How long a run of several processes takes to start: ``python -m benchmarks.started``.

A launcher starts four processes that load NumPy and MPI, and end: that is Python's and MPI's own time. Then it starts
four that also make a first divided run, of 12 wires, and end. The times of whole jobs are compared, the least of some,
in turns.

    taskset -c 0,1 python -m benchmarks.started                                  # 2 cores: 20 s
    taskset -c 0,1 python -m benchmarks.started --launcher "srun -n 4 python"
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
from collections.abc import Sequence
from time import perf_counter

LAUNCHER = "mpirun -n 4 python"

BARE = "import numpy; from mpi4py import MPI; MPI.COMM_WORLD.Barrier()"
RUN = """
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.simulator import Simulator

builder = CircuitBuilder(12, 12)
for wire in range(12):
    builder.gate("h", [wire])
    builder.gate("cx", [wire, (wire + 1) % 12])
builder.measure(range(12), range(12))
result = Simulator(device="cpu", processes=4).run(builder.build(), shots=10, seed=1)
assert result.facts["processes_used"] == 4
"""


def measure(launcher: str, repeat: int) -> dict[str, float]:
    """Return the least seconds of jobs that load nothing else, and of jobs that make a divided run."""
    programs = {"bare": BARE, "run": BARE + "\n" + RUN}
    least = dict.fromkeys(programs, float("inf"))
    for _ in range(repeat + 1):  # the first turn brings files into memory
        for name, program in programs.items():
            began = perf_counter()
            subprocess.run([*shlex.split(launcher), "-c", program], check=True)
            least[name] = min(least[name], perf_counter() - began)
    return least


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, and print one line of JSON."""
    given = _parser().parse_args(argv)
    seconds = measure(given.launcher, given.repeat)
    print(json.dumps({"launcher": given.launcher, "seconds": seconds, "beyond": seconds["run"] - seconds["bare"]}))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.started", description=__doc__, allow_abbrev=False)
    parser.add_argument("--launcher", default=LAUNCHER, help="what starts four processes of Python")
    parser.add_argument("--repeat", type=int, default=7)
    return parser


if __name__ == "__main__":
    sys.exit(main())
