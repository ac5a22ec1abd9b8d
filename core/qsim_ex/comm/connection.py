"""The connection of this process to other ranks: which states are divided over them, and over how many.

Nothing here is collective except `shared_by`, and that only where it returns ranks: a process whose states are not
divided never waits for another.
"""

from __future__ import annotations

import os
import re
import threading
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from qsim_ex.comm import launcher
from qsim_ex.comm.protocol import Communicator, GathersAsItRenews
from qsim_ex.comm.turns import turn
from qsim_ex.errors import CommunicationError, MissingPackage
from qsim_ex.later import later
from qsim_ex.options import Processes

if TYPE_CHECKING:
    from qsim_ex.comm import mpi
else:
    mpi = later("qsim_ex.comm.mpi")

LARGE = 20
"""The fewest wires of each rank for which 'auto' divides a state; smaller states are done before ranks have met."""


class RanksInUse(NamedTuple):
    """The ranks that a state is divided over.

    communicator: connects all of them. used: how many hold a sub state vector, a power of two; the others only learn
    the answers.
    """

    communicator: Communicator
    used: int

    def describe(self) -> str:
        """Return in words how many ranks hold the state, and what connects them."""
        size = self.communicator.size
        words = f"{self.used} processes" if self.used == size else f"{self.used} of {size} processes"
        if self.used & size - 1 and self.used < size < 2 * self.used:
            words += f" ({size} is not a power of two)"
        return f"{words} over {self.communicator.description}"


CONNECTED = threading.Event()
"""Whether any thread was ever given a communicator (`connected`)."""


class _GivenToAll:
    """The communicator that a user has given, if any."""

    communicator: Communicator | None = None


class _GivenToThread(threading.local):
    """The communicator that one thread has been given, if any."""

    communicator: Communicator | None = None


_given = _GivenToAll()
_own = _GivenToThread()
_lock = threading.Lock()
_processes: dict[int, Communicator] = {}
"""The connection to the other processes, by the process that made it: a forked child has none."""

_warned: set[str] = set()


def in_turn(processes: Processes) -> AbstractContextManager[Any]:
    """Return a context that one thread of this process is in at a time, if states may be divided over processes.

    Calls of two threads that took turns in one connection would be answered with each other's values; see `turns`.
    """
    return turn() if asked(processes) and not of_this_thread() else nullcontext()


@contextmanager
def connected(communicator: Communicator, *, this_thread: bool = False) -> Iterator[None]:
    """Divide states over the ranks of a communicator while the context lasts, in place of all processes of a launcher.

    communicator: any object that fulfils `protocol.Communicator`, such as `mpi.Mpi` of a part of all ranks. All of its
    ranks enter the context. this_thread: whether it is for this thread alone, since each is a rank of its own.
    """
    CONNECTED.set()
    place = _own if this_thread else _given
    before, place.communicator = place.communicator, communicator
    try:
        yield
    finally:
        place.communicator = before


def of_this_thread() -> bool:
    """Return whether this thread has a connection of its own, since each is a rank."""
    return _own.communicator is not None


def _user() -> Communicator | None:
    """Return the communicator that a user has given to this thread, or to the process."""
    return _own.communicator or _given.communicator


def asked(processes: Processes) -> bool:
    """Return whether states may be divided over processes at all: by an option, a launcher, or `connected`."""
    if processes == "auto":
        return _user() is not None or (launcher.LAUNCHED is not None and not launcher.is_worker())
    return processes != "never" and processes > 1


def planned(processes: Processes, num_wires: int) -> int:
    """Return how many ranks would hold a state of `num_wires` wires, 1 if it is not divided; connects nothing."""
    if not asked(processes):
        return 1
    if not isinstance(processes, str):
        return _power(processes)
    used = _power(_size())
    return used if num_wires >= _fewest(used) else 1


def ranks_of(processes: Processes, num_wires: int) -> tuple[RanksInUse | None, str]:
    """Return the ranks that a state of `num_wires` wires is divided over, or None and why it is not divided.

    It depends on what is equal on all ranks alone. The first call that returns ranks connects all of them. Raises
    `CommunicationError` if there are fewer ranks than `processes`, `MissingPackage` without mpi4py.
    """
    if not asked(processes):
        return None, ""
    if processes == "auto":
        return _automatic(num_wires)
    assert not isinstance(processes, str)
    communicator = _connect()
    if communicator.size < processes:
        raise CommunicationError(
            f"processes={processes}: expected at least {processes} processes, got {communicator.size} "
            f"({communicator.description}{_mismatch(communicator)}); start them with mpirun -n {processes} python …, "
            "or pass processes='never'."
        )
    return RanksInUse(communicator, _power(processes)), ""


def current() -> Communicator:
    """Return the communicator of this thread or process, which an earlier `ranks_of` has connected."""
    return _connect()


