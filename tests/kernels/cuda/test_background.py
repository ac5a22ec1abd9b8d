"""Work in the background is done in its order, and never outlives the interpreter."""

from __future__ import annotations

import subprocess
import sys
import threading

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


def test_a_process_that_ends_waits_for_the_work_under_way_alone() -> None:
    """The process ends without an error, when the piece under way is done; the others do not begin."""
    ended = subprocess.run([sys.executable, "-c", ENDS], check=False, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.split("\n")[:-1] == ["begins 0", "ends 0"]
