"""A loopback lets go of what it was given, and refuses what cannot be meant; `test_communicators.py` has the rest."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from typing import Any

import numpy as np
import pytest

from qsim_ex.errors import CommunicationError
from tools.loopback import loopback


@pytest.mark.parametrize("ends", ["abort", "close"])
def test_what_was_given_to_a_meeting_that_is_never_held_is_let_go(ends: str) -> None:
    """An array that a rank sends, while the other fails or ends, is kept by nothing once the error has been told."""
    first, second = loopback(2)
    kept: list[weakref.ref[Any]] = []

    def send() -> None:
        sent = np.zeros(4)
        kept.append(weakref.ref(sent))
        with pytest.raises(CommunicationError):
            first.exchange(1, sent, np.zeros(4))

    waiting = threading.Thread(target=send)
    waiting.start()
    while not first._hub.meetings:
        time.sleep(0.001)
    second.close() if ends == "close" else second.abort(ValueError("no more"))
    waiting.join()
    gc.collect()
    assert [ref() for ref in kept] == [None]


def test_what_cannot_be_meant() -> None:
    """A connection without ranks, and ranks that do not exist, are refused before anybody waits."""
    with pytest.raises(ValueError, match="size >= 1"):
        loopback(0)
    (end,) = loopback(1)
    for call in (lambda: end.exchange(0, np.zeros(1), np.zeros(1)), lambda: end.broadcast(1, root=1)):
        with pytest.raises(ValueError, match="expected"):
            call()
