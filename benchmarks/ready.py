"""The time from a circuit to work that can be launched: ``python -m benchmarks.ready`` for drawn circuits on a CPU.

Goals, on one core: 1,000 gates on 28 wires in 3 ms; a million gates (``--gates 1000000``) in 5 s and below 1 GiB.

The parts: `program` is the divider, `plan` the planner with its coefficient program, `encode` the sweeps as the kernels
of a CPU read them, `bind` the numbers of all steps. Times are processor time, and the least of some tries, none of
which reuses anything. Memory is that of the whole process, the circuit included.
"""

from __future__ import annotations

import argparse
import resource
from collections.abc import Callable
from time import process_time

import numpy as np

from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.structure import Structure
from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.execution.prepare import plan_of, plans_of
from qsim_ex.kernels.cpu.encoded_plan import EncodedSweeps
from qsim_ex.planning.coefficients.binding import fill
from qsim_ex.program.divide import program_of

PARTS = ("program", "plan", "encode", "bind")
DTYPE = np.dtype(np.complex64)

Draw = Callable[[CircuitBuilder, np.random.Generator, int], None]


def transpiled(builder: CircuitBuilder, rng: np.random.Generator, wires: int) -> None:
    """Add one gate of rz, sx, cx on neighbours: half of the gates are rz, as transpilers leave them."""
    kind, wire = int(rng.integers(4)), int(rng.integers(wires - 1))
    if kind == 0:
        builder.gate("cx", [wire, wire + 1])
    elif kind == 1:
        builder.gate("sx", [wire])
    else:
        builder.gate("rz", [wire], 0.3)


def mixed(builder: CircuitBuilder, rng: np.random.Generator, wires: int) -> None:
    """Add one of six named gates on any wires."""
    one, two = rng.permutation(wires)[:2].tolist()
    match int(rng.integers(6)):
        case 0:
            builder.gate("cx", [one, two])
        case 1:
            builder.gate("h", [one])
        case 2:
            builder.gate("rz", [one], 0.3)
        case 3:
            builder.gate("ry", [one], 0.3)
        case 4:
            builder.gate("cp", [one, two], 0.3)
        case _:
            builder.gate("rzz", [one, two], 0.2)


def matrices(builder: CircuitBuilder, rng: np.random.Generator, wires: int) -> None:
    """Add a dense matrix on two wires, as in quantum volume."""
    builder.unitary(_MATRIX, rng.permutation(wires)[:2].tolist())


_MATRIX = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4, 2)) @ [1, 1j])[0]

KINDS: dict[str, Draw] = {"rz, sx, cx": transpiled, "mixed": mixed, "matrices": matrices}


def drawn(kind: str, wires: int, gates: int) -> Circuit:
    """Return a drawn circuit."""
    builder, rng = CircuitBuilder(wires), np.random.default_rng(1)
    for _ in range(gates):
        KINDS[kind](builder, rng, wires)
    return builder.build()


def parts(circuit: Circuit, device: CpuDevice) -> tuple[list[float], int]:
    """Return the seconds of each of `PARTS`, and the number of steps."""
    structure = Structure(circuit.num_qubits, circuit.num_clbits, circuit.instructions)
    plan_of.cache_clear()
    times = [process_time()]
    program = program_of(structure)
    times.append(process_time())
    (plan,) = plans_of(program, circuit.num_qubits, device.shape(DTYPE), None, True).values()
    times.append(process_time())
    encoded = EncodedSweeps(circuit.num_qubits, DTYPE)
    for step in plan.steps:
        encoded.program(step)
    times.append(process_time())
    for _ in fill(plan.coefficients, circuit.operands[0]):
        pass
    times.append(process_time())
    return np.diff(times).tolist(), len(plan.steps)


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gates", type=int, default=1000)
    parser.add_argument("--wires", type=int, default=28)
    parser.add_argument("--repeat", type=int, default=20)
    given = parser.parse_args()
    device = CpuDevice(threads=1)
    print(f"| {given.gates:,} gates, {given.wires} wires | steps | {' | '.join(PARTS)} | all, ms | peak, MiB |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for kind in KINDS:
        circuit = drawn(kind, given.wires, given.gates)
        found = [parts(circuit, device) for _ in range(given.repeat)]
        least = [1e3 * min(times[k] for times, _ in found) for k in range(len(PARTS))]
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        row = " | ".join(f"{part:.2f}" for part in [*least, sum(least)])
        print(f"| {kind} | {found[0][1]} | {row} | {peak} |")


if __name__ == "__main__":
    main()
