"""Bars appear for long work, where a user would see them, and end with the work."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest

from qsim_ex import BatchedStateVector, CircuitBuilder, Options, Simulator, StateVector
from qsim_ex.display import bar
from qsim_ex.errors import OptionError
from qsim_ex.execution import progress as progress_module
from qsim_ex.execution.progress import Ticker

CIRCUIT = CircuitBuilder(4, 4).gate("h", [0]).gate("cx", [0, 1]).measure([0], [0]).build()
MIXED = CircuitBuilder(4).gate("h", [0]).gate("cx", [0, 1]).build()


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bar.Bar]]:
    """Bars appear at once, and all of them are listed; none is left at the end."""
    shown: list[bar.Bar] = []
    begin = bar.Bar.__enter__
    monkeypatch.setattr(bar, "DELAY", 0.0)
    monkeypatch.setattr(bar, "ASKED_DELAY", 0.0)
    monkeypatch.setattr(bar, "_EVERY", 0.01)
    monkeypatch.setattr(bar, "_LINES_EVERY", 0.0)
    monkeypatch.setattr(bar.Bar.__init__, "__defaults__", (0.0,))
    monkeypatch.setattr(bar.Bar, "__enter__", lambda self: shown.append(self) or begin(self))  # type: ignore[func-returns-value]
    yield shown
    assert not [one for one in threading.enumerate() if one.name == "qsim-ex-bar"]


def runs(progress: Any) -> None:
    """Every kind of run, with this option."""
    simulator = Simulator(device="cpu", progress=progress)
    simulator.run(CIRCUIT, shots=3)
    simulator.state(MIXED).close()
    with StateVector(4, device="cpu", progress=progress) as state:
        state.apply(MIXED)
    with BatchedStateVector(2, 4, device="cpu", progress=progress) as states:
        states.apply(MIXED)


def test_a_bar_that_was_asked_for(at_once: list[bar.Bar]) -> None:
    """``progress=True`` shows a bar for every kind of run, and all steps are done at its end."""
    runs(True)
    assert len(at_once) == 4
    assert all(one.done == one.total > 0 for one in at_once)
    assert [one.what for one in at_once] == ["steps", "steps", "steps", "states"]


def test_short_runs_show_nothing(at_once: list[bar.Bar], monkeypatch: pytest.MonkeyPatch) -> None:
    """Small work makes no bar and asks nobody whether there is a terminal."""
    monkeypatch.setattr(bar, "interactive", lambda: pytest.fail("asked"))
    runs(None)
    assert at_once == []


@pytest.mark.parametrize(("progress", "seen", "bars"), [(None, True, 4), (None, False, 0), (False, True, 0)])
def test_long_runs_show_a_bar_where_it_is_seen(
    at_once: list[bar.Bar], monkeypatch: pytest.MonkeyPatch, progress: Any, seen: bool, bars: int
) -> None:
    """Large work shows a bar by itself in a terminal or a notebook, unless ``progress=False``."""
    for module in (progress_module, sys.modules["qsim_ex.simulator"]):
        monkeypatch.setattr(module, "LONG_WORK", 1)
        monkeypatch.setattr(module, "interactive", lambda: seen, raising=False)
    monkeypatch.setattr(sys.modules["qsim_ex.simulator"], "_BAR_WIRES", 0)
    monkeypatch.setattr(bar, "interactive", lambda: seen)
    runs(progress)
    assert len(at_once) == bars


def test_planning_of_many_gates_shows_a_bar(at_once: list[bar.Bar], monkeypatch: pytest.MonkeyPatch) -> None:
    """A circuit of many gates says that it is being planned, by its number of gates, and then runs with a bar."""
    monkeypatch.setattr(progress_module, "MANY_GATES", 2)
    monkeypatch.setattr(sys.modules["qsim_ex.run.pipeline"], "MANY_GATES", 2)
    simulator = Simulator(device="cpu", progress=True)
    simulator.run(CIRCUIT, shots=3)
    simulator.state(MIXED).close()
    assert [one.what for one in at_once] == ["planning 3 gates", "steps", "planning 2 gates", "steps"]
    assert bar.words(at_once[0], 61) == "qsim-ex: planning 3 gates, 1:01 min"


def test_other_values_are_refused() -> None:
    """A progress that is neither a truth value nor a function is refused in words that help."""
    with pytest.raises(OptionError, match=r"expected True, False, None, or a function .* got 1; pass progress=True"):
        Options(progress=1)  # type: ignore[arg-type]


def test_a_run_that_fails_ends_its_bar(at_once: list[bar.Bar]) -> None:
    """The bar is gone when the error reaches the caller, and so it is after Ctrl-C."""

    def fail(error: type[BaseException]) -> None:
        with Ticker(None, True) as ticker:
            ticker.expect(1, [4], lambda: 0)
            ticker()
            raise error

    for error in (RuntimeError, KeyboardInterrupt):
        with pytest.raises(error):
            fail(error)
    assert [(one.done, one.total) for one in at_once] == [(0, 4), (0, 4)]


def test_lines_in_a_file(at_once: list[bar.Bar], capsys: pytest.CaptureFixture[str]) -> None:  # noqa: ARG001
    """Where stderr is a file, a bar that was asked for is lines on stderr, the last of which says that all is done."""
    with Ticker(None, True) as ticker:
        ticker.expect(3, [5], lambda: 0)
        for _ in range(3):
            ticker.advance(5)
            time.sleep(0.05)
        ticker.finish()
    out, err = capsys.readouterr()
    assert out == ""
    assert "qsim-ex: 2 of 3 states (67%), 0 s, about 0 s left\n" in err
    assert err.endswith("qsim-ex: 3 of 3 states (100%), 0 s\n")


def test_a_job_shows_its_circuits(at_once: list[bar.Bar]) -> None:
    """Futures are counted as they end, however they end, and the bar ends with the last."""
    futures: list[Future[Any]] = [Future() for _ in range(3)]
    bar.followed(futures, [1, 5, 2], True, "circuits")
    (shown,) = at_once
    futures[1].set_result(None)
    assert (shown.done, shown.total, shown.what) == (5, 8, "circuits")
    futures[0].set_exception(ValueError())
    futures[2].cancel()
    assert shown.done == 8


def test_things_are_counted(at_once: list[bar.Bar]) -> None:
    """A bar for a loop counts its turns; one thing alone has no bar, and a function of the user's gets none."""
    with bar.counted(True, "PUBs", 2) as ended:
        ended()
        assert (at_once[0].done, at_once[0].total) == (1, 2)
    for progress, total in ((True, 1), (print, 5), (False, 5)):
        with bar.counted(progress, "PUBs", total) as ended:
            ended()
    assert len(at_once) == 1


