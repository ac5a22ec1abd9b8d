"""Work of several ranks that are threads over a loopback, for tests."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from qsim_ex.comm.loopback import Loopback, loopback

PATIENCE = 60
"""Seconds after which a thread that should have ended is taken to hang; no test waits so long unless it fails."""


def together(size: int, work: Callable[[Loopback], Any]) -> list[Any]:
    """Return each rank's result, or the error that it raises."""
    ends = loopback(size)
    found: list[Any] = [None] * size

    def run(end: Loopback) -> None:
        try:
            found[end.rank] = work(end)
        except Exception as error:  # noqa: BLE001  (looked at by the test)
            found[end.rank] = error
            end.abort(error)
        finally:
            end.close()

    threads = [threading.Thread(target=run, args=(end,), daemon=True) for end in ends]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive(), "a rank hangs"
    return found
