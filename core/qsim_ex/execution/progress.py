"""Between two steps of a run: has somebody cancelled it, and how far is it?

A step counts once for every state, and once for every window of a state in host memory. Where shots share a state, it
counts once for each of them: what all bindings and trajectories come to is known before anything runs.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Callable, Sequence
from time import perf_counter

from qsim_ex.errors import Cancelled
from qsim_ex.options import Progress, ProgressCallback, Watch

Tick = Callable[[], None]


class Ticker:
    """Called before each step of a run; several threads may share it.

    Raises `Cancelled` when the event is set. Tells `progress` (steps given to the device, steps in all).
    """

    def __init__(
        self,
        cancel: threading.Event | None = None,
        progress: ProgressCallback | None = None,
        watch: Watch | None = None,
    ) -> None:
        self.total = 0
        self.done = 0
        self._each = 0  # steps of one state
        self._states_before = 0  # that an earlier run has done
        self._cancel = cancel
        self._progress = progress
        self._watch = watch
        self._watcher: Watcher | None = None
        self._told = progress is not None or watch is not None
        self._lock = threading.Lock()

    def expect(self, states: int, ends: Sequence[int], moved: Callable[[], int]) -> None:
        """Say what is to come before the first step; later calls change nothing.

        states: how many states there are in all, each shot that is a trajectory of its own counted as one.
        ends: how many steps of one state are done at the end of each stage. moved: how many bytes were copied so far.
        """
        with self._lock:
            if not self.total and ends:
                self._each, self.total = ends[-1], states * ends[-1]
                self.done = self._states_before * self._each
                if self._watch is not None:
                    self._watcher = Watcher(self._watch, ends, states, moved)
                    self._watcher.skipped = self.done

    @property
    def quiet(self) -> bool:
        """Whether nobody asks how far the work is, and nobody can end it."""
        return self._cancel is None and not self._told

    def __call__(self) -> None:
        """A step is about to begin."""
        self.advance(1)

    def check(self) -> None:
        """Raise `Cancelled` if the event is set."""
        if self._cancel is not None and self._cancel.is_set():
            raise Cancelled(f"cancelled after {self.done} of {self.total} steps.")

    def advance(self, steps: int) -> None:
        """A step is about to begin, which counts as so many."""
        self.check()
        if self._told:
            self._tell()
        with self._lock:
            self.done += steps

    def of_states(self, states: int, steps: int) -> Share:
        """The ticks of one plan of so many `steps`, run on states that stand for so many `states`."""
        return Share(self, states, steps)

    def skip(self, steps: int) -> None:
        """So many steps were done by an earlier run."""
        with self._lock:
            self.done += steps
            if self._watcher is not None:
                self._watcher.skipped += steps

    def skip_states(self, states: int) -> None:
        """All steps of so many states were done by an earlier run; it may be called before `expect`."""
        self._states_before += states
        self.skip(states * self._each)

    def finish(self) -> None:
        """All steps have been given to the device."""
        if self._told:
            self._tell()

    def _tell(self) -> None:
        done = min(self.done, self.total)
        if self._progress is not None:
            self._progress(done, self.total)
        if self._watcher is not None:
            self._watcher.tell(done, self.total)


class Share:
    """Ticks of one plan; those that a plan has more or fewer than was foreseen are evened out at its end.

    A plan is foreseen before it is known in which layout a branch point leaves the states.
    """

    def __init__(self, ticker: Ticker, states: int, steps: int) -> None:
        self._ticker = ticker
        self._states = states
        self._left = steps

    def __call__(self) -> None:
        """A step is about to begin."""
        if self._left:
            self._left -= 1
            self._ticker.advance(self._states)
        else:
            self._ticker.advance(0)

    def skip(self, steps: int) -> None:
        """So many steps of the plan were done by an earlier run."""
        self._left -= steps
        self._ticker.skip(self._states * steps)

    def end(self) -> None:
        """The plan has been run."""
        if self._left:
            self._ticker.advance(self._states * self._left)
            self._left = 0


class Watcher:
    """Tells stages, bytes and times to whoever watches a run.

    ends: how many steps of one state are done at the end of each stage. states: how many there are in all.
    moved: how many bytes were copied so far.
    """

    def __init__(self, watch: Watch, ends: Sequence[int], states: int, moved: Callable[[], int]) -> None:
        self.skipped = 0
        self._watch = watch
        self._ends = ends
        self._states = states
        self._moved = moved
        self._begin = perf_counter()

    def tell(self, done: int, total: int) -> None:
        """So many of all steps were given to the device; of several states, the stages of the mean are told."""
        seconds, new = perf_counter() - self._begin, done - self.skipped
        of_one = done // self._states
        self._watch(
            Progress(
                steps=done,
                all_steps=total,
                stages=min(bisect_right(self._ends, of_one) + (done < total), len(self._ends)),
                all_stages=len(self._ends),
                bytes_moved=self._moved(),
                seconds=seconds,
                seconds_left=seconds / new * (total - done) if new else None,
            )
        )
