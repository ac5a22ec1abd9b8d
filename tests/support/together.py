"""Work of several ranks that are threads, over a loopback or over sockets, for tests."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from qsim_ex.comm.local import Local
from qsim_ex.comm.loopback import loopback

PATIENCE = 60
"""Seconds after which a thread that should have ended is taken to hang; no test waits so long unless it fails."""


def together(size: int, work: Callable[[Any], Any], over: str = "loopback") -> list[Any]:
    """Return each rank's result, or the error that it raises. over: a name of `CONNECTIONS`."""
    with tempfile.TemporaryDirectory() as folder:
        return _together(size, work, CONNECTIONS[over](size, Path(folder)))


def _over_loopback(size: int, _: Path) -> Callable[[int], Any]:
    ends = loopback(size)
    return lambda rank: ends[rank]


def _over_sockets(size: int, folder: Path) -> Callable[[int], Any]:
    return lambda rank: Local(rank, size, folder)


CONNECTIONS = {"loopback": _over_loopback, "sockets": _over_sockets}
"""How threads are connected: each gives the end of a rank, which the rank's thread asks for."""


def _together(size: int, work: Callable[[Any], Any], end_of: Callable[[int], Any]) -> list[Any]:
    found: list[Any] = [None] * size

    def run(rank: int) -> None:
        end = end_of(rank)
        try:
            found[rank] = work(end)
        except Exception as error:  # noqa: BLE001  (looked at by the test)
            found[rank] = error
            end.abort(error)
        finally:
            end.close()

    threads = [threading.Thread(target=run, args=(rank,), daemon=True) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive(), "a rank hangs"
    return found
