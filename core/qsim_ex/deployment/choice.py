"""The choice of the smallest placement of a state that fits in devices and host memory, by arithmetic alone.

It is a pure function of the number of wires, the options, and the free memory of devices and host. It queries no
device, so placements for machines that are not here can be chosen, printed and tested.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from qsim_ex.devices.memory import state_bytes
from qsim_ex.display.amounts import human
from qsim_ex.errors import OptionError, OutOfMemory
from qsim_ex.options import Options
from qsim_ex.placement.deployment import BOUNDLESS, Deployment, FreeMemory, StateRequest
from qsim_ex.placement.kinds import KINDS
from qsim_ex.precision import PRECISIONS, STORAGE


def deploy(num_wires: int, options: Options, free: FreeMemory, reason: str = "asked for") -> Deployment:
    """Return the smallest placement that fits: one device, several, or one with host memory.

    Several devices with host memory are used only if the options ask for them. reason: why these devices were chosen.
    Raises `OptionError` for options that contradict one another, `OutOfMemory` with the sum of every placement that was
    tried, and with changes that would fit.
    """
    refused: list[str] = []
    for candidate in candidates(num_wires, options, free):
        if (lack := _lack(candidate, options, free)) is None:
            return replace(candidate, reason=_why(candidate, options, refused, reason))
        refused.append(lack)
    raise OutOfMemory(_refusal(num_wires, options, free, refused))


def candidates(num_wires: int, options: Options, free: FreeMemory) -> Iterator[Deployment]:
    """Yield every placement that the options allow, in the order of preference; not all of them fit."""
    sets = _device_sets(options, free)
    for kind in KINDS.values():
        for devices in sets if kind.in_device_memory else sets[:1]:
            request = StateRequest(num_wires, options, free, devices)
            if request.allows(kind.shared, kind.in_device_memory):
                yield from kind.module.lay_out(request)


def _device_sets(options: Options, free: FreeMemory) -> list[tuple[int, ...]]:
    """Return the sets of devices that may share a state: the requested one, or the first 1, 2, 4, … of all devices."""
    numbers = [number for number, _ in free.devices]
    if options.devices is not None:
        return [tuple(options.devices)]
    if options.device_wires is not None or options.virtual_peers > 1:
        return [(numbers[0],)]
    return [tuple(numbers[: 1 << k]) for k in range(len(numbers).bit_length())]


def _lack(candidate: Deployment, options: Options, free: FreeMemory) -> str | None:
    """Return the memory that a placement lacks, in words, or None if it fits."""
    lacks = []
    for number in dict.fromkeys(candidate.devices):
        needed = candidate.device_bytes * candidate.devices.count(number)
        if free.in_host_memory and options.max_memory is None:
            needed += candidate.host_bytes
        if needed > (allowed := free.on_device(number, options)):
            name = "the host" if free.in_host_memory else f"GPU {number}"
            has = f"{name} has {human(allowed)} free"
            if options.max_memory is not None:
                has = f"max_memory allows {human(allowed)}{_besides(name, dict(free.devices)[number])}"
            lacks.append(f"{human(needed)} on {name}, {has}")
            break
    if candidate.host_bytes > (allowed := free.on_host(options)):
        has = f"the host has {human(free.host)} free"
        if options.max_host_memory is not None:
            has = f"max_host_memory allows {human(allowed)}{_besides('the host', free.host)}"
        lacks.append(f"{human(candidate.host_bytes)} on the host, {has}")
    return f"{_name(candidate, free)} needs {' and '.join(lacks)}" if lacks else None


def _besides(name: str, free: int) -> str:
    """Return the free memory in words, for a message on the allowed memory; empty if the free memory is unknown."""
    return f", {name} has {human(free)} free" if free < BOUNDLESS else ""


def _name(candidate: Deployment, free: FreeMemory) -> str:
    """Return the name of a placement with its devices, in a few words."""
    numbers = list(dict.fromkeys(candidate.devices))
    if free.in_host_memory:
        where = "the CPU"
    else:
        where = f"GPU {numbers[0]}" if len(numbers) == 1 else f"GPUs {', '.join(map(str, numbers))}"
    if candidate.in_one_piece:
        return candidate.kind
    if candidate.host_memory is None:
        return f"{candidate.kind} ({len(candidate.devices)} on {where})"
    return f"{candidate.kind} (windows of {candidate.levels.local} wires, {candidate.host_memory}, on {where})"


def _why(candidate: Deployment, options: Options, refused: list[str], reason: str) -> str:
    """Return the reason for this placement."""
    if options.device_wires is not None and not candidate.in_one_piece:
        asked = f"device_wires={options.device_wires}"
        return "asked for: " + asked + (f", {len(candidate.devices)} devices" if candidate.levels.peers else "")
    if not refused:
        return "asked for: devices" if candidate.levels.peers and options.devices else reason
    return f"{reason}; {refused[0]}"


def _refusal(num_wires: int, options: Options, free: FreeMemory, refused: list[str]) -> str:
    """Return the message of `OutOfMemory`: the sum of every placement, and changes that would fit."""
    needed = human(state_bytes(num_wires, options.dtype))
    head = f"{num_wires} wires in {options.dtype.name} need {needed}"
    advice = [*_would_fit(num_wires, options, free)]
    return f"{head}. " + "; ".join(refused) + ". " + _advice(advice)


def _advice(advice: list[str]) -> str:
    if not advice:
        return "Use a machine with more memory."
    return f"It would fit with {', '.join(advice[:-1]) + ' or ' + advice[-1] if len(advice) > 1 else advice[0]}."


def _would_fit(num_wires: int, options: Options, free: FreeMemory) -> Iterator[str]:
    """Yield changes each of which would make the state fit."""
    bytes_now = STORAGE[options.dtype].bytes
    for row in PRECISIONS.values():
        if row.storage.bytes < bytes_now and _fits(num_wires, replace(options, precision=row.name), free):
            yield f"precision={row.name!r}"
    for row in PRECISIONS.values():
        if row.storage.bytes <= bytes_now and (fewer := _most(num_wires, replace(options, precision=row.name), free)):
            yield f"{fewer} wires" + f" in {row.storage.dtype.name}" * (row.name != options.precision)
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
    if not free.in_host_memory or options.device_wires is not None:
        host = 2 * state_bytes(num_wires, options.dtype)
        lifted = replace(options, max_host_memory=host)
        if _fits(num_wires, lifted, free):
            found = deploy(num_wires, lifted, free)
            yield f"{human(found.host_bytes)} of host memory"


def _most(num_wires: int, options: Options, free: FreeMemory) -> int:
    """Return the largest number of wires below `num_wires` that fits, 0 if there is none."""
    return next((fewer for fewer in range(num_wires - 1, 0, -1) if _fits(fewer, options, free)), 0)


def _fits(num_wires: int, options: Options, free: FreeMemory) -> bool:
    try:
        return any(_lack(one, options, free) is None for one in candidates(num_wires, options, free))
    except OptionError:
        return False
