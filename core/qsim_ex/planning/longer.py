"""The time above which nobody wants a plan, since something else that does the same takes less."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

MOST: ContextVar[float] = ContextVar("most", default=math.inf)
"""The passes over the state that `shorter_than` says."""


class Longer(Exception):
    """That a plan takes as long as `shorter_than` says, or is predicted to be far from less."""


@contextmanager
def shorter_than(passes: float) -> Iterator[None]:
    """Let plans for one device inside this block raise `Longer` where they take so many passes over the state."""
    token = MOST.set(passes)
    try:
        yield
    finally:
        MOST.reset(token)
