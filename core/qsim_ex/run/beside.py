"""Work beside the caller's own: parts of planning, which native code does without the interpreter's lock.

What is found depends neither on how many threads there are nor on which is first: callers ask for results in an order
of their own, and what has not begun by then is done where it is asked for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextvars import copy_context
from typing import Any, Generic, Self, TypeVar

from qsim_ex.kernels.cpu.pool import executor
from qsim_ex.kernels.patience import PATIENCE
from qsim_ex.native.library import cancelled_by, check_cancelled

Made = TypeVar("Made")

_SLICE = 0.05
"""Seconds for which a caller waits before it looks for Ctrl-C and `cancel`."""


class Begun(Generic[Made]):
    """A piece of work, which is done once: by another thread that has begun it, or by who first asks for its result.

    Most pieces are asked for by the thread that made them, or by nobody, so two locks are all that each has.
    """

    _dropped: threading.Event | None = None  # of a piece that another thread may begin
    _error: BaseException | None = None
    _made: Made

    def __init__(self, work: Callable[[], Made]) -> None:
        self._work, self._begun, self._lasts = work, threading.Lock(), threading.Lock()
        self._lasts.acquire()  # until the work is done

    def result(self) -> Made:
        """Return what the work returns, and raise what it raises; done here if no thread has begun it."""
        self._do()
        while not self._lasts.acquire(timeout=_SLICE):
            check_cancelled()
        self._lasts.release()
        if self._error is not None:
            raise self._error
        return self._made

    def wait(self) -> None:
        """Wait until the work is done, if another thread has begun it; else let none begin it."""
        if self._begun.locked():
            self.result()
        self.drop()

    def share(self) -> None:
        """Let another thread begin the work, by `elsewhere`."""
        self._dropped = self._dropped or threading.Event()

    def drop(self) -> None:
        """End the work soon, if another thread has begun it, and let none begin it: nobody asks for its result."""
        if self._dropped is not None:
            self._dropped.set()

    def elsewhere(self) -> None:
        """Do the work in a thread that nobody waits for, unless somebody has begun it."""
        if self._dropped is not None and not self._dropped.is_set():
            with cancelled_by(self._dropped):
                self._do()

    def _do(self) -> None:
        if not self._begun.acquire(blocking=False):
            return
        try:
            self._made = self._work()
        except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
            self._error = error
        finally:
            self._lasts.release()


class SideThreads:
    """Begins pieces of work beside the caller's; at its end what is not done is dropped.

    threads: how many threads may work, the caller's included; with 1 all work is done where it is asked for.
    """

    def __init__(self, threads: int) -> None:
        self._several = threads > 1
        self._free = threads - 1
        self._begun: list[Begun[object]] = []

    def begin(self, work: Callable[[], Made], *, now: bool = True) -> Begun[Made]:
        """Return a piece of work that is done by another thread, or, if not `now`, when its result is asked for.

        One piece may ask for the result of another.
        """
        made = Begun(work)
        self._begun.append(made)  # type: ignore[arg-type]  # nobody asks for results through the list
        if now:
            self.start(made)
        return made

    def start(self, *pieces: Begun[Any]) -> None:
        """Let another thread do some pieces one after another, if one is free."""
        if self._free > 0:
            self._free -= 1
            for piece in pieces:
                piece.share()
            executor().submit(copy_context().run, _in_turns, pieces)

    def __enter__(self) -> Self:
        if self._several:
            PATIENCE.begin()
        return self

    def __exit__(self, *_: object) -> None:
        for one in self._begun:
            one.drop()
        if self._several:
            PATIENCE.end()


def _in_turns(pieces: Sequence[Begun[Made]]) -> None:
    for piece in pieces:
        piece.elsewhere()
