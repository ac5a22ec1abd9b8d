"""Work that Ctrl-C cannot leave half done: imports, and work with locks of the standard library."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

Came = list[tuple[int, FrameType | None]]
"""The signals that have come, as handlers get them."""


@contextmanager
def uninterrupted() -> Iterator[Came]:
    """Hold Ctrl-C back until the block ends; yields a list that is empty until it comes.

    After half an import, NumPy cannot be imported again. An executor or a future whose method Ctrl-C ends may stay
    locked, and then its threads and the next caller wait forever.
    """
    came: Came = []
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield came  # no interrupt is raised here
        return
    signal.signal(signal.SIGINT, lambda *how: came.append(how))
    try:
        yield came
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            before(*came[0])
