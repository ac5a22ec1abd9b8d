"""How long each part of a run took."""

from __future__ import annotations

from time import perf_counter


class Clock:
    """Seconds of each part of a run, and of all of it."""

    def __init__(self) -> None:
        self._begin = self._last = perf_counter()
        self._laps: dict[str, float] = {}

    def lap(self, name: str) -> None:
        """The part `name` has just ended."""
        now = perf_counter()
        self._laps[name] = now - self._last
        self._last = now

    def timings(self) -> dict[str, float]:
        """Seconds of each part, and the total."""
        return {**self._laps, "total": self._last - self._begin}
