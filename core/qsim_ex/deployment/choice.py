"""How a state is laid out over devices and host memory: the smallest placement that fits, by arithmetic alone.

A pure function of the number of wires, the options, and what every memory has free. It asks no device, so placements
for machines that are not here can be chosen, printed and tested.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from qsim_ex.devices.memory import human, state_bytes
from qsim_ex.errors import OptionError, OutOfMemory
from qsim_ex.options import Options
from qsim_ex.placement.deployment import Deployment, single
from qsim_ex.steps.layout import Levels

SLICE = 20
"""Most bits of a slice, unless it is asked for: 8 MiB in complex64, enough for a copy at full speed."""

SLOT_BITS = 8
"""Bits of a sub state vector above its slices, unless it is asked for: so many wires can trade places in one motion."""

SMALLEST_WINDOW = 16
"""Fewest wires of a sub state vector that is chosen automatically; below, host memory alone is the better place."""

IN_FLIGHT = 3
"""Buffers with which copies in, work, and copies out overlap."""

EXCHANGE = 1 << 27
"""Bytes of one copy between devices; twice that is staged (`placement.links`)."""

COPY = 1 << 26
"""Bytes of one copy between host and device; so much memory stands beside the slots, and twice on the host where
slices are swapped (`placement.room`)."""

MARGIN = 32
"""A 1/32 of a device's free memory is left to what a device needs beside amplitudes, unless max_memory says more."""


BOUNDLESS = 1 << 200
"""Free bytes of memory that nobody has looked at: more than anything needs."""


@dataclass(frozen=True, slots=True)
class Free:
    """What may be used.

    devices: the number and the free bytes of each device; of equal devices, in the order in which they are taken.
    host: free bytes of the host; on the CPU, where the device is the host, the same bytes.
    """

    kind: Literal["cpu", "gpu"]
    devices: tuple[tuple[int, int], ...]
    host: int


def deploy(num_wires: int, options: Options, free: Free, reason: str = "asked for") -> Deployment:
    """The smallest placement that fits: one device, several, or one with host memory; several with it if asked for.

    reason: why it is these devices. Raises `OptionError` where options contradict one another, `OutOfMemory` with the
    sum of every placement that was looked at, and with what would fit.
    """
    refused: list[str] = []
    for candidate in candidates(num_wires, options, free):
        if (lack := _lack(candidate, options, free)) is None:
            return replace(candidate, reason=_why(candidate, options, refused, reason))
        refused.append(lack)
    raise OutOfMemory(_refusal(num_wires, options, free, refused))


def candidates(num_wires: int, options: Options, free: Free) -> Iterator[Deployment]:
    """Every placement that the options allow, in the order of preference; not all of them fit."""
    shared = options.virtual_peers
    for devices in _device_sets(options, free):
        peers = (len(devices) * shared).bit_length() - 1
        numbers = tuple(number for number in devices for _ in range(shared))
        local = num_wires - peers
        if options.device_wires is not None:
            _agrees(num_wires, peers, options)
            local = min(local, options.device_wires)
        elif local < 0 or (peers and local < 1):
            raise OptionError(
                f"{num_wires} wires cannot be divided among {1 << peers} devices: each needs a wire of its own, so at "
                f"least {peers + 1} wires are wanted. Use fewer devices."
            )
        if local + peers == num_wires:
            yield _in_device_memory(num_wires, peers, numbers, options)
        elif options.device_wires is not None:
            yield from _over_host(num_wires, local, peers, numbers, options, free)
    if options.device_wires is None and free.kind == "gpu":
        devices = _device_sets(options, free)[0]  # the host's memory is one, so one device is the smallest placement
        peers = (len(devices) * shared).bit_length() - 1
        numbers = tuple(number for number in devices for _ in range(shared))
        if (found := _window(num_wires, peers, devices, options, free)) is not None:
            yield from _over_host(num_wires, found, peers, numbers, options, free)


def _device_sets(options: Options, free: Free) -> list[tuple[int, ...]]:
    """The devices that may share a state: those that were asked for, or the first 1, 2, 4, … of all."""
    numbers = [number for number, _ in free.devices]
    if options.devices is not None:
        return [options.devices]
    if options.device_wires is not None or options.virtual_peers > 1:
        return [(numbers[0],)]
    return [tuple(numbers[: 1 << k]) for k in range(len(numbers).bit_length())]


