"""A first look at an installed wheel: ``python tools/smoke.py`` runs the engine alone, on the CPU, and checks answers.

It needs nothing but the wheel, on any version of Python and any architecture. Every instruction set of the processor
is tried in a process of its own.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np

import qsim_ex
from qsim_ex import CircuitBuilder, Simulator, amplitude_damping, reference
from qsim_ex.native import library

SHOTS = 1000


def check() -> None:
    """Compare a few runs with their definitions."""
    rng = np.random.default_rng(1)
    for precision, limit in (("single", 1e-5), ("double", 1e-12)):
        simulator = Simulator(device="cpu", precision=precision)
        for wires in (2, 9, 16):
            builder = CircuitBuilder(wires, wires)
            for _ in range(10 * wires):
                first, second = (int(wire) for wire in rng.choice(wires, 2, replace=False))
                builder.gate("ry", [first], float(rng.uniform(-3, 3))).gate("h", [second])
                builder.gate("cp", [first, second], 0.3).gate("cx", [second, first])
            circuit = builder.build()
            found, exact = simulator.state(circuit).to_numpy(), reference.simulate(circuit)
            distance = float(np.linalg.norm(found - exact))
            assert distance < limit, (precision, wires, distance)
        bell = CircuitBuilder(2, 2).gate("h", [0]).gate("cx", [0, 1]).measure([0, 1], [0, 1]).build()
        counts = simulator.run(bell, shots=SHOTS, seed=1).counts()
        assert set(counts) == {0, 3}, counts
        assert sum(counts.values()) == SHOTS, counts
        noisy = CircuitBuilder(1, 1).gate("x", [0]).channel(amplitude_damping(0.25), [0]).measure([0], [0]).build()
        ones = simulator.run(noisy, shots=SHOTS, seed=1).counts().get(1, 0)
        assert abs(ones - 0.75 * SHOTS) < 100, ones


def main() -> int:
    """Check each instruction set."""
    if os.environ.get("QSIM_EX_INSTRUCTION_SET"):
        check()
        return 0
    for name in library.instruction_sets():
        done = subprocess.run(
            [sys.executable, __file__], env={**os.environ, "QSIM_EX_INSTRUCTION_SET": name}, check=False
        )
        told = "passed" if done.returncode == 0 else "FAILED"
        print(
            f"qsim-ex {qsim_ex.__version__}, Python {platform.python_version()}, {platform.machine()}, {name}: {told}"
        )
        if done.returncode:
            return 1
    print(f"installed at {Path(qsim_ex.__file__).parent}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
