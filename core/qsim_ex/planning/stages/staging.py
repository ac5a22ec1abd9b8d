"""From work to stages, for a state that is larger than the memory of one device.

divide (the work of each stage) → positions (the motion before it) → schedule (the steps of each stage)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import mask_of
from qsim_ex.planning.cost.stage_cost import StageCost, seconds, stage_costs
from qsim_ex.planning.numbers.program import NumberProgram
from qsim_ex.planning.stages.division import Division, StageWork, divide
from qsim_ex.planning.stages.linear_division import Renamed, least_seconds, linear_division, motions
from qsim_ex.planning.stages.positions import Positions
from qsim_ex.planning.tiles.schedule import Packed, schedule
from qsim_ex.planning.work import NOTHING, Work, bits_of_mask, moved
from qsim_ex.steps.layout import Levels, Shape
from qsim_ex.steps.plan import Motion, Stage
from qsim_ex.steps.step import BasisPermutation, ZeroFill

_SINGLE = 8
"""The bytes of an amplitude in single precision, by which plans are compared; double takes about twice as long."""

_LITTLE = 0.1
"""The share of the time that exchanges may take before another plan is tried."""

_SWAPS = 4
"""How many pairs of bits trade places in one `BasisPermutation`: its table has 4 to that power entries."""


_WAYS = ((False, False), (False, True), (True, False), (True, True))
"""Whether work is divided by the bits of far layers first, and whether far bits are exchanged together."""


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

    A growing state on several devices is spread over them early; if exchanges still take much of the time, a plan that
    spreads it late is made too, and the faster plan wins. Where devices are in layers, so do plans that divide the work
    by far bits first, and plans that exchange far bits together. If nothing mixes some wires, one of them may be what
    divides the devices, and most of these are idle; then a plan in which they share the work is made too.
    linear: whether parities may be far instead of bits (`linear_division`): so it is where that saves passes or
    exchanges, and time.
    """
    made = _Staging(work, num_bits, levels, shape, program, fresh)
    division = made.divided(made.spread)
    found: list[StagedWork] = []
    if linear and num_bits >= shape.start:
        most = motions(division, num_bits, levels, fresh) - 1
        other = linear_division(work, num_bits, levels, fresh, most, stays=shape.stays)
        if other:
            found.append(made.staged(other.division)._replace(renamed=other.renamed))
            if made.seconds(found[0]) <= least_seconds(division, num_bits, levels, fresh):
                return found[0]
    found += made.on_bits(division)
    return found[0] if len(found) == 1 else min(found, key=made.seconds)


class _Staging:
    """Makes plans of some work. spread: a state is spread over all devices when it has about so many bits."""

    def __init__(
        self,
        work: Sequence[Work],
        num_bits: int,
        levels: Levels,
        shape: Shape,
        program: NumberProgram,
        fresh: int,
    ) -> None:
        self._work = work
        self._num_bits = num_bits
        self._levels = levels
        self._shape = shape
        self._program = program
        self._fresh = fresh
        self._grows = bool((levels.peers or levels.ranks) and fresh)
        self.spread = shape.start if self._grows else 0

    def divided(self, spread: int, *, nested: bool = False) -> Division:
        """Return the division of the work on its bits, see `divide`."""
        return divide(self._work, self._num_bits, self._levels, self._fresh, spread, nested=nested)

    def staged(self, division: Division, *, together: bool = False, shares: bool = False) -> StagedWork:
        """Return the plan of a division, see `Positions`."""
        positions = Positions(self._num_bits, self._levels, self._fresh, division, together=together, shares=shares)
        planner = _StagePlanner(division, self._levels, self._shape, self._program.copy(), positions)
        planner.run()
        return StagedWork(tuple(planner.stages), planner.packed, planner.positions, planner.program)

    def seconds(self, of: StagedWork) -> float:
        """Return the seconds of a plan."""
        return seconds(of.stages, self._costs(of))

    def on_bits(self, division: Division) -> list[StagedWork]:
        """Return the plan of a division on bits, and others that may be faster."""
        layered = len(self._levels.layers) > 1
        found = [self.staged(division)]
        if not (self._grows or layered):
            return found
        costs = self._costs(found[0])
        slow = _LITTLE * seconds(found[0].stages, costs)
        if sum(cost.moving for cost in costs) > slow:
            spreads = (self.spread, 0) if self._grows else (0,)
            ways = [(spread, *way) for spread in spreads for way in _WAYS[: 4 if layered else 1]]
            for spread, nested, together in ways[1:]:
                found.append(self.staged(self.divided(spread, nested=nested), together=together))
        waiting = sum(cost.work for cost in costs if cost.devices < 1 << self._levels.peers)
        if self._grows and waiting > slow:
            found.append(self.staged(division, shares=True))
        return found

    def _costs(self, of: StagedWork) -> list[StageCost]:
        return stage_costs(of.stages, self._num_bits, self._levels, _SINGLE, block=self._shape.block)


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
    ) -> None:
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
        steps, fresh = schedule(work, self.levels.local, self.shape, self.program, before)
        self._steps += steps
        self.positions.written(before & ~fresh)
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
