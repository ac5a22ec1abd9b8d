"""The guard of an object that owns memory: one thread at a time may use it, and none after it is closed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType

from qsim_ex.comm.turns import begin_turn, end_turn
from qsim_ex.errors import StateVectorBusy, StateVectorClosed


class Guard:
    """A lock for ``with guard:`` around every use; the same thread may enter again.

    Raises `StateVectorClosed` after `close`, and `StateVectorBusy` while another thread is inside: waiting for it
    would hide that two threads change one state in an arbitrary order.

    pending: a call that is made before the next use (it copies back a sub state vector that was staged by hand); made
    on entry, but not by `aside`.
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
                self._leave()
                raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Enter without making the pending call."""
        self._enter()
        try:
            yield
        finally:
            self._leave()

    def _enter(self) -> None:
        if not self._lock.acquire(blocking=False):
            raise StateVectorBusy("another thread is using this state vector; use one state vector for each thread.")
        if self.closed:
            self._lock.release()
            raise StateVectorClosed("this state vector is closed and its memory was freed; make a new one.")

    def _leave(self) -> None:
        self._lock.release()

    def close(self) -> bool:
        """End all use; return False if it had ended before. Raises `StateVectorBusy`."""
        if self.closed:
            return False
        self._enter()
        self.pending, self.closed = None, True
        self._leave()
        return True


class GuardOfRanks(Guard):
    """The guard of a state that several processes share: each use is a turn in the connection to them."""

    def _enter(self) -> None:
        super()._enter()
        try:
            begin_turn()
        except BaseException:
            super()._leave()
            raise

    def _leave(self) -> None:
        end_turn()
        super()._leave()