def _agrees(num_wires: int, peers: int, options: Options) -> None:
    """Raise `OptionError` if so many devices with so many wires each have more room than there are wires."""
    wires = options.device_wires
    assert wires is not None
    if peers and wires + peers > num_wires:
        named = f"devices={list(options.devices)}" if options.devices else f"virtual_peers={options.virtual_peers}"
        raise OptionError(
            f"{named} and device_wires={wires} make {wires + peers} wires ({peers} + {wires}), and the state has "
            f"{num_wires}. Use device_wires={max(num_wires - peers, 0)}, or leave it out."
        )


def _levels(local: int, peers: int, options: Options) -> Levels:
    """The levels with a slice that is long enough for a copy and leaves room for wires that trade places."""
    if options.window_slots is None:
        piece = max(0, min(SLICE, local - SLOT_BITS))
    else:
        piece = local - (options.window_slots.bit_length() - 1)
        if not 0 <= piece < local:
            raise OptionError(
                f"window_slots={options.window_slots}: a sub state vector of {local} wires has from 2 to {1 << local} "
                "slices. Use so many, or leave it out."
            )
    return Levels(local, peers, piece, "switch" if options.network == "auto" else options.network)


def _in_device_memory(num_wires: int, peers: int, numbers: tuple[int, ...], options: Options) -> Deployment:
    itemsize = options.dtype.itemsize
    if not peers:
        return single(num_wires, itemsize, numbers[0], "")
    levels = _levels(num_wires - peers, peers, options)
    size = (itemsize << levels.local) + exchange_bytes(levels, itemsize)
    return Deployment("peers", num_wires, levels, numbers, 1, None, size, 0, "")


def exchange_bytes(levels: Levels, itemsize: int) -> int:
    """Bytes beside a sub state vector in which what a device exchanges with others is staged."""
    lanes = 1 if levels.network == "switch" else (1 << levels.peers) - 1
    return min(2 * EXCHANGE, lanes * itemsize << levels.local)


