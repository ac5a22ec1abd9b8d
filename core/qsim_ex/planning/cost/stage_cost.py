"""The cost of stages between memories: bytes over each link, and the seconds that follow from bandwidths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log2
from typing import Any

from qsim_ex.planning.cost.exchange_cost import LayerCost, between_hosts, exchange, not_fresh
from qsim_ex.planning.cost.rates import H200, Rates
from qsim_ex.planning.cost.step_cost import added, step_cost
from qsim_ex.precision import SINGLE, Precision
from qsim_ex.steps.layout import Levels, Shape
from qsim_ex.steps.plan import Exchange, Migration, Stage, begins_alike, fresh_after


@dataclass(frozen=True, slots=True)
class StageCost:
    """The bytes, the arithmetic and the time of one stage; amplitudes known to be zero are not counted.

    windows: how many windows are worked on, one after another. devices: how many devices have work.
    memory, fma: bytes read and written in memory, and multiply-adds, by all devices and for all windows.
    work: seconds of the steps.
    peers: bytes sent from device to device, in all. sent, link: the most that one device sends or receives, and that
        goes over the link from one device to one other. layers: what goes over each layer of the network.
    host_in, host_out: bytes of the pass that begins with this stage.
    moving: seconds of the exchange. copying: of the pass's copies without any work. ends: the part of `copying` with
        which no work overlaps.
    """

    windows: int
    devices: int
    memory: float
    fma: float
    work: float
    peers: float = 0.0
    sent: float = 0.0
    link: float = 0.0
    layers: tuple[LayerCost, ...] = ()
    host_in: float = 0.0
    host_out: float = 0.0
    moving: float = 0.0
    copying: float = 0.0
    ends: float = 0.0


def passes(stages: Sequence[Stage]) -> list[list[int]]:
    """Return the numbers of the stages of each pass; one group of all stages where nothing migrates."""
    groups: list[list[int]] = []
    for number, stage in enumerate(stages):
        if not groups or isinstance(stage.motion, Migration):
            groups.append([])
        groups[-1].append(number)
    return groups


def stage_costs(
    stages: Sequence[Stage],
    num_bits: int,
    levels: Levels,
    precision: Precision,
    rates: Rates = H200,
    resident: int = 0,
    *,
    shape: Shape,
    interpreted: bool = False,
) -> list[StageCost]:
    """Return the cost of every stage of a state of `num_bits` index bits, in order.

    resident: how many sub state vectors stay on each device from one pass to the
    next, and are not copied; 0 where the host holds the whole state. shape: of the plan, for `step_cost`.
    interpreted: whether sweeps run in a GPU's interpreter, as in a first run.
    """
    costs: list[StageCost] = []
    for group in passes(stages):
        end = stages[group[-1]]
        last = fresh_after(end.fresh, end.steps)
        costs += [
            _stage(stages[k], num_bits, levels, precision, rates, last, resident, shape, interpreted) for k in group
        ]
    if begins_alike(stages, num_bits, levels):
        costs[:2] = _alike(costs[0], costs[1], len(stages[0].steps), levels, rates)
    return costs


def seconds(stages: Sequence[Stage], costs: Sequence[StageCost]) -> float:
    """Return the time of a plan: for each pass the longer of work and copies, and the ends that do not overlap."""
    total = 0.0
    for group in passes(stages):
        work = added(costs[k].work + costs[k].moving for k in group)
        total += max(work, costs[group[0]].copying - costs[group[0]].ends) + costs[group[0]].ends
    return total


def seconds_beside_copies(
    costs: Sequence[StageCost], rates: Rates, copied: tuple[int, int], *, overlaps: bool
) -> float:
    """Return the time of a plan of which it is known how many bytes are copied from the host to a device, and back.

    overlaps: whether one window is copied while another one is worked on.
    """
    copies = max(copied[0] / rates.host, copied[1] / rates.host, sum(copied) / rates.host_both)
    work = sum(cost.work for cost in costs)
    return max(copies, work) if overlaps else copies + work


def _stage(
    stage: Stage,
    num_bits: int,
    levels: Levels,
    precision: Precision,
    rates: Rates,
    last: int,
    resident: int,
    shape: Shape,
    interpreted: bool,
) -> StageCost:
    on_devices, parts = levels.local + levels.peers, num_bits - levels.ranks
    device_bits = (1 << on_devices) - (1 << levels.local)
    migration_bits, rank_bits = (1 << parts) - (1 << on_devices), (1 << num_bits) - (1 << parts)
    windows = 1 << not_fresh(migration_bits, stage.fresh)
    ranks = 1 << not_fresh(rank_bits, stage.fresh)
    each_rank = 1 << not_fresh(device_bits, stage.fresh)
    devices = ranks * each_rank
    each = [step_cost(step, levels.local, precision, shape, interpreted=interpreted) for step in stage.steps]
    halvings = log2(precision.storage.real_bytes / SINGLE.storage.real_bytes)
    rate, seen = rates.fma * rates.double**halvings, rates.seen
    if interpreted:
        rate, seen = rates.interpreted * 0.5 ** (halvings / 2), rates.interpreted_seen
    launch = each_rank * rates.launch
    if levels.local == num_bits:  # one device, which nobody waits for
        launch = 2.0 ** (shape.start + 1) * precision.storage.bytes / rates.memory
    cost: dict[str, Any] = {
        "memory": windows * devices * added(step.bytes for step in each),
        "fma": windows * devices * added(step.fma for step in each),
        "work": windows * added(cost.seconds(rates.memory, rate, seen) + launch for cost in each),
    }
    if isinstance(stage.motion, Exchange):
        cost |= exchange(stage.motion, stage.fresh, levels, precision, rates, windows)
        cost["peers"] *= ranks
    elif isinstance(stage.motion, Migration):
        share = max(0, windows - resident) / windows
        come = share * precision.storage.bytes * 2.0 ** (num_bits - stage.fresh.bit_count())
        go = share * precision.storage.bytes * 2.0 ** (num_bits - last.bit_count())
        come_each, go_each = come / devices, go / (1 << not_fresh(device_bits | rank_bits, last))
        both = max(come_each / rates.host, go_each / rates.host, (come_each + go_each) / rates.host_both)
        on_host = (come + go) / ranks / rates.host_all  # each rank has a host of its own
        both = max(both, on_host)
        ends = max((come_each + go_each) / rates.host, on_host) / windows if not resident else 0.0
        cost |= {"host_in": come, "host_out": go, "copying": max(both, ends), "ends": ends}
        if stage.motion.swaps:
            cost |= between_hosts(stage, num_bits, levels, precision, rates)
    return StageCost(windows, devices, **cost)


def _alike(first: StageCost, then: StageCost, steps: int, levels: Levels, rates: Rates) -> tuple[StageCost, StageCost]:
    """Return the cost of a beginning that all devices compute alike, and of the stage before which they divide it."""
    devices = 1 << levels.peers
    waiting = (devices - 1) * rates.launch
    made = replace(
        first,
        devices=devices,
        memory=devices * first.memory,
        fma=devices * first.fma,
        work=first.work + steps * waiting,
    )
    layers = tuple(LayerCost(0.0, 0.0, 0.0) for _ in then.layers)
    kept = replace(then, peers=0.0, sent=0.0, link=0.0, layers=layers, moving=rates.launch + waiting)
    return made, kept
