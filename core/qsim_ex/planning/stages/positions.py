"""The position of each bit of the work while a plan is made, and the motions that bring bits near.

Work is written in the bits of the plan's start. A bit's *position* is the index bit that a step sees; its *home* is the
index bit at rest: the position itself, or in a migrated state the index bit in host memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_

from qsim_ex.circuit.ops import mask_of
from qsim_ex.errors import PlanError
from qsim_ex.planning.stages.division import Division
from qsim_ex.planning.stages.ways import StageWay
from qsim_ex.planning.work import bits_of_mask
from qsim_ex.steps.layout import Levels
from qsim_ex.steps.plan import Exchange, Migration

Pairs = list[tuple[int, int]]


class Positions:
    """The position and the home of every bit, and which bits are still fresh.

    at: the position of each bit. home: the home of each position. fresh: mask of bits that nothing has mixed.
    low: bits that lie below `Levels.slice`, which no motion takes. together: whether an exchange over the farthest link
    that it has to use anyway brings further bits from there that are needed soon. shares: whether bits that nothing
    mixes stay local, so that amplitudes move instead and all devices have work.
    """

    def __init__(
        self,
        num_bits: int,
        levels: Levels,
        fresh: int,
        division: Division,
        way: StageWay,
    ) -> None:
        self.together = way.together
        self.shares = way.shares
        self.num_bits = num_bits
        self.levels = levels
        self.fresh = fresh
        self.low = division.low
        self.at = _first_places(num_bits, fresh, division, shares=way.shares, lowest=way.plan.low)
        self.home = list(range(num_bits))
        self.migrated = num_bits > levels.local + levels.peers
        self.source = list(range(num_bits))  # for each position, where its amplitudes were at the start

    # --- where bits are ------------------------------------------------------------------------------------------

    def places(self, bits: int) -> int:
        """Return the positions of a mask of bits."""
        return mask_of(tuple(self.at[bit] for bit in bits_of_mask(bits)))

    def bits(self, places: int) -> int:
        """Return the bits on a mask of positions."""
        return mask_of(tuple(bit for bit in range(self.num_bits) if places >> self.at[bit] & 1))

    def local(self) -> int:
        """Return the bits that are local now."""
        return self.bits((1 << self.levels.local) - 1)

    def window(self) -> int:
        """Return the bits that are near during a pass: local bits and device bits."""
        return self.bits((1 << self.levels.local + self.levels.peers) - 1)

    def local_fresh(self) -> int:
        """Return the local positions that are fresh."""
        return self.places(self.fresh) & (1 << self.levels.local) - 1

    def homes(self) -> tuple[int, ...]:
        """Return the index bit of each bit at rest."""
        return tuple(self.home[place] for place in self.at) if self.migrated else tuple(self.at)

    def starts(self) -> tuple[int, ...]:
        """Return the index bit of each bit at the start; it differs from the bit for bits that were fresh."""
        return tuple(self.source[place] for place in self.at)

    # --- changes -------------------------------------------------------------------------------------------------

    def written(self, places: int) -> None:
        """Mark the bits on these positions as no longer fresh."""
        self.fresh &= ~self.bits(places)

    def swap(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Record that bits have traded places in device memory; the second of each pair was below the slice."""
        for one, other in pairs:
            self._trade(one, other)
            self.low ^= 1 << one | 1 << other

    def moved(self, to: Sequence[int]) -> None:
        """Record that sweeps have moved amplitudes: what was on position p is on ``to[p]``."""
        source = list(self.source)
        for place, other in enumerate(to):
            source[other] = self.source[place]
        self.source = source
        self.at = [to[place] for place in self.at]
        self.low = self.bits((1 << self.levels.slice) - 1)

    def exchange(self, later: Sequence[int]) -> Exchange | None:
        """Return the exchange that makes the bits of ``later[0]`` local; None if they are.

        later: the bits that this stage and the following ones need. The bits that leave are those needed again last;
        where every pair of devices has a link of its own, all device bits are exchanged at once, so that all links are
        used. Where links differ, those needed again last leave for the farthest devices.
        """
        unused = ~reduce(or_, later) if self.shares else 0
        coming = self._renamed(later[0] & ~self.local(), later[0] | unused)
        if not coming:
            return None
        leaving = self._to_give_away(later, self.local() & ~later[0] & ~self.low)
        if len(leaving) < coming.bit_count():
            raise PlanError(
                f"bits {coming:#x} have to be local, and only {len(leaving)} local bits can leave. This is a bug of "
                "qsim-ex; please report it."
            )
        arriving = list(bits_of_mask(coming))
        if len(self.levels.layers) > 1:
            arriving.sort(key=lambda bit: self.at[bit], reverse=True)
        pairs = list(zip(leaving, arriving, strict=False))
        if self.levels.network == "mesh":
            others = _soonest(bits_of_mask(self.window() & ~self.local() & ~coming & ~self.fresh), later)
            pairs += self._on_unused_links(leaving[len(pairs) :], others, later)
        elif self.together and (layer := self.levels.layer_of(self.at[arriving[0]])):
            far = self.window() & ~self.local() & ~coming & ~self.fresh
            here = [bit for bit in bits_of_mask(far) if self.levels.layer_of(self.at[bit]) == layer]
            pairs += self._needed_soon(leaving[len(pairs) :], _soonest(here, later), later)
        swaps = tuple(sorted((self.at[leave], self.at[arrive]) for leave, arrive in pairs))
        for leave, arrive in pairs:
            if self.migrated:
                place, other = self.at[leave], self.at[arrive]
                self.home[place], self.home[other] = self.home[other], self.home[place]
            self._trade(leave, arrive)
        return Exchange(swaps)

    def away(self) -> int:
        """Return the bits whose values are parts of different ranks."""
        return self.bits((1 << self.num_bits) - (1 << self.num_bits - self.levels.ranks))

    def trade(self, turns: Sequence[int]) -> tuple[tuple[int, int], ...]:
        """Return the exchange between ranks, at home, that gets the bits of ``turns[0]`` into the part of each rank.

        turns: the bits that this pass and the following ones need there. The bits that leave are needed again last.
        """
        if not turns[0] & self.away():
            return ()
        self._rest()
        near = (1 << self.num_bits) - 1 & ~self.away()
        coming = self._renamed(turns[0] & self.away(), turns[0], near)
        near = (1 << self.num_bits) - 1 & ~self.away()
        leaving = self._to_give_away(turns, near & ~turns[0] & ~self.low)
        pairs = list(zip(leaving, bits_of_mask(coming), strict=False))
        if len(pairs) < coming.bit_count():
            raise PlanError(
                f"bits {coming:#x} have to leave the ranks, and only {len(leaving)} bits can take their places. This "
                "is a bug of qsim-ex; please report it."
            )
        swaps = tuple(sorted((self.at[leave], self.at[arrive]) for leave, arrive in pairs))
        for leave, arrive in pairs:
            self._trade(leave, arrive)
        return swaps

    def _rest(self) -> None:
        """Put every bit at its home, as at the end of a pass."""
        starts, homes = self.starts(), self.homes()
        for place, start in zip(homes, starts, strict=True):
            self.source[place] = start
        self.at, self.home = list(homes), list(range(self.num_bits))

    def migrate(
        self,
        window: int,
        later: Sequence[int],
        passes: Sequence[int],
        swaps: tuple[tuple[int, int], ...] = (),
    ) -> Migration:
        """Begin a pass, and return its migration; `swaps` are those of `trade` before it.

        window: the bits that the pass needs near. later: the bits that each of its stages needs local. passes: the bits
        that this and the following passes need near. Bits that need not leave stay, the soonest needed first.
        """
        levels = self.levels
        everything = (1 << self.num_bits) - 1
        here = self.window()
        away = self.away() if levels.ranks else 0
        others = _soonest(bits_of_mask(everything & ~(window | self.low | away)), passes)
        others.sort(key=lambda bit: (self.fresh >> bit & 1, _wait(bit, passes), not here >> bit & 1))
        near = _filled(window | self.low, others, levels.local + levels.peers)
        # A fresh device bit would leave half of the devices idle, a fresh local bit halves the work of each.
        others = _soonest(bits_of_mask(near & ~(later[0] | self.low)), later)
        others.sort(key=lambda bit: (_wait(bit, later), not self.fresh >> bit & 1))
        local = _filled(later[0] | self.low, others, levels.local)
        homes = self.homes()
        groups = [local, near & ~local, everything & ~near & ~away, away]
        bounds = [0, levels.local, levels.local + levels.peers, self.num_bits - levels.ranks, self.num_bits]
        bits: list[int] = []
        for group, low, high in zip(groups, bounds[:-1], bounds[1:], strict=True):
            bits += _kept_in_place([homes[bit] for bit in bits_of_mask(group)], low, high, ascending=low >= bounds[2])
        place = {home: position for position, home in enumerate(bits)}
        now = [place[home] for home in homes]
        for bit, source in enumerate(self.starts()):
            self.source[now[bit]] = source
        self.at = now
        self.home = bits
        return Migration(tuple(bits), swaps)

    def _trade(self, one: int, other: int) -> None:
        """Let two bits, and their amplitudes, trade places."""
        place, there = self.at[one], self.at[other]
        self.source[place], self.source[there] = self.source[there], self.source[place]
        self.at[one], self.at[other] = there, place

    def _on_unused_links(self, leaving: Sequence[int], others: Sequence[int], later: Sequence[int]) -> Pairs:
        """Return further pairs of bits for an exchange; none leaves that is needed before the bit that comes."""
        return [
            (leave, arrive)
            for leave, arrive in zip(leaving, others, strict=False)
            if _wait(leave, later) >= _wait(arrive, later) and not self.fresh >> leave & 1
        ]

    def _needed_soon(self, leaving: Sequence[int], others: Sequence[int], later: Sequence[int]) -> Pairs:
        """Return further pairs of bits for an exchange; in each the bit that comes is needed before the other."""
        return [
            (leave, arrive)
            for leave, arrive in zip(leaving, others, strict=False)
            if _wait(leave, later) > _wait(arrive, later) and not self.fresh >> leave & 1
        ]

    def _renamed(self, coming: int, needed: int, near: int | None = None) -> int:
        """Relabel fresh bits that have to be near with fresh ones that are; return the bits that still have to come.

        near: the bits that are near; by default the local ones.
        """
        here = self.local() if near is None else near
        free = bits_of_mask(here & self.fresh & ~needed & ~self.low)
        for fresh, local in zip(bits_of_mask(coming & self.fresh), free, strict=False):
            self.at[fresh], self.at[local] = self.at[local], self.at[fresh]
            coming &= ~(1 << fresh)
        return coming

    def _to_give_away(self, later: Sequence[int], bits: int) -> list[int]:
        """Return bits in the order in which they leave: those needed last first; fresh ones only after all others.

        A fresh bit that becomes a device bit leaves half of the devices without work.
        """
        order = _soonest(bits_of_mask(bits), later)[::-1]
        return sorted(order, key=lambda bit: self.fresh >> bit & 1)


