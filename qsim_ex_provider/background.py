"""Work of this process that begins in the background a moment later, unless whoever waits for it does it before."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Protocol

from qsim_ex import uninterrupted

_MOST = 1024  # pieces of work at a time; one has a thread of its own unless one is idle
_PAUSE = 0.005  # seconds between two looks at work that nobody has begun
_LOOKS = 4  # without such work, after which nobody looks any more


class Waits(Protocol):
    """Work that somebody begins."""

    def waits(self) -> bool:
        """Return whether nobody has begun the work or cancelled it."""

    def begin(self) -> None:
        """Do the work, unless somebody has begun it or it was cancelled."""


class Background:
    """Begins work in threads of this process, a moment after it was submitted.

    To wake a thread takes as long as a quarter of a short job. So while work comes, one thread that sleeps anyway looks
    every `_PAUSE` seconds which of it nobody has begun.
    """

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_MOST, thread_name_prefix="qsim-ex-job")
        self._lock = threading.Lock()
        self._submitted: deque[Waits] = deque()  # since the last look
        self._watched = False

    def submit(self, work: Waits) -> None:
        """Begin the work after one or two pauses, unless somebody else does before."""
        self._submitted.append(work)
        if self._watched:  # who ends to watch looks for work that came before that
            return
        with uninterrupted():
            if self._begins_to_watch():
                self._threads.submit(self._watch)

    def _begins_to_watch(self) -> bool:
        """Return whether there is work and nobody watches; the caller does from now on."""
        with self._lock:
            begins = bool(self._submitted) and not self._watched
            self._watched |= begins
        return begins

    def _watch(self) -> None:
        """Begin work that has waited for a whole pause, until no more comes."""
        waiting: list[Waits] = []
        looks = 0
        while True:
            time.sleep(_PAUSE)
            for work in waiting:
                if work.waits():
                    self._begin(work)
            waiting = [self._submitted.popleft() for _ in range(len(self._submitted))]
            looks = 0 if waiting else looks + 1
            if looks == _LOOKS:
                self._watched = False
                if not self._begins_to_watch():
                    return
                looks = 0

    def _begin(self, work: Waits) -> None:
        try:
            self._threads.submit(work.begin)
        except RuntimeError:  # the interpreter is ending: it waits for this thread, and gives no others
            work.begin()


@lru_cache(maxsize=1)
def background() -> Background:
    """Return what begins the work of this process."""
    return Background()


if hasattr(os, "register_at_fork"):  # a forked child has none of its parent's threads
    os.register_at_fork(after_in_child=background.cache_clear)
