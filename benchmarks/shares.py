"""Work that a peer needs minutes for: two shares of it tell what is paid once from what is paid each time.

One share does not: multiplied, it would have a translation or a start as often as the share fits into the whole.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any


@dataclass(frozen=True)
class Shares:
    """How many trajectories or shots two calls have, in place of one call that has all of them."""

    few: int
    more: int
    whole: int

    def __post_init__(self) -> None:
        if not 0 < self.few < self.more < self.whole:
            raise ValueError(
                f"shares are {self.few} and {self.more} of {self.whole}, expected two growing numbers below all of them"
            )


@dataclass(frozen=True)
class Parts:
    """The seconds that a call takes once, and those of each trajectory or shot."""

    once: float
    each: float

    def seconds(self, units: int) -> float:
        """Return what a call with so many takes."""
        return self.once + units * self.each


def separated(shares: Shares, few: float, more: float) -> Parts:
    """Tell what is paid once from what is paid each time, by the seconds of both calls.

    Nothing is held at zero: noise may leave less than nothing for the start, and the sum is right on average.
    """
    each = (more - few) / (shares.more - shares.few)
    if each <= 0:
        raise ValueError(
            f"{shares.more} took {more:.3g} s and {shares.few} took {few:.3g} s; give shares that are farther apart"
        )
    return Parts(few - shares.few * each, each)


def option(parser: argparse.ArgumentParser, name: str, what: str, default: Sequence[int] | None = None) -> None:
    """An option for two shares of somebody's work."""
    ending = "" if default is None else f"; default: {default[0]} {default[1]}"
    text = f"{what}: two shares, from which the time of all is told; as many as there are, or none: all{ending}"
    parser.add_argument(name, type=int, nargs=2, metavar=("FEW", "MORE"), default=default, help=text)


def asked(given: Sequence[int] | None, whole: int) -> int | Shares:
    """Return what such an option asks for: all of the work, or two shares of it."""
    return whole if given is None or given[1] >= whole else Shares(given[0], given[1], whole)


def told(shares: Shares, turns: Sequence[tuple[float, float]]) -> dict[str, Any]:
    """Return for the JSON what was run in place of all of the work, and what was found: medians of turns."""
    parts = [separated(shares, *one) for one in turns]
    found = {"once": median(one.once for one in parts), "each": median(one.each for one in parts)}
    return {"units": [shares.few, shares.more], "of": shares.whole, "seconds": [list(one) for one in turns], **found}
