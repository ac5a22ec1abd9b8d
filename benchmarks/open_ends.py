"""Times of plans of a full state on bits, over subspaces with a plain end, and with an open end, and of shots behind.

One CPU thread, complex64, processor time, all plans in turns, the least of some rounds.
``python -m benchmarks.open_ends --n 22`` prints a row for each circuit: sweeps, their milliseconds, and with shots.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from time import process_time

import numpy as np

from benchmarks.counts import circuits
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.execution.prepare import prepare
from qsim_ex.observe import sampling
from qsim_ex.placement.single import Single
from qsim_ex.planning.planner import make_plan
from qsim_ex.steps import Layout, Plan

NAMES = ("cx_only", "cx_only in rz, sx, cx")
"""The circuits whose plans over subspaces are taken."""

DTYPE = np.dtype(np.complex64)


def plans_of(circuit: Circuit, device: CpuDevice) -> list[Plan]:
    """Return the plans on bits, with a plain end and with an open end."""
    n, shape = circuit.num_qubits, device.shape(DTYPE)
    ways = ({"linear": False}, {"linear": True}, {"linear": True, "opens": True})  # each may end in another layout
    return [make_plan(circuit.instructions, n, Layout.identity(n), replace(shape, **way)) for way in ways]


def least(circuit: Circuit, plans: list[Plan], device: CpuDevice, rounds: int, shots: int) -> list[list[float]]:
    """Return the milliseconds of each plan, alone and with shots."""
    numbers, best = sampling.uniforms(1, 0, shots), np.full((len(plans), 2), np.inf)
    buffer = device.allocate(1 << circuit.num_qubits, DTYPE)
    for _ in range(rounds):
        for row, plan in enumerate(plans):
            buffer[:] = (1 << circuit.num_qubits) ** -0.5
            placed, work = Single(device, buffer, plan.start), prepare(plan, circuit.operands, [device], DTYPE, "auto")
            begin = process_time()
            placed.run(plan, work, lambda: None)
            after = process_time()
            sampling.draw(placed, numbers)
            best[row] = np.minimum(best[row], [1e3 * (after - begin), 1e3 * (process_time() - begin)])
    found: list[list[float]] = best.tolist()
    return found


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=22)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--shots", type=int, default=1000)
    given = parser.parse_args()
    device, made = CpuDevice(1), circuits(given.n)
    print("| circuit | sweeps: bits, plain, open | sweeps, ms | with shots, ms |\n| --- | --- | --- | --- |")
    for name in NAMES:
        plans = plans_of(made[name], device)
        times = least(made[name], plans, device, given.rounds, given.shots)
        told = [", ".join(f"{row[k]:.1f}" for row in times) for k in (0, 1)]
        print(f"| {name} | {', '.join(str(len(plan.steps)) for plan in plans)} | {told[0]} | {told[1]} |")


if __name__ == "__main__":
    main()
