"""The executor of a backend's jobs: one thread, and in its place whoever waits for work that is known to be short."""

from __future__ import annotations

import concurrent.futures
import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any
from weakref import WeakSet

from qsim_ex import Options, uninterrupted
from qsim_ex.frameworks import may_be_divided, submitted_in_turn
from qsim_ex_provider.background import background

Future = concurrent.futures.Future[Any]


@dataclass(eq=False, slots=True)
class _Piece:
    """Work that was submitted. quick: whether it is known to be short."""

    thread: OneThread
    future: Future
    work: Callable[[], object]
    quick: bool

    def waits(self) -> bool:
        """Return whether nobody has begun or cancelled it."""
        return not (self.future.running() or self.future.done())

    def begin(self) -> None:
        """Let the thread come to it."""
        self.thread.come_to_it()

    def do(self) -> None:
        """Do it, unless it was cancelled."""
        if self.future.set_running_or_notify_cancel():
            try:
                self.future.set_result(self.work())
            except BaseException as error:  # noqa: BLE001  (`result` raises it)
                self.future.set_exception(error)


class OneThread(concurrent.futures.Executor):
    """An executor of one thread; a copy, here or in another process, has a thread of its own.

    What was submitted is done in its order, one piece at a time. The thread begins quick work only a moment later:
    who asks for its result at once does it himself (`take_over`), since waking a thread, and being woken by it, takes a
    third of a short job. may_be_helped: whether others may do so.
    """

    may_be_helped = True

    def __init__(self) -> None:
        self.after_fork()
        _threads.add(self)

    def after_fork(self) -> None:
        """Begin anew: the parent's threads are not in a child."""
        self._pool: concurrent.futures.Executor | None = None
        self._waiting: deque[_Piece] = deque()
        self._turn = threading.Lock()

    def __reduce__(self) -> tuple[type[OneThread], tuple[()]]:
        return OneThread, ()

    def submit(self, fn: Callable[..., Any], /, *args: object, **kwargs: object) -> Future:
        """Schedule a call; it begins when those before it have ended."""
        future = self._put(partial(fn, *args, **kwargs) if args or kwargs else fn, quick=False).future
        self.come_to_it()
        return future

    def submit_quick(self, work: Callable[[], object]) -> Future:
        """Schedule work that is known to be short, which the thread comes to a moment later."""
        piece = self._put(work, quick=True)
        background().submit(piece)
        return piece.future

    def _put(self, work: Callable[[], object], *, quick: bool) -> _Piece:
        piece = _Piece(self, concurrent.futures.Future(), work, quick)
        self._waiting.append(piece)
        return piece

    def come_to_it(self) -> None:
        """Let the thread do one piece more."""
        with uninterrupted():
            if self._pool is None:
                self._pool = concurrent.futures.ThreadPoolExecutor(max_workers=1, thread_name_prefix="qsim-ex")
            self._pool.submit(self._next)

    def _next(self) -> None:
        with self._turn:
            if self._waiting:
                self._waiting.popleft().do()

    def take_over(self, futures: Sequence[Future], interrupted: Callable[[], object]) -> None:
        """Do in this thread what waits, up to the quick work of some futures, if all is quick and none is under way.

        Else the thread comes to it now. interrupted: called at Ctrl-C, which is raised when the work has ended.
        """
        with uninterrupted(interrupted):
            if self._turn.acquire(blocking=False):
                try:
                    while self._waiting and self._waiting[0].quick and not all(future.done() for future in futures):
                        self._waiting.popleft().do()
                finally:
                    self._turn.release()
        for future in futures:
            if not future.done():
                self.come_to_it()


def in_turn(options: Options) -> OneThread | None:
    """Return the thread of all jobs of this process whose states may be divided over processes; None for others.

    All processes have the same jobs, and in this thread they run in the same order.
    """
    return _one() if may_be_divided(options) else None


class _JobsInTurn(OneThread):
    """The thread of jobs whose states may be divided over processes; what these are asked for later waits for them."""

    may_be_helped = False

    def submit(self, fn: Callable[..., Any], /, *args: object, **kwargs: object) -> Future:
        """Schedule a call; it begins when those before it have ended."""
        return submitted_in_turn(super().submit, partial(fn, *args, **kwargs))


@lru_cache(maxsize=1)
def _one() -> OneThread:
    return _JobsInTurn()


_threads: WeakSet[OneThread] = WeakSet()


def _after_fork() -> None:
    for thread in list(_threads):
        thread.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
