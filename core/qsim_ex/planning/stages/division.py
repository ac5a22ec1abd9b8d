"""Dividing a plan's work into passes and stages, before the position of each bit is decided.

A stage is all work that can run while some bits are far. The far bits are searched for: from each stage the few
best sets of far bits are followed, the best few ways are kept, and the first way that completes all work wins. So
the number of passes is minimised first, and inside a pass the number of exchanges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_

from qsim_ex.circuit.ops import mask_of
from qsim_ex.errors import NotSupported
from qsim_ex.planning.locality import Freedom, far_sets, reasons, split
from qsim_ex.planning.stages.early import EarlyGrowth
from qsim_ex.planning.work import Work, bits_of_mask
from qsim_ex.steps.layout import Levels

_EVERYTHING = 1 << 30
"""A window that never ends: stages are few, and the scan for one takes a fraction of a millisecond."""

WIDTH = 6
"""How many ways are followed at a time, and how many sets of far bits are tried for each next stage."""


@dataclass(frozen=True, slots=True)
class StageWork:
    """Work that runs in one stage.

    needs: the bits that have to be local. swaps: pairs of bits that trade places in the memory of the device before
    the work, the second of each pair lying below `Levels.slice`.
    """

    work: tuple[Work, ...]
    needs: int
    swaps: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Division:
    """All work in order: passes, and the portions of each pass.

    low: the bits that are below `Levels.slice` at the start, as far as the division needs them to be decided.
    turns: with ranks, for each pass the bits that have to be in the part of every rank then, not on the bits of ranks;
        passes of one turn have equal ones.
    far: the bits that are far in some pass or portion.
    """

    passes: tuple[tuple[StageWork, ...], ...]
    low: int
    turns: tuple[int, ...] = ()
    far: int = 0


def divide(
    work: Sequence[Work],
    num_bits: int,
    levels: Levels,
    fresh: int,
    early: EarlyGrowth | None = None,
    *,
    nested: bool = False,
    lowest: int = 0,
) -> Division:
    """Divide work into passes and portions; `fresh` is the mask of bits that are fresh at the start.

    early: how a growing state grows before it is spread over all devices; None: it is spread when it has to be. Early,
    an exchange moves next to nothing, and all devices share the work from then on; but the device bits are chosen among
    those that the state has by then.
    nested: whether work is divided by the bits of the farthest layer first, then by those of the next one, so that few
    portions need other bits in a far layer; else by all device bits at once, so that there are few portions.
    lowest: bits that come first where those below the slice may be chosen.
    Raises `NotSupported` for an operation that mixes more bits than can be local.
    """
    return _WorkDivider(num_bits, levels, fresh, early, nested=nested, lowest=lowest).divide(work)


def divided_as(passes: Sequence[tuple[list[Work], int]], num_bits: int, levels: Levels) -> Division:
    """Return the division of a state that migrates whose passes are known: their work, and the bits far during each.

    No bit below `Levels.slice` is far in any of them.
    """
    divider = _WorkDivider(num_bits, levels, 0, None, nested=False, lowest=0)
    for work, far in passes:
        divider.one_pass(work, divider.everything & ~far)
    return Division(tuple(divider.passes), (1 << levels.slice) - 1)


def exchanged_as(portions: Sequence[tuple[list[Work], int]], levels: Levels) -> Division:
    """Return the division of a state on several devices whose portions are known, with the bits far during each."""
    return Division((tuple(_portion(work) for work, _ in portions),), (1 << levels.slice) - 1)


@dataclass(frozen=True, slots=True, eq=False)
class _Way:
    """A partial division of the work: the portions so far, and the work that is left.

    portions: the work of each, with the bits that are far during it. cost: the amount moved, in states.
    there: bits that are not fresh any more.
    """

    pending: tuple[Work, ...] | list[Work]
    freedom: Freedom
    there: int
    portions: tuple[tuple[list[Work], int], ...] = ()
    cost: float = 0.0

    @property
    def far(self) -> int:
        """The bits that are far now."""
        return self.portions[-1][1] if self.portions else 0


Move = Callable[["_Way", int, int], float]
"""The cost, in states, of continuing a way with other far bits, to run work that mixes some bits."""


class _WorkDivider:
    """Divides the work of one plan, section by section; between them are operations too wide to place freely."""

    def __init__(
        self, num_bits: int, levels: Levels, fresh: int, early: EarlyGrowth | None, *, nested: bool, lowest: int
    ) -> None:
        self.nested = nested
        self.lowest = lowest
        self.everything = (1 << num_bits) - 1
        self.num_bits = num_bits
        self.levels = levels
        self.early = early
        self.capacity = levels.local - levels.slice
        below = (1 << levels.slice) - 1
        free_below = (fresh & below).bit_count()
        self.freedom = Freedom(below & ~fresh, fresh, fresh.bit_count() - free_below)
        self.there = self.everything & ~fresh
        self.low: int | None = None  # decided by the first wide operation, or at the end
        self.passes: list[tuple[StageWork, ...]] = []
        self.turns: list[int] = []
        self.far = 0

    def divide(self, work: Sequence[Work]) -> Division:
        """See `divide`."""
        section: list[Work] = []
        for piece in work:
            if piece.mix.bit_count() <= self.capacity:
                section.append(piece)
                continue
            self._section(section)
            self._wide(piece)
            section = []
        self._section(section)
        low = self._lowest(0) if self.low is None else self.low
        return Division(tuple(self.passes), low, tuple(self.turns), self.far)

    # --- operations that fit with the slice's bits near -----------------------------------------------------------

    def _section(self, work: list[Work]) -> None:
        """Divide work between two wide operations."""
        if not work:
            return
        ranks = self.levels.ranks
        if not ranks:
            self._passes_of(work, self.everything)
            return
        for mine, away in self._search(work, ranks, self.everything, _exchange_cost):
            self._passes_of(mine, self.everything & ~away)
            self.turns += [_mixed(mine)] * (len(self.passes) - len(self.turns))

    def _passes_of(self, work: list[Work], allowed: int) -> None:
        """Divide work into passes; `allowed`: the bits that are in the part of each rank."""
        migration = self.num_bits - self.levels.local - self.levels.peers - self.levels.ranks
        whole = ((work, 0),) if not migration else self._search(work, migration, allowed, _pass_cost)
        for ready, far in whole:
            self.one_pass(ready, allowed & ~far)

    def one_pass(self, work: list[Work], allowed: int) -> None:
        """Divide the work of one pass into portions; `allowed`: the bits that are near."""
        peers = self.levels.peers
        counts = [layer.bits for layer in self.levels.layers[::-1]] if self.nested else [peers] * bool(peers)
        self.passes.append(tuple(_portion(part) for part in self._portions(work, allowed, counts)))

    def _portions(self, work: list[Work], allowed: int, counts: Sequence[int]) -> Iterator[list[Work]]:
        """Yield work in portions: divided by ``counts[0]`` far bits, then each part by the next number of them."""
        if not counts:
            yield work
            return
        for ready, far in self._search(work, counts[0], allowed, _exchange_cost):
            yield from self._portions(ready, allowed & ~far, counts[1:])

    def _search(self, work: list[Work], count: int, allowed: int, move: Move) -> tuple[tuple[list[Work], int], ...]:
        """Divide work into as few portions as a beam search finds, with `count` of the `allowed` bits far in each."""
        way = _Way(work, self.freedom, self.there)
        ways = [self._small(self.early, way, count, allowed)] if self.early and move is _exchange_cost else [way]
        while True:
            done = [way for way in ways if not way.pending]
            if done:
                best = min(done, key=lambda way: way.cost)
                self.freedom, self.there = best.freedom, best.there
                self.far |= reduce(or_, [far for _, far in best.portions], 0)
                return best.portions
            further = [_further(way, count, allowed, self._liked(way, allowed, move), move) for way in ways]
            unique = {(len(way.pending), way.far, way.there): way for some in further for way in some}
            ways = sorted(unique.values(), key=lambda way: (_weight(way.pending), way.cost))[:WIDTH]

    def _liked(self, way: _Way, allowed: int, move: Move) -> int:
        """Return the bits that should be far: not fresh ones, if the state is spread over all devices early."""
        return allowed & way.there if self.early and move is _exchange_cost else allowed

    def _small(self, early: EarlyGrowth, way: _Way, count: int, allowed: int) -> _Way:
        """Return the way continued by the work that can run while the state is small, or the way itself."""
        ready, left = early.divide(way.pending, way.there, allowed & ~way.freedom.pinned, count)
        mixed = _mixed(ready)
        waiting = allowed & ~way.freedom.pinned & ~mixed
        soon = waiting & _mixed(left)  # a bit that nothing mixes would stay far, and half of the devices without work
        far = _late(soon if soon.bit_count() >= count else waiting, count, way.freedom)
        if not ready or not left or far.bit_count() < count or not way.freedom.allows(far):
            return way
        return _Way(left, way.freedom.after(far), way.there | mixed, ((ready, far),), 0.0)

    # --- operations that do not fit beside the lowest bits --------------------------------------------------------

    def _wide(self, piece: Work) -> None:
        """Make room for one operation that mixes more bits than may be exchanged, in the slice's bits if needed."""
        wanted, local = piece.mix.bit_count(), self.levels.local
        if wanted > local:
            raise NotSupported(
                f"the operation {piece.label or piece.kind!r} mixes {wanted} bits at once; a sub state vector has "
                f"{local} local bits. Use at least {wanted} device wires, or decompose the operation."
            )
        self._pin(piece.mix)
        while (over := (piece.mix & ~self.freedom.pinned).bit_count() - self.capacity) > 0:
            count = min(over, self.capacity)
            rising = bits_of_mask(piece.mix & ~self.freedom.pinned)[:count]
            leaving = bits_of_mask(self.freedom.pinned & ~piece.mix)[:count]
            pairs = tuple(zip(rising, leaving, strict=True))
            self.passes.append((StageWork((), mask_of(rising), pairs),))
            self.turns.append(mask_of(rising))
            for high, low in pairs:
                self.freedom = replace(self.freedom, pinned=self.freedom.pinned ^ (1 << high | 1 << low))
        self.passes.append((_portion([piece]),))
        self.turns.append(piece.mix)
        self.there |= piece.mix

    def _pin(self, mixed: int) -> None:
        """Decide which bits are below the slice, including as many of the mixed ones as have to be there."""
        if self.low is None:
            self.low = self._lowest(mixed)
            self.freedom = Freedom(self.low, 0, 0)

    def _lowest(self, mixed: int) -> int:
        """Return the bits below the slice: those that are there already, then fresh ones that are never far."""
        low = self.freedom.pinned
        free_bits = self.freedom.fresh & ~self.freedom.ever
        free = [*bits_of_mask(free_bits & self.lowest), *bits_of_mask(free_bits & ~self.lowest)]
        over = (mixed & ~low).bit_count() - self.capacity
        inside = [bit for bit in free if mixed >> bit & 1][: max(0, over)]
        others = [bit for bit in free if not mixed >> bit & 1] + [bit for bit in free if mixed >> bit & 1]
        for bit in [*inside, *(bit for bit in others if bit not in inside)]:
            if low.bit_count() == self.levels.slice:
                break
            low |= 1 << bit
        return low


