"""Thresholds that are others until a test ends: the fixture `hold` of tests/conftest.py."""

from __future__ import annotations

from typing import Protocol


class Hold(Protocol):
    """Lets rows of `qsim_ex.thresholds` have these numbers until the test ends."""

    def __call__(self, **numbers: int) -> object:
        """Take numbers by the names of the rows."""