def test_a_notebook_draws_below_its_cell(at_once: list[bar.Bar], monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001
    """A notebook shows HTML that is replaced as the work goes on, and is empty at the end."""
    drawn: list[str] = []
    page = SimpleNamespace(HTML=str, display=lambda one, **_: drawn.append(one) or SimpleNamespace(update=drawn.append))
    monkeypatch.setattr(bar, "in_notebook", lambda: True)
    monkeypatch.setattr(bar, "import_module", lambda _: page)
    with Ticker(None, True) as ticker:
        ticker.expect(1, [4], lambda: 0)
        ticker()
        ticker()
        time.sleep(0.05)
    assert (drawn[0], drawn[-1]) == ("", "")
    assert "<progress value='1' max='4'></progress> qsim-ex: 1 of 4 steps (25%), 0 s" in drawn[-2]


def test_this_process_is_no_notebook() -> None:
    """A process without a kernel is none, even if its packages are imported."""
    assert not bar.in_notebook()


@pytest.mark.parametrize(("seconds", "told"), [(5.4, "5 s"), (125, "2:05 min"), (3660, "1:01 h")])
def test_durations(seconds: float, told: str) -> None:
    """A time has two units at most."""
    assert bar.duration(seconds) == told


TERMINAL = """
import sys, time
from qsim_ex.display import bar
from qsim_ex.execution.progress import Ticker
with Ticker(None, True) as ticker:
    ticker.expect(1, [4], lambda: 0)
    ticker(); ticker(); time.sleep(1.2)
    print("mine")
"""


def test_a_terminal_shows_a_line_and_erases_it() -> None:
    """The bar is drawn on the terminal of stderr; what the program prints goes to its own stdout."""
    leader, follower = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-c", TERMINAL],
        stdout=subprocess.PIPE,
        stderr=follower,
        check=True,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(follower)
    drawn = os.read(leader, 1 << 20).decode()
    os.close(leader)
    assert done.stdout == b"mine\n"
    assert "qsim-ex: 1 of 4 steps (25%)" in drawn
    assert drawn.endswith("\x1b[2K\x1b[?25h\r")  # the line is erased, the cursor is back
