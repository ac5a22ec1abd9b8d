"""A state over ranks that are threads of one process, behind the face of an ordinary placement, for tests.

Each thread has a `Ranks` placement and talks to the others over a loopback alone. Every call is made in all threads,
and all must give the same answer. Nothing of the engine knows this file: `ROW` is registered with `kinds.registered`,
and says itself which states it is for. Processes have no such face: there every rank runs the whole program.
"""

from __future__ import annotations

import pickle
import sys
import threading
import traceback
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from qsim_ex import thresholds
from qsim_ex.comm.protocol import Communicator
from qsim_ex.devices.base import Device
from qsim_ex.errors import CommunicationError, InvalidInput, NotSupported
from qsim_ex.placement.base import Pieces, Placement, Tick
from qsim_ex.placement.deployment import Deployment, Limits, MemoryNeeds, StateRequest
from qsim_ex.placement.divided import exchanged
from qsim_ex.placement.divided.divided import Divided
from qsim_ex.placement.divided.near import NearSubState
from qsim_ex.placement.exchange.lockstep import shares_of
from qsim_ex.placement.kinds import PlacementKind
from qsim_ex.placement.overlap import overlap
from qsim_ex.placement.ranks.over_host import RanksOverHost
from qsim_ex.placement.ranks.ranks import Ranks, needs
from qsim_ex.precision import STORAGE, Amplitudes
from qsim_ex.steps import Layout, Levels, Plan
from tools.loopback import loopback

NAME = "ranks in threads"

THREADS = "rank of a state"
"""How the threads are named, with their rank."""


def lay_out(request: StateRequest) -> Iterator[Deployment]:
    """Two or more peers on the CPU, if they have room for all wires that were asked for."""
    if (
        request.peers < 1
        or not request.free.in_host_memory
        or (local := request.local()) + request.peers < request.num_wires
    ):
        return
    levels = request.levels(local)
    size = sum(map(sum, needs(levels, STORAGE[request.options.dtype])[:1]))
    yield Deployment(NAME, request.num_wires, levels, request.places, 1, None, size, 0, "")


def create(deployment: Deployment, devices: Sequence[Device], dtype: np.dtype[Any], limits: Limits) -> RanksInThreads:  # noqa: ARG001
    """|0…0> in as many threads as there are peers."""
    return RanksInThreads(devices, deployment.num_wires, dtype, deployment.levels)


ROW = PlacementKind(NAME, True, sys.modules[__name__])
"""The row of the table; see `kinds.registered`."""


def _asked(question: str) -> Any:
    """A method that asks all ranks."""

    def ask(self: RanksInThreads, *given: Any, **named: Any) -> Any:
        return self._ask(question, *given, *named.values())

    return ask


