"""The assignment of a state to several processes: all of them make it together, and all get the same or an error."""

from __future__ import annotations

import os
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from qsim_ex.comm.agreed import Ask, Opened
from qsim_ex.comm.connection import RanksInUse, ranks_of
from qsim_ex.comm.neighbours import HOSTS, MeasuredBy, Rate, layers_of_ranks, on_hosts
from qsim_ex.comm.processes import host_key
from qsim_ex.devices import discover
from qsim_ex.devices.base import Device
from qsim_ex.devices.memory import human, state_bytes
from qsim_ex.devices.peering import Link, link
from qsim_ex.errors import CommunicationError, DeviceError, OutOfMemory, QsimExError
from qsim_ex.kernels import host
from qsim_ex.options import Options
from qsim_ex.options.network import LINKS, Layer, Layers
from qsim_ex.placement import ranks as placement
from qsim_ex.placement import ranks_over_host as over_host
from qsim_ex.placement.deployment import Deployment
from qsim_ex.placement.exchange.mapped import MappedMemory
from qsim_ex.placement.exchange.mapped_rates import MappedRates
from qsim_ex.placement.request import BOUNDLESS, FreeMemory, StateRequest, nearest

if TYPE_CHECKING:
    from qsim_ex.comm.protocol import Communicator
    from qsim_ex.deployment.assign import Assignment


_INSIDE: tuple[Link, ...] = ("same device", "peer", "through the host")
_NAMES = ("memory", "nvlink", "pcie")
"""The kinds of links between devices of a rank, and the names of their bandwidths, which are not measured."""


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


_Told = tuple[tuple[str, str], _Room, bytes | None]
"""What a rank tells of its memory, see `_told`."""

_Rooms = Sequence[tuple[tuple[str, str], _Room]]
"""The host of each rank, and its room."""


class _Laid(NamedTuple):
    """How a state lies, as far as free memory does not decide it.

    given, own: the options of the call, and those of this rank. numbers: of its devices. windowed: whether options ask
    for windows. device, devices: see `Assignment`. error: why there are none.
    """

    given: Options
    own: Options
    numbers: tuple[int, ...]
    windowed: bool
    deployment: Deployment
    device: Device | None = None
    reason: str = ""
    devices: tuple[Device, ...] = ()
    error: QsimExError | None = None


_MOST_KNOWN = 64
"""The most states of which a connection remembers how they lie."""

_laid_over: weakref.WeakKeyDictionary[Communicator, dict[tuple[int, int], _Laid]] = weakref.WeakKeyDictionary()
"""How states lie, by their wires and their number, for each connection."""


def _known_to(communicator: Communicator) -> dict[tuple[int, int], _Laid]:
    """Return how states lie that were divided over a connection; the same ones on all ranks, or none is used."""
    try:
        return _laid_over.setdefault(communicator, {})
    except TypeError:  # an object that cannot be referred to weakly
        return {}


def over_ranks(num_wires: int, options: Options, states: int, ask: Ask | None = None) -> tuple[Assignment | None, str]:
    """Return the assignment of a state to several processes; or None, and why it is not divided over them.

    Each part goes to the devices of its rank or, if they have no room for it somewhere or `device_wires` says so, to
    the memory of its host. Raises the same error on all ranks: `OutOfMemory` if one has no room, `DeviceError` and what
    else `assign` raises; `CommunicationError` if ranks were asked for different things, see `Ask`.

    Where an earlier state of this size lay is known, so a rank tells its room with what it was asked for: one message
    for all. What else they ask one another is for the first state of a size.
    """
    ranks, why = ranks_of(options.processes, num_wires)
    if ranks is None:
        return None, why
    laid = _known_to(ranks.communicator).get((num_wires, states))
    if laid is not None and laid.given != options:
        laid = None
    mine, error = (None, None) if laid is None else _told(laid, ranks.communicator)
    opened = Opened(ask, mine)
    try:
        return _assigned(num_wires, options, states, ranks, opened, laid, error), ""
    except QsimExError:  # which all ranks raise
        raise
    except BaseException as error:
        opened.ranks.abort(error)
        raise