def _further(way: _Way, count: int, allowed: int, liked: int, move: Move) -> list[_Way]:
    """Return the continuations of a way by one portion; far bits are taken from `liked` if that lets any work run."""
    stays = way.far
    found = reasons(way.pending, way.freedom.pinned, _EVERYTHING, alone=0)
    sets: list[tuple[int, Freedom]] = []
    for bits in (liked, allowed):
        sets = sets or far_sets(way.pending, found, count, bits & ~way.freedom.pinned, way.freedom, stays, WIDTH)
    if not sets:  # no set lets much work run, so choose one for the first piece
        far = _late(allowed & ~way.freedom.pinned & ~way.pending[0].mix, count, way.freedom)
        sets = [(far, way.freedom.after(far))]
    further = []
    halves = [split(way.pending, ~far, found) for far, _ in sets]
    for (far, freedom), (ready, left) in zip(sets, halves, strict=True):
        mixed = _mixed(ready)
        further.append(
            _Way(
                left,
                freedom,
                way.there | mixed,
                (*way.portions, (ready, far)),
                way.cost + move(way, far, mixed),
            )
        )
    return further


def _late(bits: int, count: int, freedom: Freedom) -> int:
    """Return `count` of some bits to be far; those that cost no freedom come first."""
    free = bits & (freedom.ever | ~freedom.fresh)
    return mask_of((*bits_of_mask(free), *bits_of_mask(bits & ~free))[:count])


def _pass_cost(way: _Way, far: int, mixed: int) -> float:  # noqa: ARG001  (a pass costs the same whichever bits are far)
    """Return the cost of a pass: a read of all that is not zero, and a write of all that is not zero afterwards."""
    return 2.0 ** way.there.bit_count() + 2.0 ** (way.there | mixed).bit_count()


def _exchange_cost(way: _Way, far: int, mixed: int) -> float:
    """Return the amount moved to another device; bits that are fresh on both sides cost nothing."""
    coming = way.far & ~far & mixed if way.portions else 0
    return (1 - 0.5 ** coming.bit_count()) * 2.0 ** way.there.bit_count()


def _portion(work: Sequence[Work]) -> StageWork:
    return StageWork(tuple(work), _mixed(work))


def _mixed(work: Sequence[Work]) -> int:
    mixed = 0
    for piece in work:
        mixed |= piece.mix
    return mixed


def _weight(work: Sequence[Work]) -> int:
    return sum([piece.thousandths for piece in work])
