"""Which ranks are near each other, by their hosts and racks, and how fast they exchange.

Device numbers are given to ranks so that those of one host differ in the lowest bits, which are the nearest layer of
the network. All ranks call these functions together, and get the same.
"""

from __future__ import annotations

import os
import socket
import time
import weakref
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from qsim_ex.comm.protocol import Communicator, SwapsInPlace
from qsim_ex.options.network import Layer, Layers

NAMES = ("host", "rack", "network")
"""The links between ranks of one host, of one rack, and of different ones, where a layer is found out."""

MEASURED_BYTES = 1 << 22
"""The bytes that each rank sends to measure a link; half a message of an exchange."""

_ROUNDS = 3
"""How often a link is measured; the fastest round counts, since the first one sets up buffers."""

Place = tuple[str, ...]
"""Where a rank is: its host, then what the host stands in, as far as is known."""


@dataclass(frozen=True, slots=True)
class Seats:
    """The device number of each rank, and how far ranks are from each other.

    ranks: the rank of each device number. bits: for each distance in `NAMES` how many bits of the numbers it has;
    ranks whose numbers differ in no higher bit are on one host, in one rack, or anywhere.
    """

    ranks: tuple[int, ...]
    bits: tuple[int, ...]


@dataclass(slots=True)
class _Surroundings:
    """What was found out over one connection: seats and layers by the number of ranks that hold amplitudes.

    Layers also by how they were measured, in a word.
    """

    seats: dict[int, Seats] = field(default_factory=dict)
    layers: dict[tuple[int, str], Layers] = field(default_factory=dict)


Rate = Callable[[Communicator, Seats, int], tuple[float, str]]
"""Returns the bytes per second that this rank sends to the one whose number differs by a distance, and the link.

Ranks without a number return infinity. The link is empty for messages, and for swaps by the communicator.
"""


class MeasuredBy(NamedTuple):
    """A way of trading that is measured: its word, and what makes the measurement, called once for each connection."""

    name: str
    make: Callable[[], Rate]


_known: weakref.WeakKeyDictionary[Any, _Surroundings] = weakref.WeakKeyDictionary()


def place() -> Place:
    """Return where this process is: its host, by the number that the running kernel gave itself, and its rack.

    Containers of one machine may have names of their own, or all have the same; the number is one for each machine.
    Racks are known under Slurm with a topology plugin; else each host is a rack of its own.
    """
    try:
        host = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        host = socket.gethostname()
    parts = os.environ.get("SLURM_TOPOLOGY_ADDR", "").split(".")
    kinds = os.environ.get("SLURM_TOPOLOGY_ADDR_PATTERN", "").split(".")
    if len(parts) == len(kinds) > 1 and kinds[-2:] == ["switch", "node"]:
        return host, ".".join(parts[:-1])
    return host, host


def seats_of(communicator: Communicator, used: int) -> Seats:
    """Return the seats of `used` ranks, a power of two; the first call over a connection asks all ranks."""
    known = _of(communicator)
    if used not in known.seats:
        known.seats[used] = seated(communicator.allgather(place()), used)
    return known.seats[used]


def layers_of_ranks(communicator: Communicator, used: int, measured_by: MeasuredBy | None = None) -> Layers:
    """Return the layers between `used` ranks with the bandwidths that they reach together, measured once.

    measured_by: how ranks trade; by default as the communicator trades arrays on hosts.
    """
    known, by = _of(communicator), measured_by or HOSTS
    key = used, by.name
    if key not in known.layers:
        known.layers[key] = _measured(communicator, seats_of(communicator, used), by.make())
    return known.layers[key]


def seated(places: Sequence[Place], used: int) -> Seats:
    """Return seats for `used` ranks at some places: as many neighbours as possible differ in the lowest bits.

    A host, or a rack, with three ranks gives two, or one; the others are left out, or sit apart.
    """
    units: list[tuple[int, ...]] = [(rank,) for rank in range(len(places))]
    bits = []
    for distance in range(len(places[0]) + 1):
        groups: dict[Place, list[tuple[int, ...]]] = defaultdict(list)
        for unit in units:
            groups[places[unit[0]][distance:]].append(unit)
        needed = used // len(units[0])
        size = needed
        while sum(len(group) // size for group in groups.values()) < needed // size:
            size //= 2
        units = [
            tuple(chain.from_iterable(group[first : first + size]))
            for group in groups.values()
            for first in range(0, len(group) - size + 1, size)
        ]
        bits.append(size.bit_length() - 1)
    return Seats(units[0], tuple(bits))


def _of(communicator: Communicator) -> _Surroundings:
    """Return what is known of a connection; nothing is kept of an object that cannot be referred to weakly."""
    try:
        return _known.setdefault(communicator, _Surroundings())
    except TypeError:
        return _Surroundings()


def _measured(communicator: Communicator, seats: Seats, measure: Rate) -> Layers:
    """Return a layer for each distance that ranks are apart, with the bytes that the slowest rank sends per second."""
    found: list[Layer] = []
    first = 0
    for link, bits in zip(NAMES, seats.bits, strict=True):
        if not bits:
            continue
        everyone = communicator.allgather(measure(communicator, seats, 1 << first))
        rate, by = min(everyone, key=lambda one: (one[0], one[1]))
        rate = float(f"{rate:.1e}")  # two digits, so that plans of two runs are alike if their networks are
        if found:
            rate = min(rate, found[-1].bytes_per_second)
        found.append(Layer(bits, by or link, rate))
        first += bits
    return tuple(found)


def by_messages(communicator: Communicator, seats: Seats, distance: int) -> tuple[float, str]:
    """Return the bytes per second that this rank sends in messages to the one whose number differs by `distance`."""
    if communicator.rank not in seats.ranks:
        return float("inf"), ""
    other = seats.ranks[seats.ranks.index(communicator.rank) ^ distance]
    sent = np.zeros(MEASURED_BYTES, dtype=np.uint8)
    received = np.empty_like(sent)
    return MEASURED_BYTES / _fastest(lambda: communicator.exchange(other, sent, received)), ""


def on_hosts(communicator: Communicator, seats: Seats, distance: int) -> tuple[float, str]:
    """Return what `by_messages` does; of swaps in place, where the communicator reaches the memory of that rank."""
    if communicator.rank not in seats.ranks:
        return float("inf"), ""
    other = seats.ranks[seats.ranks.index(communicator.rank) ^ distance]
    if not (isinstance(communicator, SwapsInPlace) and communicator.reaches(other)):
        return by_messages(communicator, seats, distance)
    mine = np.zeros(MEASURED_BYTES, dtype=np.uint8)
    return MEASURED_BYTES / _fastest(lambda: communicator.swap(other, [mine])), ""


def _fastest(trade: Callable[[], object]) -> float:
    """Return the seconds of the fastest of some rounds."""
    found = []
    for _ in range(_ROUNDS):
        begun = time.perf_counter()
        trade()
        found.append(time.perf_counter() - begun)
    return min(found)


HOSTS = MeasuredBy("hosts", lambda: on_hosts)
"""Trades of arrays on hosts by the communicator alone: in place where it can, else by messages."""
