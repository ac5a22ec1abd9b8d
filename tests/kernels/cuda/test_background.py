"""Work in the background is done in its order, and never outlives the interpreter."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from qsim_ex.kernels.cuda.background import Background

ENDS = """
import sys, time
import numpy as np
from qsim_ex.kernels.cuda.background import Background

done = []

def work(number):
    print("begins", number, flush=True)
    end = time.monotonic() + 1
    while time.monotonic() < end:
        np.sort(np.random.default_rng(1).random(100_000))  # gives the interpreter's lock away, in C++
    done.append(number)
    print("ends", number, flush=True)

background = Background()
for number in range(3):
    background.later(lambda number=number: work(number))
time.sleep(0.2)
"""


def test_work_is_done_in_its_order() -> None:
    """Each piece of work begins when the one before is done, also what is given later."""
    background, done, last = Background(), [], threading.Event()
    for number in range(50):
        background.later(lambda number=number: done.append(number))
    background.later(last.set)
    assert last.wait(20)
    assert done == list(range(50))
    again = threading.Event()
    background.later(again.set)
    assert again.wait(20)
    background._end()


def test_who_gives_work_does_not_wait_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the thread begins, the switch interval is short, so that who waits for it to begin goes on soon."""
    background, usual, found, start = Background(), sys.getswitchinterval(), [], threading.Thread.start

    def started(thread: threading.Thread) -> None:
        found.append(sys.getswitchinterval())
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", started)
    background.later(lambda: None)
    background._end()
    assert found[0] < usual == sys.getswitchinterval()


def test_the_usual_time_returns_when_all_work_is_done() -> None:
    """Of two that work at the same time, the one that ends first changes nothing for the other."""
    usual, go_on, first, second = sys.getswitchinterval(), threading.Event(), Background(), Background()
    go_first = threading.Event()
    first.later(lambda: go_first.wait(20))
    second.later(lambda: go_on.wait(20))
    go_first.set()
    first._end()
    assert sys.getswitchinterval() < usual
    go_on.set()
    second._end()
    assert sys.getswitchinterval() == usual


def test_a_process_that_ends_waits_for_the_work_under_way_alone() -> None:
    """The process ends without an error, when the piece under way is done; the others do not begin."""
    ended = subprocess.run([sys.executable, "-c", ENDS], check=False, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.split("\n")[:-1] == ["begins 0", "ends 0"]
