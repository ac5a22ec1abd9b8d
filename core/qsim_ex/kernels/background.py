"""Work that no run waits for: kernels that are written, compiled and loaded, and forms of circuits that come again."""

from __future__ import annotations

import _thread
import atexit
import threading
from collections import deque
from collections.abc import Callable
from time import sleep

from qsim_ex.display.log import LOGGER
from qsim_ex.kernels import fork
from qsim_ex.kernels.patience import PATIENCE

PAUSE = 1e-3
"""Seconds before the thread begins, in which a small run ends that has given it work."""


class Background:
    """Does one piece of work after another, in a thread that is there while there is work.

    A process that ends waits for the piece under way: a thread that outlives the interpreter is stopped wherever it
    asks for its lock, which in the C++ of NumPy or CuPy ends the process with an error.
    """

    def __init__(self) -> None:
        self._lock = fork.lock()
        self._waiting: deque[Callable[[], object]] = deque()
        self._thread = fork.lock()  # held as long as there is one
        self._was_used = False

    def later(self, work: Callable[[], object]) -> None:
        """Do some work when all that was given before is done; where no thread can be started, the log says so."""
        with self._lock:
            self._waiting.append(work)
            if len(self._waiting) > 1:
                return
            if not self._was_used:
                atexit.register(self._end)
                self._was_used = True
            self._thread.acquire()
            PATIENCE.begin()  # before there is a thread, which else may keep the interpreter's lock for longer
            try:
                # `Thread.start` waits until the thread has begun, and that takes longer than a run of 20 wires.
                _thread.start_new_thread(self._do_waiting, ())
            except RuntimeError as error:
                self._waiting.clear()
                self._leave()
                LOGGER.warning("no thread could be started, so nothing is made in the background: %s", error)

    def _do_waiting(self) -> None:
        try:
            sleep(PAUSE)
            while True:
                if not process_ends():
                    self._waiting[0]()
                with self._lock:
                    self._waiting.popleft()
                    if not self._waiting:
                        return
        finally:
            self._leave()

    def _leave(self) -> None:
        PATIENCE.end()
        self._thread.release()

    def _end(self) -> None:
        with self._thread:
            pass


def process_ends() -> bool:
    """Return whether the interpreter is ending, so that work that nobody will use need not begin."""
    return not threading.main_thread().is_alive()
