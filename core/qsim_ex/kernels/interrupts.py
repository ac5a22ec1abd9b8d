"""Work that Ctrl-C cannot leave half done: imports, and work with locks of the standard library."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType

Came = list[tuple[int, FrameType | None]]
"""The signals that have come, as handlers get them."""

_handle = getattr(signal, "_signal", signal).signal
"""`signal.signal` without what makes members of enumerations: a short job changes the handler four times."""

_INTERRUPT = int(signal.SIGINT)


class uninterrupted:  # noqa: N801  (it is used as a function)
    """Hold Ctrl-C back until the block ends; its value is a list that is empty until it comes.

    then: called when it comes.
    After half an import, NumPy cannot be imported again. An executor or a future whose method Ctrl-C ends may stay
    locked, and then its threads and the next caller wait forever.
    """

    __slots__ = ("_before", "_came", "_then")

    def __init__(self, then: Callable[[], object] | None = None) -> None:
        self._came: Came = []
        self._then = then
        self._before: Callable[[int, FrameType | None], object] | None = None

    def __enter__(self) -> Came:
        if threading.current_thread() is threading.main_thread():  # no interrupt is raised in others
            before = _handle(_INTERRUPT, self._hold_back)
            if callable(before):
                self._before = before
            else:
                _handle(_INTERRUPT, before)
        return self._came

    def _hold_back(self, number: int, frame: FrameType | None) -> None:
        self._came.append((number, frame))
        if self._then is not None:
            self._then()

    def __exit__(self, *error: object) -> None:
        if self._before is not None:
            _handle(_INTERRUPT, self._before)
            if self._came:
                self._before(*self._came[0])
