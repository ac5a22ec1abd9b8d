"""Jobs of the primitives: they run in the background, or in the thread that waits for their result."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from qiskit.primitives import PrimitiveJob
from qiskit.providers import JobError, JobStatus

from qsim_ex_provider.background import background
from qsim_ex_provider.one_thread import OneThread


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
            background().submit(self._future)
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
