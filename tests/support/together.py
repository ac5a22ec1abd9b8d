"""Work of several ranks, for tests: of threads over a loopback, or under mpiexec of its processes, over MPI."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from qsim_ex.comm.launcher import LAUNCHED
from tools.loopback import loopback

PATIENCE = 60
"""Seconds after which a thread that should have ended is taken to hang; no test waits so long unless it fails."""

OVER = "loopback" if LAUNCHED is None else "MPI"
"""What connects the ranks."""


def together(size: int, work: Callable[[Any], Any]) -> list[Any]:
    """Return each rank's result, or the error that it raises; under mpiexec all processes call it."""
    return _in_threads(size, work) if LAUNCHED is None else _in_processes(size, work)


def _in_threads(size: int, work: Callable[[Any], Any]) -> list[Any]:
    found: list[Any] = [None] * size
    ends = loopback(size)

    def run(rank: int) -> None:
        found[rank] = _result(ends[rank], work)

    threads = [threading.Thread(target=run, args=(rank,), daemon=True) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive(), "a rank hangs"
    return found


def _in_processes(size: int, work: Callable[[Any], Any]) -> list[Any]:
    """Do the work on the first processes; the others learn what came of it."""
    from mpi4py import MPI

    from qsim_ex.comm.mpi import Mpi

    world = MPI.COMM_WORLD
    assert size <= world.size, f"expected at least {size} processes, got {world.size}; start more"
    part = world.Split(int(world.rank >= size), world.rank)
    found = _result(Mpi(part), work) if world.rank < size else None
    return list(world.allgather(found)[:size])


def _result(end: Any, work: Callable[[Any], Any]) -> Any:
    try:
        return work(end)
    except Exception as error:  # noqa: BLE001  (looked at by the test)
        end.abort(error)
        return error
    finally:
        end.close()
