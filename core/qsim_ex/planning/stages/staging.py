"""From work to stages, for a state that is larger than the memory of one device.

divide (the work of each stage) → positions (the motion before it) → schedule (the steps of each stage)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import mask_of
from qsim_ex.planning.cost.stage_cost import StageCost, seconds, stage_costs
from qsim_ex.planning.cost.step_cost import added
from qsim_ex.planning.numbers.program import NumberProgram
from qsim_ex.planning.stages.division import Division, StageWork, divide
from qsim_ex.planning.stages.early import EarlyGrowth
from qsim_ex.planning.stages.linear_division import Renamed, least_seconds, linear_division, motions
from qsim_ex.planning.stages.positions import Positions
from qsim_ex.planning.stages.ways import SINGLE, WIDER, StageWay, first_ways, other_ways, tries
from qsim_ex.planning.tiles.floating import Floating, settled
from qsim_ex.planning.tiles.schedule import Packed, schedule
from qsim_ex.planning.ways import PlanWay
from qsim_ex.planning.work import NOTHING, Work, bits_of_mask, moved
from qsim_ex.steps.layout import Levels, Shape
from qsim_ex.steps.plan import Motion, Stage
from qsim_ex.steps.step import BasisPermutation, ZeroFill

_LITTLE = 0.1
"""The share of the time that exchanges may take before another plan is tried."""

_SWAPS = 4
"""How many pairs of bits trade places in one `BasisPermutation`: its table has 4 to that power entries."""


class StagedWork(NamedTuple):
    """The stages of a plan, the places of the numbers of their steps, and the position of every bit at the end.

    renamed: for plans with far parities, which bit each bit of the work has become in the end, and which are inverted.
    """

    stages: tuple[Stage, ...]
    packed: list[NDArray[np.int64]]
    positions: Positions
    program: NumberProgram
    renamed: Renamed | None = None


def make_stages(
    work: Sequence[Work],
    num_bits: int,
    levels: Levels,
    shape: Shape,
    program: NumberProgram,
    fresh: int,
    *,
    linear: bool = False,
) -> StagedWork:
    """Divide work into stages; `fresh` is the mask of bits that are fresh at the start.

    Some ways are tried, and the fastest plan wins. If exchanges still take much of the time of a growing state, or of
    one on layers of devices, ways to exchange otherwise are tried too. If nothing mixes some wires, one of them may be
    what divides the devices, and most of these are idle; then a plan in which they share the work is made too.
    linear: whether parities may be far instead of bits (`linear_division`): so it is where that saves passes or
    exchanges, and time.
    """
    made = _Staging(work, num_bits, levels, shape, program, fresh)
    division = made.divided(made.ways[0])
    found: list[_Timed] = []
    if linear and num_bits >= shape.start:
        most = motions(division, num_bits, levels, fresh) - 1
        other = linear_division(work, num_bits, levels, fresh, most, stays=shape.stays)
        if other:
            found.append(made.timed(_PLAIN, other.division, other.renamed))
            if found[0].whole <= least_seconds(division, num_bits, levels, fresh):
                return found[0].staged
    elif len(made.ways) == 1:
        return made.staged(_PLAIN, division)
    found += made.on_bits(division)
    return min(found, key=lambda one: one.whole).staged


class _Timed(NamedTuple):
    """A plan, made in some way; the seconds of all of it, of its exchanges, and of work for which devices wait."""

    way: StageWay
    staged: StagedWork
    whole: float
    moving: float
    waiting: float
    costs: list[StageCost]


_PLAIN = StageWay(PlanWay(0))
"""The way without any choice: small states on one device and host memory have this one, and plans with far parities."""


class _Staging:
    """Makes plans of some work. ways: those that may be tried, the most promising first."""

    def __init__(
        self, work: Sequence[Work], num_bits: int, levels: Levels, shape: Shape, program: NumberProgram, fresh: int
    ) -> None:
        self._work, self._num_bits, self._levels = work, num_bits, levels
        self._shape, self._program, self._fresh = shape, program, fresh
        self._small, self._layered = num_bits < shape.start + WIDER, len(levels.layers) > 1
        self._grows = bool((levels.peers or levels.ranks) and fresh)
        plain = self._small and not (self._grows or self._layered)
        self.ways = [_PLAIN] if plain else first_ways(num_bits, levels, shape, fresh)

    def divided(self, way: StageWay) -> Division:
        """Return the division of the work on its bits, see `divide`."""
        size, shape = self._num_bits, self._shape
        early = EarlyGrowth(size, shape, way.most, way.plan.low, way.plan.worth, way.steadily) if way.most else None
        return divide(self._work, size, self._levels, self._fresh, early, nested=way.nested, lowest=way.plan.low)

    def staged(self, way: StageWay, division: Division, renamed: Renamed | None = None) -> StagedWork:
        """Return the plan of a division."""
        positions = Positions(self._num_bits, self._levels, self._fresh, division, way)
        planner = _StagePlanner(division, self._levels, self._shape, self._program.copy(), positions, way.plan)
        planner.run()
        return StagedWork(tuple(planner.stages), planner.packed, planner.positions, planner.program, renamed)

    def timed(self, way: StageWay, division: Division | None = None, renamed: Renamed | None = None) -> _Timed:
        """Return the plan of a division, of that on bits by default, with its times."""
        found = self.staged(way, division or self.divided(way), renamed)
        costs = stage_costs(found.stages, self._num_bits, self._levels, SINGLE, block=self._shape.block)
        moving = added(cost.moving for cost in costs)
        waiting = added(cost.work for cost in costs if cost.devices < 1 << self._levels.peers)
        return _Timed(way, found, seconds(found.stages, costs), moving, waiting, costs)

    def on_bits(self, division: Division) -> list[_Timed]:
        """Return the plans of the ways that are worth a try; division: that of the first one."""
        found = [self.timed(self.ways[0], division)]
        if not self._small:
            more = tries(found[0].costs, len(self._work), self._shape)
            found += [self.timed(way) for way in self.ways[1 : 1 + more]]
        best = min(found, key=lambda one: one.whole)
        if (self._grows or self._layered) and best.moving > _LITTLE * best.whole:
            found += [self.timed(other) for other in other_ways(best.way, self._levels)]
        if self._grows and best.waiting > _LITTLE * best.whole:
            found.append(self.timed(replace(best.way, shares=True)))
        return found


class _StagePlanner:
    """Makes the stages of one plan, one after another.

    stages, packed: the stages so far and the places of their numbers. positions: the position of every bit after them.
    """

    def __init__(
        self,
        division: Division,
        levels: Levels,
        shape: Shape,
        program: NumberProgram,
        positions: Positions,
        way: PlanWay,
    ) -> None:
        self.way = way
        self._floats = way.floats and not any(portion.swaps for part in division.passes for portion in part)
        self.levels = levels
        self.shape = shape
        self.program = program
        self.division = division
        self.positions = positions
        self.stages: list[Stage] = []
        self.packed: list[NDArray[np.int64]] = []
        self._motion: Motion | None = None  # the motion, the fresh positions and the steps of the current stage
        self._fresh = 0
        self._steps: Packed = []
        self._work: list[Work] = []

    def run(self) -> None:
        """Make all stages."""
        self._begin(None)
        passes = self.division.passes
        for k, portions in enumerate(passes):
            windows = [_needs(portions) for portions in passes[k:]]
            for j, portion in enumerate(portions):
                later = [part.needs for part in portions[j:]]
                if not self.positions.migrated:  # one pass, whose portions are all that follow
                    later += [part.needs for portions in passes[k + 1 :] for part in portions]
                self._bring(portion, later, windows if j == 0 else [], self.division.turns[k:])
                self._add(portion)
        self._clear()
        self._end()

    # --- one stage -----------------------------------------------------------------------------------------------

    def _bring(self, portion: StageWork, later: Sequence[int], windows: Sequence[int], turns: Sequence[int]) -> None:
        """Begin a new stage if a portion needs bits that are not local; `windows` are given if it may begin a pass."""
        positions = self.positions
        begins = positions.migrated and windows and (not self._in_pass or windows[0] & ~positions.window())
        if begins:
            self._end()
            swaps = positions.trade(turns) if self.levels.ranks else ()
            self._begin(positions.migrate(windows[0], later, windows, swaps))
        elif portion.needs & ~positions.local():
            self._work_off()
            motion = positions.exchange(later)
            if motion is not None:
                self._end()
                self._begin(motion)

    @property
    def _in_pass(self) -> bool:
        return self._motion is not None or any(stage.motion is not None for stage in self.stages)

    def _begin(self, motion: Motion | None) -> None:
        self._motion, self._steps, self._work = motion, [], []
        self._fresh = self.positions.places(self.positions.fresh)

    def _add(self, portion: StageWork) -> None:
        """Add a portion's work to the current stage."""
        if portion.swaps:
            self._work_off()
            self._clear_fresh(self.positions.local_fresh())
            for first in range(0, len(portion.swaps), _SWAPS):
                self._shuffle(portion.swaps[first : first + _SWAPS])
        self._work += portion.work

    def _end(self) -> None:
        """Finish the current stage, if it has steps."""
        self._work_off()
        if self._steps:
            steps, packed = zip(*self._steps, strict=True)
            self.stages.append(Stage(tuple(steps), self._motion, self._fresh))
            self.packed += packed
            self._steps = []

    def _work_off(self) -> None:
        """Turn the work collected so far into steps."""
        if not self._work:
            return
        work = [moved(piece, self.positions.at) for piece in sorted(self._work, key=lambda piece: piece.order)]
        before = self.positions.local_fresh()
        positions, floating = self.positions, None
        if self._floats:
            floating = Floating(positions.num_bits, self.shape, positions.places(self.division.far))
        steps, fresh = schedule(work, self.levels.local, self.shape, self.program, before, floating, self.way.worth)
        positions.written(before & ~fresh)
        if floating:
            steps = settled(steps, floating, tuple(range(positions.num_bits)))
            positions.moved(floating.at)
        self._steps += steps
        self._work = []

    def _shuffle(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Let pairs of local bits trade places in memory."""
        at = self.positions.at
        bits = tuple(at[bit] for pair in pairs for bit in pair)
        odd = sum(1 << 2 * k for k in range(len(pairs)))
        to = tuple((x & odd) << 1 | x >> 1 & odd for x in range(1 << len(bits)))
        self._steps.append((BasisPermutation(bits, to, "room for a wide operation"), NOTHING))
        self.positions.swap(pairs)

    # --- fresh bits ----------------------------------------------------------------------------------------------

    def _clear_fresh(self, places: int) -> None:
        if places:
            self._steps.append((ZeroFill(places), NOTHING))
            self.positions.written(places)

    def _clear(self) -> None:
        """Write, at the end, the zeros of fresh bits whose homes are local index bits."""
        self._work_off()
        positions = self.positions
        homes, local = positions.homes(), (1 << self.levels.local) - 1
        owed = mask_of(tuple(bit for bit in bits_of_mask(positions.fresh) if local >> homes[bit] & 1))
        if positions.migrated and owed & ~(positions.local() if self._in_pass else 0):
            self._end()
            self._begin(positions.migrate(owed, [owed], [owed]))
        self._clear_fresh(positions.places(owed))


def _needs(portions: Sequence[StageWork]) -> int:
    needs = 0
    for portion in portions:
        needs |= portion.needs
    return needs
