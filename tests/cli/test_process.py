"""The command line as a process of its own: exit codes, Ctrl-C, pipes, a terminal."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.command_line import REAL
from support.paths import DATA, TESTS

from qsim_ex.cli.report import INTERRUPTED, NOT_POSSIBLE, PIPE_CLOSED

COMMAND = (sys.executable, "-m", "qsim_ex")
ENVIRONMENT = {**os.environ, "QSIM_EX_FRONTENDS": f"{REAL},slow=slow_frontend:frontend", "COLUMNS": "80"}

PATIENCE = 10
"""Seconds from Ctrl-C to the end: one on an idle machine, several where other tests run at the same time."""

SLOW = '''
"""A frontend that takes its time, deaf to everything."""
import time


class Slow:
    name, suffixes = "slow", (".slow",)

    def load(self, path):
        open(path, "w").write("begun")
        time.sleep(30)


frontend = Slow()
'''


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """This checkout, its frontends, and one that never comes to an end."""
    (tmp_path / "slow_frontend.py").write_text(SLOW)
    return {**ENVIRONMENT, "PYTHONPATH": os.pathsep.join([os.environ["PYTHONPATH"], str(TESTS), str(tmp_path)])}


@pytest.fixture
def alone(environment: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """The same with no frontend of a framework, which takes a second to import, and with a file that another reads."""
    (tmp_path / "some.flip").write_text("0 1")
    return {**environment, "QSIM_EX_FRONTENDS": "flips=support.frontends:flips,slow=slow_frontend:frontend"}


def started(environment, *arguments):
    """Start the program, with its output in pipes."""
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run(environment: dict[str, str], *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run one command to its end."""
    return subprocess.run(
        [*COMMAND, *map(str, words)], env=environment, capture_output=True, text=True, timeout=120, check=False
    )


def test_json_is_all_that_is_on_stdout(environment):
    """A program that reads stdout gets one document, and nothing comes before or after it."""
    ended = run(environment, "run", DATA / "bell2.qasm", "--shots", "10", "--device", "cpu", "--json")
    assert ended.returncode == 0
    assert sum(json.loads(ended.stdout)["counts"].values()) == 10
    assert ended.stderr == ""


def test_exit_code_of_a_refusal(environment):
    """60 qubits end the process within a moment, with the code for what the machine cannot do."""
    ended = run(environment, "run", DATA / "sixty.qasm", "--device", "cpu")
    assert ended.returncode == NOT_POSSIBLE
    assert ended.stderr.startswith("qsim-ex: 60 wires")
    assert ended.stdout == ""


def test_interrupt(alone, tmp_path):
    """Ctrl-C in deaf work ends the process within a second, with one line and code 130."""
    path = tmp_path / "long.slow"
    with started(alone, "run", path) as process:
        while not path.exists():
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
        began = time.perf_counter()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert time.perf_counter() - began < PATIENCE
    assert process.returncode == INTERRUPTED
    assert (out, err) == ("", "qsim-ex: interrupted; nothing was kept.\n")


def test_interrupt_of_a_run(environment, tmp_path):
    """Ctrl-C in the middle of a run on the CPU ends the process within a second."""
    path = tmp_path / "long.qasm"
    layer = "h q;\nt q;\n" + "".join(f"cx q[{k}],q[{k + 1}];\n" for k in range(24))
    path.write_text(f'OPENQASM 2.0; include "qelib1.inc"; qreg q[25]; creg c[25];\n{layer * 150}measure q -> c;')
    with started(environment, "run", path, "--device", "cpu") as process:
        time.sleep(3)
        if process.poll() is not None:
            pytest.skip("this machine was faster than the interrupt")
        began = time.perf_counter()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert time.perf_counter() - began < PATIENCE
    assert process.returncode == INTERRUPTED
    assert err == "qsim-ex: interrupted; nothing was kept.\n"


def test_closed_pipe(alone, tmp_path):
    """A reader that has seen enough, such as `head`, causes no traceback."""
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run(
        [*COMMAND, "explain", str(tmp_path / "some.flip"), "--device", "cpu"],
        env=alone,
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
        check=False,
    )
    os.close(writing)
    assert ended.returncode == PIPE_CLOSED
    assert ended.stderr == ""


def test_help_is_quick(environment):
    """Help imports neither CuPy nor a framework."""
    code = "import sys; from qsim_ex.cli import main; main(['--help']); print(sorted(sys.modules))"
    ended = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    loaded = ended.stdout.splitlines()[-1]
    for heavy in ("cupy", "qiskit", "cirq"):
        assert f"'{heavy}'" not in loaded


def test_colours_are_for_terminals(alone, tmp_path):
    """A terminal gets colours, a file none."""
    seen = bytearray()
    words = ("run", str(tmp_path / "some.flip"), "--shots", "10", "--device", "cpu")
    plain = run(alone, *words)
    assert "\x1b[" not in plain.stdout
    parent, child = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, *words],
        env={**alone, "TERM": "xterm-256color"},
        stdout=child,
        stderr=child,
    ) as process:
        os.close(child)
        while True:
            try:
                data = os.read(parent, 1 << 16)
            except OSError:  # Linux reports the end of a terminal so
                break
            if not data:
                break
            seen.extend(data)
    os.close(parent)
    assert process.returncode == 0
    assert b"\x1b[" in seen
