"""Cancellation and progress of a run, which are checked between its steps.

A step counts once for every state, and once for every window of a state in host memory. If shots share a state, it
counts once for each shot, so that the total over all bindings and trajectories is known before the first step.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Callable, Sequence
from time import perf_counter
from types import TracebackType
from typing import Self, TypeVar

from qsim_ex.display.bar import Bar, bar_of
from qsim_ex.errors import Cancelled
from qsim_ex.options import Progress, ProgressCallback, Watch

Tick = Callable[[], None]
Planned = TypeVar("Planned")

LONG_WORK = 10**9
"""Amplitudes times gates of a run that may take seconds: a run with fewer has a progress bar only if asked for one.

Two cores take 0.1 s for them, and 1.6 s where damping asks each shot's state; a bar appears after `bar.DELAY`.
"""
MANY_GATES = 2000
"""Gates of a circuit whose planning may take seconds."""

_LEAST_STATE = 256
"""The time of a gate apart from its amplitudes, as so many of them."""


def work_of(num_wires: int, gates: int, states: int) -> int:
    """Return the amplitudes times gates of a run."""
    return ((1 << num_wires) + _LEAST_STATE) * gates * states


def while_planning(progress: bool | ProgressCallback | None, gates: int, plan: Callable[[], Planned]) -> Planned:
    """Return what `plan` returns, with a bar meanwhile if there are many gates; progress: the option."""
    bar = bar_of(progress, f"planning {gates:,} gates") if gates >= MANY_GATES else None
    if bar is None:
        return plan()
    with bar:
        return plan()


class Ticker:
    """Counts the steps of a run; it is called before each step, and several threads may share it.

    reports: whether the progress is reported. work: amplitudes times gates; see `LONG_WORK`.

    Raises `Cancelled` when the event is set. Calls `progress` with the steps given to the device and all steps, or
    shows a bar while it is used in ``with``.
    """

    def __init__(
        self,
        cancel: threading.Event | None = None,
        progress: bool | ProgressCallback | None = None,
        watch: Watch | None = None,
        work: int = 0,
    ) -> None:
        self._bar: Bar | None = None
        if progress is None:
            if work >= LONG_WORK:
                self._bar = bar_of(None, "running")
        elif isinstance(progress, bool):
            self._bar, progress = bar_of(progress, "running"), None
        self.total = 0
        self.done = 0
        self._each = 0  # steps of one state
        self._states_before = 0  # states that an earlier run has done
        self._cancel = cancel
        self._progress = progress
        self._watch = watch
        self._watcher: Watcher | None = None
        self.reports = progress is not None or watch is not None or self._bar is not None
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.__exit__(kind, error, trace)

    def expect(self, states: int, ends: Sequence[int], moved: Callable[[], int]) -> None:
        """Set the total of steps before the first step; later calls change nothing.

        states: the number of all states; each shot that is a trajectory counts as one.
        ends: the number of steps of one state at the end of each stage. moved: returns the bytes copied so far.
        """
        with self._lock:
            if not self.total and ends:
                self._each, self.total = ends[-1], states * ends[-1]
                self.done = self._states_before * self._each
                if self._bar is not None:
                    self._bar.what = "states" if states > 1 else "steps"
                if self._watch is not None:
                    self._watcher = Watcher(self._watch, ends, states, moved)
                    self._watcher.skipped = self.done

    @property
    def tick(self) -> Tick:
        """The function that is called before each step if the progress is not reported."""
        return _nobody if self._cancel is None else self.check

    def __call__(self) -> None:
        """Count a step that is about to begin."""
        self.advance(1)

    def check(self) -> None:
        """Raise `Cancelled` if the event is set."""
        if self._cancel is not None and self._cancel.is_set():
            raise Cancelled(
                f"cancelled after {self.done} of {self.total} steps."
                if self.total
                else "cancelled before the first step."
            )

    def advance(self, steps: int) -> None:
        """Count a step that is about to begin as `steps` steps."""
        self.check()
        if self.reports:
            self._tell()
        with self._lock:
            self.done += steps

    def of_states(self, states: int, steps: int) -> Share:
        """Return the ticks of one plan of `steps` steps, each of which counts once for each of `states` states."""
        return Share(self, states, steps)

    def skip(self, steps: int) -> None:
        """Count steps that an earlier run has done."""
        with self._lock:
            self.done += steps
            if self._watcher is not None:
                self._watcher.skipped += steps

    def skip_states(self, states: int) -> None:
        """Count all steps of states that an earlier run has done; it may be called before `expect`."""
        self._states_before += states
        self.skip(states * self._each)

    def finish(self) -> None:
        """Report that all steps have been given to the device."""
        if self.reports:
            self._tell()

    def _tell(self) -> None:
        done = min(self.done, self.total)
        if self._progress is not None:
            self._progress(done, self.total)
        if self._watcher is not None:
            self._watcher.tell(done, self.total)
        if self._bar is not None:
            each = max(self._each, 1) if self._bar.what == "states" else 1
            self._bar.update(done // each, self.total // each)


def _nobody() -> None:
    """Do nothing: a run without progress and without an event for cancellation."""


class Share:
    """The ticks of one plan; a difference between its steps and the expected steps is corrected at its end.

    The steps are expected before it is known in which layout a branch point leaves the states.
    """

    def __init__(self, ticker: Ticker, states: int, steps: int) -> None:
        self._ticker = ticker
        self._states = states
        self._left = steps

    def __call__(self) -> None:
        """Count a step that is about to begin."""
        if self._left:
            self._left -= 1
            self._ticker.advance(self._states)
        else:
            self._ticker.advance(0)

    def skip(self, steps: int) -> None:
        """Count steps of the plan that an earlier run has done."""
        self._left -= steps
        self._ticker.skip(self._states * steps)

    def end(self) -> None:
        """Count the steps that are left, at the end of the plan."""
        if self._left:
            self._ticker.advance(self._states * self._left)
            self._left = 0


class Watcher:
    """Reports stages, bytes and times of a run to its `watch` function.

    ends: the number of steps of one state at the end of each stage. states: the number of all states.
    moved: returns the bytes copied so far.
    """

    def __init__(self, watch: Watch, ends: Sequence[int], states: int, moved: Callable[[], int]) -> None:
        self.skipped = 0
        self._watch = watch
        self._ends = ends
        self._states = states
        self._moved = moved
        self._begin = perf_counter()

    def tell(self, done: int, total: int) -> None:
        """Report that `done` of `total` steps were given to the device; stages are those of the mean state."""
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
