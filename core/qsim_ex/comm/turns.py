"""The turns of this process's threads in its connection to others, one at a time; jobs have theirs before later calls.

All processes submit the same jobs and make the same calls in one order. So who waits for the jobs that were submitted
before it makes its calls in one order everywhere.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from typing import Any

from qsim_ex.kernels.fork import reentrant_lock

_turn = reentrant_lock()
_jobs: set[Future[Any]] = set()
"""The jobs that have not ended."""


def submitted_in_turn(submit: Callable[..., Future[object]], work: Callable[[], Any]) -> Future[Any]:
    """Submit a job to the one thread that runs all jobs; it has its turn from its beginning to its end.

    submit: the method of an executor.
    """

    def run() -> Any:
        with _turn:
            return work()

    job = submit(run)
    _jobs.add(job)
    job.add_done_callback(_jobs.discard)  # of a job that was cancelled too
    return job


def begin_turn() -> None:
    """Wait until all jobs have ended that were submitted, and no other thread has its turn.

    A thread that has its turn already does not wait: a job uses states itself.
    """
    if _jobs and not _turn._is_owned():  # as the standard library asks
        wait(_jobs.copy())
    _turn.acquire()


def end_turn() -> None:
    """End what `begin_turn` began."""
    _turn.release()


@contextmanager
def turn() -> Iterator[None]:
    """Have a turn while the context lasts; the same thread may enter again."""
    begin_turn()
    try:
        yield
    finally:
        end_turn()


if hasattr(os, "register_at_fork"):  # a forked child has not the thread that runs them
    os.register_at_fork(after_in_child=_jobs.clear)
