"""Ranks get each other's file descriptors from the other process, or through a socket, or learn why not."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from support.together import together

from qsim_ex.comm import descriptors
from qsim_ex.comm.descriptors import PIDFD, SOCKET, Passed, close, fetched, passed
from tools.loopback import Loopback

pytestmark = pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="this system has no files without a name")


def file_with(words: bytes) -> int:
    """Return a descriptor of a file in memory."""
    made = os.memfd_create("test")
    os.write(made, words)
    return made


def read(descriptor: int) -> bytes:
    """Return the words in a file, and close the descriptor."""
    with os.fdopen(descriptor, "rb") as file:
        return os.pread(file.fileno(), 100, 0)


def between(size: int, counts: list[int]) -> list[tuple[dict[int, list[bytes]], Passed]]:
    """Let ranks pass so many files each; return for each rank the words that came, and what it was told."""

    def work(end: Loopback) -> Any:
        own = [file_with(b"%d.%d" % (end.rank, k)) for k in range(counts[end.rank])]
        result = passed(end.allgather, end.rank, own)
        end.barrier()
        close(own)
        return {rank: [read(one) for one in found] for rank, found in result.found.items()}, result

    return together(size, work)


def refuse(_pid: int, _descriptors: Any) -> Any:
    """Refuse, as a kernel does that restricts who may look into processes."""
    raise PermissionError(1, "Operation not permitted")


@pytest.fixture(params=[PIDFD, SOCKET])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each way to get descriptors."""
    if request.param == SOCKET:
        monkeypatch.setattr(descriptors, "fetched", refuse)
    found: str = request.param
    return found


def open_files() -> int:
    """Return how many descriptors of files in memory this process has."""
    links = [path.readlink() if path.is_symlink() else path for path in Path("/proc/self/fd").iterdir()]
    return sum("memfd" in str(link) for link in links)


@pytest.fixture(autouse=True)
def nothing_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No descriptor and no folder is left behind."""
    monkeypatch.setattr(descriptors.tempfile, "tempdir", str(tmp_path))
    before = open_files()
    yield
    assert open_files() == before
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("counts", [[1, 1], [2, 2, 2], [1, 0, 1, 1], [0, 0]])
def test_every_rank_gets_the_files_of_all_others(way: str, counts: list[int]) -> None:
    """All files of all others come, in their order, also where a rank has none."""
    for rank, (words, result) in enumerate(between(len(counts), counts)):
        others = [other for other, count in enumerate(counts) if count and other != rank]
        assert words == {other: [b"%d.%d" % (other, k) for k in range(counts[other])] for other in others}
        assert (result.by, result.refused) == (dict.fromkeys(others, way), {})


def test_only_one_rank_needs_a_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rank that may not look into others is sent what it needs; the others fetch theirs."""
    plain = fetched
    denied: list[int] = []

    def once(pid: int, given: Any) -> Any:
        if not denied:
            denied.append(pid)
            raise PermissionError(1, "Operation not permitted")
        return plain(pid, given)

    monkeypatch.setattr(descriptors, "fetched", once)
    found = between(3, [1, 1, 1])
    assert sorted(way for _, result in found for way in result.by.values()) == sorted([SOCKET] + [PIDFD] * 5)
    assert all(len(words) == 2 for words, _ in found)


def test_why_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where neither way is open, each rank is told both reasons; ranks of other hosts are not asked."""
    monkeypatch.setattr(descriptors, "fetched", refuse)
    monkeypatch.setattr(descriptors, "_send", lambda *_: (_ for _ in ()).throw(ConnectionRefusedError(111, "refused")))
    for words, result in between(2, [1, 1]):
        assert words == {}
        (why,) = result.refused.values()
        assert why == "pidfd_getfd: Operation not permitted, Unix socket: refused"
    hosts = iter(("a", "b"))
    monkeypatch.setattr(descriptors, "place", lambda: (next(hosts), ""))
    for words, result in between(2, [1, 1]):
        assert words == {}
        assert list(result.refused.values()) == ["it runs on another host"]


def full(*_: object) -> None:
    """A system call that finds no room."""
    raise OSError(28, "No space left on device")


def test_no_room_for_a_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rank that can make no socket says so, and nobody waits for it."""
    monkeypatch.setattr(descriptors, "fetched", refuse)
    monkeypatch.setattr(descriptors.socket, "socket", full)
    for _, result in between(2, [1, 1]):
        (why,) = result.refused.values()
        assert "Unix socket: No space left on device" in why


def test_strangers_are_not_heard() -> None:
    """Descriptors of somebody whom nobody asked are closed, and those of the asked one are found."""
    with descriptors._Inbox((1, 2, 3)) as inbox:
        assert Path(inbox.asked.path).parent.stat().st_mode & 0o77 == 0
        file = file_with(b"mine")
        for sender in (5, 1, 1):
            descriptors._send(inbox.asked.path, sender, [file])
        with socket.socket(socket.AF_UNIX) as mute:
            mute.connect(inbox.asked.path)
            found = inbox.received()
        close([file])
    assert list(found) == [1]
    assert read(found[1][0]) == b"mine"


def _owner(pipe: Any) -> None:
    """Hold a file until told to end."""
    pipe.send((os.getpid(), file_with(b"from a process")))
    pipe.recv()


def test_the_file_of_a_process_outlives_it() -> None:
    """What was fetched can be read when its owner has died; of a dead process nothing can be fetched."""
    context = get_context("spawn")
    mine, theirs = context.Pipe()
    process = context.Process(target=_owner, args=(theirs,))
    process.start()
    pid, file = mine.recv()
    (found,) = fetched(pid, [file])
    with pytest.raises(OSError, match="Bad file descriptor"):
        fetched(pid, [file, 10_000])
    process.kill()
    process.join(60)
    with pytest.raises(OSError, match="No such process"):
        fetched(pid, [file])
    assert read(found) == b"from a process"
