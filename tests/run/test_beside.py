"""Tests of work beside the caller's own: results with any number of threads, and an end to what nobody wants."""

from __future__ import annotations

import sys
import threading
import time

import pytest

from qsim_ex.errors import Cancelled
from qsim_ex.native.library import cancelled_by, check_cancelled
from qsim_ex.run.beside import SideThreads

PATIENCE = 60


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_results_are_those_of_the_work(threads: int) -> None:
    """Pieces return what their work returns, whoever does it, and one may ask for the result of another."""
    usual = sys.getswitchinterval()
    with SideThreads(threads) as beside:
        one = beside.begin(lambda: 1)
        two = beside.begin(lambda: one.result() + 1)
        late = beside.begin(lambda: two.result() + 1, now=False)
        assert (late.result(), two.result(), one.result()) == (3, 2, 1)
    assert sys.getswitchinterval() == usual


@pytest.mark.parametrize("threads", [1, 4])
def test_an_error_is_raised_where_the_result_is_asked_for(threads: int) -> None:
    """An error of a piece reaches the caller that asks for it, and no other."""

    def fails() -> int:
        raise MemoryError("refused")

    with SideThreads(threads) as beside:
        wrong, right = beside.begin(fails), beside.begin(lambda: 1)
        assert right.result() == 1
        with pytest.raises(MemoryError, match="refused"):
            wrong.result()


@pytest.mark.parametrize("threads", [1, 4])
def test_work_is_done_once(threads: int) -> None:
    """A result that is asked for again is that of before."""
    done = []
    with SideThreads(threads) as beside:
        work = beside.begin(lambda: done.append(threads))
        for _ in range(3):
            work.result()
    assert done == [threads]


def test_without_threads_nothing_begins_that_nobody_asks_for() -> None:
    """With one thread, and where a piece is not wanted now, work is done when its result is asked for."""
    done = []
    with SideThreads(1) as beside:
        beside.begin(lambda: done.append("with one thread"))
    with SideThreads(8) as beside:
        beside.begin(lambda: done.append("later"), now=False)
    assert not done


def endless(begun: threading.Event, ended: threading.Event) -> None:
    """Work until it is cancelled."""
    try:
        begun.set()
        while True:
            check_cancelled()
    finally:
        ended.set()


def test_what_is_not_asked_for_ends() -> None:
    """At the end, also by an error of the caller's, work that has begun is cancelled as planning is."""
    for error in (None, KeyboardInterrupt):
        begun, ended = threading.Event(), threading.Event()
        try:
            with SideThreads(2) as beside:
                beside.begin(lambda begun=begun, ended=ended: endless(begun, ended))  # type: ignore[misc]
                assert begun.wait(PATIENCE)
                if error is not None:
                    raise error
        except KeyboardInterrupt:
            pass
        assert ended.wait(PATIENCE)


def test_a_caller_that_is_cancelled_does_not_wait() -> None:
    """Who waits for a result is cancelled by the event of its own run, and so is the work."""
    begun, ended, cancel = threading.Event(), threading.Event(), threading.Event()
    with cancelled_by(cancel), SideThreads(2) as beside:
        work = beside.begin(lambda: endless(begun, ended))
        assert begun.wait(PATIENCE)
        cancel.set()
        with pytest.raises(Cancelled):
            work.result()
    assert ended.wait(PATIENCE)


def test_who_asks_first_does_what_no_thread_has_begun() -> None:
    """Of two threads that ask for one result at the same time one does the work, and both have the result."""
    asked, done, found = threading.Barrier(2), [], []

    def work() -> int:
        done.append(threading.get_ident())
        time.sleep(0.05)
        return 7

    def ask() -> None:
        asked.wait(PATIENCE)
        found.append(piece.result())

    with SideThreads(2) as beside:
        piece = beside.begin(work, now=False)
        other = threading.Thread(target=ask)
        other.start()
        ask()
        other.join(PATIENCE)
    assert len(done) == 1
    assert found == [7, 7]


def test_pieces_in_one_thread_are_done_in_turns() -> None:
    """Pieces that are started together are done by one other thread, in their order, and no other takes its place."""
    done = list[tuple[int, int]]()
    with SideThreads(2) as beside:
        pieces = [
            beside.begin(lambda number=number: done.append((number, threading.get_ident())), now=False)  # type: ignore[misc]
            for number in range(3)
        ]
        beside.start(*pieces)
        beside.start(beside.begin(lambda: done.append((3, threading.get_ident())), now=False))
        end = time.monotonic() + PATIENCE
        while len(done) < 3:
            assert time.monotonic() < end
            time.sleep(1e-3)
    assert [number for number, _ in done] == [0, 1, 2]
    assert len({thread for _, thread in done} - {threading.get_ident()}) == 1


def test_what_was_dropped_is_done_for_who_asks() -> None:
    """A piece that was dropped before a thread began it is begun by none, and done where it is asked for."""
    done = []
    with SideThreads(2) as beside:
        piece = beside.begin(lambda: done.append(threading.get_ident()), now=False)
        piece.drop()
        piece.elsewhere()
        assert not done
        piece.result()
    assert done == [threading.get_ident()]
