"""Ctrl-C while packages are imported for the first time leaves a process that works."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import FrameType

import cirq
import pytest
from support.paths import ROOT

from qsim_ex.frameworks import cirq_reader
from qsim_ex.kernels import interrupts
from qsim_ex_cirq.translation.circuits import translate

FIRST = {
    "qsim_ex": """
from qsim_ex import CircuitBuilder, Simulator
circuit = CircuitBuilder(2, 2).gate("h", [0]).gate("cx", [0, 1]).measure([0, 1], [0, 1]).build()
found = sorted(Simulator(device="cpu").run(circuit, shots=50, seed=1).counts())
""",
    "qsim_ex_provider": """
from qiskit import QuantumCircuit
from qsim_ex_provider import QsimExBackend
circuit = QuantumCircuit(2)
circuit.h(0)
circuit.cx(0, 1)
circuit.measure_all()
counts = QsimExBackend(device="cpu").run(circuit, shots=50, seed_simulator=1).result().get_counts()
found = sorted(int(bits, 2) for bits in counts)
""",
    "qsim_ex_cirq": """
import cirq
from qsim_ex_cirq import QsimExSimulator
a, b = cirq.LineQubit.range(2)
circuit = cirq.Circuit(cirq.H(a), cirq.CNOT(a, b), cirq.measure(a, b, key="m"))
found = sorted(QsimExSimulator(device="cpu", seed=1).run(circuit, repetitions=50).histogram(key="m"))
""",
}
SCRIPT = """
import signal, sys
{before}
left = int(sys.argv[1])
def count(frame, event, argument):
    global left
    left -= event == "call"
    if left == 0:
        sys.setprofile(None)
        signal.raise_signal(signal.SIGINT)
interrupted = False
sys.setprofile(count)
try:
    exec({first!r})
except KeyboardInterrupt:
    interrupted = True
sys.setprofile(None)
if interrupted:
    exec({first!r})
print(found, interrupted)
"""
BEFORE = {"qsim_ex": "", "qsim_ex_provider": "import qiskit", "qsim_ex_cirq": "import cirq"}
"""The framework itself is imported first: what it does with Ctrl-C is its own affair."""


@pytest.mark.parametrize(
    ("name", "calls"),
    [
        *(("qsim_ex", calls) for calls in (3_000, 8_000, 20_000, 40_000)),
        *(("qsim_ex_provider", calls) for calls in (30_000,)),
        *(("qsim_ex_cirq", calls) for calls in (30_000,)),
    ],
)
def test_after_ctrl_c_the_process_works(name: str, calls: int, tmp_path: Path) -> None:
    """After Ctrl-C at any call of the first run, the next run in the process is right."""
    paths = os.pathsep.join(str(path) for path in (ROOT / "core", ROOT))
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(first=FIRST[name], before=BEFORE[name]), str(calls)],
        env={**os.environ, "PYTHONPATH": paths},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[0] == "[0, 3] True"


SHARED = """
import signal, sys
from qsim_ex.kernels.cpu import pool

def share():
    done = []
    pool.share(done.append, 4, 2)
    assert sorted(done) == [0, 1, 2, 3]

share()
events = left = 0
while left <= 0:
    events += 1
    left, came = events, False
    def count(frame, event, argument):
        global left
        left -= 1
        if left == 0:
            sys.setprofile(None)
            signal.raise_signal(signal.SIGINT)
    try:
        sys.setprofile(count)
        share()
        sys.setprofile(None)
    except KeyboardInterrupt:
        came = True
    assert came == (left <= 0), events
    share()
print(events)
"""


def test_after_ctrl_c_the_threads_work(tmp_path: Path) -> None:
    """After Ctrl-C at any event of work that threads share, it is raised, and the next work is done."""
    done = subprocess.run(
        [sys.executable, "-c", SHARED],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(str(path) for path in (ROOT / "core", ROOT))},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 50


def test_ctrl_c_in_a_property_of_a_gate_of_cirq_is_raised() -> None:
    """Ctrl-C is raised if it comes while native code asks a gate for its exponent, for which it tries another way."""
    circuit = cirq.Circuit(cirq.X(qubit) ** 0.3 for qubit in cirq.LineQubit.range(20))

    def interrupt(frame: FrameType, event: str, _argument: object) -> None:
        asked_by = frame.f_back and frame.f_back.f_code.co_filename
        if (event, frame.f_code.co_name, asked_by) == ("call", "exponent", cirq_reader.__file__):
            sys.setprofile(None)
            signal.raise_signal(signal.SIGINT)

    sys.setprofile(interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            translate(circuit)
        assert sys.getprofile() is None
    finally:
        sys.setprofile(None)


def test_handlers_are_changed_without_members_of_enumerations() -> None:
    """A short job changes the handler four times, and each member of an enumeration takes several microseconds."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert type(interrupts._handle(signal.SIGINT, int(signal.SIG_IGN))) is int
        with interrupts.uninterrupted():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
