"""Checkpoints on bad disks: truncated files, writers that are killed, disks that fill. None leads to a wrong result.

A run that continues from what is left finds what the run that nobody hindered finds, or refuses it and says what to do.
"""

from __future__ import annotations

import errno
import io
import os
import re
import resource
import signal
import subprocess
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO
from unittest import mock

from qsim_ex import JobCheckpoint
from qsim_ex.errors import SavedStateError
from qsim_ex.files import written
from tools.faults.runs import Found, checkpoints, same

Outcome = tuple[Counter[str], list[str]]

TAIL, HEAD = 4096, 64
"""A file is cut at each byte of so many last ones, and of so many first ones."""

EARLIER = 4
"""So many steps before the end a run is stopped that leaves the earlier checkpoint."""

_ADVICE = re.compile(r"Remove it|remove the file|use an earlier file|give another path|Free space", re.IGNORECASE)


@cache
def wanted() -> Found:
    """Return what the run finds that nobody hinders."""
    with TemporaryDirectory() as folder:
        return checkpoints(Path(folder))


def stopped(folder: Path, before_end: int = 1) -> None:
    """Leave a checkpoint: a state in progress so many steps before the end, and beside it what was saved."""

    def progress(done: int, total: int) -> None:
        if done == total - before_end:
            raise KeyboardInterrupt

    with suppress(KeyboardInterrupt):
        checkpoints(folder, progress=progress)


def go_on(folder: Path) -> tuple[str, list[str]]:
    """Continue a run; return how it ended, and what is wrong."""
    try:
        found = checkpoints(folder)
    except SavedStateError as error:
        return "refused", [] if _ADVICE.search(str(error)) else [f"the error does not say what to do: {error}"]
    except Exception as error:  # noqa: BLE001  (any other is a fault)
        return "failed", [f"expected SavedStateError, got {error!r}"]
    faults = [] if same(found, wanted()) else ["the result is wrong"]
    return "went on", faults + [f"it left {path.name}" for path in folder.iterdir()]


# --- truncated files -------------------------------------------------------------------------------------------------


def truncated(name: str) -> Outcome:
    """Cut a file of a checkpoint at each of its last bytes."""
    how, faults = Counter[str](), []
    with TemporaryDirectory() as at:
        folder = Path(at)
        stopped(folder)
        whole = {path.name: path.read_bytes() for path in folder.iterdir()}
        size = len(whole[name])
        for length in sorted({*range(min(HEAD, size)), *range(max(0, size - TAIL), size)}):
            for path in folder.iterdir():
                path.unlink()
            for other, data in whole.items():
                (folder / other).write_bytes(data[:length] if other == name else data)
            ended, wrong = go_on(folder)
            how[ended] += 1
            faults += [f"{name}, {length} of {size} bytes: {fault}" for fault in wrong]
    return how, faults


def truncated_job() -> Outcome:
    """Cut the file of a job at each of its bytes: it is refused, since the job's seed is in it."""
    how, faults = Counter[str](), []
    with TemporaryDirectory() as at:
        path = Path(at) / "job"
        JobCheckpoint(path, "key", 2, 3)
        whole = path.read_bytes()
        for length in range(len(whole)):
            path.write_bytes(whole[:length])
            try:
                JobCheckpoint(path, "key", 2, None)
            except SavedStateError as error:
                how["refused"] += 1
                if not _ADVICE.search(str(error)):
                    faults.append(f"{length} bytes: the error does not say what to do: {error}")
            else:
                faults.append(f"{length} bytes: expected SavedStateError, got none")
    return how, faults


# --- writers that are killed, and disks that fill --------------------------------------------------------------------


