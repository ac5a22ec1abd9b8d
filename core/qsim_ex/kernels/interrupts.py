"""Imports that Ctrl-C cannot leave half done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold Ctrl-C back until the block ends: after half an import, NumPy cannot be imported again."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield  # no interrupt is raised here
        return
    came: list[Any] = []
    signal.signal(signal.SIGINT, lambda *how: came.append(how))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            before(*came[0])
