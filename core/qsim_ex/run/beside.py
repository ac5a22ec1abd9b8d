"""Work beside the caller's own: parts of planning, which native code does without the interpreter's lock.

What is found depends neither on how many threads there are nor on which is first: callers ask for results in an order
of their own, and what has not begun by then is done where it is asked for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextvars import copy_context
from typing import Generic, Self, TypeVar

from qsim_ex.kernels.cpu.pool import executor
from qsim_ex.kernels.patience import PATIENCE
from qsim_ex.planning.compiled import cancelled_by, check_cancelled

Made = TypeVar("Made")

_SLICE = 0.05
"""Seconds for which a caller waits before it looks for Ctrl-C and `cancel`."""


class Begun(Generic[Made]):
    """A piece of work, which has begun in another thread if one was free."""

    def __init__(self, work: Callable[[], Made], begins: bool) -> None:
        self._work, self._cancel, self._made = work, threading.Event(), list[Made]()
        self._future: Future[Made] | None = None
        if begins:
            self._future = executor().submit(copy_context().run, self._do)

    def result(self) -> Made:
        """Return what the work returns, and raise what it raises; done here, once, if no thread has begun it."""
        if not self._made:
            self._made.append(self._asked())
        return self._made[0]

    def drop(self) -> None:
        """End the work soon, if it has begun: nobody asks for its result."""
        self._cancel.set()
        if self._future is not None:
            self._future.cancel()

    def _asked(self) -> Made:
        if self._future is None or self._future.cancel():
            return self._work()
        while not wait([self._future], _SLICE).done:
            check_cancelled()
        return self._future.result()

    def _do(self) -> Made:
        with cancelled_by(self._cancel):
            return self._work()


class SideThreads:
    """Begins pieces of work beside the caller's; at its end what is not done is dropped.

    threads: how many threads may work, the caller's included; with 1 all work is done where it is asked for.
    """

    def __init__(self, threads: int) -> None:
        self._free = threads - 1
        self._begun: list[Begun[object]] = []

    def begin(self, work: Callable[[], Made], *, now: bool = True) -> Begun[Made]:
        """Return a piece of work that is done by another thread, or, if not `now`, when its result is asked for.

        One piece may ask for the result of another.
        """
        made = Begun(work, now and self._free > 0)
        self._free -= now
        self._begun.append(made)  # type: ignore[arg-type]  # nobody asks for results through the list
        return made

    def __enter__(self) -> Self:
        PATIENCE.begin()
        return self

    def __exit__(self, *_: object) -> None:
        for one in self._begun:
            one.drop()
        PATIENCE.end()
