"""Ctrl-C at drawn moments of runs: it is raised soon, leaves no thread and no file, and the next run is right.

A moment is a time after which another thread sends SIGINT, wherever the run is by then, native code included; or a
number of calls of Python, after which the signal comes at the same place every time.
"""

from __future__ import annotations

import gc
import os
import random
import re
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, perf_counter, sleep
from types import FrameType
from typing import NamedTuple

from tools.faults.caches import caches, forget
from tools.faults.runs import Found, same

SOON = 2.0
"""The seconds after which Ctrl-C has to be raised, on a machine that does other work too."""

ENDING = 5.0
"""The seconds in which threads of an interrupted run end."""

Run = Callable[[Path], Found]


class Told(NamedTuple):
    """How many runs ended in which way, the longest seconds until Ctrl-C was raised, and all that was wrong."""

    how: Counter[str]
    slowest: float
    faults: list[str]


@dataclass
class Sent:
    """How many calls of Python were counted, and when SIGINT was sent; 0 if it was not."""

    calls: int = 0
    at: float = 0.0


class Interrupted:
    """One kind of run, and what it finds and leaves if nobody interrupts it."""

    def __init__(self, run: Run) -> None:
        self._run = run
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell lets its background jobs ignore it
        with TemporaryDirectory() as folder:
            run(Path(folder))  # the first import and the threads of the pool are there
            self._caches = caches()
            forget(self._caches)
            began = perf_counter()
            self._wanted = run(Path(folder))
            self.seconds = perf_counter() - began
            forget(self._caches)
            counted = Sent()
            with _counted(sys.maxsize, counted):
                run(Path(folder))
            self.calls = counted.calls
        self._threads, self._files = _threads(), _open_files()

    def at_call(self, number: int) -> tuple[str, float, list[str]]:
        """Send SIGINT at a call of Python's; see `_after`."""
        return self._after(lambda sent: _counted(number, sent))

    def at_time(self, seconds: float) -> tuple[str, float, list[str]]:
        """Send SIGINT after a time; see `_after`."""
        return self._after(lambda sent: _timed(seconds, sent))

    def _after(self, interrupting: Callable[[Sent], AbstractContextManager[None]]) -> tuple[str, float, list[str]]:
        """Interrupt a first run; return how it ended, how long after the signal, and all that was wrong then."""
        forget(self._caches)
        faults, how, late, sent = [], "ended before", 0.0, Sent()
        with TemporaryDirectory() as name, _heard() as ignored:
            folder = Path(name)
            try:
                with interrupting(sent):
                    found = self._run(folder)
                if not same(found, self._wanted):
                    faults.append("a run that was not interrupted is wrong")
            except KeyboardInterrupt:
                how, late = "interrupted", perf_counter() - sent.at
            except BaseException as error:  # noqa: BLE001  (any other is a fault)
                faults.append(f"expected KeyboardInterrupt, got {error!r}")
            swallowed = any(isinstance(told, KeyboardInterrupt) for told in ignored)
            if how != "interrupted" and sent.at and not swallowed:
                faults.append("SIGINT was lost")
            how = "in a finalizer" if swallowed and how != "interrupted" else how
            faults += [f"Python ignored {told!r}" for told in ignored if not isinstance(told, KeyboardInterrupt)]
            if late > SOON:
                faults.append(f"KeyboardInterrupt came after {late:.1f} s")
            faults += self._left(folder)
            if not same(self._run(folder), self._wanted):
                faults.append("the next run is wrong")
            if left := sorted(path.name for path in folder.iterdir()):
                faults.append(f"the next run left {left}")
        return how, late, faults

    def _left(self, folder: Path) -> Iterator[str]:
        """Yield what is left of an interrupted run: temporary files, open files, threads."""
        if parts := [path.name for path in folder.iterdir() if path.name not in ("c", "c.found")]:
            yield f"it left {parts}"
        until = monotonic() + ENDING
        while (more := _threads() - self._threads) and monotonic() < until:
            sleep(0.01)
        if more:
            yield f"threads are left: {sorted(more)}"
        if _open_files() - self._files:
            gc.collect()
        while (more := _open_files() - self._files) and monotonic() < until:
            sleep(0.01)  # a job that was cancelled ends its step
        if more:
            yield f"open files are left: {sorted(more)}"


def interrupt(run: Run, count: int, seed: int) -> Told:
    """Interrupt a run at drawn moments, half of them times and half of them calls."""
    told, subject, chance = Told(Counter(), 0.0, []), Interrupted(run), random.Random(seed)
    for number in range(count):
        if number % 2:
            moment: float = chance.uniform(0, subject.seconds)
            how, late, faults = subject.at_time(moment)
        else:
            moment = chance.randrange(subject.calls)
            how, late, faults = subject.at_call(moment)
        told.how[how] += 1
        told = told._replace(slowest=max(told.slowest, late))
        told.faults.extend(f"{'s' if number % 2 else 'call'} {moment}: {fault}" for fault in faults)
    return told


@contextmanager
def _counted(number: int, sent: Sent) -> Iterator[None]:
    """Send SIGINT at a call of Python's."""

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            sent.calls += 1
            if sent.calls == number:
                sys.setprofile(None)
                sent.at = perf_counter()
                signal.raise_signal(signal.SIGINT)

    sys.setprofile(count)
    try:
        yield
    finally:
        sys.setprofile(None)


@contextmanager
def _timed(seconds: float, sent: Sent) -> Iterator[None]:
    """Send SIGINT after a time."""
    ended = threading.Event()

    def send() -> None:
        if not ended.wait(seconds):
            sent.at = perf_counter()
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=send, name="sends SIGINT")
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextmanager
def _heard() -> Iterator[list[BaseException | None]]:
    """Yield the errors that Python ignores meanwhile: those in finalizers and callbacks of garbage, Ctrl-C included."""
    before, found = sys.unraisablehook, list[BaseException | None]()
    sys.unraisablehook = lambda told: found.append(told.exc_value)
    try:
        yield found
    finally:
        sys.unraisablehook = before


def _threads() -> set[str]:
    """Return the names of all threads, where those of one pool, which last, have one name."""
    return {re.sub(r"_\d+$", "", thread.name) for thread in threading.enumerate()}


def _open_files() -> set[str]:
    """Return which files are open, by number and name."""
    found = set()
    for one in Path("/proc/self/fd").iterdir():
        try:
            found.add(f"{one.name} {one.readlink()}")
        except OSError:  # the folder's own
            continue
    return found
