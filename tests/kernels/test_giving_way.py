"""Work in the background gives way to first runs that are planned, and what compiles has a lower priority."""

from __future__ import annotations

import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from qsim_ex.kernels import giving_way
from qsim_ex.kernels.cuda.compile import compilation
from qsim_ex.kernels.giving_way import FirstRuns, be_nice


def test_work_waits_for_the_run_that_is_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    """A piece of work begins when the last of several first runs has been planned, and at once where none is."""
    monkeypatch.setattr(giving_way, "_MOST", 60.0)
    runs, begun = FirstRuns(), threading.Event()
    runs.give_way()
    with runs:
        with runs:
            waits = threading.Thread(target=lambda: (runs.give_way(), begun.set()))
            waits.start()
        assert not begun.wait(0.02)
    assert begun.wait(60)
    waits.join()


def test_runs_behind_one_another_do_not_stop_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long a run is planned, a piece of work waits for no more than its share of time."""
    monkeypatch.setattr(giving_way, "_MOST", 0.01)
    began = time.monotonic()
    with (runs := FirstRuns()):
        runs.give_way()
    assert 0.01 <= time.monotonic() - began < 10


@pytest.mark.skipif(sys.platform != "linux", reason="nice values of threads are Linux's")
def test_a_thread_that_compiles_is_nice_alone() -> None:
    """The priority of the thread that compiles is lower, and no other thread's."""
    here = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    with ThreadPoolExecutor(1, initializer=be_nice) as pool:
        there = pool.submit(lambda: os.getpriority(os.PRIO_PROCESS, threading.get_native_id())).result()
    assert there == min(19, max(here, 10))
    assert os.getpriority(os.PRIO_PROCESS, threading.get_native_id()) == here


def test_compiling_leaves_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 16 cores compiling in the background takes 12, of few cores one, and its threads are nice."""
    pools = []
    monkeypatch.setattr(compilation, "key", lambda code, _arch: code)
    monkeypatch.setattr(compilation, "is_stored", lambda _name: False)
    monkeypatch.setattr(compilation.shipped, "is_there", lambda _code, _arch: False)
    monkeypatch.setattr(compilation, "_begun", {})

    def pool(threads: int, _name: str, initializer: object) -> SimpleNamespace:
        pools.append((threads, initializer))
        return SimpleNamespace(submit=lambda *_: None, shutdown=lambda **_: None)

    monkeypatch.setattr(compilation, "ThreadPoolExecutor", pool)
    for cores in (16, 2):
        monkeypatch.setattr(compilation, "cores", lambda cores=cores: cores)
        compilation.begin([f"{cores} {number}" for number in range(20)], "90")
    assert pools == [(12, be_nice), (1, be_nice)]
