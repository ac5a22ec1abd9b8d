"""Between two steps of a run: has somebody cancelled it, and how far is it?"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Callable, Sequence
from time import perf_counter

from qsim_ex.errors import Cancelled
from qsim_ex.options import Progress, ProgressCallback, Watch


class Ticker:
    """Called before each of `total` steps, and once more at the end.

    Raises `Cancelled` when the event is set. Tells `progress` (steps given to the device, steps in all).
    """

    def __init__(
        self,
        total: int = 0,
        cancel: threading.Event | None = None,
        progress: ProgressCallback | None = None,
        watcher: Watcher | None = None,
    ) -> None:
        self.total = total
        self.done = 0
        self._cancel = cancel
        self._progress = progress
        self._watcher = watcher
        self._told = progress is not None or watcher is not None

    def __call__(self) -> None:
        """A step is about to begin."""
        if self._cancel is not None and self._cancel.is_set():
            raise Cancelled(f"cancelled after {self.done} of {self.total} steps.")
        if self._told:
            self._tell()
        self.done += 1

    def skip(self, steps: int) -> None:
        """So many steps were done by an earlier run."""
        self.done += steps
        if self._watcher is not None:
            self._watcher.skipped += steps

    def finish(self) -> None:
        """All steps have been given to the device."""
        self._tell()

    def _tell(self) -> None:
        if self._progress is not None:
            self._progress(self.done, self.total)
        if self._watcher is not None:
            self._watcher.tell(self.done, self.total)


class Watcher:
    """Tells stages, bytes and times to whoever watches a run.

    ends: how many steps are done at the end of each stage. moved: how many bytes were copied so far.
    """

    def __init__(self, watch: Watch, ends: Sequence[int], moved: Callable[[], int]) -> None:
        self.skipped = 0
        self._watch = watch
        self._ends = ends
        self._moved = moved
        self._begin = perf_counter()

    def tell(self, done: int, total: int) -> None:
        """So many of all steps were given to the device."""
        seconds, new = perf_counter() - self._begin, done - self.skipped
        self._watch(
            Progress(
                steps=done,
                all_steps=total,
                stages=min(bisect_right(self._ends, done) + (done < total), len(self._ends)),
                all_stages=len(self._ends),
                bytes_moved=self._moved(),
                seconds=seconds,
                seconds_left=seconds / new * (total - done) if new else None,
            )
        )
