"""Cancelling while a plan is made: planning asks from time to time whether its run was cancelled."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from qsim_ex.errors import Cancelled

CANCEL: ContextVar[threading.Event | None] = ContextVar("cancel", default=None)
"""The event that ends planning when it is set; None for a run that cannot be cancelled."""


@contextmanager
def cancelled_by(cancel: threading.Event | None) -> Iterator[None]:
    """Let an event end the planning inside this block; a finished plan is kept, an unfinished one is discarded."""
    token = CANCEL.set(cancel)
    try:
        yield
    finally:
        CANCEL.reset(token)


def check_cancelled() -> None:
    """Raise `Cancelled` if the event of `cancelled_by` is set."""
    cancel = CANCEL.get()
    if cancel is not None and cancel.is_set():
        raise Cancelled("cancelled while the circuit was planned.")