def _assigned(
    num_wires: int,
    options: Options,
    states: int,
    ranks: RanksInUse,
    opened: Opened,
    laid: _Laid | None,
    error: QsimExError | None,
) -> Assignment:
    """Return the assignment of a state to some ranks; see `over_ranks`."""
    communicator, told = opened.ranks, opened.more
    known = laid is not None and not opened.renewed and None not in told
    MappedMemory.agree(communicator, [token for *_, token in told] if known else [None])
    opened.require_same()
    if laid is None or not known:
        laid = _laid(num_wires, options, states, ranks, communicator)
        mine, error = _told(laid, communicator)
        told = communicator.allgather(mine)
        MappedMemory.agree(communicator, [token for *_, token in told])
    rooms: _Rooms = [(where, one) for where, one, _ in told]
    room, deployment = rooms[communicator.rank][1], laid.deployment
    if not any(one.error for _, one in rooms) and (laid.windowed or _lacks(rooms)):
        deployment, room, rooms = _over_host(laid, rooms, num_wires, options, ranks, communicator)
    _check(communicator, rooms, error, num_wires, options)
    from qsim_ex.deployment.assign import Assignment

    assert laid.device is not None
    known_to = _known_to(communicator)
    if len(known_to) >= _MOST_KNOWN:
        known_to.clear()
    known_to[num_wires, states] = laid
    return Assignment(
        laid.device, deployment, room.device_free, room.host_free, laid.devices, communicator, opened.also[0]
    )


def _over_host(
    laid: _Laid,
    rooms: _Rooms,
    num_wires: int,
    options: Options,
    ranks: RanksInUse,
    communicator: Communicator,
) -> tuple[Deployment, _Room, _Rooms]:
    """Return where a state lies that needs memory of hosts, and what all ranks have of it."""
    device, numbers = laid.device, laid.numbers
    assert device is not None
    deployment, room = laid.deployment, rooms[communicator.rank][1]
    least = min(one.device_free for _, one in rooms)  # so all ranks find the same windows
    memory = tuple((number, least) for number in numbers)
    free = FreeMemory("cpu" if device.kind == "cpu" else "gpu", memory, BOUNDLESS, _link(device))
    reason = laid.reason
    reason += "" if laid.windowed else f"; {human(room.device_needed)} do not fit into the devices of each process"
    for found in over_host.lay_out(StateRequest(num_wires, laid.own, free, numbers, ranks.used)):
        deployment = found
        rooms = communicator.allgather((host_key(), _room(deployment, device, laid.devices, laid.own, communicator)))
        if not _refused(communicator, rooms, num_wires, options):
            break
    return replace(deployment, reason=_divided(reason, ranks)), room, rooms


def _divided(reason: str, ranks: RanksInUse) -> str:
    """Return the reason of a device, and over what the state is divided."""
    return f"{reason}; divided over {ranks.describe()}"


def _laid(num_wires: int, options: Options, states: int, ranks: RanksInUse, communicator: Communicator) -> _Laid:
    """Return how a state will lie, as far as free memory does not decide it; all ranks call it."""
    own = local_options(options, communicator)
    numbers = tuple(own.devices or (own.device_id,))
    windowed = _by_options(num_wires, own, numbers, ranks.used).windowed
    if (
        own.network == "auto" and own.checkpoint is None and not windowed
    ):  # whoever continues the run would measure other bandwidths
        own = own.with_({"network": _found(own, communicator, ranks.used, num_wires, states) or "auto"})
    deployment = next(_laid_out(_by_options(num_wires, own, numbers, ranks.used)))
    laid = _Laid(options, own, numbers, windowed, deployment)
    try:
        device, reason = discover.choose(deployment.levels.local, own, states)
        devices = _devices(device, numbers, own.virtual_peers)
    except QsimExError as raised:
        return laid._replace(error=raised)
    deployment = replace(deployment, reason=_divided(reason, ranks))
    return laid._replace(deployment=deployment, device=device, reason=reason, devices=devices)


def _told(laid: _Laid, communicator: Communicator) -> tuple[_Told, QsimExError | None]:
    """Return what a rank tells of its memory: its host, its room, and the token of memory that it has kept.

    And the error that it has in place of room.
    """
    error = laid.error
    room = None
    if laid.device is not None:
        try:
            room = _room(laid.deployment, laid.device, laid.devices, laid.own, communicator)
        except QsimExError as raised:
            error = raised
    room = room or _Room("", 0, 0, 0, 0, f"{type(error).__name__}: {error}")
    return (host_key(), room, MappedMemory.kept_token(communicator)), error


