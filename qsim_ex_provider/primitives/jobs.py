"""Jobs of the primitives: they run in the background, or in the thread that waits for their result."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from typing import Any

from qiskit.primitives import PrimitiveJob
from qiskit.providers import JobError, JobStatus

from qsim_ex import uninterrupted
from qsim_ex_provider.job import OneThread

_MOST = 1024  # jobs at a time; a job has a thread of its own unless one is idle
_PAUSE = 0.005  # seconds between two looks at jobs that nobody has begun
_LOOKS = 4  # without such a job, after which nobody looks any more


class Job(PrimitiveJob):
    """A job of a primitive.

    A thread of this process begins its work a moment later. A caller who asks for the result before that does the work
    itself: loops with a short job in each turn need not wait for another thread. Jobs whose states may be divided over
    processes run one after another instead (`job.in_turn`).
    """

    _future: Any
    _result: Any = None  # Qiskit 2.0 does not keep it
    _waits_its_turn = False
    _of: object = None

    def __repr__(self) -> str:
        return f"PrimitiveJob({self.job_id()!r}, {self._of!r}, status={self.status().value!r})"

    def _submit(self, turn: OneThread | None = None, of: object = None) -> None:
        """Let the work begin; of: the primitive whose job it is."""
        self._of = of
        if self._future is not None:
            raise JobError("the job was submitted before; run its PUBs again for another.")
        self._future = _Work(lambda: self._function(*self._args, **self._kwargs))
        if turn is None:
            _background().submit(self._future)
        else:
            self._waits_its_turn = True
            turn.submit(self._future.begin)

    def status(self) -> JobStatus:
        """Return where the job is; one that no thread has begun is queued."""
        waits = self._result is None and self._future is not None and self._future.waits()
        return JobStatus.QUEUED if waits else super().status()

    def result(self) -> Any:
        """Return the results of all PUBs, once they are there; raises what stopped the job."""
        if self._result is None and self._future is not None and not self._waits_its_turn:
            self._future.begin()
        return super().result()


class _Work(Future[Any]):
    """What a job does; whoever begins it first does it."""

    def __init__(self, work: Callable[[], Any]) -> None:
        super().__init__()
        self._work = work
        self._begun = threading.Lock()

    def waits(self) -> bool:
        """Return whether nobody has begun the work or cancelled it."""
        return not (self._begun.locked() or self.cancelled())

    def begin(self) -> None:
        """Do the work, unless somebody has begun it or it was cancelled."""
        if not self._begun.acquire(blocking=False) or not self.set_running_or_notify_cancel():
            return
        try:
            self.set_result(self._work())
        except BaseException as error:  # noqa: BLE001  (`result` raises it)
            self.set_exception(error)


class _Background:
    """Begins the work of jobs in threads of this process, a moment after they were submitted.

    To wake a thread takes as long as a quarter of a short job. So while jobs come, one thread that sleeps anyway looks
    every `_PAUSE` seconds which of them nobody has begun.
    """

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_MOST, thread_name_prefix="qsim-ex-job")
        self._lock = threading.Lock()
        self._submitted: list[_Work] = []  # since the last look
        self._watched = False

    def submit(self, work: _Work) -> None:
        """Begin the work after one or two pauses, unless somebody else does before."""
        with uninterrupted():
            with self._lock:
                self._submitted.append(work)
                if self._watched:
                    return
                self._watched = True
            self._threads.submit(self._watch)

    def _watch(self) -> None:
        """Begin work that has waited for a whole pause, until no more comes."""
        waiting: list[_Work] = []
        looks = 0
        while True:
            time.sleep(_PAUSE)
            for work in waiting:
                if work.waits():
                    self._begin(work)
            with self._lock:
                waiting, self._submitted = self._submitted, []
                looks = 0 if waiting else looks + 1
                if looks == _LOOKS:
                    self._watched = False
                    return

    def _begin(self, work: _Work) -> None:
        try:
            self._threads.submit(work.begin)
        except RuntimeError:  # the interpreter is ending: it waits for this thread, and gives no others
            work.begin()


@lru_cache(maxsize=1)
def _background() -> _Background:
    """Return what begins the jobs of this process."""
    return _Background()


if hasattr(os, "register_at_fork"):  # a forked child has none of its parent's threads
    os.register_at_fork(after_in_child=_background.cache_clear)
