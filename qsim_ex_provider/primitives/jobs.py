"""Jobs of the primitives: they run in the background, or in the thread that waits for their result."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from typing import Any

from qiskit.primitives import PrimitiveJob
from qiskit.providers import JobError, JobStatus

_MOST = 1024  # jobs at a time; a job has a thread of its own unless one is idle


class Job(PrimitiveJob):
    """A job of a primitive.

    A thread of this process begins its work as soon as one is free. A caller who asks for the result before that does
    the work itself: loops with a short job in each turn need not wait for another thread.
    """

    _future: Any

    def _submit(self) -> None:
        if self._future is not None:
            raise JobError("the job was submitted before; run its PUBs again for another.")
        self._future = _Work(lambda: self._function(*self._args, **self._kwargs))
        _threads().submit(self._future.begin)

    def status(self) -> JobStatus:
        """Return where the job is; one that no thread has begun is queued."""
        waits = self._result is None and self._future is not None and self._future.waits()
        return JobStatus.QUEUED if waits else super().status()

    def result(self) -> Any:
        """Return the results of all PUBs, once they are there; raises what stopped the job."""
        if self._result is None and self._future is not None:
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


@lru_cache(maxsize=1)
def _threads() -> ThreadPoolExecutor:
    """Return the threads of this process that work on jobs; they begin when they are needed."""
    return ThreadPoolExecutor(_MOST, thread_name_prefix="qsim-ex-job")


if hasattr(os, "register_at_fork"):  # a forked child has none of its parent's threads
    os.register_at_fork(after_in_child=_threads.cache_clear)
