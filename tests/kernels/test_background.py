"""Work in the background is done in its order, and never outlives the interpreter."""

from __future__ import annotations

import _thread
import os
import subprocess
import sys
import threading
from typing import Any

import pytest

from qsim_ex.kernels.background import Background

ENDS = """
import sys, time
import numpy as np
from qsim_ex.kernels.background import Background

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

FORKS = """
import os, sys, threading, time, warnings
from qsim_ex.kernels.background import Background

warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
background, begun = Background(), threading.Event()
background.later(lambda: (begun.set(), time.sleep(1)))
begun.wait(20)
child = os.fork()
if child:
    print("child", os.waitpid(child, 0)[1])
else:
    sys.exit(0)  # which calls what waits for the thread
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
    """The switch interval is short before the thread begins, and work begins when its giver has gone on."""
    background, usual, found, start = Background(), sys.getswitchinterval(), [], _thread.start_new_thread
    gone_on = threading.Event()

    def started(*arguments: Any) -> int:
        found.append(sys.getswitchinterval())
        return start(*arguments)

    monkeypatch.setattr(_thread, "start_new_thread", started)
    background.later(lambda: found.append(gone_on.wait(20)))
    gone_on.set()
    background._end()
    assert found[0] < usual == sys.getswitchinterval()
    assert found[1]


def test_without_a_thread_the_usual_time_returns(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """If no thread can be started, the log says so, the switch interval is as before, and later work is tried again."""

    def failing(*_: Any) -> int:
        raise RuntimeError("can't start new thread")

    background, usual, done = Background(), sys.getswitchinterval(), []
    with monkeypatch.context() as patched:
        patched.setattr(_thread, "start_new_thread", failing)
        background.later(lambda: done.append("lost"))
    assert sys.getswitchinterval() == usual
    assert "no thread could be started" in caplog.text
    background.later(lambda: done.append("later"))
    background._end()
    assert done == ["later"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_ends_though_its_parent_works() -> None:
    """A child that is forked while its parent's thread works does not wait for that thread, which it lacks."""
    ended = subprocess.run([sys.executable, "-c", FORKS], check=False, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout) == (0, "child 0\n"), ended.stderr


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
