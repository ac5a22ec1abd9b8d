"""Programs over several processes of one host without MPI: each test starts ``qsim-ex launch`` by itself."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from support.paths import ROOT
from support.under_mpi import launched

PROGRAMS = "tests/support/mpi_programs.py"


def run(ranks: int, *programs: str) -> None:
    """Run programs on so many ranks, all of which must come to the end."""
    ended = launched(ranks, PROGRAMS, *programs)
    told = set(re.findall(r"rank (\d+): done", ended.stdout))
    assert (ended.returncode, told) == (0, {str(rank) for rank in range(ranks)}), ended.stdout + ended.stderr


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 3])
def test_the_contract_of_placements(ranks: int) -> None:
    """A state over processes gives the answers of every placement, in place and by messages."""
    asked = [] if ranks == 2 else ["-k", "circuits or shots or inner or other_numbers"]
    args = ("-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "tests/contract/over_processes.py", *asked)
    ended = launched(ranks, *args)
    assert ended.returncode == 0, ended.stdout[-4000:] + ended.stderr[-2000:]
    assert len(re.findall(r"\d+ passed", ended.stdout)) == ranks


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 3])
def test_every_rank_gets_the_answers_of_one_process(ranks: int) -> None:
    """Shots, values, states, circuits with chance, and what is shared out are those of one process."""
    run(ranks, "answers", "shared_out", "frameworks")


@pytest.mark.slow
def test_ranks_that_differ_and_ranks_that_fail() -> None:
    """Differences and errors reach all ranks by name, and all can go on; checkpoints continue."""
    run(3, "disagreements", "failures", "checkpoints")


@pytest.mark.slow
def test_files_are_handed_on_to_other_numbers_of_ranks(tmp_path: Path) -> None:
    """Saved states and checkpoints of 1, 4 and 2 ranks are read by 4, 2 and 1, and the shots are those of one run."""
    for ranks, last in ((1, {}), (4, {}), (2, {}), (1, {"QSIM_EX_TEST_LAST": "1"})):
        ended = launched(ranks, PROGRAMS, "handed_on", QSIM_EX_TEST_FOLDER=str(tmp_path), **last)
        assert (ended.returncode, ended.stdout.count(": done")) == (0, ranks), ended.stdout + ended.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"state"}


@pytest.mark.slow
def test_jobs_are_handed_on_to_other_numbers_of_ranks(tmp_path: Path) -> None:
    """Jobs of Qiskit and Cirq that were stopped go on with more ranks and fewer, and end with the same results."""
    for ranks, last in ((4, {}), (1, {}), (2, {}), (3, {"QSIM_EX_TEST_LAST": "1"})):
        ended = launched(ranks, PROGRAMS, "jobs", QSIM_EX_TEST_FOLDER=str(tmp_path), **last)
        assert (ended.returncode, ended.stdout.count(": done")) == (0, ranks), ended.stdout + ended.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_parts_in_host_memory(ranks: int) -> None:
    """Ranks whose parts are in host memory give what one process gives: shots, states, values, files, checkpoints."""
    run(ranks, "over_host")


@pytest.mark.slow
def test_files_that_not_all_ranks_see() -> None:
    """A file that is missing or another one on one rank is an error on all, which names the rank."""
    run(3, "missing_files")


@pytest.mark.slow
def test_memory_and_states_that_are_divided_without_being_told() -> None:
    """'auto' divides large states; gates on the wires of ranks are right, and a rank holds its part alone."""
    run(4, "automatic", "global_wires", "copies", "memory")


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("raises", "rank 2 of 3 takes part in no further operation: ArithmeticError: my own mistake"),
        ("ends", "rank 2 of 3 takes part in no further operation: it has ended"),
        ("dies", "rank 2 of 3 takes part in no further operation: its process died"),
    ],
)
def test_a_rank_that_is_gone_ends_the_others(how: str, words: str) -> None:
    """Every rank ends within seconds, with a message that names the rank and the cause; so does the launcher."""
    began = time.monotonic()
    ended = launched(3, PROGRAMS, how, seconds=60)
    assert ended.returncode != 0
    assert words in ended.stderr
    assert (how == "dies") == ("rank 2 of 3 was killed by SIGKILL" in ended.stderr)
    assert time.monotonic() - began < 30


def test_a_launcher_that_gives_rank_and_size_by_environment_alone(tmp_path: Path) -> None:
    """Processes that somebody else starts meet by rank and size, in a folder that is left empty or removed."""
    code = (
        "from qsim_ex import CircuitBuilder, Simulator\n"
        "circuit = CircuitBuilder(4, 4).gate('h', [0]).gate('cx', [0, 3]).measure(range(4), range(4)).build()\n"
        "result = Simulator(device='cpu', processes=2).run(circuit, shots=40, seed=1)\n"
        "print(result.facts['processes'], sorted(result.counts()))"
    )
    for variables in ({"QSIM_EX_FOLDER": str(tmp_path)}, {"TMPDIR": str(tmp_path)}):
        told = os.environ | {"PYTHONPATH": str(ROOT / "core"), "QSIM_EX_SIZE": "2", **variables}
        ranks = [
            subprocess.Popen(
                [sys.executable, "-c", code],
                env=told | {"QSIM_EX_RANK": str(rank)},
                stdout=subprocess.PIPE,
                text=True,
            )
            for rank in range(2)
        ]
        assert [one.communicate(timeout=60)[0] for one in ranks] == ["2 [0, 9]\n"] * 2
        assert not list(tmp_path.iterdir())


def test_what_cannot_be_launched() -> None:
    """No script, and no process, are refused; the exit code of a script is that of the launcher."""
    ended = launched(2)
    assert (ended.returncode != 0, "expected a Python script to run" in ended.stderr) == (True, True), ended.stderr
    assert "expected at least 1 process, got 0" in launched(0, "-c", "pass").stderr
    assert launched(2, "-c", "import sys; sys.exit(7)").returncode == 7


def test_a_file_is_run_by_several_processes() -> None:
    """The command line divides the state of a file, and one process prints."""
    file = str(ROOT / "tests" / "data" / "features3.qasm")
    ended = launched(2, "-m", "qsim_ex", "run", file, "--processes", "2", "--device", "cpu", "--json", "--seed", "3")
    told = json.loads(ended.stdout)
    alone = subprocess.run(
        [
            sys.executable,
            "-m",
            "qsim_ex",
            "run",
            file,
            "--processes",
            "never",
            "--device",
            "cpu",
            "--json",
            "--seed",
            "3",
        ],
        env=os.environ | {"PYTHONPATH": str(ROOT / "core") + os.pathsep + str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert told["counts"] == json.loads(alone.stdout)["counts"]
    assert "processes" in told["metadata"]["device_reason"]


def test_ctrl_c_ends_all_processes() -> None:
    """Ctrl-C in a terminal reaches all ranks, also those that wait for another, and the launcher ends with 130."""
    code = (
        "import os, time\n"
        "from qsim_ex.comm.connection import current\n"
        "ranks = current()\n"
        "os.write(1, b'here\\n')\n"
        "time.sleep(60) if ranks.rank == 0 else ranks.barrier()"
    )
    command = [sys.executable, "-m", "qsim_ex", "launch", "-n", "3", "-c", code]
    told = os.environ | {"PYTHONPATH": str(ROOT / "core")}
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen(command, env=told, start_new_session=True, **pipes) as launcher:
        assert launcher.stdout is not None
        assert [launcher.stdout.readline() for _ in range(3)] == ["here\n"] * 3
        began = time.monotonic()
        os.killpg(launcher.pid, signal.SIGINT)
        assert launcher.wait(30) == 130
    assert time.monotonic() - began < 20


def test_a_launcher_that_is_told_to_end_takes_its_processes_along() -> None:
    """SIGTERM to the launcher, as a batch system sends it, ends all ranks."""
    code = "import os, time; os.write(1, b'%d\\n' % os.getpid()); time.sleep(60)"  # in one piece, beside the others
    command = [sys.executable, "-m", "qsim_ex", "launch", "-n", "2", "-c", code]
    told = os.environ | {"PYTHONPATH": str(ROOT / "core")}
    with subprocess.Popen(command, env=told, stdout=subprocess.PIPE, text=True) as launcher:
        assert launcher.stdout is not None
        pids = [int(launcher.stdout.readline()) for _ in range(2)]
        launcher.terminate()
        assert launcher.wait(30) == 128 + signal.SIGTERM
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
