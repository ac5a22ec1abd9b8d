"""The GPUs of a host, shared out among the workers of an executor: each worker sees one of them."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from qsim_ex.comm import launcher
from qsim_ex.errors import DeviceError

_VISIBLE = "CUDA_VISIBLE_DEVICES"

_LOCAL_RANKS = ("OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID")
"""The variables in which launchers say which of the processes of its host this one is."""


def share_gpus(gpus: Sequence[int] | None = None) -> int | None:
    """Let this process see one GPU of its host alone, in turn with the other workers, and return the GPU's number.

    Give it to an executor as ``initializer``: ``ProcessPoolExecutor(4, mp_context=get_context("spawn"),
    initializer=share_gpus)``; `mpi4py.futures.MPIPoolExecutor` takes it too. gpus: the numbers to share; all that are
    visible if None. Without GPUs it does nothing and returns None. Raises `DeviceError` once the process has used a
    GPU, since it cannot change what it sees then.
    """
    names = _visible() if gpus is None else [str(number) for number in gpus]
    if not names:
        return None
    if "cupy" in sys.modules:
        raise DeviceError(
            "share_gpus: expected a process that has not used a GPU yet, got one that has; pass it as initializer of "
            "the executor, whose workers start with it."
        )
    number = _worker() % len(names)
    os.environ[_VISIBLE] = names[number]
    return number


def _visible() -> list[str]:
    """Return the names of the GPUs that this process may use; CUDA is not asked, since it would keep its answer."""
    if (given := os.environ.get(_VISIBLE)) is not None:
        return [name for name in given.split(",") if name]
    known = Path("/proc/driver/nvidia/gpus")
    return [str(number) for number, _ in enumerate(known.iterdir())] if known.is_dir() else []


def _worker() -> int:
    """Return which worker of its host this process is, from 0 up."""
    if "mpi4py.futures" in sys.modules and launcher.LAUNCHED is not None:
        local = next((os.environ[name] for name in _LOCAL_RANKS if name in os.environ), launcher.LAUNCHED.rank)
        return int(local)
    identity: tuple[int, ...] = getattr(multiprocessing.current_process(), "_identity", ())  # numbered from 1
    return identity[-1] - 1 if identity else 0
