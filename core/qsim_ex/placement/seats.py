"""What is done alike on all devices of a divided state: room is asked for, and steps are launched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, assert_never

import numpy as np

from qsim_ex.circuit.ops import mask_of
from qsim_ex.devices.base import Device
from qsim_ex.devices.memory import human
from qsim_ex.devices.probe import host_free
from qsim_ex.errors import OutOfMemory
from qsim_ex.placement.links import Seat, synchronize
from qsim_ex.steps.step import Clear, Shuffle, Spread, Step, Sweep, Wide

QUEUED_BYTES = 1 << 37
"""How much work may be queued on a device before we wait for it, so that a cancelled run ends within a second."""

NO_NUMBERS = np.zeros(0, dtype=np.complex128)

Share = tuple[Any, Sequence[Any]]
"""What a device has prepared, and the numbers of the steps."""


def check_memory(
    what: str, devices: Sequence[Device], needed: Sequence[int], host: int, limit: int | None, host_limit: int | None
) -> None:
    """Raise `OutOfMemory`, with the sum, unless every device and the host have room.

    what: the state and its sum, for the message. needed: bytes for each entry of `devices`; a device that stands there
    several times needs their sum. limit, host_limit: bytes allowed in place of what is free on a device, on the host.
    """
    wanted: Counter[str] = Counter()
    for device, size in zip(devices, needed, strict=True):
        wanted[device.name] += size
    shares_host = {device.name for device in devices if device.kind == "cpu"}
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
    free = host_free() if host_limit is None else host_limit
    if host > free:
        raise OutOfMemory(
            f"{what}: {human(host)} on the host, which has {human(free)} free. Use fewer wires, or precision='single'."
        )


def shares_of(work: Sequence[tuple[Any, Iterable[Any]]]) -> list[Share]:
    """For each device what it has prepared, and all numbers as a list; virtual peers may share theirs."""
    listed: dict[int, list[Any]] = {}
    for _, numbers in work:
        if id(numbers) not in listed:
            listed[id(numbers)] = list(numbers)
    return [(prepared, listed[id(numbers)]) for prepared, numbers in work]


def work_on(
    seats: Sequence[tuple[Seat, int]],
    steps: Sequence[Step],
    shares: Sequence[Share],
    begin: int,
    fresh: int,
    tick: Callable[[], None],
) -> int:
    """Launch each step on all devices before the next one, so that they work at the same time.

    seats: the sub state vectors that are not known to be zero, each with the value of its bits from `local` up.
    begin: how many steps of the plan came before, whose numbers are in `shares` too.
    fresh: mask of the positions that are fresh; returns those that are so after the steps.
    """
    crowd = max(Counter(seat.device.name for seat, _ in seats).values(), default=1)
    queued = 0
    for k, step in enumerate(steps, begin):
        tick()
        for seat, high in seats:
            prepared, numbers = shares[seat.place]
            seat.device.run(seat.buffer, _bits(seat), step, numbers[k], prepared, high)
            queued += 2 * crowd * seat.buffer.nbytes // len(seats)
        fresh &= ~_written(step)
        if queued > QUEUED_BYTES:
            synchronize([seat for seat, _ in seats])
            queued = 0
    return fresh


def clear(seat: Seat, fresh: int) -> None:
    """Write the zeros of fresh local positions."""
    seat.device.run(seat.buffer, _bits(seat), Clear(fresh), NO_NUMBERS)


def _bits(seat: Seat) -> int:
    return int(seat.buffer.size).bit_length() - 1


def _written(step: Step) -> int:
    """The fresh positions that are not fresh any more after a step."""
    match step:
        case Sweep():
            return mask_of(step.tile)
        case Clear(fresh):
            return fresh
        case Wide() | Shuffle() | Spread():  # only sweeps know of fresh bits, so none is local here
            return 0
        case _:
            assert_never(step)
