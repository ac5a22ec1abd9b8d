"""What a launcher of processes, such as mpirun or srun, says in the environment of each process."""

from __future__ import annotations

import os
import sys
from typing import NamedTuple

_VARIABLES = (
    ("mpirun of Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("mpiexec (PMI)", "PMI_RANK", "PMI_SIZE"),
    ("mpiexec of Intel MPI or MVAPICH", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"),
    ("srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
    ("a launcher with PMIx", "PMIX_RANK", "PMIX_SIZE"),
)
"""The names of launchers, with the variables that hold the rank and the number of ranks; the first that is set counts.

``SLURM_STEP_NUM_TASKS`` is set by srun alone; a batch script that calls Python itself has one process.
"""


class Launched(NamedTuple):
    """The launcher that started this process, the rank of the process, and the number of ranks."""

    by: str
    rank: int
    size: int


def launched() -> Launched | None:
    """Return what a launcher of several processes says of this one; None without such a launcher."""
    for by, rank, size in _VARIABLES:
        found = os.environ.get(rank, ""), os.environ.get(size, "")
        if found[0].isdigit() and found[1].isdigit() and int(found[1]) > 1:
            return Launched(by, int(found[0]), int(found[1]))
    return None


LAUNCHED = launched()
"""What the launcher said when this process began."""


def is_worker() -> bool:
    """Return whether this process works for an executor: a child of multiprocessing, or under mpi4py.futures."""
    import multiprocessing

    return multiprocessing.parent_process() is not None or "mpi4py.futures" in sys.modules
