"""The cost of an exchange: bytes over each layer of the network, and seconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from qsim_ex import thresholds
from qsim_ex.circuit.ops import mask_of
from qsim_ex.planning.cost.rates import Rates
from qsim_ex.planning.cost.step_cost import added
from qsim_ex.precision import Precision
from qsim_ex.steps.layout import Levels
from qsim_ex.steps.plan import Exchange, Migration, Stage


class LayerCost(NamedTuple):
    """What goes over one layer of the network.

    bytes: sent by all devices. sent: sent or received by the device that takes longest. seconds: of the exchanges,
        without the time to start them.
    """

    bytes: float
    sent: float
    seconds: float


def between_hosts(stage: Stage, num_bits: int, levels: Levels, precision: Precision, rates: Rates) -> dict[str, Any]:
    """Return the bytes and seconds of an exchange between the host memories of ranks, before a pass."""
    assert isinstance(stage.motion, Migration)
    homes = mask_of(tuple(bit for position, bit in enumerate(stage.motion.bits) if stage.fresh >> position & 1))
    parts = num_bits - levels.ranks
    found = exchange(
        Exchange(stage.motion.swaps), homes, Levels(parts, levels.ranks, levels.slice), precision, rates, 1
    )
    return {"peers": found["peers"], "sent": found["sent"], "moving": found["sent"] / rates.homes + rates.exchange}


def exchange(
    motion: Exchange, fresh: int, levels: Levels, precision: Precision, rates: Rates, windows: int
) -> dict[str, Any]:
    """Return the bytes and seconds of an exchange; `fresh` is the mask of fresh positions after it."""
    ours = mask_of(tuple(local for local, _ in motion.swaps))
    theirs = mask_of(tuple(device for _, device in motion.swaps))
    # A device bit now was the local position before: pieces go to values of one mask, come from those of the other.
    goes = mask_of(tuple(device for _, device in motion.swaps if not fresh >> device & 1))
    came = mask_of(tuple(device for local, device in motion.swaps if not fresh >> local & 1))
    sent_along = (1 << min(levels.slice, thresholds.now.spared_from)) - 1  # whether fresh or not
    piece = precision.storage.bytes * 2.0 ** not_fresh((1 << levels.local) - 1 & ~ours, fresh & ~sent_along)
    on_devices = levels.local + levels.peers
    device_bits = (1 << on_devices) - (1 << levels.local)
    alike = 1 << not_fresh(device_bits & ~theirs, fresh)  # groups of devices that do the same
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


def not_fresh(positions: int, fresh: int) -> int:
    """Return how many of some positions are not fresh."""
    return (positions & ~fresh).bit_count()
