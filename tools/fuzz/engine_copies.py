"""Kinds about bytes that are copied: memory that two processes swap, and what a run over host memory copies."""

from __future__ import annotations

import os
from random import Random

import numpy as np

from tools.fuzz import compare, programs
from tools.fuzz.case import Case, Line
from tools.fuzz.engine import circuit_of
from tools.fuzz.kinds import Kind
from tools.fuzz.options import tolerance

# --- memory of two processes ------------------------------------------------------------------------------------------


def draw_swaps(random: Random) -> Case:
    """The shape of an array, and the columns of it that are swapped."""
    rows, columns = random.choice([1, 1, 2, 3, 7, 20]), random.randint(1, 40)
    first = random.randrange(columns)
    ask = {
        "rows": rows,
        "columns": (first, random.randint(first + 1, columns), columns),
        "dtype": random.choice(["complex64", "complex128"]),
    }
    return Case("swaps", 1, 0, (), {}, ask)


def check_swaps(case: Case) -> str | None:
    """After each of two has swapped one half, either has what the other had, and nothing beside it has changed."""
    from qsim_ex.comm import reach

    if not reach.allowed():
        return None
    first, last, columns = case.ask["columns"]
    size = case.ask["rows"] * columns
    whole = [(np.arange(size) + 1j * k).astype(case.ask["dtype"]).reshape(-1, columns) for k in (1, 2)]
    parts = [array[:, first:last] for array in whole]
    expected = [array.copy() for array in whole]
    for to, source in zip(expected, reversed(parts), strict=True):
        to[:, first:last] = source
    for half in (0, 1):  # the other process is this one
        reach.swap_half(os.getpid(), parts[half], reach.MemoryRuns.of(parts[1 - half]), half)
    return compare.equal("first", whole[0], expected[0]) or compare.equal("second", whole[1], expected[1])


# --- what a run will copy ---------------------------------------------------------------------------------------------


def draw_rehearsed(random: Random) -> Case:
    """A circuit of gates on a state whose home is host memory."""
    wires = random.choice([4, 5, 6, 7])
    # A run may leave out what it knows to do nothing, which a state that is asked for does.
    lines = [Line(f"b.gate('ry', [q[{wire}]], {round(random.uniform(0.3, 2), 2)})") for wire in range(wires)]
    lines += programs.unitary(programs.Draw(random, wires, 0), 14, prepared=False)
    options = {
        "device": "cpu",
        "device_wires": random.randint(3, wires - 1),
        "in_flight_buffers": random.randint(1, 3),
        "host_memory": random.choice(["whole", "spread"]),
        "separate": False,
    }
    return Case("rehearsed", wires, 0, tuple(lines), options, {"seed": random.randrange(50)})


def check_rehearsed(case: Case) -> str | None:
    """A run on a new state copies as many bytes as `summary` says beforehand, where it is rehearsed."""
    from qsim_ex import Simulator, thresholds

    seen: list[int] = []
    simulator = Simulator(**case.options, watch=lambda progress: seen.append(progress.bytes_moved))
    made = circuit_of(case)
    with thresholds.instead(written_percent=0):  # a run may have other gates than a state over host memory gets
        said = simulator.summary(made).bytes_host
        with simulator.state(made) as state:
            copied, norm = seen[-1] if seen else said, state.norm()
    slices, windows = 1 << max(case.wires - 1, 0), 1 << case.wires - case.options["device_wires"]
    rehearsed = slices <= thresholds.now.rehearsed_slices and windows <= thresholds.now.rehearsed_windows
    if rehearsed and said != copied:
        return f"{copied} bytes were copied, expected {said}"
    return compare.arrays("norm", norm, 1.0, tolerance(case.options))


KINDS = [Kind("swaps", draw_swaps, check_swaps, 0.3), Kind("rehearsed", draw_rehearsed, check_rehearsed, 0.5)]
