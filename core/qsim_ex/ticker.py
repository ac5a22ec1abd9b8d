"""Between two steps of a run: has somebody cancelled it, and how far is it?"""

from __future__ import annotations

import threading

from qsim_ex.errors import Cancelled
from qsim_ex.options import ProgressCallback


class Ticker:
    """Called before each of `total` steps, and once more at the end.

    Raises `Cancelled` when the event is set. Tells `progress` (steps given to the device, steps in all).
    """

    def __init__(
        self, total: int, cancel: threading.Event | None = None, progress: ProgressCallback | None = None
    ) -> None:
        self.total = total
        self.done = 0
        self._cancel = cancel
        self._progress = progress

    def __call__(self) -> None:
        """A step is about to begin."""
        if self._cancel is not None and self._cancel.is_set():
            raise Cancelled(f"cancelled after {self.done} of {self.total} steps.")
        self._tell()
        self.done += 1

    def finish(self) -> None:
        """All steps have been given to the device."""
        self._tell()

    def _tell(self) -> None:
        if self._progress is not None:
            self._progress(self.done, self.total)
