"""A million gates, from a circuit to work that a CPU can launch: ``python -m benchmarks.million``.

Goals, on one core: 5 s, and at most 1 GiB beyond the interpreter with packages imported, the circuit included. Each
circuit has a process of its own. Times are processor time. For each part: the memory that it leaves behind, and its
peak, beyond what the process had before the circuit was built. `key` is the digest of the structure, for which
checkpoints ask. `looks` is the longest time between two looks whether the run is cancelled.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

from benchmarks.engine import circuit_of
from benchmarks.families import FAMILIES
from benchmarks.ready import DTYPE, KINDS, drawn
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.ops import Structure
from qsim_ex.devices.cpu import sweeps
from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.devices.cpu.sweeps import EncodedSweeps
from qsim_ex.execution.prepare import plans_of
from qsim_ex.planning import compiled
from qsim_ex.planning.numbers import step_numbers
from qsim_ex.planning.numbers.binding import fill
from qsim_ex.program.divide import program_of

WIRES = 28
BRICK = "brick"
KINDS_OF_CIRCUITS = (BRICK, *KINDS)


def circuit_of_kind(kind: str, gates: int) -> tuple[Circuit, int]:
    """Return the brick circuit again and again, or a drawn circuit, and how many gates it has."""
    if kind != BRICK:
        return drawn(kind, WIRES, gates), gates
    once = FAMILIES[BRICK].build(WIRES, 0)
    repeats = -(-gates // len(once))
    return circuit_of(once * repeats, WIRES), repeats * len(once)


class Memory:
    """The memory of this process, in MiB beyond what it had at first."""

    def __init__(self) -> None:
        self._base = self._status("VmRSS")

    def now(self) -> int:
        """Return what it has."""
        return self._status("VmRSS") - self._base

    def peak(self) -> int:
        """Return the most that it had since the last call."""
        found = self._status("VmHWM") - self._base
        Path("/proc/self/clear_refs").write_text("5")
        return found

    def _status(self, name: str) -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) >> 10 for line in lines if line.startswith(f"{name}:"))


class Looks:
    """The longest time between two calls of the function that looks whether a run is cancelled."""

    def __init__(self) -> None:
        self.longest = 0.0
        self._last = process_time()
        for module in (compiled, sweeps, step_numbers):
            module.check_cancelled = self.look  # type: ignore[attr-defined]

    def look(self) -> None:
        """Note the time."""
        now = process_time()
        self.longest, self._last = max(self.longest, now - self._last), now


def measure(kind: str, gates: int) -> None:
    """Print the rows of one circuit."""
    memory, device = Memory(), CpuDevice(threads=1)
    circuit, count = circuit_of_kind(kind, gates)
    left, peak = memory.now(), memory.peak()
    print(f"| {kind}, {count:,} gates, {len(circuit.instructions):,} instructions | circuit | | {left} | {peak} | |")
    structure = Structure(circuit.num_qubits, circuit.num_clbits, circuit.instructions)
    whole = [0.0, 0.0]

    def part(name: str, work: Callable[[], Any], *, counts: bool = True) -> Any:
        looks, begin = Looks(), process_time()
        made = work()
        looks.look()
        seconds, left, peak = process_time() - begin, memory.now(), memory.peak()
        if counts:
            whole[:] = whole[0] + seconds, max(whole[1], peak)
        print(f"| | {name} | {seconds:.2f} | {left} | {peak} | {looks.longest:.2f} |")
        return made

    def encode() -> EncodedSweeps:
        made = EncodedSweeps(WIRES, DTYPE)
        for step in plan.steps:
            made.program(step)
        return made

    def bind() -> int:
        return sum(len(numbers) for numbers in fill(plan.numbers, circuit.operands[0]))

    program = part("program", lambda: program_of(structure))
    (plan,) = part("plan", lambda: plans_of(program, WIRES, device.shape(DTYPE), None, True))
    encoded = part("encode", encode)
    part("bind", bind)
    print(f"| | all, {len(plan.steps):,} steps | {whole[0]:.2f} | | {int(whole[1])} | |")
    del encoded
    part("key", lambda: structure.key, counts=False)


def main() -> None:
    """Measure each circuit in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gates", type=int, default=1_000_000)
    parser.add_argument("--kind", choices=KINDS_OF_CIRCUITS, help="one circuit, in this process")
    given = parser.parse_args()
    if given.kind:
        measure(given.kind, given.gates)
        return
    print("| circuit | part | s | MiB left | MiB at most | looks, s |", flush=True)
    print("| --- | --- | --- | --- | --- | --- |", flush=True)
    for kind in KINDS_OF_CIRCUITS:
        command = [sys.executable, "-m", "benchmarks.million", "--kind", kind, "--gates", str(given.gates)]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
