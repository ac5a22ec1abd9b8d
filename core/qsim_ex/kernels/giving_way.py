"""First runs come before work in the background: what waits for nobody gives way while one is planned.

Text that Python writes for kernels and the planning of a first run share the interpreter's lock, and kernels that are
compiled share its cores. The garbage collector walks over all that the user's program holds, which has taken 50 to
90 ms, and finds nothing of a plan: it waits, too.
"""

from __future__ import annotations

import contextlib
import gc
import os
import threading

from qsim_ex.kernels import fork
from qsim_ex.kernels.background import process_ends

_MOST = 0.05
"""Seconds for which a piece of work waits at most, so that runs one after another do not stop it."""

_NICE = 10
"""What is added to the nice value of threads that compile."""

SPARED = 4
"""The cores that compiling leaves to a first run, which plans in up to three threads, and to the background."""


class FirstRuns:
    """Counts first runs that are being planned; while there is one, garbage is not collected."""

    def __init__(self) -> None:
        self._lock, self._planned, self._collects = fork.lock(), 0, False
        self._none: threading.Event | None = None  # made by who waits, without the interpreter's lock
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def __enter__(self) -> None:
        with self._lock:
            if not self._planned:
                self._collects = gc.isenabled()
                gc.disable()
            self._planned += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._planned = max(0, self._planned - 1)
            if self._planned:
                return
            none, self._none = self._none, None
            if none is not None:
                none.set()
            if self._collects:
                gc.enable()

    def _forget(self) -> None:
        """Have no run in a forked child, where the threads that plan are not."""
        if self._planned and self._collects:
            gc.enable()
        self._planned, self._none = 0, None

    def give_way(self, waits: bool = True) -> bool:
        """Wait until no first run is being planned, but not for long; called before each piece of work.

        waits: whether to wait at all. Returned is whether none is being planned now.
        """
        if not self._planned or not waits:
            return not self._planned
        with self._lock:
            if not self._planned:
                return True
            none = self._none = self._none or threading.Event()
        return none.wait(_MOST)


FIRST_RUNS = FirstRuns()
"""Those of this process."""


class GivesWay(threading.Event):
    """Cancels work in the background when the process ends; whoever looks whether it is set gives way before.

    But once for each first run: it may wait for a lock that the work holds.
    """

    _waits = True

    def is_set(self) -> bool:
        """Return whether the process ends, once no first run is being planned."""
        self._waits = FIRST_RUNS.give_way(self._waits)
        return process_ends()


def be_nice() -> None:
    """Let other threads have the cores first that the calling thread may use; where that is possible for a thread."""
    if hasattr(os, "setpriority"):
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
