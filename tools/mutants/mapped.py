"""Runs a sample of the tests once, in several processes, to note which lines each of them reaches."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from tools.mutants import sampled
from tools.mutants.crew import shares
from tools.mutants.reach import ROOT, Reach

TESTED = ("circuit", "steps", "program", "planning", "placement", "kernels", "devices", "density", "deployment")
TESTED += ("execution", "observe", "comm", "state", "files", "frameworks", "native", "options", "thresholds", "run")
TESTED += ("contract", "qsim_ex_provider", "qsim_ex_cirq", ".")
"""Folders of tests that mutants are given to, and the files beside them."""

PARTS = 4
"""How many parts the files are cut into for each process, since some take longer than others."""

PYTEST = ("-q", "-p", "no:cacheprovider", "-p", "no:cov", "-p", "no:xdist", "-p", "tools.mutants.sampled")
PYTEST += (f"--hypothesis-profile={sampled.PROFILE}", "--continue-on-collection-errors")


def noted(folder: Path, processes: int) -> Reach:
    """Return which tests reach which lines; note it, by so many processes at once, if that has not been done."""
    parts = (folder / "reach").resolve()
    if not parts.exists():
        parts.mkdir()
        files = files_of_tests()
        count = min(len(files), PARTS * processes) if processes > 1 else 1
        free: SimpleQueue[list[int]] = SimpleQueue()
        for cores in shares(processes):
            free.put(cores)

        def note(k: int) -> None:
            cores = free.get()
            _note(files[k::count], parts / f"{k}.json", cores)
            free.put(cores)

        with ThreadPoolExecutor(processes) as pool:
            list(pool.map(note, range(count)))
    return Reach.read(sorted(parts.glob("*.json")))


def files_of_tests() -> list[Path]:
    """Return the files of tests, the largest first."""
    tests = ROOT / "tests"
    found = [file for name in TESTED for file in (tests / name).glob("test_*.py" if name == "." else "**/test_*.py")]
    return sorted(found, key=lambda file: (-file.stat().st_size, file))


def _note(files: Sequence[Path], into: Path, cores: Sequence[int]) -> None:
    """Run a sample of the tests of some files on some cores."""
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "1", sampled.REACH: str(into)}
    env[sampled.CORES] = ",".join(map(str, cores))
    command = [sys.executable, "-m", "pytest", *PYTEST, *(str(file.relative_to(ROOT)) for file in files)]
    subprocess.run(command, check=False, cwd=ROOT, env=env)