def renew() -> Communicator:
    """Return a working connection after a failure of any rank; all ranks call it."""
    return renew_with(None)[0]


def renew_with(value: object) -> tuple[Communicator, list[Any]]:
    """Do what `renew` does; return the values of all ranks too, which come with the same message if possible."""
    before = _connect()
    if isinstance(before, GathersAsItRenews):
        renewed, values = before.renewed_with(value)
    else:
        renewed = before.renewed()
        values = renewed.allgather(value)
    if _own.communicator is not None:
        _own.communicator = renewed
    elif _given.communicator is not None:
        _given.communicator = renewed
    else:
        _processes[os.getpid()] = renewed
    return renewed, values


def _automatic(num_wires: int) -> tuple[RanksInUse | None, str]:
    """Return the ranks of a state that is large enough, or why it is not divided; a warning says so once."""
    by, size = launcher.LAUNCHED, _size()
    used = _power(size)
    fewest = _fewest(used)
    told = f"not divided over the {size} processes" + ("" if by is None or _user() is not None else f" of {by.by}")
    if num_wires < fewest:
        why = f"{told}: {num_wires} wires are fewer than {fewest}"
        _warn(f"{why}. Every process computes such a state for itself")
        return None, why
    try:
        communicator = _connect()
    except MissingPackage as error:
        return None, _whole(f"{told}: {error}", "")
    if communicator.size != size:
        return None, _whole(f"{told}{_mismatch(communicator)}")
    return RanksInUse(communicator, used), ""


def own_path(path: Path, processes: Processes) -> Path:
    """Return the path of a file that this process has for itself, where others of the same launcher have one too.

    It is the given one in the first process, and where states are not divided in any case.
    """
    rank = _rank() if asked(processes) else 0
    return path.with_name(f"{path.name}.rank{rank}") if rank else path


def paths_of_more(path: Path, processes: Processes) -> list[Path]:
    """Return the files that `own_path` has named in processes which are no longer there, as the first one sees them."""
    if asked(processes) and _rank():
        return []
    size = _size() if asked(processes) else 1
    named = re.compile(re.escape(path.name) + r"(\.run\d+)?\.rank(\d+)(\.found)?")
    try:
        names = sorted(path.parent.iterdir())
    except OSError:  # no folder, in which none of them could be written, or one that is not to be listed
        return []
    found = ((one, named.fullmatch(one.name)) for one in names)
    return [one for one, match in found if match is not None and int(match[2]) >= size]


def left_whole(why: str) -> str:
    """Return in words that a large state is not divided over the processes there are; a warning says so once."""
    return _whole(f"not divided over the {_size()} processes: {why}")


def _whole(why: str, end: str = ".") -> str:
    _warn(f"{why}{end} Every process computes the whole state for itself")
    return why


def _mismatch(communicator: Communicator) -> str:
    """Return in words that a launcher started more processes than the communicator connects; empty if it did not."""
    by = launcher.LAUNCHED
    if by is None or by.size == communicator.size:
        return ""
    return (
        f": {by.by} started {by.size} processes, and {communicator.description} connects {communicator.size} of them; "
        "use the launcher of the MPI library that mpi4py loads"
    )


def _size() -> int:
    """Return how many ranks there are, by the communicator of this thread or else by the launcher."""
    if (given := _user()) is not None:
        return given.size
    return 1 if launcher.LAUNCHED is None else launcher.LAUNCHED.size


def _rank() -> int:
    """Return the rank of this process, by the communicator of this thread or else by the launcher."""
    if (given := _user()) is not None:
        return given.rank
    return 0 if launcher.LAUNCHED is None else launcher.LAUNCHED.rank


def _fewest(used: int) -> int:
    """Return the fewest wires of a state that 'auto' divides over so many ranks."""
    return LARGE + used.bit_length() - 1


def _power(size: int) -> int:
    """Return the largest power of two that is at most `size`."""
    return 1 << size.bit_length() - 1


def _warn(words: str) -> None:
    """Warn once, in the first process of a launcher."""
    by = launcher.LAUNCHED
    if "copies" in _warned or (by is not None and by.rank > 0):
        return
    _warned.add("copies")
    advice = "pass processes='never' if this is meant, or processes=k to divide every state over k processes"
    warnings.warn(f"{words}; {advice}.", RuntimeWarning, stacklevel=2)


def _connect() -> Communicator:
    """Return the connection of this thread or process; the first call between processes waits for all of them."""
    if (given := _user()) is not None:
        return given
    with _lock:
        if os.getpid() not in _processes:
            _processes[os.getpid()] = _between_processes()
        return _processes[os.getpid()]


def _between_processes() -> Any:
    """Return a connection between processes over MPI.

    Raises `MissingPackage` without MPI, `CommunicationError` in a forked child.
    """
    if _processes:
        raise CommunicationError(
            "this process was forked from one that is connected to others; pass processes='never' to what it runs."
        )
    return mpi.Mpi()
