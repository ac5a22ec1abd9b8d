"""Runs are logged for those who ask."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest

from qsim_ex import CircuitBuilder, Simulator

CIRCUIT = CircuitBuilder(3, 3).gate("h", [0]).measure([0], [0]).build()
UNMEASURED = CircuitBuilder(3).gate("h", [0]).build()


def test_info_has_a_line_for_each_run(caplog: pytest.LogCaptureFixture) -> None:
    """The line says what ran, where and why, and its seconds."""
    simulator = Simulator(device="cpu")
    with caplog.at_level(logging.INFO, "qsim_ex"):
        simulator.run(CIRCUIT, shots=5)
        simulator.state(UNMEASURED).close()
    run, state = (one.getMessage() for one in caplog.records if "compiling" not in one.getMessage())
    assert run.startswith(f"ran {CIRCUIT!r}: BatchResult(1 binding, 5 shots of 3 bits, cpu, double precision, ")
    assert run.endswith("s) (asked for)")
    assert state.startswith("StateVector(3 wires, complex128, cpu) after Circuit(3 wires, ")


def test_debug_tells_of_plans(caplog: pytest.LogCaptureFixture) -> None:
    """A circuit is planned in its first run, and its plan is found in the cache in the second."""
    simulator = Simulator(device="cpu")
    circuit = CircuitBuilder(5, 5).gate("rxx", [2, 4], 0.1).gate("ryy", [4, 2], 0.1).measure([4], [0]).build()
    with caplog.at_level(logging.DEBUG, "qsim_ex"):
        for _ in range(2):
            simulator.run(circuit, shots=5)
    told = [one.getMessage() for one in caplog.records]
    assert sum(one.startswith("planned Plan(2 gates on 5 wires") for one in told) == 1
    assert sum("plans in the cache" in one for one in told) == 2


def test_nothing_is_written_unless_somebody_asks() -> None:
    """A program that does not configure `logging` sees nothing."""
    code = (
        "from qsim_ex import *; "
        "Simulator(device='cpu').run(CircuitBuilder(2, 2).gate('h', [0]).measure([0], [0]).build(), shots=5)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")