def _first_places(num_bits: int, fresh: int, division: Division, *, shares: bool, lowest: int) -> list[int]:
    """Return the position of each bit at the start: fresh bits take fresh positions in the order of their first need.

    The lowest positions are for the bits that are never far, those of `lowest` first. shares: bits that are never
    needed are not the last ones.
    """
    needs = [portion.needs for part in division.passes for portion in part]
    if shares and needs:
        needs[0] |= ~reduce(or_, needs)
    low = division.low

    def rank(bit: int) -> tuple[bool, bool, int, int]:
        return not (low & lowest) >> bit & 1, not low >> bit & 1, _wait(bit, needs), bit

    order = sorted(bits_of_mask(fresh), key=rank)
    at = list(range(num_bits))
    for place, bit in zip(bits_of_mask(fresh), order, strict=True):
        at[bit] = place
    return at


def _filled(needed: int, others: Sequence[int], count: int) -> int:
    """Return the needed bits and the first of the others, `count` in all."""
    return needed | mask_of(tuple(others[: count - needed.bit_count()]))


def _wait(bit: int, later: Sequence[int]) -> int:
    """Return how many stages pass before one needs a bit."""
    return next((k for k, needs in enumerate(later) if needs >> bit & 1), len(later))


def _soonest(bits: Iterable[int], later: Sequence[int]) -> list[int]:
    return sorted(bits, key=lambda bit: (_wait(bit, later), bit))


def _kept_in_place(homes: Sequence[int], low: int, high: int, *, ascending: bool) -> list[int]:
    """Return homes on positions low … high − 1: a home of the same number stays, unless all have to be ascending."""
    if ascending:
        return sorted(homes)
    others = iter(sorted(home for home in homes if not low <= home < high))
    inside = set(homes)
    return [place if place in inside else next(others) for place in range(low, high)]
