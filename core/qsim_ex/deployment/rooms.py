"""The memory that ranks have for their parts of a state, which they tell one another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from qsim_ex.comm.processes import host_key
from qsim_ex.deployment.seats import on_this_host
from qsim_ex.devices import discover
from qsim_ex.devices.base import Device
from qsim_ex.devices.memory import state_bytes
from qsim_ex.display.amounts import human
from qsim_ex.errors import CommunicationError, OutOfMemory, QsimExError
from qsim_ex.options import Options
from qsim_ex.placement.deployment import MARGIN, Deployment
from qsim_ex.placement.exchange.mapped import MappedMemory

if TYPE_CHECKING:
    from qsim_ex.comm.protocol import Communicator


class Room(NamedTuple):
    """The memory of a rank: its host, the kind of its device, free and needed bytes there and on the host; or an error.

    for_windows: the bytes of each device that windows may fill. in_host_memory: whether the device's memory is the
    host's.
    """

    host: tuple[str, str]
    kind: str
    device_free: int
    device_needed: int
    host_free: int
    host_needed: int
    for_windows: int = 0
    in_host_memory: bool = False
    error: str = ""

    @staticmethod
    def none(error: QsimExError) -> Room:
        """Return what a rank tells that has an error in place of memory."""
        return Room(host_key(), "", 0, 0, 0, 0, error=f"{type(error).__name__}: {error}")


def lacks(rooms: Sequence[Room]) -> bool:
    """Return whether the GPUs of any rank have no room for its part."""
    return any(not one.in_host_memory and one.device_needed > one.device_free for one in rooms)


def room_of(
    deployment: Deployment, device: Device, devices: Sequence[Device], own: Options, communicator: Communicator
) -> Room:
    """Return the memory of this rank, and what a deployment takes of it."""
    needed, on_host = deployment.device_bytes * own.virtual_peers, deployment.host_bytes
    free = None if own.max_memory is None else own.device_limit

    def kept(one: Device) -> int:
        return MappedMemory.kept_bytes(communicator, one)

    if free is None:  # of a GPU that keeps as much as is needed the driver is not asked in each run
        free = min(discover.free_bytes(one, max(0, needed - kept(one))) + kept(one) for one in devices)
    for_windows = free if own.max_memory is not None else free - free // MARGIN
    host_free = discover.free_bytes(discover.cpu(own.threads), on_host)
    host_free += kept(home(device)) * on_this_host(communicator)  # they let go of it when they ask for more
    if own.max_host_memory is not None:
        host_free = own.host_limit
    if device.in_host_memory and own.max_memory is None:
        return Room(host_key(), "cpu", free, 0, host_free, needed + on_host, for_windows, in_host_memory=True)
    return Room(host_key(), device.kind, free, needed, host_free, on_host, for_windows, device.in_host_memory)


def home(device: Device) -> Device:
    """Return the device in whose memory parts are that lie on hosts."""
    return device if device.in_host_memory else discover.cpu()


def require_on_hosts(ranks: Communicator, what: str, needed: int) -> None:
    """Raise `OutOfMemory` on all ranks unless each host has room for `needed` bytes for each of its ranks."""
    found = ranks.allgather((host_key(), discover.host_free()))
    on_host = Counter(where for where, _ in found)
    for where, free in found:
        if on_host[where] * needed > free:
            raise OutOfMemory(
                f"{what} needs {human(needed)} on each of {ranks.size} processes; host {where[0]} has {human(free)} "
                f"free for {on_host[where]} of them. Ask for a part, such as own_slices() of a StateVector, which is "
                "what each process holds."
            )


def require_alike(rooms: Sequence[Room], error: QsimExError | None) -> None:
    """Raise on all ranks if any has an error, or a device of another kind; error: that of this rank."""
    if error is not None:
        raise error
    for rank, one in enumerate(rooms):
        if one.error:
            raise CommunicationError(f"rank {rank} cannot hold its part of the state. {one.error}")
        if one.kind != rooms[0].kind:
            raise CommunicationError(
                f"expected devices of one kind, got rank 0 on a {rooms[0].kind} and rank {rank} on a {one.kind}; "
                "pass device='cpu' or device='gpu'."
            )


def refused(communicator: Communicator, rooms: Sequence[Room], num_wires: int, options: Options) -> str:
    """Return in words which rank has no room for its part; empty if all have."""
    whole = f"{num_wires} wires in {options.dtype.name} are {human(state_bytes(num_wires, options.dtype))}"
    on_host: Counter[tuple[str, str]] = Counter()
    for rank, one in enumerate(rooms):
        if one.device_needed > one.device_free:
            return (
                f"{whole} over {communicator.size} processes: {human(one.device_needed)} on rank {rank}, which has "
                f"{human(one.device_free)} free. Use more processes, fewer wires, or precision='single'."
            )
        on_host[one.host] += one.host_needed
        if on_host[one.host] > one.host_free:
            return (
                f"{whole} over {communicator.size} processes: its ranks need more than the {human(one.host_free)} that "
                f"host {one.host[0]} has free (rank {rank}). Use more hosts, fewer wires, or precision='single'."
            )
    return ""
