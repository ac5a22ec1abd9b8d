"""Operations that are alike on all devices of a divided state: checking memory, and launching steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from qsim_ex.devices.base import Device
from qsim_ex.devices.memory import memory_of_host
from qsim_ex.display.amounts import human
from qsim_ex.errors import OutOfMemory
from qsim_ex.placement import executor
from qsim_ex.placement.base import Tick
from qsim_ex.placement.exchange.links import PeerBuffer
from qsim_ex.placement.executor import OneState, execute
from qsim_ex.steps.step import Step

Share = tuple[Any, Sequence[Any]]
"""The prepared steps of a device, and their numbers."""


def check_memory(
    what: str, devices: Sequence[Device], needed: Sequence[int], host: int, limit: int | None, host_limit: int | None
) -> None:
    """Raise `OutOfMemory`, with the sum, unless every device and the host have room.

    what: the state and its sum, for the message. needed: bytes for each entry of `devices`; a device that occurs
    several times needs their sum. limit, host_limit: bytes allowed in place of the free memory of a device, of the
    host.
    """
    wanted: Counter[str] = Counter()
    for device, size in zip(devices, needed, strict=True):
        wanted[device.name] += size
    shares_host = {device.name for device in devices if device.in_host_memory}
    for device in {device.name: device for device in devices}.values():
        free = device.memory()[0] if limit is None else limit
        size = wanted[device.name] + (host if device.name in shares_host and limit is None else 0)
        if size > free:
            raise OutOfMemory(
                f"{what}: {human(size)} on {device.name}, which has {human(free)} free. "
                "Use more devices, fewer wires, or precision='single'."
            )
    if not host:
        return
    free = memory_of_host()[0] if host_limit is None else host_limit
    if host > free:
        raise OutOfMemory(
            f"{what}: {human(host)} on the host, which has {human(free)} free. Use fewer wires, or precision='single'."
        )


def shares_of(work: Sequence[tuple[object, Iterable[object]]]) -> list[Share]:
    """Return the prepared steps of each device and their numbers as a list; virtual peers may share a list."""
    listed: dict[int, list[Any]] = {}
    for _, numbers in work:
        if id(numbers) not in listed:
            listed[id(numbers)] = list(numbers)
    return [(prepared, listed[id(numbers)]) for prepared, numbers in work]


def work_on(
    peer_buffers: Sequence[tuple[PeerBuffer, int]],
    steps: Sequence[Step],
    shares: Sequence[Share],
    begin: int,
    tick: Tick,
) -> None:
    """Execute steps on the sub state vectors of some peers, each with the value of its bits from `local` up.

    begin: how many steps of the plan came before; `shares` has their numbers too.
    """
    targets, end = [], begin + len(steps)
    for peer, high in peer_buffers:
        prepared, numbers = shares[peer.place]
        targets.append(OneState(peer.device, peer.buffer, _bits(peer), prepared, numbers[begin:end], high))
    execute(steps, targets, tick)


def clear(peer: PeerBuffer, fresh: int) -> None:
    """Write the zeros of fresh local positions."""
    executor.clear(peer.device, peer.buffer, _bits(peer), fresh)


def _bits(peer: PeerBuffer) -> int:
    return int(peer.buffer.size).bit_length() - 1