def _by_options(num_wires: int, own: Options, numbers: Sequence[int], used: int) -> StateRequest:
    """Return a request that no free memory answers, so that all ranks answer it alike."""
    return StateRequest(num_wires, own, FreeMemory("cpu", tuple((n, 0) for n in numbers), 0), tuple(numbers), used)


def _laid_out(request: StateRequest) -> Iterator[Deployment]:
    """Yield how a state over ranks lies, by its options alone."""
    yield from (over_host if request.windowed else placement).lay_out(request)


def _lacks(rooms: Sequence[tuple[tuple[str, str], _Room]]) -> bool:
    """Return whether the GPUs of any rank have no room for its part."""
    return any(one.kind == "gpu" and one.device_needed > one.device_free for _, one in rooms)


def _link(device: Device) -> Callable[[int, int], Link]:
    """Return the link between two devices of this rank, by their numbers."""
    if device.kind == "cpu":
        return nearest
    return lambda one, other: link(discover.gpu(one), discover.gpu(other))


def _room(
    deployment: Deployment, device: Device, devices: Sequence[Device], own: Options, communicator: Communicator
) -> _Room:
    """Return the memory of this rank, and what a deployment takes of it."""
    needed, on_host = deployment.device_bytes * own.virtual_peers, deployment.host_bytes
    free = own.max_memory

    def kept(one: Device) -> int:
        return MappedMemory.kept_bytes(communicator, one)

    if free is None:  # of a GPU that keeps as much as is needed the driver is not asked in each run
        free = min(discover.free_bytes(one, max(0, needed - kept(one))) + kept(one) for one in devices)
    host_free = discover.free_bytes(discover.cpu(own.threads), on_host)
    home = device if device.kind == "cpu" else discover.cpu()
    host_free += kept(home) * _on_this_host(communicator)  # they let go of it when they ask for more
    if own.max_host_memory is not None:
        host_free = own.max_host_memory
    if device.kind == "cpu" and own.max_memory is None:
        return _Room("cpu", free, 0, host_free, needed + on_host, "")
    return _Room(device.kind, free, needed, host_free, on_host, "")


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


def _devices(device: Device, numbers: Sequence[int], each: int) -> tuple[Device, ...]:
    """Return the devices of this rank, each as often as sub state vectors share it; raise `DeviceError`."""
    if device.kind == "cpu":
        return (device,) * each
    if absent := [number for number in numbers if number >= discover.gpu_count()]:
        told = ", ".join(map(str, absent))
        raise DeviceError(
            f"expected GPUs of this host, got devices={list(numbers)}, of which GPU {told} is not there; "
            f"{discover.present(discover.gpu_count())}."
        )
    return tuple(discover.gpu(number) for number in numbers for _ in range(each))


def _trading(own: Options, communicator: Communicator, used: int, num_wires: int, states: int) -> MeasuredBy:
    """Return what measures trades as they will be made, by options that are equal on all ranks."""
    from qsim_ex.devices.cpu.device import CpuDevice

    each = len(own.devices or (0,)) * own.virtual_peers
    local = max(0, num_wires - (used * each).bit_length() + 1)  # too few wires are told when all is laid out
    cpu = own.device == "cpu" or (own.device == "auto" and own.devices is None and local < discover.GPU_FROM)
    if cpu and state_bytes(local, own.dtype) < CpuDevice.shares_from:
        return HOSTS

    def measured_by() -> Rate:
        device: Any = None
        with suppress(QsimExError):  # it is told when all devices are checked
            device, _ = discover.choose(local, own, states)
        kinds = communicator.allgather(device.kind if device is not None else "")
        return MappedRates(communicator, device, used) if kinds[0] and len(set(kinds)) == 1 else on_hosts

    return MeasuredBy("cpu" if cpu else own.device, measured_by)


