"""How long each part of a run took."""

from __future__ import annotations

from collections import defaultdict
from time import perf_counter


class Clock:
    """Seconds of each part of a run, and of all of it; a part may come several times."""

    def __init__(self) -> None:
        self._begin = self._last = perf_counter()
        self.laps: defaultdict[str, float] = defaultdict(float)

    def lap(self, name: str) -> None:
        """A piece of the part `name` has just ended."""
        now = perf_counter()
        self.laps[name] += now - self._last
        self._last = now

    def start(self) -> None:
        """What comes next begins now: the time since the last lap is counted to no part."""
        self._last = perf_counter()

    def total(self) -> float:
        """Seconds since the clock was made."""
        return perf_counter() - self._begin