class RanksInThreads(Divided):
    """A state whose ranks are threads: every call is made in all of them, and what all answer comes back.

    An error in one of them ends all: the state is then gone, and the error comes from the call that met it.
    """

    kind = NAME

    def __init__(self, devices: Sequence[Device], num_wires: int, dtype: Any, levels: Levels, each: int = 1) -> None:
        over_host = levels.ranks > 0
        if len(devices) != 1 << levels.peers + levels.ranks or (levels.migration(num_wires) > 0) != over_host:
            raise InvalidInput(f"expected a device for each rank, got {num_wires} wires with {levels}.")
        self.levels = Levels(num_wires - levels.ranks, levels.ranks, levels.slice) if over_host else levels
        self._plans_for = levels
        self.dtype = np.dtype(dtype)
        self.devices = tuple(devices)
        self.needs = MemoryNeeds(needs(levels, STORAGE[self.dtype]).devices, 0)
        self.layout = Layout.identity(num_wires)
        self.fresh = (1 << num_wires) - 1
        self._size = len(devices) // each
        self._per_rank = each
        *ends, self._control = loopback(self._size + 1)
        self._threads = [
            threading.Thread(
                target=_work,
                args=(
                    end, RanksOverHost if over_host else Ranks, ranks, self.devices[k * each : k * each + each],
                    num_wires, self.dtype, levels,
                ),
                name=f"{THREADS} {end.rank}", daemon=True,
            )
            for k, (end, ranks) in enumerate(zip(ends, loopback(self._size), strict=True))
        ]  # fmt: skip
        for thread in self._threads:
            thread.start()
        self._end = weakref.finalize(self, self._control.close)  # who forgets to release it leaves no threads behind
        self._sent: dict[tuple[int, int], int] = {}
        self._ask("traffic")

    # --- all ranks ---------------------------------------------------------------------------------------------------

    def _each(self, question: str, *given: Any) -> list[Any]:
        """Have all ranks do the same, and return what each answers; they end in the same layout."""
        try:
            self._control.broadcast((question, given, self.layout, self.fresh), root=self._size)
            *answers, _ = self._control.allgather(None)
            found, layouts, fresh = zip(*answers, strict=True)
            assert set(layouts) == {layouts[0]}
            assert set(fresh) == {fresh[0]}
            self.layout, self.fresh = layouts[0], fresh[0]
        except BaseException as error:
            self._control.abort(error)
            self._join()
            if isinstance(error, CommunicationError) and (cause := error.__cause__) is not None:
                traceback.clear_frames(cause.__traceback__)  # they hold the ranks' memory
                raise cause  # noqa: B904  (the error itself, where it happened)
            raise
        return list(found)

    def _ask(self, question: str, *given: Any) -> Any:
        """Return what every rank answers, to the bit."""
        first, *others = self._each(question, *given)
        assert all(pickle.dumps(one) == pickle.dumps(first) for one in others), (first, others)
        return first

    def release(self) -> None:
        """End all threads and let go of all memory; may be called again."""
        self._end()
        self._join()

    def _join(self) -> None:
        for thread in self._threads:
            thread.join()

    @property
    def planning_levels(self) -> Levels:
        """The levels of plans, which have windows if each rank's part is in host memory."""
        return self._plans_for

    def run(self, plan: Plan, work: Sequence[Any], tick: Tick) -> None:
        """Run a plan on all ranks."""
        self._ask("run", plan, shares_of(work), tick)
        self._sent = self._ask("traffic")

    # --- what it says of itself --------------------------------------------------------------------------------------

    @property
    def bytes_moved(self) -> int:
        """Bytes that the ranks had sent after the last run."""
        return sum(self._sent.values())

    def report(self) -> dict[str, Any]:
        """Bytes sent from rank to rank."""
        return {"bytes_sent": {f"{a}>{b}": size for (a, b), size in self._ask("traffic").items()}}

    # --- what all ranks do, each with its own amplitudes -------------------------------------------------------------

    write_zeros, mark_zero, arrange = _asked("write_zeros"), _asked("mark_zero"), _asked("arrange")
    forget, write, scale = _asked("forget"), _asked("write"), _asked("scale")
    gather, read, stored = _asked("gather"), _asked("read"), _asked("stored")
    norm_squared, marginal, search = _asked("norm_squared"), _asked("marginal"), _asked("search")
    paulis, density = _asked("paulis"), _asked("density")

    # --- whole answers -----------------------------------------------------------------------------------------------

    def pieces(self, size: int) -> Iterator[tuple[int, Amplitudes]]:
        """The amplitudes that are not known to be zero."""
        yield from self._ask("pieces", size)

    def overwrite(self, pieces: Pieces, layout: Layout) -> None:
        """Overwrite all amplitudes, by index: they lie in that layout then."""
        self.forget()
        for start, values in pieces(0, 1 << self.num_wires):
            self.write(start, values.astype(self.dtype, copy=False))
        self.layout = layout

    def visit(self, near: Sequence[int] = (), *, write: bool = False) -> Iterator[NearSubState]:  # noqa: ARG002
        """All sub state vectors, where they lie: nothing is done in their threads meanwhile."""
        self._ask("bring", near)
        self._ask("write_zeros", (1 << self.levels.local) - 1)
        for number, device, buffer in chain.from_iterable(self._each("buffers")):
            if not number << self.levels.local & self.fresh:
                yield NearSubState(device, buffer, self.layout, number)

    def inner(self, other: Placement) -> complex:
        """<self|other>, a piece at a time."""
        return complex(self.norm_squared()) if other is self else overlap(self, other)

    # --- other numbers of wires --------------------------------------------------------------------------------------

    def another(self, num_wires: int) -> RanksInThreads:
        """|0…0> of this many wires; raises `NotSupported` if no wire would be local."""
        given = self._plans_for
        local = num_wires - given.peers - given.ranks
        local = min(given.local, local - 1) if given.ranks else local
        if local < 1:
            raise NotSupported(f"{num_wires} wires on {len(self.devices)} ranks, each of which needs one.")
        levels = replace(given, local=local, slice=min(given.slice, local - 1))
        return RanksInThreads(self.devices, num_wires, self.dtype, levels, self._per_rank)

    def copy_to(self, new: Divided, layout: Layout) -> None:
        """Copy amplitudes to a new placement, index by index as far as both go; there they have another layout."""
        new.write_zeros(~self.fresh & (1 << min(self.num_wires, new.num_wires)) - 1)
        for first, values in self.pieces(thresholds.now.copied_at_once):
            new.write(first, values[: max(0, (1 << new.num_wires) - first)])
        new.layout = layout


def _work(control: Communicator, made: type[Ranks], communicator: Communicator, *given: Any) -> None:
    """Make one rank's placement, and answer for it until the end, or until an error of any thread."""
    ranks: Ranks | None = None
    try:
        ranks = made(communicator, *given)
        while True:
            question, asked, ranks.layout, ranks.fresh = control.broadcast(None, root=communicator.size)
            found = _answer(ranks, question, asked)
            control.allgather((found, ranks.layout, ranks.fresh))
            del found, asked
    except CommunicationError as error:  # another rank has failed and has told why, or all is over
        cause = error.__cause__
        communicator.abort(cause or error)
        if cause is not None:
            control.abort(cause)
    except BaseException as error:  # noqa: BLE001  (whoever asks is told)
        communicator.abort(error)
        control.abort(error)
    finally:
        communicator.close()
        control.close()
        if ranks is not None:
            ranks.release()


def _answer(ranks: Ranks, question: str, asked: Sequence[Any]) -> Any:
    """What one rank answers; steps are counted by the first rank for all."""
    rank, each = ranks.communicator.rank, len(ranks.devices)
    answers: dict[str, Callable[..., Any]] = {
        "run": lambda plan, work, tick: ranks.run(
            plan, work[rank * each : rank * each + each], tick if rank == 0 else _nobody
        ),
        "pieces": lambda size: list(ranks.pieces(size)),
        "bring": partial(exchanged.bring, ranks),
        "buffers": lambda: [(number, end.device, end.buffer) for number, end in ranks._held.items()],
    }
    return answers.get(question, getattr(ranks, question, None))(*asked)


def _nobody() -> None:
    """Counts nothing: the first rank counts for all."""


def threads_of_ranks() -> list[threading.Thread]:
    """The threads of all states over threads that there are."""
    return [thread for thread in threading.enumerate() if thread.name.startswith(THREADS)]
