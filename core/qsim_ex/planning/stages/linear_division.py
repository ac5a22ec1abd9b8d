"""The division of work into stages with far parities, and when one is looked for.

A plan of far parities (`far_parities`, then `on_bits`) has other work than a plan of far bits: CX that the circuit does
not have, and not those that it has. From then on it is a plan on bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from qsim_ex.planning.cost.stage_cost import H200, Rates
from qsim_ex.planning.linear.frame import Framed, changes_frame, framed
from qsim_ex.planning.stages.division import Division, divided_as, exchanged_as
from qsim_ex.planning.stages.far_parities import FarParities
from qsim_ex.planning.stages.on_bits import backwards, forwards
from qsim_ex.planning.work import Work
from qsim_ex.precision import SINGLE
from qsim_ex.steps.algebra import Span, units
from qsim_ex.steps.layout import Layout, Levels

MOST_PIECES = 1024
"""More work, beside CX, is planned on bits: which pieces commute is found for all pairs."""

MOST_WORK = 1 << 15
"""More work of all kinds is planned on bits."""


MOST_BITS = 64
"""Parities are compared as 64-bit numbers."""


class Renamed(NamedTuple):
    """For each bit of the work the bit that it has become in the end; flip: those that are inverted then."""

    at: list[int]
    flip: int

    def behind(self, end: Layout) -> Layout:
        """Return where wires are in the end, given the bits of the work on which they are."""
        return Layout(end.address, end.flip ^ self.flip).moved(self.at)


class LinearDivision(NamedTuple):
    """A division of other work, and what its bits are in the end."""

    division: Division
    renamed: Renamed


def motions(division: Division, num_bits: int, levels: Levels, fresh: int) -> int:
    """Return how many passes a division has, or one more than it has exchanges."""
    if levels.migration(num_bits):
        return len(division.passes)
    portions = [portion for one in division.passes for portion in one]
    device = (1 << num_bits) - (1 << levels.local)
    return len(portions) + bool(portions and portions[0].needs & device & ~fresh)


def least_seconds(division: Division, num_bits: int, levels: Levels, fresh: int, rates: Rates = H200) -> float:
    """Return seconds that a division takes at least, in single precision: those of the copies of its passes."""
    if not levels.migration(num_bits):
        return 0.0
    there, copied = (1 << num_bits) - 1 & ~fresh, 0.0
    for portions in division.passes:
        copied += 2.0 ** there.bit_count()
        for portion in portions:
            there |= portion.needs
        copied += 2.0 ** there.bit_count()
    return SINGLE.itemsize * copied / min(rates.host_both * (1 << levels.peers), rates.host_all)


def linear_division(
    work: Sequence[Work], num_bits: int, levels: Levels, fresh: int, most: int, *, stays: bool = False
) -> LinearDivision | None:
    """Return a division with far parities that has at most so many passes, or fewer exchanges; None without one.

    stays: whether a full state in host memory ends in the layout in which it begins.
    """
    new = fresh == (1 << num_bits) - 1
    if most < 1 or (fresh and not new) or not _may_be(work, num_bits, levels):
        return None
    migrates, low = levels.migration(num_bits) > 0, levels.slice
    count = levels.migration(num_bits) or levels.peers
    found = framed(work, num_bits, grows=new)
    if found is None or most < _least(found[0], num_bits - count):
        return None
    first = units(range(low if migrates else levels.local, num_bits))
    stays = stays and migrates and not new
    search = FarParities(work, *found, count, new=new, low=low if stays else 0)
    stages = search.stages(most, first, forced=not new and not migrates, named=stays)
    if stages is None:
        return None
    named, at = (backwards if new else forwards)(stages, *found, low)
    if stays and at != list(range(num_bits)):
        return None
    named = [stage for stage in named if stage.work]
    for order, piece in enumerate([piece for stage in named for piece in stage.work]):
        piece.order = order
    division = divided_as(named, num_bits, levels) if migrates else exchanged_as(named, levels)
    return LinearDivision(division, Renamed(at, found[1].flip))


def _may_be(work: Sequence[Work], num_bits: int, levels: Levels) -> bool:
    """Return whether parities of work may be far: there is room for those of two stages above the lowest bits."""
    count = levels.migration(num_bits) or levels.peers
    fits = not levels.ranks and num_bits - levels.slice >= 2 * count and num_bits <= MOST_BITS
    if not fits or len(work) > MOST_WORK or len(work) - sum(map(changes_frame, work)) > MOST_PIECES:
        return False
    return all(piece.mix.bit_count() <= levels.local - levels.slice for piece in work)


def _least(pieces: Sequence[Framed], near: int) -> int:
    """Return how many stages there are at least: one, if all directions fit beside the far parities."""
    return 1 if len(Span(direction for one in pieces for direction in one.directions)) <= near else 2
