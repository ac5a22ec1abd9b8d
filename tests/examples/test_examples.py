"""The examples run with small sizes and check their own answers; tools/house finds what their docstrings lack."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.paths import ROOT
from support.under_mpi import needs_mpi, under_mpi

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(path: Path) -> None:
    """It ends well with small sizes and prints what it found; it asserts its answers by itself."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "core"), str(ROOT)])}
    command = [sys.executable, "-W", "error", str(path), "--small"]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=False)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout


@needs_mpi
@pytest.mark.slow
def test_four_ranks_share_the_state() -> None:
    """Under mpirun the state is divided over four processes, which all find the number, and rank 0 alone prints."""
    ended = under_mpi(4, "examples/four_ranks.py", "--small", "--divide")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("4 process(es)") == 1


@needs_mpi
@pytest.mark.slow
def test_many_circuits_on_the_workers_of_mpi() -> None:
    """Under mpi4py.futures the workers count what one process counts."""
    ended = under_mpi(3, "-m", "mpi4py.futures", "examples/many_circuits.py", "--small", "--on", "mpi")
    assert ended.returncode == 0, ended.stderr
    assert "8 circuits on mpi" in ended.stdout
