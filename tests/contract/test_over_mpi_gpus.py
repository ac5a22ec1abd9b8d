"""Processes that share a state on GPUs of this host: they map each other's memory, on one GPU or on several."""

from __future__ import annotations

import re
import time

import pytest
from support.gpus import gpu_missing
from support.under_mpi import needs_mpi, under_mpi

PROGRAMS = "tests/support/mpi_programs.py"

pytestmark = [pytest.mark.gpu, needs_mpi, pytest.mark.skipif(bool(gpu_missing()), reason=gpu_missing() or "a GPU")]


@pytest.mark.parametrize("ranks", [2, 4])
def test_the_contract_of_placements(ranks: int) -> None:
    """A state over processes on GPUs gives the answers of every placement, in mapped memory and through the host."""
    asked = [] if ranks == 2 else ["-k", "mapped and (circuits or shots or inner or other_numbers)"]
    args = (
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:benchmark",
        "tests/contract/over_processes.py",
        *asked,
    )
    ended = under_mpi(ranks, *args, seconds=400, QSIM_EX_TEST_DEVICE="gpu")  # ranks may share one GPU
    assert ended.returncode == 0, ended.stdout[-4000:] + ended.stderr[-2000:]
    assert len(re.findall(r"\d+ passed", ended.stdout)) == ranks


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("program", ["answers", "gpus", "gpu_memory"])
def test_every_rank_gets_the_answers_of_one_process(ranks: int, program: str) -> None:
    """Shots, values and states are those of one process; memory of a rank is its part and a tenth at most."""
    ended = under_mpi(ranks, PROGRAMS, program, QSIM_EX_TEST_DEVICE="gpu")
    told = set(re.findall(r"rank (\d+): done", ended.stdout))
    assert (ended.returncode, told) == (0, {str(rank) for rank in range(ranks)}), ended.stdout + ended.stderr


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("raises", "rank 2 of 3 .* ArithmeticError: my own mistake"),
        ("dies", "rank 2 of 3 .* process \\d+ died|signal 9|Killed|SIGKILL"),
    ],
)
def test_a_rank_that_is_gone_ends_the_others(how: str, words: str) -> None:
    """A rank whose memory others have mapped ends them within seconds, with a message that names it and the cause."""
    began = time.monotonic()
    ended = under_mpi(3, PROGRAMS, how, seconds=60, QSIM_EX_TEST_DEVICE="gpu")
    told = ended.stdout + ended.stderr
    assert ended.returncode != 0
    assert re.search(words, told), told
    assert time.monotonic() - began < 45
