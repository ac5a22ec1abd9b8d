"""Work that no run waits for: kernels that are written, compiled and loaded."""

from __future__ import annotations

import atexit
import sys
import threading
from collections import deque
from collections.abc import Callable

from qsim_ex.kernels import fork

PATIENCE = 5e-5
"""Seconds for which the thread keeps the interpreter's lock while others wait: a run gives it away at each launch."""


class _Patience:
    """The interpreter's switch interval, which is short as long as somebody works in the background."""

    def __init__(self) -> None:
        self._lock = fork.lock()
        self._working, self._usual = 0, 0.0

    def begin(self) -> None:
        with self._lock:
            if not self._working:
                self._usual = sys.getswitchinterval()
                sys.setswitchinterval(min(self._usual, PATIENCE))
            self._working += 1

    def end(self) -> None:
        with self._lock:
            self._working -= 1
            if not self._working:
                sys.setswitchinterval(self._usual)


_patience = _Patience()


class Background:
    """Does one piece of work after another, in a thread that is there while there is work.

    A process that ends waits for the piece under way: a thread that outlives the interpreter is stopped wherever it
    asks for its lock, which in the C++ of NumPy or CuPy ends the process with an error.
    """

    def __init__(self) -> None:
        self._lock = fork.lock()
        self._waiting: deque[Callable[[], object]] = deque()
        self._thread: threading.Thread | None = None

    def later(self, work: Callable[[], object]) -> None:
        """Do some work when all that was given before is done."""
        with self._lock:
            self._waiting.append(work)
            if len(self._waiting) > 1:
                return
            if self._thread is None:
                atexit.register(self._end)
            _patience.begin()  # before there is a thread: else this one waits for it as long as threads usually do
            self._thread = threading.Thread(target=self._do_waiting, name="qsim-ex-later", daemon=True)
            self._thread.start()

    def _do_waiting(self) -> None:
        try:
            while True:
                if not process_ends():
                    self._waiting[0]()
                with self._lock:
                    self._waiting.popleft()
                    if not self._waiting:
                        return
        finally:
            _patience.end()

    def _end(self) -> None:
        if self._thread is not None:
            self._thread.join()


def process_ends() -> bool:
    """Return whether the interpreter is ending, so that work that nobody will use need not begin."""
    return not threading.main_thread().is_alive()
