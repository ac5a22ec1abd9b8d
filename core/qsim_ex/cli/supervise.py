"""Work in a thread, so that Ctrl-C is answered within a second during any work.

A kernel or a NumPy call can hold the main thread for longer than a user waits. Here the main thread only waits, so
a signal reaches it at once; it asks the work to stop and gives it a moment.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Generic, TypeVar

GRACE = 0.25
"""The seconds that interrupted work has to end, so that it frees its memory in good order."""

POLL = 0.1
"""The seconds of one wait for the result. A signal that arrives just before a wait begins is handled when it ends."""

T = TypeVar("T")


class Interrupted(Exception):
    """The user pressed Ctrl-C; `ended` is whether the work has stopped."""

    def __init__(self, ended: bool) -> None:
        super().__init__("interrupted")
        self.ended = ended


class Supervised(Generic[T]):
    """One piece of work in a thread of its own."""

    def __init__(self, work: Callable[[threading.Event], T]) -> None:
        self._work = work
        self._cancel = threading.Event()
        self._outcome: Future[T] = Future()
        # A daemon: interrupted work that does not stop must not keep the process from ending.
        self._thread = threading.Thread(target=self._run, name="qsim-ex work", daemon=True)

    def result(self) -> T:
        """Do the work and return what it returns or raise what it raises; raises `Interrupted` after Ctrl-C."""
        try:
            self._thread.start()
            while wait([self._outcome], POLL).not_done:
                pass
            return self._outcome.result()
        except KeyboardInterrupt:
            raise Interrupted(self._stop()) from None

    def _run(self) -> None:
        try:
            self._outcome.set_result(self._work(self._cancel))
        except BaseException as error:  # noqa: BLE001 - it is raised again in `result`
            self._outcome.set_exception(error)

    def _stop(self) -> bool:
        """Ask the work to stop; a second Ctrl-C ends the wait for it."""
        self._cancel.set()
        try:
            self._thread.join(GRACE)
        except KeyboardInterrupt:
            return False
        return not self._thread.is_alive()