def _over_host(
    num_wires: int, local: int, peers: int, numbers: tuple[int, ...], options: Options, free: Free
) -> Iterator[Deployment]:
    """A state in host memory with windows of 2^local amplitudes on each device: first 'whole', then 'spread'."""
    itemsize = options.dtype.itemsize
    levels = _levels(local, peers, options)
    window = itemsize << local
    groups = 1 << (num_wires - local - peers)
    fitting = min(_roomy(number, options, free) // (window * numbers.count(number)) for number in numbers)
    flight = options.in_flight_buffers or max(1, min(IN_FLIGHT, fitting))
    flight = min(flight, groups)
    exchange = exchange_bytes(levels, itemsize) if peers else 0
    kind = "peers over host" if peers else "migrated"
    for scenario in ("whole", "spread"):
        if options.host_memory not in ("auto", scenario):
            continue
        if scenario == "spread" and peers:  # several devices have all of a state at home on the host
            if options.host_memory == "spread":
                raise OptionError(
                    f"host_memory='spread' is for one device, and {1 << peers} share this state. Use 'whole', or one "
                    "device."
                )
            continue
        host = state_bytes(num_wires, options.dtype)
        if scenario == "spread":
            if options.in_flight_buffers is None:
                flight = max(1, min(fitting, groups - 1))
            host = host - flight * window + 2 * min(COPY, window)
        size = flight * window + min(COPY, window) + exchange
        yield Deployment(kind, num_wires, levels, numbers, flight, scenario, size, host, "")


def _window(num_wires: int, peers: int, devices: tuple[int, ...], options: Options, free: Free) -> int | None:
    """The most wires of a sub state vector of which a device can hold several, one being worked on."""
    size = min(_roomy(number, options, free) for number in devices) // options.virtual_peers
    flight = options.in_flight_buffers or IN_FLIGHT
    local = (size // (flight * options.dtype.itemsize)).bit_length() - 1
    local = min(local, num_wires - peers - 1)
    return local if local >= SMALLEST_WINDOW else None


def _allowed(number: int, options: Options, free: Free) -> int:
    return dict(free.devices)[number] if options.max_memory is None else options.max_memory


def _roomy(number: int, options: Options, free: Free) -> int:
    """Bytes of a device that several sub state vectors may fill."""
    allowed = _allowed(number, options, free)
    return allowed if options.max_memory is not None else allowed - allowed // MARGIN


def _host_allowed(options: Options, free: Free) -> int:
    return free.host if options.max_host_memory is None else options.max_host_memory


def _lack(candidate: Deployment, options: Options, free: Free) -> str | None:
    """What a placement lacks, in words, or None if it fits."""
    lacks = []
    for number in dict.fromkeys(candidate.devices):
        needed = candidate.device_bytes * candidate.devices.count(number)
        if free.kind == "cpu" and options.max_memory is None:
            needed += candidate.host_bytes  # the device's memory is the host's
        if needed > (allowed := _allowed(number, options, free)):
            name = "the host" if free.kind == "cpu" else f"GPU {number}"
            has = f"{name} has {human(allowed)} free"
            if options.max_memory is not None:
                has = f"max_memory allows {human(allowed)}{_besides(name, dict(free.devices)[number])}"
            lacks.append(f"{human(needed)} on {name}, {has}")
            break
    if candidate.host_bytes > (allowed := _host_allowed(options, free)):
        has = f"the host has {human(free.host)} free"
        if options.max_host_memory is not None:
            has = f"max_host_memory allows {human(allowed)}{_besides('the host', free.host)}"
        lacks.append(f"{human(candidate.host_bytes)} on the host, {has}")
    return f"{_name(candidate, free)} needs {' and '.join(lacks)}" if lacks else None


def _besides(name: str, free: int) -> str:
    """What is free besides what is allowed, if anybody has looked."""
    return f", {name} has {human(free)} free" if free < BOUNDLESS else ""


def _name(candidate: Deployment, free: Free) -> str:
    """A placement in a few words."""
    numbers = list(dict.fromkeys(candidate.devices))
    if free.kind == "cpu":
        where = "the CPU"
    else:
        where = f"GPU {numbers[0]}" if len(numbers) == 1 else f"GPUs {', '.join(map(str, numbers))}"
    if candidate.kind == "single":
        return candidate.kind
    if candidate.kind == "peers":
        return f"peers ({len(candidate.devices)} on {where})"
    return f"{candidate.kind} (windows of {candidate.levels.local} wires, {candidate.host_memory}, on {where})"


def _why(candidate: Deployment, options: Options, refused: list[str], reason: str) -> str:
    """Why it is this placement."""
    if options.device_wires is not None and candidate.kind != "single":
        asked = f"device_wires={options.device_wires}"
        return "asked for: " + asked + (f", {len(candidate.devices)} devices" if candidate.levels.peers else "")
    if not refused:
        return "asked for: devices" if candidate.levels.peers and options.devices else reason
    return f"{reason}; {refused[0]}"


def _refusal(num_wires: int, options: Options, free: Free, refused: list[str]) -> str:
    """The sum of every placement, and what would fit."""
    needed = human(state_bytes(num_wires, options.dtype))
    head = f"{num_wires} wires in {options.dtype.name} need {needed}"
    advice = [*_would_fit(num_wires, options, free)]
    return f"{head}. " + "; ".join(refused) + ". " + _advice(advice)


def _advice(advice: list[str]) -> str:
    if not advice:
        return "Use a machine with more memory."
    return f"It would fit with {', '.join(advice[:-1]) + ' or ' + advice[-1] if len(advice) > 1 else advice[0]}."


def _would_fit(num_wires: int, options: Options, free: Free) -> Iterator[str]:
    """Changes that would each make the state fit."""
    if options.dtype.itemsize == 16 and _fits(num_wires, replace(options, precision="single"), free):
        yield "precision='single'"
    for fewer in range(num_wires - 1, 0, -1):
        if _fits(fewer, options, free):
            yield f"{fewer} wires"
            break
    if options.device_wires is not None:
        for less in range(options.device_wires - 1, 0, -1):
            if _fits(num_wires, replace(options, device_wires=less), free):
                yield f"device_wires={less}"
                break
    elif options.devices is not None and len(options.devices) < len(free.devices):
        numbers = tuple(number for number, _ in free.devices)
        for count in (1 << k for k in range(len(numbers).bit_length())):
            if count > len(options.devices) and _fits(num_wires, replace(options, devices=numbers[:count]), free):
                yield f"devices={list(numbers[:count])}"
                break
    if free.kind == "gpu" or options.device_wires is not None:
        host = 2 * state_bytes(num_wires, options.dtype)
        lifted = replace(options, max_host_memory=host)
        if _fits(num_wires, lifted, free):
            found = deploy(num_wires, lifted, free)
            yield f"{human(found.host_bytes)} of host memory"


def _fits(num_wires: int, options: Options, free: Free) -> bool:
    try:
        return any(_lack(one, options, free) is None for one in candidates(num_wires, options, free))
    except OptionError:
        return False