def _found(own: Options, communicator: Communicator, used: int, num_wires: int, states: int) -> Layers:
    """Return the layers of the network: between the devices of a rank, then between ranks, which is measured."""
    layers = layers_of_ranks(communicator, used, _trading(own, communicator, used, num_wires, states))
    each = len(own.devices or (0,)) * own.virtual_peers
    if each == 1:
        return layers
    gpus = [discover.gpu(number) for number in own.devices or () if number < discover.gpus_here()]
    kinds: set[Link] = {link(one, other) for one in gpus for other in gpus if one is not other}
    slowest = max((_INSIDE.index(kind) for kind in kinds), default=0)
    name = _NAMES[max(communicator.allgather(slowest))]
    rate = max(LINKS[name], layers[0].bytes_per_second if layers else 0.0)
    return (Layer(each.bit_length() - 1, name, rate), *layers)


def local_options(options: Options, communicator: Communicator) -> Options:
    """Return the options of this rank: ranks of one host share its cores and take turns in its GPUs."""
    seats = _seats(communicator)
    mine = seats[communicator.rank]
    before = sum(seat.host == mine.host for seat in seats[: communicator.rank])
    changes: dict[str, Any] = {}
    if options.threads is None:
        changes["threads"] = max(1, host.cores() // Counter(seats)[mine])
    if options.devices is not None and (count := discover.gpus_here()):
        first = before * len(options.devices)
        changes["devices"] = tuple((number + first) % count for number in options.devices)
    elif options.device != "cpu" and (count := discover.gpus_here()):
        changes["device_id"] = (options.device_id + before) % count
    return options.with_(changes)


def _on_this_host(communicator: Communicator) -> int:
    """Return how many ranks this rank's host has."""
    seats = _seats(communicator)
    return sum(seat.host == seats[communicator.rank].host for seat in seats)


_known: weakref.WeakKeyDictionary[Communicator, list[_Seat]] = weakref.WeakKeyDictionary()
"""Where the ranks of each connection run, asked once."""


def _seats(communicator: Communicator) -> list[_Seat]:
    """Return where all ranks run."""
    try:
        if communicator in _known:
            return _known[communicator]
    except TypeError:  # an object that cannot be referred to weakly
        return communicator.allgather(_Seat(host_key(), tuple(sorted(os.sched_getaffinity(0)))))
    _known[communicator] = communicator.allgather(_Seat(host_key(), tuple(sorted(os.sched_getaffinity(0)))))
    return _known[communicator]


def _check(
    communicator: Communicator,
    rooms: Sequence[tuple[tuple[str, str], _Room]],
    error: QsimExError | None,
    num_wires: int,
    options: Options,
) -> None:
    """Raise on all ranks if any has an error, lacks memory, or has a device of another kind."""
    if error is not None:
        raise error
    for rank, (_, one) in enumerate(rooms):
        if one.error:
            raise CommunicationError(f"rank {rank} cannot hold its part of the state. {one.error}")
        if one.kind != rooms[0][1].kind:
            raise CommunicationError(
                f"expected devices of one kind, got rank 0 on a {rooms[0][1].kind} and rank {rank} on a {one.kind}; "
                "pass device='cpu' or device='gpu'."
            )
    if refused := _refused(communicator, rooms, num_wires, options):
        raise OutOfMemory(refused)


def _refused(
    communicator: Communicator, rooms: Sequence[tuple[tuple[str, str], _Room]], num_wires: int, options: Options
) -> str:
    """Return in words which rank has no room for its part; empty if all have."""
    whole = f"{num_wires} wires in {options.dtype.name} are {human(state_bytes(num_wires, options.dtype))}"
    on_host: Counter[tuple[str, str]] = Counter()
    for rank, (where, one) in enumerate(rooms):
        if one.device_needed > one.device_free:
            return (
                f"{whole} over {communicator.size} processes: {human(one.device_needed)} on rank {rank}, which has "
                f"{human(one.device_free)} free. Use more processes, fewer wires, or precision='single'."
            )
        on_host[where] += one.host_needed
        if on_host[where] > one.host_free:
            return (
                f"{whole} over {communicator.size} processes: its ranks need more than the {human(one.host_free)} that "
                f"host {where[0]} has free (rank {rank}). Use more hosts, fewer wires, or precision='single'."
            )
    return ""
