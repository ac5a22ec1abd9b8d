"""A file appears under its name when it is whole, whoever else writes to that name and whatever links there are."""

from __future__ import annotations

import errno
import gc
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from types import FrameType

import pytest

from qsim_ex.errors import SavedStateError
from qsim_ex.files.written import written

SIZE = 1 << 20


def listed(folder: Path) -> list[str]:
    """The names in a folder."""
    return sorted(path.name for path in folder.iterdir())


def test_two_processes_leave_one_whole_file(tmp_path: Path) -> None:
    """A reader of a path to which two processes write all the time finds one whole file of one of them."""
    path = tmp_path / "a"
    script = f"""
import sys
from pathlib import Path
from qsim_ex.files.written import written
for number in range(40):
    with written(Path({str(path)!r})) as file:
        for _ in range(64):
            file.write(sys.argv[1].encode() * {SIZE // 64})
"""
    writers = [subprocess.Popen([sys.executable, "-c", script, letter]) for letter in "ab"]
    seen = set()
    while any(writer.poll() is None for writer in writers):
        if path.exists():
            data = path.read_bytes()
            assert len(data) == SIZE
            assert data in (b"a" * SIZE, b"b" * SIZE)
            seen.add(data[:1])
    assert [writer.returncode for writer in writers] == [0, 0]
    assert seen == {b"a", b"b"}
    assert listed(tmp_path) == ["a"]


def test_two_threads_leave_one_whole_file(tmp_path: Path) -> None:
    """Two files written to one path at the same time are both whole, and the last to end stays."""
    path, begun, end = tmp_path / "a", threading.Event(), threading.Event()

    def slow() -> None:
        with written(path) as file:
            file.write(b"slow")
            begun.set()
            assert end.wait(60)

    thread = threading.Thread(target=slow)
    thread.start()
    assert begun.wait(60)
    with written(path) as file:
        file.write(b"fast")
    assert path.read_bytes() == b"fast"
    end.set()
    thread.join()
    assert path.read_bytes() == b"slow"
    assert listed(tmp_path) == ["a"]


def test_what_a_killed_writer_leaves_is_removed(tmp_path: Path) -> None:
    """The next writer removes what a killed one left, and no other file with a similar name."""
    path = tmp_path / "a*"
    script = f"""
import os, signal
from pathlib import Path
from qsim_ex.files.written import written
with written(Path({str(path)!r})) as file:
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", script], check=False)
    assert done.returncode == -signal.SIGKILL
    (left,) = listed(tmp_path)
    assert left.startswith("a*.")
    others = ["a*.backup.part", "ab.0123456789abcdef.part", "a*.part"]
    for name in others:
        (tmp_path / name).write_text("of somebody else")
    with written(path) as file:
        file.write(b"whole")
    assert listed(tmp_path) == sorted(["a*", *others])
    assert path.read_bytes() == b"whole"


def test_links_are_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link that has the name of the file, or of its temporary one, is not written through."""
    victim, path = tmp_path / "victim", tmp_path / "a"
    victim.write_text("before")
    path.symlink_to(victim)
    tokens = iter(["0" * 16, "1" * 16])
    monkeypatch.setattr("secrets.token_hex", lambda _size: next(tokens))
    with written(path) as file:
        file.write(b"new")
    assert (victim.read_text(), path.read_bytes(), path.is_symlink()) == ("before", b"new", False)
    (tmp_path / f"a.{'1' * 16}.part").symlink_to(victim)
    with pytest.raises(SavedStateError, match="File exists"), written(path) as file:
        file.write(b"never")
    assert (victim.read_text(), path.read_bytes()) == ("before", b"new")


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
def test_who_may_read_is_for_the_umask_to_say(tmp_path: Path) -> None:
    """A file gets the permissions that the user's umask gives to any new file."""
    before = os.umask(0o027)
    try:
        with written(tmp_path / "a") as file:
            file.write(b"x")
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640


def test_the_longest_name_is_no_trouble(tmp_path: Path) -> None:
    """A file whose name is as long as names may be can be written."""
    path = tmp_path / ("x" * 255)
    with written(path) as file:
        file.write(b"x")
    assert listed(tmp_path) == ["x" * 255]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, OSError])
def test_nothing_is_left_where_the_writer_fails(tmp_path: Path, error: type[BaseException]) -> None:
    """An error while a file is written leaves the earlier file and no other."""
    path = tmp_path / "a"
    path.write_text("before")

    def fail() -> None:
        with written(path) as file:
            file.write(b"half")
            raise error

    with pytest.raises(SavedStateError if error is OSError else error):
        fail()
    assert path.read_text() == "before"
    assert listed(tmp_path) == ["a"]


@pytest.mark.parametrize(
    ("number", "todo"), [(errno.ENOSPC, "Free space, or use another disk"), (errno.EACCES, "Give another path")]
)
def test_the_error_says_what_to_do(tmp_path: Path, number: int, todo: str) -> None:
    """An error of the system says what was refused, and what to do about it."""
    path = tmp_path / "a"
    with pytest.raises(SavedStateError, match=f"a cannot be written: {os.strerror(number)}. {todo}."), written(path):
        raise OSError(number, os.strerror(number))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # files that Ctrl-C has closed
def test_ctrl_c_at_any_moment_leaves_no_temporary_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever Ctrl-C comes while a file is written, the earlier file or the new one is there, and no other."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    path, left, events = tmp_path / "a", 0, 0
    path.write_text("before")

    def interrupt(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal left
        left -= event in ("call", "c_return")  # where Python looks for signals
        if left == 0:
            sys.setprofile(None)
            signal.raise_signal(signal.SIGINT)

    gc.disable()  # what others have left is not finalized where Ctrl-C comes
    try:
        while left <= 0:
            events += 1
            left = events
            with suppress(KeyboardInterrupt):
                sys.setprofile(interrupt)
                with written(path) as file:
                    file.write(b"new")
                sys.setprofile(None)
            assert listed(tmp_path) == ["a"], events
            assert path.read_text() in ("before", "new")
    finally:
        gc.enable()
    assert events > 50
    gc.collect()  # here, where nobody minds that a file was closed by it


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("kind", ["a pipe", "a folder"])
def test_what_is_no_file_is_not_replaced(tmp_path: Path, kind: str, linked: bool) -> None:
    """A pipe, a folder or a device of that name, or behind a link of that name, is refused and stays what it is."""
    path = there = tmp_path / "a"
    os.mkfifo(there) if kind == "a pipe" else there.mkdir()
    if linked:
        path = tmp_path / "link"
        path.symlink_to(there)
    before = there.stat().st_mode, listed(tmp_path)
    refused = pytest.raises(
        SavedStateError, match="cannot be written: expected a file, or none, got a folder or a device"
    )
    with refused, written(path):
        pytest.fail("nothing is to be written")
    assert (there.stat().st_mode, listed(tmp_path)) == before
