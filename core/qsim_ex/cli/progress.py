"""A progress bar that appears only where it helps: in a terminal, when work takes longer than a second."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn

DELAY = 1.0
"""The seconds of work before the bar appears."""


class Watch:
    """A progress bar for one command on stderr, which is erased at the end.

    enabled: whether to show a bar; without a terminal none is shown.
    """

    def __init__(self, console: Console, enabled: bool) -> None:
        self._bar = Progress(
            SpinnerColumn(style="cyan"),
            TextColumn("{task.description}", style="default"),
            BarColumn(bar_width=32, complete_style="cyan", finished_style="cyan", pulse_style="cyan"),
            TaskProgressColumn(style="default"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        self._line = self._bar.add_task("working", total=None)
        self._timer = threading.Timer(DELAY, self._show) if enabled and console.is_terminal else None
        self._lock = threading.Lock()
        self._over = False

    def stage(self, what: str) -> None:
        """Show that another part of the work begins, of unknown length."""
        self._bar.remove_task(self._line)
        self._line = self._bar.add_task(what, total=None)

    def step(self, done: int, total: int) -> None:
        """Show that `done` of `total` steps are done."""
        self._bar.update(self._line, completed=done, total=total)

    def __enter__(self) -> Self:
        if self._timer is not None:
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._over = True
            if self._timer is not None:
                self._timer.cancel()
                self._bar.stop()

    def _show(self) -> None:
        with self._lock:  # the work may end while the bar is about to appear
            if not self._over:
                self._bar.start()
