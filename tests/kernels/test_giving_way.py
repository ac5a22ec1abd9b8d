"""Work in the background gives way to first runs that are planned, and what compiles has a lower priority."""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from qsim_ex.kernels import giving_way
from qsim_ex.kernels.cuda.compile import compilation
from qsim_ex.kernels.giving_way import FirstRuns, GivesWay, be_nice


@pytest.mark.parametrize("looks", [False, True])
def test_work_waits_for_the_run_that_is_planned(looks: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A piece of work begins, or looks whether the process ends, when the last of several first runs has been planned.

    Where none is, that is at once.
    """
    runs, begun = FirstRuns(), threading.Event()
    monkeypatch.setattr(giving_way, "_MOST", 60.0)
    monkeypatch.setattr(giving_way, "FIRST_RUNS", runs)
    waits = GivesWay().is_set if looks else runs.give_way
    waits()
    with runs:
        with runs:
            thread = threading.Thread(target=lambda: (waits(), begun.set()))
            thread.start()
        assert not begun.wait(0.02)
    assert begun.wait(60)
    thread.join()


def test_runs_behind_one_another_do_not_stop_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long a run is planned, a piece of work waits for no more than its share of time."""
    monkeypatch.setattr(giving_way, "_MOST", 0.01)
    began = time.monotonic()
    with (runs := FirstRuns()):
        runs.give_way()
    assert 0.01 <= time.monotonic() - began < 10


def test_work_waits_once_for_a_run_that_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work that holds what a first run needs is not kept by each look, and gives way to the next first run again."""
    runs, waited, wait = FirstRuns(), [0], FirstRuns.give_way
    monkeypatch.setattr(giving_way, "_MOST", 0.001)
    monkeypatch.setattr(giving_way, "FIRST_RUNS", runs)

    def counted(these: FirstRuns, waits: bool = True) -> bool:
        waited[0] += waits
        return wait(these, waits)

    monkeypatch.setattr(FirstRuns, "give_way", counted)
    work, found = GivesWay(), list[int]()
    for _ in range(2):
        with runs:
            assert not any(work.is_set() for _ in range(5))
        found.append(waited[0])
        work.is_set()  # no run is planned
    assert found == [1, 2]


def test_garbage_is_collected_when_the_last_run_is_planned() -> None:
    """The collector is off while runs are planned, on behind the last one, and stays off where the user had it off."""
    runs, found = FirstRuns(), []
    with runs:
        with runs:
            found.append(gc.isenabled())
        found.append(gc.isenabled())
    found.append(gc.isenabled())
    gc.disable()
    try:
        with runs:
            pass
        found.append(gc.isenabled())
    finally:
        gc.enable()
    assert found == [False, False, True, False]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_collects_garbage() -> None:
    """A process that is forked while a thread plans has no run that is being planned, and collects garbage."""
    with (runs := FirstRuns()):
        child = os.fork()
        if not child:
            began = time.monotonic()
            runs.give_way()
            os._exit(0 if gc.isenabled() and time.monotonic() - began < giving_way._MOST else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


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
