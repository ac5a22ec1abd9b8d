"""One thread at a time, and none after the end: the guard of an object that owns memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType

from qsim_ex.errors import StateVectorBusy, StateVectorClosed


class Guard:
    """``with guard:`` around every use; the same thread may enter again.

    Raises `StateVectorClosed` after `close`, and `StateVectorBusy` while another thread is inside: waiting for it
    would hide that two threads change one state in an order that nobody has chosen.

    pending: what is left to do before the next use (a sub state vector that was staged by hand goes back); it is done
    when somebody enters, but not by `aside`.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self.closed = False
        self.pending: Callable[[], None] | None = None

    def __enter__(self) -> None:
        self._enter()
        if self.pending is not None:
            finish, self.pending = self.pending, None
            try:
                finish()
            except BaseException:
                self._lock.release()
                raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Enter and leave what is pending as it is."""
        self._enter()
        try:
            yield
        finally:
            self._lock.release()

    def _enter(self) -> None:
        if not self._lock.acquire(blocking=False):
            raise StateVectorBusy("another thread is using this state vector; give each thread its own.")
        if self.closed:
            self._lock.release()
            raise StateVectorClosed("this state vector was closed; its memory is given back.")

    def close(self) -> bool:
        """End all use; returns False if it had ended before. Raises `StateVectorBusy`."""
        if self.closed:
            return False
        with self.aside():
            self.pending = None
            self.closed = True
        return True
