"""Where ranks run: those of one host share its cores, and take turns in its GPUs."""

from __future__ import annotations

import os
import weakref
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from qsim_ex.comm.processes import host_key
from qsim_ex.devices import discover
from qsim_ex.kernels import host
from qsim_ex.options import Options

if TYPE_CHECKING:
    from qsim_ex.comm.protocol import Communicator


class _Seat(NamedTuple):
    """Where a rank runs: its host, and the cores that it may use."""

    host: tuple[str, str]
    cores: tuple[int, ...]


def local_options(options: Options, communicator: Communicator) -> Options:
    """Return the options of this rank: ranks of one host share its cores and take turns in its GPUs."""
    seats = _seats(communicator)
    mine = seats[communicator.rank]
    before = sum(seat.host == mine.host for seat in seats[: communicator.rank])
    changes: dict[str, object] = {}
    if options.threads is None:
        changes["threads"] = max(1, host.cores() // Counter(seats)[mine])
    if options.devices is not None and (count := discover.gpus_here()):
        first = before * len(options.devices)
        changes["devices"] = tuple((number + first) % count for number in options.devices)
    elif options.device != "cpu" and (count := discover.gpus_here()):
        changes["device_id"] = (options.device_id + before) % count
    return options.with_(changes)


def on_this_host(communicator: Communicator) -> int:
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
