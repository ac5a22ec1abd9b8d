"""Hindered runs go on right, and faults that are planted into them are found."""

from __future__ import annotations

import io
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qsim_ex.files import written
from tools.faults import disks
from tools.faults.buffers import Refused, refuse, refusing
from tools.faults.interrupts import Interrupted
from tools.faults.runs import RUNS, Found, check_the_definition


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    """Leave Ctrl-C as it was."""
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


def test_the_runs_have_the_state_of_the_definition() -> None:
    """What interrupted runs are held against is the state that the definition says."""
    check_the_definition()


# --- Ctrl-C ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["branches", "qiskit", "checkpoints"])
def test_ctrl_c_at_some_calls(kind: str) -> None:
    """Ctrl-C at the same calls of a first run every time is raised, leaves nothing, and the next run is right."""
    subject = Interrupted(RUNS[kind])
    for part in (0.3, 0.8):
        found = (subject.at_call(int(part * subject.calls) + later) for later in range(20))
        how, _, faults = next(one for one in found if one[0] != "in a finalizer")  # where Python drops it
        assert (how, faults) == ("interrupted", []), part


def empty(_: Path) -> Found:
    """A run of some calls of Python that does nothing."""
    return np.array([sum(map(lambda k: k, range(100)))])  # noqa: C417  (these are the calls)


def swallows(folder: Path) -> Found:
    """A run that goes on after Ctrl-C."""
    try:
        return empty(folder)
    except KeyboardInterrupt:
        return empty(folder)


def leaves_a_file(folder: Path) -> Found:
    """A run that leaves a file when it is interrupted."""
    try:
        return empty(folder)
    except KeyboardInterrupt:
        (folder / "left").touch()
        raise


def turns_it_into_another(folder: Path) -> Found:
    """A run that makes another error of Ctrl-C."""
    try:
        return empty(folder)
    except KeyboardInterrupt:
        raise ValueError from None


@pytest.mark.parametrize(
    ("run", "fault"),
    [
        (swallows, "SIGINT was lost"),
        (leaves_a_file, "it left"),
        (turns_it_into_another, "expected KeyboardInterrupt, got ValueError"),
    ],
)
def test_a_run_that_does_not_answer_ctrl_c_is_found(run: Callable[[Path], Found], fault: str) -> None:
    """A run that goes on, leaves a file, or raises something else after Ctrl-C has a fault."""
    assert any(fault in found for found in Interrupted(run).at_call(50)[2])


def test_a_wrong_next_run_and_a_thread_that_stays_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an interrupted run breaks for the next one is a fault, and so is a thread that it leaves."""
    monkeypatch.setattr("tools.faults.interrupts.ENDING", 0.05)
    end, broken = threading.Event(), [0]

    def run(folder: Path) -> Found:
        try:
            return empty(folder) + broken
        except KeyboardInterrupt:
            broken[0] = 1
            threading.Thread(target=end.wait, name="stays").start()
            raise

    faults = Interrupted(run).at_call(50)[2]
    end.set()
    assert faults == ["threads are left: ['stays']", "the next run is wrong"]


# --- buffers of NumPy ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["peers over host", "trajectories"])
def test_some_buffers_of_numpy_are_refused(kind: str) -> None:
    """Whichever buffer of ours NumPy is refused, the run raises `MemoryError`, and the next one is right."""
    how, faults = refuse(RUNS[kind], 5, 0)
    assert (dict(how), faults) == ({"MemoryError": 5}, [])


def test_a_run_that_hides_refused_memory_is_found() -> None:
    """A run that goes on with other numbers where a buffer is refused has a fault."""
    plain = RUNS["batch"]

    def run(folder: Path) -> Found:
        try:
            return plain(folder)
        except MemoryError:
            return np.zeros(3)

    how, faults = Refused(run, refusing()).after(4)
    assert how == "done without it"
    assert len(faults) == 1
    assert faults[0].endswith("the run went on and is wrong")


# --- disks -----------------------------------------------------------------------------------------------------------


def test_some_hindered_checkpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint that lacks its last bytes is refused, and a disk that fills leaves the earlier one."""
    monkeypatch.setattr(disks, "TAIL", 3)
    monkeypatch.setattr(disks, "HEAD", 2)
    assert disks.truncated("c") == ({"refused": 5}, [])
    assert disks.truncated("c.found") == ({"refused": 5}, [])
    rooms = ((f"{room} writes", disks.Disk(room=room).instead) for room in (0, 5))
    assert disks.filled(rooms) == ({"went on": 2}, [])


def test_a_writer_that_is_killed(tmp_path: Path) -> None:
    """A process that is killed when its third write is done leaves a run that goes on."""
    assert disks.child(tmp_path, 3)
    assert disks.go_on(tmp_path) == ("went on", [])


def test_a_writer_in_place_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that fills while a checkpoint is overwritten in place takes the earlier one away."""

    def begin(path: Path) -> tuple[Path, Any]:
        path.touch()
        return path, io.open(path, "wb")  # noqa: UP020

    monkeypatch.setattr(written, "_begun", begin)
    faults = disks.filled(iter([("1 write", disks.Disk(room=1).instead)]))[1]
    assert faults == ["1 write: the earlier checkpoint is gone"]
