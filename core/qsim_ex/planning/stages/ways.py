"""The ways in which a plan with stages is made, of which the fastest is kept (decision 0040).

They differ in what `planning.ways` says of plans for one device, and in how work is divided and exchanged. No way is
best for all circuits, and planning takes longer than many a run. So the most promising ones come first, and how many
are tried depends on how long the run takes that the first plan is for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from qsim_ex.planning.compiled import lows
from qsim_ex.planning.cost.stage_cost import StageCost
from qsim_ex.planning.cost.step_cost import added
from qsim_ex.planning.ways import PlanWay
from qsim_ex.steps.layout import Levels, Shape

SINGLE = 8
"""The bytes of an amplitude in single precision, by which plans are compared; double takes about twice as long."""

_LARGER = 4
"""A state may have so many bits more than `Shape.start` before it is spread over devices: one of 2^24 amplitudes is
exchanged in 0.2 ms on H200s."""

_PATIENCE = 0.35
"""The share of a run for which other ways may be tried."""

_STARTS = 0.15
"""Native code makes stages so many times as long, for each piece of work, as a sweep takes to start, which is 5 µs."""

WIDER = 6
"""Other ways are tried for states of so many bits more than `Shape.start`, as on one device."""

_WORTHS = (0.35, 0.0, 0.7, 0.0, 0.7)
"""The amounts of arithmetic for which a new state grows, in the order of the choices of its lowest bits. 142 plans (18
families, 27 to 33 wires, 2 and 4 devices) took 1.07 times the least time of 17 ways with the first, 1.04 with two, and
1.01 with all and one more; those of the usual way with its lowest bits at rest took 1.16."""


@dataclass(frozen=True, slots=True)
class StageWay:
    """A way to make a plan with stages.

    plan: see `PlanWay`. most: the most bits that a growing state has when it is spread over devices, see `EarlyGrowth`;
    0 if it is spread when it has to be. steadily: whether it grows until then as on one device; else it gets so many
    bits at once. nested, together, shares: see `division.divide` and `Positions`.
    """

    plan: PlanWay
    most: int = 0
    steadily: bool = True
    nested: bool = False
    together: bool = False
    shares: bool = False


def first_ways(num_bits: int, levels: Levels, shape: Shape, fresh: int) -> list[StageWay]:
    """Return ways to make a plan, the most promising first. fresh: the bits that are fresh at the start."""
    floats = shape.floats and levels.slice >= shape.low  # so that no bit that leaves is ever among the lowest
    if not ((levels.peers or levels.ranks) and fresh):
        plans = [PlanWay(0, floats), PlanWay(0)]
        return [StageWay(plan) for plan in dict.fromkeys(plans)]
    first, most = (1 << shape.low) - 1, min(shape.start + _LARGER, levels.local)
    new = fresh == (1 << num_bits) - 1
    choices = zip((first, *lows(num_bits, shape.low)), _WORTHS, strict=True)
    plans = [PlanWay(low, floats, worth) for low, worth in choices]
    found = [StageWay(plan, most) for plan in plans[: None if new else 1]]
    at_once = StageWay(PlanWay(0, floats), min(shape.start, levels.local), steadily=False)
    return [*found[:2], at_once, *found[2:], replace(found[0], most=0)]


def other_ways(way: StageWay, levels: Levels) -> list[StageWay]:
    """Return ways that may be faster than a good one whose exchanges take much of its time."""
    layered = len(levels.layers) > 1
    combined = [(nested, together) for nested in (False, layered) for together in (False, layered)]
    spreads = (way.most, 0) if way.most else (0,)
    found = [
        replace(way, most=most, nested=nested, together=together) for most in spreads for nested, together in combined
    ]
    return [one for one in dict.fromkeys(found) if one != way]


def tries(costs: Sequence[StageCost], pieces: int, shape: Shape) -> int:
    """Return how many other ways may be tried for a run of these costs, in single precision, with so much work."""
    each = [max(cost.memory / (2 * SINGLE), cost.fma / shape.balance) / cost.devices for cost in costs]
    starts = added(each) / (
        1 << shape.start
    )  # sweeps that could be started while a device sweeps over so many amplitudes
    return int(_PATIENCE * starts / (_STARTS * max(1, pieces)))
