"""The assignment of a state to several processes: all of them make it together, and all get the same or an error."""

from __future__ import annotations

import weakref
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from qsim_ex.comm.agreed import Ask, Asking, Opened
from qsim_ex.comm.connection import RanksInUse, ranks_of
from qsim_ex.deployment.assignment import Assignment
from qsim_ex.deployment.laid import Laid, divided, for_windows, lay_out
from qsim_ex.deployment.rooms import Room, home, lacks, refused, require_alike, room_of
from qsim_ex.display.amounts import human
from qsim_ex.errors import OutOfMemory, QsimExError
from qsim_ex.options import Options
from qsim_ex.placement.deployment import Deployment
from qsim_ex.placement.exchange.mapped import MappedMemory
from qsim_ex.placement.ranks import over_host

if TYPE_CHECKING:
    from qsim_ex.comm.protocol import Communicator

_MOST_KNOWN = 64
"""The most states of which a connection remembers how they lie."""

_laid_over: weakref.WeakKeyDictionary[Communicator, dict[tuple[int, int], Laid]] = weakref.WeakKeyDictionary()
"""How states lie, by their wires and their number, for each connection."""


def _known_to(communicator: Communicator) -> dict[tuple[int, int], Laid]:
    """Return how states lie that were divided over a connection; the same ones on all ranks, or none is used."""
    try:
        return _laid_over.setdefault(communicator, {})
    except TypeError:  # an object that cannot be referred to weakly
        return {}


def _remember(communicator: Communicator, num_wires: int, states: int, laid: Laid) -> None:
    """Remember how a state lies, for the next one of its size."""
    known = _known_to(communicator)
    if len(known) >= _MOST_KNOWN:
        known.clear()
    known[num_wires, states] = laid


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
    if ask is None:
        ask = partial(Asking, {"qubits": num_wires, "precision": options.precision})
    opened = Opened(ask, None if laid is None else partial(_told, laid, ranks.communicator))
    try:
        return _assigned(num_wires, options, states, ranks, opened, laid), ""
    except QsimExError:  # which all ranks raise
        raise
    except BaseException as error:
        opened.ranks.abort(error)
        raise


def _assigned(
    num_wires: int, options: Options, states: int, ranks: RanksInUse, opened: Opened, laid: Laid | None
) -> Assignment:
    """Return the assignment of a state to some ranks; see `over_ranks`."""
    communicator, told = opened.ranks, opened.more
    known = laid is not None and not opened.renewed and None not in told
    MappedMemory.agree(communicator, [token for _, token in told] if known else [None])
    opened.require_same()
    if laid is None or not known:
        laid = lay_out(num_wires, options, states, ranks, communicator)
        told = _told_at_first(laid, communicator)
    rooms = [room for room, _ in told]
    deployment = laid.deployment
    if laid.windowed or lacks(rooms):
        deployment, rooms = _over_host(laid, rooms, num_wires, options, ranks, communicator)
    if why := refused(communicator, rooms, num_wires, options):
        raise OutOfMemory(why)
    _remember(communicator, num_wires, states, laid)
    assert laid.device is not None
    room = rooms[communicator.rank]
    return Assignment(
        laid.device, deployment, room.device_free, room.host_free, laid.devices, communicator, opened.also[0]
    )


def _told(laid: Laid, communicator: Communicator) -> tuple[Room, bytes | None]:
    """Return what a rank tells of its memory: its room, and the token of memory that it has kept."""
    if laid.device is None:
        assert laid.error is not None
        raise laid.error
    room = room_of(laid.deployment, laid.device, laid.devices, laid.own, communicator)
    return room, MappedMemory.kept_token(communicator, laid.devices, (home(laid.device),))


def _told_at_first(laid: Laid, communicator: Communicator) -> list[tuple[Room, bytes | None]]:
    """Return what all ranks tell of their memory for the first state of a size; an error of any is one on all."""
    error: QsimExError | None = None
    try:
        mine = _told(laid, communicator)
    except QsimExError as raised:
        error, mine = raised, (Room.none(raised), None)
    told = communicator.allgather(mine)
    MappedMemory.agree(communicator, [token for _, token in told])
    require_alike([room for room, _ in told], error)
    return told


def _over_host(
    laid: Laid,
    rooms: list[Room],
    num_wires: int,
    options: Options,
    ranks: RanksInUse,
    communicator: Communicator,
) -> tuple[Deployment, list[Room]]:
    """Return where a state lies that needs memory of hosts, and what all ranks have of it."""
    device, deployment, reason = laid.device, laid.deployment, laid.reason
    assert device is not None
    if not laid.windowed:
        needed = rooms[communicator.rank].device_needed
        reason += f"; {human(needed)} do not fit into the devices of each process"
    for deployment in over_host.lay_out(for_windows(num_wires, laid.own, device, laid.numbers, ranks.used, rooms)):
        rooms = communicator.allgather(room_of(deployment, device, laid.devices, laid.own, communicator))
        if not refused(communicator, rooms, num_wires, options):
            break
    return replace(deployment, reason=divided(reason, ranks)), rooms
