"""The interpreter's switch interval, which is short as long as some thread works beside others."""

from __future__ import annotations

import sys

from qsim_ex.kernels import fork

_SHORT = 5e-5
"""Seconds for which a thread keeps the interpreter's lock while others wait: a run gives it away at each launch."""


class Patience:
    """Lets threads give the interpreter's lock away soon, from a first `begin` to as many calls of `end`."""

    def __init__(self) -> None:
        self._lock = fork.lock()
        self._working, self._usual = 0, 0.0

    def begin(self) -> None:
        """Begin some work."""
        with self._lock:
            if not self._working:
                self._usual = sys.getswitchinterval()
                sys.setswitchinterval(min(self._usual, _SHORT))
            self._working += 1

    def end(self) -> None:
        """End some work that has begun."""
        with self._lock:
            self._working -= 1
            if not self._working:
                sys.setswitchinterval(self._usual)


PATIENCE = Patience()
"""That of this process."""
