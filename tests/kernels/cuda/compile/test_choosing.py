"""No run waits for a kernel: kernels are made in the background, and taken when they are there."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from support.cuda.emulated_runtime import EmulatedRuntime
from support.cuda.random_sweeps import random_sweep

from qsim_ex.kernels.cuda.compile import choosing
from qsim_ex.kernels.cuda.compile.policy import RETURNS
from qsim_ex.kernels.cuda.sweeps import Sweeps
from qsim_ex.precision import SINGLE

BITS = 6


def prepared_often(runtime, times):
    """What is prepared for one structure in each of some runs."""
    sweeps, (sweep, _) = Sweeps(runtime), random_sweep(1, BITS, BITS, 2, 3)
    return sweeps, sweep, [sweeps.prepare((sweep,), BITS, SINGLE, "auto") for _ in range(times)]


def test_runs_are_interpreted_until_the_kernel_is_there():
    """While a kernel is being made, runs go on with what was prepared; the next run after that has the kernel."""
    runtime = EmulatedRuntime()
    runtime.waiting = []
    sweeps, sweep, found = prepared_often(runtime, RETURNS + 5)
    assert [prepared.compiled for prepared in found] == [0] * (RETURNS + 5)
    assert all(prepared is found[0] for prepared in found)
    assert found[0].launch(sweep) is found[0].launch(sweep)
    assert [text.name for text in runtime.compiled] == ["interpret"]
    assert len(runtime.waiting) == 1
    runtime.waiting.pop()()
    taken = sweeps.prepare((sweep,), BITS, SINGLE, "auto")
    assert (taken.compiled, taken.settled) == (1, True)
    assert sweeps.prepare((sweep,), BITS, SINGLE, "auto") is taken


def test_a_kernel_that_cannot_be_made_stays_interpreted(caplog, monkeypatch):
    """A failing compiler is told of in the log; runs go on, and nothing is tried again."""
    runtime = EmulatedRuntime()
    runtime.waiting = []
    sweeps, sweep, _ = prepared_often(runtime, RETURNS + 1)
    monkeypatch.setattr(runtime, "kernels", lambda _: 1 / 0)
    runtime.waiting.pop()()
    assert "their sweeps are interpreted" in caplog.text
    assert sweeps.prepare((sweep,), BITS, SINGLE, "auto").compiled == 0
    assert runtime.waiting == []


def test_a_plan_takes_over_what_another_one_asked_for():
    """A structure whose kernel is there has it at once in another plan, whatever its size."""
    runtime = EmulatedRuntime()
    sweeps, sweep, found = prepared_often(runtime, RETURNS + 1)
    assert found[-1].compiled == 1
    assert sweeps.prepare((sweep,), BITS + 1, SINGLE, "auto").compiled == 1
    assert np.all([prepared.compiled == 0 for prepared in found[:RETURNS]])


def test_making_kernels_gives_way_to_first_runs(monkeypatch):
    """The background gives way before each text that it writes, and before each kernel that it loads."""
    asked = []
    monkeypatch.setattr(choosing, "FIRST_RUNS", SimpleNamespace(give_way=lambda: asked.append("gives way")))
    runtime = EmulatedRuntime()
    runtime.waiting = []
    prepared_often(runtime, RETURNS + 1)
    assert not asked
    runtime.waiting.pop()()
    assert asked == ["gives way"] * 2