class Disk:
    """Counts what is done to files: writes, flushes to the disk, new names, and removals.

    after: is called with the number of each when it is done. room: how many writes succeed; of the next one half of the
    bytes do, and all later ones fail.
    """

    def __init__(self, after: Callable[[int], None] = lambda _: None, room: int | None = None) -> None:
        self.done = self.writes = 0
        self._after, self._room = after, room

    @contextmanager
    def instead(self) -> Iterator[None]:
        """Put this disk between our code and the real one."""
        begun = written._begun

        def begin(path: Path) -> tuple[Path, BinaryIO]:
            part, file = begun(path)
            with file:  # the copy of its descriptor keeps the lock
                return part, io.BufferedWriter(_Counted(self, os.dup(file.fileno())))

        with ExitStack() as patches:
            patches.enter_context(mock.patch.object(written, "_begun", begin))
            for owner, name in ((os, "fsync"), (Path, "replace"), (Path, "unlink")):
                patches.enter_context(mock.patch.object(owner, name, self._counted(getattr(owner, name))))
            yield

    def write(self, data: memoryview, plain: Callable[[memoryview], int | None]) -> int | None:
        """Write to a file, as far as there is room."""
        self.writes += 1
        if self._room is not None and self.writes > self._room + 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        count = plain(data[: (len(data) + 1) // 2] if self.writes - 1 == self._room else data)
        self.step()
        return count

    def step(self) -> None:
        """Count what was done."""
        self.done += 1
        self._after(self.done)

    def _counted(self, plain: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            result = plain(*given, **named)
            self.step()
            return result

        return call


class _Counted(io.FileIO):
    """A file whose writes a `Disk` sees."""

    def __init__(self, disk: Disk, descriptor: int) -> None:
        super().__init__(descriptor, "wb")
        self._disk = disk

    def write(self, data: Any) -> int:
        """Write as many bytes as there is room for."""
        return self._disk.write(memoryview(data).cast("B"), super().write) or 0


def killed() -> Outcome:
    """Kill a process after each thing that it does to a file."""
    how, faults = Counter[str](), []
    number, alive = 0, True
    while alive:
        number += 1
        with TemporaryDirectory() as at:
            alive = child(Path(at), number)
            ended, wrong = go_on(Path(at))
            how[ended] += alive
            faults += [f"killed after {number}: {fault}" for fault in wrong]
            if ended == "refused":
                faults.append(f"killed after {number}: expected a checkpoint that is whole, got one that is refused")
    return how, faults


def child(folder: Path, number: int) -> bool:
    """Run in a process that kills itself after so many steps; return whether it has come so far."""

    def after(done: int) -> None:
        if done == number:
            os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if not child:
        with Disk(after).instead():
            checkpoints(folder)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def full() -> Outcome:
    """Let the disk fill at each write."""
    counting = Disk()
    with TemporaryDirectory() as at:
        stopped(Path(at), EARLIER)
        with counting.instead():
            stopped(Path(at))
    return filled((f"full after {room} writes", Disk(room=room).instead) for room in range(counting.writes))


def limited() -> Outcome:
    """Let the system refuse files longer than each of some sizes."""

    @contextmanager
    def at_most(size: int) -> Iterator[None]:
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    return filled((f"files of {size} bytes", partial(at_most, size)) for size in range(0, 6000, 64))


def filled(disks: Iterator[tuple[str, Callable[[], Any]]]) -> Outcome:
    """Stop a run on each of some disks that fill, and go on when there is room again."""
    how, faults = Counter[str](), []
    for name, disk in disks:
        with TemporaryDirectory() as at:
            folder = Path(at)
            stopped(folder, EARLIER)
            faults += [f"{name}: {fault}" for fault in _stopped_on(folder, disk)]
            ended, wrong = go_on(folder)
            how[ended] += 1
            faults += [f"{name}: {fault}" for fault in wrong]
    return how, faults


def _stopped_on(folder: Path, disk: Callable[[], Any]) -> Iterator[str]:
    """Go on from an earlier checkpoint on a disk that fills; yield what is wrong with what it says and leaves."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with disk():
            stopped(folder)
    for one in said:
        if not _ADVICE.search(str(one.message)):
            yield f"the warning does not say what to do: {one.message}"
    if parts := [path.name for path in folder.iterdir() if path.name not in ("c", "c.found")]:
        yield f"it left {parts}"
    if not (folder / "c").exists():
        yield "the earlier checkpoint is gone"


def mounted() -> Outcome:
    """Let a file system of each of some sizes fill, which root alone can mount."""
    if os.geteuid():
        return Counter({"skipped: only root can mount a file system": 1}), []
    how, faults = Counter[str](), []
    for pages in range(2, 16):
        with TemporaryDirectory() as at:
            folder = Path(at)
            subprocess.run(["mount", "-t", "tmpfs", "tmpfs", at], check=True)
            try:
                stopped(folder, EARLIER)
                options = f"remount,size={pages * resource.getpagesize()}"
                subprocess.run(["mount", "-o", options, at], check=True)
                faults += [f"{pages} pages: {fault}" for fault in _stopped_on(folder, ExitStack)]
                subprocess.run(["mount", "-o", "remount,size=1m", at], check=True)
                ended, wrong = go_on(folder)
            finally:
                subprocess.run(["umount", at], check=True)
            how[ended] += 1
            faults += [f"{pages} pages: {fault}" for fault in wrong]
    return how, faults


KINDS: dict[str, Callable[[], Outcome]] = {
    "a truncated state": lambda: truncated("c"),
    "truncated results": lambda: truncated("c.found"),
    "a truncated job": truncated_job,
    "killed writers": killed,
    "a full disk": full,
    "limited files": limited,
    "a small file system": mounted,
}
