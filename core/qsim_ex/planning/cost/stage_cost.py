"""The cost of stages between memories: bytes over each link, and the seconds that follow from bandwidths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log2
from typing import Any, NamedTuple

from qsim_ex.circuit.ops import mask_of
from qsim_ex.planning.cost.step_cost import added, step_cost
from qsim_ex.precision import SINGLE, Precision
from qsim_ex.steps.layout import Levels
from qsim_ex.steps.plan import SPARED_FROM, Exchange, Migration, Stage, begins_alike, fresh_after


@dataclass(frozen=True, slots=True)
class Rates:
    """The rates of each device of a machine, per second; the defaults were measured on H200s.

    memory: bytes read and written in a device's memory. fma: real multiply-adds in single precision; double: the share
        of them in double. seen: the share of the shorter time, of memory and arithmetic, that the longer does not hide.
    peer: bytes sent to other devices while as many arrive; with a mesh it is the sum over all links.
    host, host_both: bytes between a device and the host in one direction alone, and in both directions together.
    host_all: bytes between the host and all devices together. homes: bytes that ranks of one host send from home to
        home while as many arrive, by the processor.
    launch: seconds to start one step on one device. exchange: seconds to start one on all devices.
    interpreted, interpreted_seen: `fma` and `seen` of the interpreter, of whose instructions only a part takes twice as
        long in double. plan, plan_gate, plan_entry: seconds in which the host prepares a first run: once, for each
        gate, and for each entry of a table; levels, levels_gate: the first two for states on several levels.
    """

    memory: float = 4.24e12
    fma: float = 28e12
    seen: float = 0.2
    peer: float = 396e9
    host: float = 55e9
    host_both: float = 101e9
    host_all: float = 150e9
    homes: float = 24e9
    launch: float = 15e-6
    exchange: float = 1.2e-3
    double: float = 0.55
    interpreted: float = 21.4e12
    interpreted_seen: float = 0.4
    plan: float = 1.3e-3
    plan_gate: float = 0.8e-6
    plan_entry: float = 0.2e-6
    levels: float = 4e-3
    levels_gate: float = 3e-6

    def shared(self, count: int) -> Rates:
        """Return the rates of each of `count` sub state vectors that share a device, and exchange within its memory."""
        if count == 1:
            return self
        each = {name: getattr(self, name) / count for name in ("memory", "fma", "interpreted", "host", "host_both")}
        within = each["memory"] / 4  # an exchange reads and writes both pieces
        return replace(self, peer=within, **each)


H200 = Rates()


class LayerCost(NamedTuple):
    """What goes over one layer of the network.

    bytes: sent by all devices. sent: sent or received by the device that takes longest. seconds: of the exchanges,
        without the time to start them.
    """

    bytes: float
    sent: float
    seconds: float


@dataclass(frozen=True, slots=True)
class StageCost:
    """The bytes, the arithmetic and the time of one stage; amplitudes known to be zero are not counted.

    windows: how many windows are worked on, one after another. devices: how many devices have work.
    memory, fma: bytes read and written in memory, and multiply-adds, by all devices and for all windows.
    peers: bytes sent from device to device, in all. sent, link: the most that one device sends or receives, and that
        goes over the link from one device to one other. layers: what goes over each layer of the network.
    host_in, host_out: bytes of the pass that begins with this stage.
    work, moving: seconds of the steps, and of the exchange. copying: of the pass's copies without any work.
    ends: the part of `copying` with which no work overlaps.
    """

    windows: int = 1
    devices: int = 1
    memory: float = 0.0
    fma: float = 0.0
    peers: float = 0.0
    sent: float = 0.0
    link: float = 0.0
    layers: tuple[LayerCost, ...] = ()
    host_in: float = 0.0
    host_out: float = 0.0
    work: float = 0.0
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
    block: float | None = None,
    *,
    slowed: float = 1.0,
    interpreted: bool = False,
) -> list[StageCost]:
    """Return the cost of every stage of a state of `num_bits` index bits, in order.

    resident: how many sub state vectors stay on each device from one pass to the
    next, and are not copied; 0 where the host holds the whole state. block, slowed: as in `steps.Shape`.
    interpreted: whether sweeps run in a GPU's interpreter, as in a first run.
    """
    costs: list[StageCost] = []
    for group in passes(stages):
        end = stages[group[-1]]
        last = fresh_after(end.fresh, end.steps)
        costs += [
            _stage(stages[k], num_bits, levels, precision, rates, last, resident, block, slowed, interpreted)
            for k in group
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
    block: float | None,
    slowed: float,
    interpreted: bool,
) -> StageCost:
    on_devices, parts = levels.local + levels.peers, num_bits - levels.ranks
    device_bits = (1 << on_devices) - (1 << levels.local)
    migration_bits, rank_bits = (1 << parts) - (1 << on_devices), (1 << num_bits) - (1 << parts)
    windows = 1 << _there(migration_bits, stage.fresh)
    ranks = 1 << _there(rank_bits, stage.fresh)
    each_rank = 1 << _there(device_bits, stage.fresh)
    devices = ranks * each_rank
    each = [step_cost(step, levels.local, precision, block, interpreted=interpreted) for step in stage.steps]
    halvings = log2(precision.storage.real_bytes / SINGLE.storage.real_bytes)
    rate, seen = rates.fma * rates.double**halvings, rates.seen
    if interpreted:
        rate, seen = rates.interpreted * 0.5 ** (halvings / 2), rates.interpreted_seen
    cost: dict[str, Any] = {
        "memory": windows * devices * added(step.bytes for step in each),
        "fma": windows * devices * added(step.fma for step in each),
        "work": windows
        * added(cost.seconds(rates.memory / slowed, rate, seen) + each_rank * rates.launch for cost in each),
    }
    if isinstance(stage.motion, Exchange):
        cost |= _exchange(stage.motion, stage.fresh, levels, precision, rates, windows)
        cost["peers"] *= ranks
    elif isinstance(stage.motion, Migration):
        share = max(0, windows - resident) / windows
        come = share * precision.storage.bytes * 2.0 ** (num_bits - stage.fresh.bit_count())
        go = share * precision.storage.bytes * 2.0 ** (num_bits - last.bit_count())
        come_each, go_each = come / devices, go / (1 << _there(device_bits | rank_bits, last))
        both = max(come_each / rates.host, go_each / rates.host, (come_each + go_each) / rates.host_both)
        on_host = (come + go) / ranks / rates.host_all  # each rank has a host of its own
        both = max(both, on_host)
        ends = max((come_each + go_each) / rates.host, on_host) / windows if not resident else 0.0
        cost |= {"host_in": come, "host_out": go, "copying": max(both, ends), "ends": ends}
        if stage.motion.swaps:
            cost |= _between_hosts(stage, num_bits, levels, precision, rates)
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


def _between_hosts(stage: Stage, num_bits: int, levels: Levels, precision: Precision, rates: Rates) -> dict[str, Any]:
    """Return the bytes and seconds of an exchange between the host memories of ranks, before a pass."""
    assert isinstance(stage.motion, Migration)
    homes = mask_of(tuple(bit for position, bit in enumerate(stage.motion.bits) if stage.fresh >> position & 1))
    parts = num_bits - levels.ranks
    found = _exchange(
        Exchange(stage.motion.swaps), homes, Levels(parts, levels.ranks, levels.slice), precision, rates, 1
    )
    return {"peers": found["peers"], "sent": found["sent"], "moving": found["sent"] / rates.homes + rates.exchange}


def _exchange(
    motion: Exchange, fresh: int, levels: Levels, precision: Precision, rates: Rates, windows: int
) -> dict[str, Any]:
    """Return the bytes and seconds of an exchange; `fresh` is the mask of fresh positions after it."""
    ours = mask_of(tuple(local for local, _ in motion.swaps))
    theirs = mask_of(tuple(device for _, device in motion.swaps))
    # A device bit now was the local position before: pieces go to values of one mask, come from those of the other.
    goes = mask_of(tuple(device for _, device in motion.swaps if not fresh >> device & 1))
    came = mask_of(tuple(device for local, device in motion.swaps if not fresh >> local & 1))
    sent_along = (1 << min(levels.slice, SPARED_FROM)) - 1  # whether fresh or not
    piece = precision.storage.bytes * 2.0 ** _there((1 << levels.local) - 1 & ~ours, fresh & ~sent_along)
    on_devices = levels.local + levels.peers
    alike = 1 << _there((1 << on_devices) - (1 << levels.local) & ~theirs, fresh)  # groups of devices that do the same
    farther = _farther(levels)
    sends, receives = _partners(goes, came, farther), _partners(came, goes, farther)
    pieces = _pairs(goes, came, farther)
    sent = piece * max(sum(sends), sum(receives))
    links = (1 << levels.peers) - 1
    time = sent / rates.peer if levels.network == "switch" else piece * links / rates.peer
    cost: list[LayerCost] = []
    if levels.layers:
        rate = [layer.bytes_per_second for layer in levels.layers]
        busiest = max(sends, receives, key=lambda each: added(n / r for n, r in zip(each, rate, strict=True)))
        for every, most, r in zip(pieces, busiest, rate, strict=True):
            cost.append(LayerCost(windows * alike * every * piece, windows * most * piece, windows * most * piece / r))
        time = added(most * piece / r for most, r in zip(busiest, rate, strict=True))
    return {
        "peers": windows * alike * sum(pieces) * piece,
        "sent": windows * sent,
        "link": windows * piece,
        "layers": tuple(cost),
        "moving": windows * (time + rates.exchange),
    }


def _farther(levels: Levels) -> list[int]:
    """Return for each layer the mask of the device bits of farther layers; one if all devices are equally far."""
    first, all_bits = levels.local, (1 << levels.local + levels.peers) - 1
    found = []
    for layer in levels.layers:
        first += layer.bits
        found.append(all_bits & -1 << first)
    return found or [0]


def _partners(free: int, held: int, farther: Sequence[int]) -> list[int]:
    """Return for each layer the number of devices with which the busiest one exchanges amplitudes.

    Its partners differ from it in any of the `free` bits. In bits that are only in `held`, all partners are 0, and the
    busiest device is 1.
    """
    only = held & ~free
    counts, before = [], 0 if only else 1  # it is no partner of its own
    for beyond in farther:
        within = 0 if only & beyond else 1 << (free & ~beyond).bit_count()
        within = max(within, before)
        counts.append(within - before)
        before = within
    return counts


def _pairs(goes: int, came: int, farther: Sequence[int]) -> list[int]:
    """Return for each layer how many ordered pairs of devices exchange, among those whose other bits are equal."""
    both, either = goes & came, goes ^ came
    counts, before = [], 1 << both.bit_count()  # from each device to itself
    for beyond in farther:
        within = 1 << both.bit_count() + (both & ~beyond).bit_count() + (either & ~beyond).bit_count()
        counts.append(within - before)
        before = within
    return counts


def _there(positions: int, fresh: int) -> int:
    """Return how many of some positions are not fresh."""
    return (positions & ~fresh).bit_count()
