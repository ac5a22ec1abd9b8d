"""The turns of threads in a connection."""

from __future__ import annotations

import os
import threading
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from qsim_ex.comm.turns import submitted_in_turn, turn
from qsim_ex.errors import StateVectorBusy, StateVectorClosed
from qsim_ex.state.guard import GuardOfRanks


def test_a_turn_comes_after_the_jobs_before_it() -> None:
    """A thread waits for jobs that were submitted, also for one that fails, and not for one that was cancelled."""
    ended, may_end = [], threading.Event()

    def work() -> None:
        may_end.wait()
        with turn():  # a job uses the connection: it does not wait for itself
            ended.append(0)

    with ThreadPoolExecutor(1) as one:
        first = submitted_in_turn(one.submit, work)
        failing = submitted_in_turn(one.submit, lambda: 1 // 0)
        cancelled = submitted_in_turn(one.submit, lambda: ended.append(1))
        assert cancelled.cancel()
        threading.Timer(0.05, may_end.set).start()
        with turn():
            assert (ended, first.done(), failing.done()) == ([0], True, True)
            with turn():
                pass
    assert isinstance(failing.exception(), ZeroDivisionError)


def test_a_job_begins_after_the_turn_of_another_thread() -> None:
    """A job that is submitted within a turn, or while a state is used, begins when that has ended."""
    guard = GuardOfRanks()
    with ThreadPoolExecutor(1) as one:
        for place in (turn(), guard, guard.aside()):
            with place:
                job = submitted_in_turn(one.submit, lambda: None)
                with turn(), guard:  # it is the same turn, which waits for nothing
                    assert not job.done()
            job.result(10)


def test_a_state_of_several_processes_is_guarded_as_others_are() -> None:
    """A use of another thread is an error, not a turn; after one, and on a closed state, others have their turn."""
    guard, errors = GuardOfRanks(), []

    def use() -> None:
        try:
            with guard:
                pass
        except (StateVectorBusy, StateVectorClosed) as error:
            errors.append(type(error))

    for expected in ([StateVectorBusy], [StateVectorBusy, StateVectorClosed]):
        with turn() if guard.closed else guard:
            thread = threading.Thread(target=use)
            thread.start()
            thread.join(10)
        assert errors == expected
        assert guard.close() is (len(errors) == 1)
    with turn():
        pass


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_forked_child_waits_for_no_job_of_its_parent() -> None:
    """The thread that would end it is not in the child."""
    never: Future[None] = Future()
    submitted_in_turn(lambda _: never, lambda: None)
    if (child := os.fork()) == 0:
        with turn():
            os._exit(0)
    _, status = os.waitpid(child, 0)
    never.cancel()
    assert status == 0
