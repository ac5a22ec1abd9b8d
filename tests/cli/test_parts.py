"""The small parts of the command line work: sizes, times, pictures, progress, and work that can be interrupted."""

from __future__ import annotations

import io
import signal
import threading
import time

import pytest
from rich.console import Console

from qsim_ex.cli import progress
from qsim_ex.cli.explain import ranges
from qsim_ex.cli.histogram import bar, binned, skyline
from qsim_ex.cli.sizes import seconds, share
from qsim_ex.cli.supervise import Interrupted, Supervised
from qsim_ex.display.amounts import parse_size


@pytest.mark.parametrize(
    ("text", "size"),
    [("8 GiB", 8 << 30), ("8GB", 8_000_000_000), ("500M", 500_000_000), ("1.5 KiB", 1536), ("4096", 4096), ("7 b", 7)],
)
def test_sizes(text, size):
    """Binary and decimal units, with and without a blank, mean what they say."""
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "GiB", "-1", "8 GiBs", "1e9", "0", "0.1", "8 i", "∞"])
def test_bad_sizes(text):
    """A malformed size, or one below a byte, is refused together with what was given."""
    with pytest.raises(ValueError, match=r"is not a size|less than one byte"):
        parse_size(text)


def test_times():
    """Times have three digits and the unit that fits them."""
    shown = [seconds(span) for span in (0.000412, 0.0038, 0.0452, 0.999, 1, 12.44, 125)]
    assert shown == ["412 µs", "3.80 ms", "45.2 ms", "999 ms", "1.00 s", "12.4 s", "2 min 05 s"]
    assert share(1, 3) == "33.3 %"


def test_bars():
    """A bar is as long as its share of the longest, and what is not zero is visible."""
    assert bar(10, 10, 8).plain == "█" * 8
    assert bar(5, 10, 8).plain == "█" * 4
    assert bar(1, 10_000, 8).plain == "▏"
    assert bar(0, 10, 8).plain == ""
    assert bar(0, 0, 8).plain == ""


def test_skyline():
    """Columns reach as high as their value, in eighths of a line, the highest line first."""
    assert [line.plain for line in skyline([16, 12, 4, 0], 16, 2)] == ["█▄  ", "██▄ "]


def test_bins():
    """No count is lost when outcomes are put together, and neighbours fall together."""
    assert binned({0: 1, 7: 2, 8: 4, 31: 8}, 32, 4) == [3, 4, 0, 8]


def test_ranges():
    """Bits that follow one another are written as a range, in whatever order they are given."""
    assert ranges((11, 0, 1, 2, 4, 12)) == "0–2 4 11–12"
    assert ranges(()) == ""


def terminal() -> Console:
    """A console that believes to be a terminal."""
    return Console(file=io.StringIO(), force_terminal=True, width=80)


def shown(watch: progress.Watch, console: Console) -> str:
    """Return what a watch prints during work of a tenth of a second."""
    with watch:
        watch.stage("sweeping the floor")
        watch.step(1, 4)
        time.sleep(0.1)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_progress_appears_when_it_takes_long(monkeypatch):
    """Work that takes longer than the delay shows its name and how far it is."""
    monkeypatch.setattr(progress, "DELAY", 0.02)
    console = terminal()
    text = shown(progress.Watch(console, enabled=True), console)
    assert "sweeping the floor" in text
    assert "25%" in text


def test_progress_stays_away(monkeypatch):
    """Short work, a user who wants no bar, and a stderr that is no terminal print nothing."""
    console = terminal()
    assert shown(progress.Watch(console, enabled=True), console) == ""
    monkeypatch.setattr(progress, "DELAY", 0.02)
    assert shown(progress.Watch(console, enabled=False), console) == ""
    console = Console(file=io.StringIO())
    assert shown(progress.Watch(console, enabled=True), console) == ""


def test_work_returns_and_raises():
    """The result and the error of supervised work are those of a direct call."""
    assert Supervised(lambda cancel: cancel.is_set()).result() is False
    with pytest.raises(KeyError, match="lost"):
        Supervised(lambda _: {}["lost"]).result()


def test_work_that_listens_ends_in_order():
    """Ctrl-C asks the work to stop, and says that it did."""
    with pytest.raises(Interrupted) as caught:
        Supervised(interrupting(lambda cancel: cancel.wait(10))).result()
    assert caught.value.ended


def test_work_that_does_not_listen_is_left():
    """Ctrl-C is answered within a second even if the work goes on."""
    began = time.perf_counter()
    release = threading.Event()
    with pytest.raises(Interrupted) as caught:
        Supervised(interrupting(lambda _: release.wait(60))).result()
    release.set()
    assert not caught.value.ended
    assert time.perf_counter() - began < 10


def interrupting(work):
    """Work that begins with Ctrl-C being pressed."""

    def begun(cancel):
        time.sleep(0.05)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        return work(cancel)

    return begun
