"""What each sweep of a family reaches on a CPU: ``python -m benchmarks.cpu_steps --n 26 --threads 1 8 16``.

For each step of a plan from |0…0⟩: bytes and multiply-adds, and for each number of threads the least time of several
runs with bytes and multiply-adds per second. ``moves`` is the same sweep without its instructions: what loading and
storing its tiles take alone. ``whole`` is a warm run from the circuit to the state, with all that is around the steps.
Threads are bound to no core but those of the process; ``taskset`` chooses cores.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks import machine
from benchmarks.engine import circuit_of
from benchmarks.families import FAMILIES
from qsim_ex import Simulator
from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.kernels.cpu.encoded_plan import NUM_INSTRUCTIONS, PROGRAM, EncodedPlan, NativeSweep, run_of
from qsim_ex.kernels.host import lane_bits
from qsim_ex.planning.coefficients.binding import bind
from qsim_ex.planning.cost.summary import step_cost
from qsim_ex.planning.planner import make_plan
from qsim_ex.precision import BY_DTYPE
from qsim_ex.steps import Layout, Sweep
from qsim_ex.steps.sweep_arrays import SweepArrays

DTYPE = np.dtype(np.complex64)
SMALL = 5
"""Steps that move less than 2^-SMALL of the state take no time worth measuring."""


@dataclass
class Row:
    """One step; seconds by thread count, and those of its loads and stores alone."""

    family: str
    n: int
    step: int
    bytes: float
    fma: float
    instructions: int
    seconds: dict[int, float] = field(default_factory=dict)
    moves: dict[int, float] = field(default_factory=dict)


def least(work: Callable[[], Any], repeat: int, before: Callable[[], Any] = lambda: None) -> float:
    """Return the least seconds of some calls. before: is called before each, and not timed."""
    found = []
    for _ in range(repeat):
        before()
        begin = perf_counter()
        work()
        found.append(perf_counter() - begin)
    return min(found)


def measure(family: str, n: int, threads: Sequence[int], repeat: int) -> list[Row]:
    """Return the large steps of a family."""
    circuit = circuit_of(FAMILIES[family].build(n, 1), n)
    device = CpuDevice(max(threads))
    plan = make_plan(circuit.instructions, n, Layout.identity(n), device.shape(DTYPE), (1 << n) - 1, place=True)
    numbers = list(bind(plan, circuit.operands))
    state, kept = [device.allocate(1 << n, DTYPE) for _ in range(2)]
    device.begin(state)

    def restore() -> None:  # a sweep of a growing state is no unitary of the whole, and would shrink it each time
        device.copy(state, kept)

    prepared = device.prepare(plan.steps, n, DTYPE)
    rows = []
    for number, step in enumerate(plan.steps):
        cost = step_cost(step, n, BY_DTYPE[np.dtype(DTYPE)], plan.shape)
        encoded = EncodedPlan(SweepArrays([step]), n, lane_bits(DTYPE), 4) if isinstance(step, Sweep) else None
        words = np.zeros(PROGRAM, dtype=np.int64) if encoded is None else encoded.words(0).copy()
        row = Row(family, n, number, cost.bytes, cost.fma, int(words[NUM_INSTRUCTIONS]))
        if encoded is None or cost.bytes < 2 * state.nbytes / (1 << SMALL):
            device.run(state, n, step, numbers[number], prepared)
            continue
        words[NUM_INSTRUCTIONS] = 0
        empty = NativeSweep(run_of(DTYPE), words.ctypes.data, (encoded, words))
        device.copy(kept, state)
        floats = np.ascontiguousarray(numbers[number]).view(np.float64).reshape(1, -1)
        run = partial(device.run, state, n, step, numbers[number], prepared)
        for count in threads:
            device.threads = count
            row.seconds[count] = least(run, repeat, restore)
            row.moves[count] = least(partial(empty.run, state.ctypes.data, 1, floats, 0, count), repeat)
        restore()
        run()
        rows.append(row)
    return rows


def whole(family: str, n: int, threads: int, repeat: int) -> float:
    """Return the least seconds of a warm run from the circuit to the state."""
    simulator = Simulator(device="cpu", precision="single", threads=threads)
    circuit = circuit_of(FAMILIES[family].build(n, 1), n)

    def work() -> None:
        with simulator.state(circuit) as state:
            state.synchronize()

    work()
    return least(work, repeat)


def shown(rows: Sequence[Row], threads: Sequence[int]) -> str:
    """Return the steps as lines of text."""
    lines = []
    for row in rows:
        parts = [
            f"{row.family:5} {row.n} {row.step:2d} {row.instructions:3d} {row.bytes / 1e9:6.3f}GB {row.fma / 1e9:6.2f}G"
        ]
        for count in threads:
            seconds = row.seconds[count]
            parts.append(
                f"{count:2d}: {1e3 * seconds:7.2f} ms {row.bytes / seconds / 1e9:5.0f} GB/s "
                f"{row.fma / seconds / 1e9:4.0f} G/s moves {1e3 * row.moves[count]:6.2f}"
            )
        lines.append(" | ".join(parts))
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print a line for each step, write JSON if asked."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cpu_steps", description=__doc__)
    parser.add_argument("--n", type=int, nargs="+", default=[26])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 16])
    parser.add_argument("--families", nargs="+", choices=list(FAMILIES), default=list(FAMILIES))
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--commit", help="default: what git says")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args(argv)
    rows: list[Row] = []
    wholes: list[dict[str, Any]] = []
    for n in given.n:
        for family in given.families:
            found = measure(family, n, given.threads, given.repeat)
            rows += found
            seconds = {count: whole(family, n, count, given.repeat) for count in given.threads}
            wholes.append({"family": family, "n": n, "seconds": seconds})
            print(shown(found, given.threads))
            print(f"{family:5} {n} whole " + " ".join(f"{c}: {1e3 * s:.2f} ms" for c, s in seconds.items()), flush=True)
    if given.out:
        document = {
            "kind": "cpu_steps",
            "commit": given.commit or machine.commit(),
            "machine": machine.describe(),
            "rows": [vars(row) for row in rows],
            "whole": wholes,
        }
        given.out.write_text(json.dumps(document, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
