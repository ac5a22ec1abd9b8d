"""The assignment of a state to several processes: all of them make it together, and all get the same or an error."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from qsim_ex.comm.connection import ranks_of, renew
from qsim_ex.comm.processes import host_key
from qsim_ex.devices import discover
from qsim_ex.devices.memory import human, state_bytes
from qsim_ex.errors import CommunicationError, NotSupported, OutOfMemory, QsimExError
from qsim_ex.kernels import host
from qsim_ex.options import Options
from qsim_ex.placement import ranks as placement
from qsim_ex.placement.request import FreeMemory, StateRequest

if TYPE_CHECKING:
    from qsim_ex.comm.protocol import Communicator
    from qsim_ex.deployment.assign import Assignment

ALONE = {"devices": None, "virtual_peers": 1, "device_wires": None, "window_slots": None}
"""Options that a state over several processes cannot have yet, with their default values."""


class _Seat(NamedTuple):
    """Where a rank runs: its host, and the cores that it may use."""

    host: tuple[str, str]
    cores: tuple[int, ...]


class _Room(NamedTuple):
    """The memory of a rank: the kind of its device, free and needed bytes there and on its host; or its error."""

    kind: str
    device_free: int
    device_needed: int
    host_free: int
    host_needed: int
    error: str


def over_ranks(num_wires: int, options: Options, states: int) -> tuple[Assignment | None, str]:
    """Return the assignment of a state to several processes; or None, and why it is not divided over them.

    Raises the same error on all ranks: `OutOfMemory` if one has no room, `DeviceError` and what else `assign` raises;
    and `NotSupported` for options that such a state cannot have.
    """
    if unfit := [name for name, usual in ALONE.items() if getattr(options, name) != usual]:
        if not options.over_processes:
            return None, f"not divided over processes: {', '.join(unfit)} was given"
        raise NotSupported(
            f"processes={options.processes} with {', '.join(unfit)}: a process holds one sub state vector on one "
            "device; leave one of them out."
        )
    ranks, why = ranks_of(options.processes, num_wires)
    if ranks is None:
        return None, why
    communicator = renew()
    own = local_options(options, communicator)
    request = StateRequest(num_wires, own, FreeMemory("cpu", ((0, 0),), 0), (own.device_id,), ranks.used)
    (deployment,) = placement.lay_out(request)
    device, reason, room, error = None, "", None, None
    try:
        device, reason = discover.choose(deployment.levels.local, own, states)
        needed, staging = deployment.device_bytes, deployment.host_bytes
        free = discover.free_bytes(device, needed) if own.max_memory is None else own.max_memory
        host_free = discover.free_bytes(discover.cpu(own.threads), staging)
        if device.kind == "cpu" and own.max_memory is None:
            room = _Room("cpu", free, 0, host_free, needed + staging, "")
        else:
            room = _Room(device.kind, free, needed, host_free, staging, "")
    except QsimExError as raised:
        error, room = raised, _Room("", 0, 0, 0, 0, f"{type(raised).__name__}: {raised}")
    _check(communicator, room, error, num_wires, options)
    from qsim_ex.deployment.assign import Assignment

    assert device is not None
    deployment = replace(deployment, reason=f"{reason}; divided over {ranks.describe()}")
    return Assignment(device, deployment, room.device_free, room.host_free, (device,), communicator), ""


def local_options(options: Options, communicator: Communicator) -> Options:
    """Return the options of this rank: ranks of one host share its cores and take turns in its GPUs."""
    seats = communicator.allgather(_Seat(host_key(), tuple(sorted(os.sched_getaffinity(0)))))
    mine = seats[communicator.rank]
    before = sum(seat.host == mine.host for seat in seats[: communicator.rank])
    changes: dict[str, int] = {}
    if options.threads is None:
        changes["threads"] = max(1, host.cores() // Counter(seats)[mine])
    if options.device != "cpu" and (count := discover.gpu_count()):
        changes["device_id"] = (options.device_id + before) % count
    return options.with_(changes)


def _check(
    communicator: Communicator, room: _Room, error: QsimExError | None, num_wires: int, options: Options
) -> None:
    """Raise on all ranks if any has an error, lacks memory, or has a device of another kind."""
    rooms = communicator.allgather((host_key(), room))
    if error is not None:
        raise error
    whole = f"{num_wires} wires in {options.dtype.name} are {human(state_bytes(num_wires, options.dtype))}"
    on_host: Counter[tuple[str, str]] = Counter()
    for rank, (where, one) in enumerate(rooms):
        if one.error:
            raise CommunicationError(f"rank {rank} cannot hold its part of the state. {one.error}")
        if one.kind != rooms[0][1].kind:
            raise CommunicationError(
                f"expected devices of one kind, got rank 0 on a {rooms[0][1].kind} and rank {rank} on a {one.kind}; "
                "pass device='cpu' or device='gpu'."
            )
        if one.device_needed > one.device_free:
            raise OutOfMemory(
                f"{whole} over {communicator.size} processes: {human(one.device_needed)} on rank {rank}, which has "
                f"{human(one.device_free)} free. Use more processes, fewer wires, or precision='single'."
            )
        on_host[where] += one.host_needed
        if on_host[where] > one.host_free:
            raise OutOfMemory(
                f"{whole} over {communicator.size} processes: its ranks need more than the {human(one.host_free)} that "
                f"host {where[0]} has free (rank {rank}). Use more hosts, fewer wires, or precision='single'."
            )
