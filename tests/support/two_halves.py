"""The two halves: a placement for tests, of a state in two threads that talk over a communicator alone.

Each thread holds the amplitudes of one value of the highest index bit, runs the plan's steps on them, and answers for
them; what both answer is added up by the communicator. Nothing of the engine knows this file: `ROW` is registered with
`kinds.registered`, and says itself which states it is for. Every rank of a state over several processes would be a
`Half`; `TwoHalves` is what lets one thread speak to both.
"""

from __future__ import annotations

import threading
import traceback
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, assert_never

import numpy as np

from qsim_ex.comm.loopback import loopback
from qsim_ex.comm.protocol import Communicator
from qsim_ex.devices.base import Device
from qsim_ex.errors import CommunicationError, InvalidInput, NotSupported, PlanError
from qsim_ex.placement import index_bits as at
from qsim_ex.placement.base import PIECE, Amplitudes, Pieces, Placement, Tick
from qsim_ex.placement.bits import move_bits
from qsim_ex.placement.deployment import Deployment
from qsim_ex.placement.divided.divided import Divided, NearSubState
from qsim_ex.placement.exchange.lockstep import shares_of
from qsim_ex.placement.exchange.schedule import sources
from qsim_ex.placement.executor import OneState, execute
from qsim_ex.placement.kinds import PlacementKind
from qsim_ex.placement.overlap import overlap
from qsim_ex.placement.request import Limits, StateRequest
from qsim_ex.placement.wires import held_values
from qsim_ex.steps import Exchange, Layout, Levels, Migration, Plan, Stage, ZeroFill
from qsim_ex.steps.plan import fresh_after

NAME = "two halves"
BUFFERS = 3
"""Buffers of each half: its amplitudes, those that come from the other, and those that are put together from both."""

THREADS = "half of a state"
"""How the threads are named, with their rank."""


def lay_out(request: StateRequest) -> Iterator[Deployment]:
    """Two peers on the CPU, if they have room for all wires that were asked for."""
    if request.peers != 1 or request.free.kind != "cpu" or (local := request.local()) + 1 < request.num_wires:
        return
    size = BUFFERS * request.options.dtype.itemsize << local
    yield Deployment(NAME, request.num_wires, request.levels(local), request.places, 1, None, size, 0, "")


def create(deployment: Deployment, devices: Sequence[Device], dtype: np.dtype[Any], limits: Limits) -> TwoHalves:  # noqa: ARG001
    """|0…0> in two threads."""
    return TwoHalves(devices, deployment.num_wires, dtype, deployment.levels)


ROW = PlacementKind(NAME, True, lay_out, create)
"""The row of the table; see `kinds.registered`."""


class Half(Divided):
    """One rank's half of a state: it answers for its own amplitudes, and `ask` adds up what all ranks answer."""

    kind = NAME

    def __init__(self, ranks: Communicator, device: Device, num_wires: int, dtype: Any, levels: Levels) -> None:
        self.ranks = ranks
        self.rank = ranks.rank
        self.levels = levels
        self.dtype = np.dtype(dtype)
        self.devices = (device, device)
        self._device = device
        self._mine, self._theirs, self._both = (device.allocate(1 << levels.local, dtype) for _ in range(BUFFERS))
        self.layout = Layout.identity(num_wires)
        self.fresh = (1 << num_wires) - 1
        self.sent = 0
        if self.rank == 0:
            device.begin(self._mine)

    def ask(self, question: str, *given: Any) -> Any:
        """Return what all ranks answer together; all of them get the same question."""
        found = getattr(self, question)(*given)
        match question:
            case "norm_squared":
                return float(self.ranks.allreduce(np.array(found)))
            case "gather" | "read" | "stored" | "marginal" | "density":
                return self.ranks.allreduce(found)
            case "paulis":
                return [self.ranks.allreduce(part) for part in found]
            case "search":  # a rank that does not hold a target's prefix finds no bit of it
                return np.bitwise_or.reduce(self.ranks.allgather(found))
            case "buffer" | "traffic":
                return self.ranks.allgather(found)
            case _:
                return found

    def buffer(self) -> Any:
        """This half's amplitudes."""
        return self._mine

    def traffic(self) -> int:
        """Bytes that this half has sent."""
        return self.sent

    def release(self) -> None:
        """Let go of the memory; may be called again."""
        for name in ("_mine", "_theirs", "_both"):
            self.__dict__.pop(name, None)

    @property
    def _inside(self) -> int:
        """The mask of the local index bits."""
        return (1 << self.levels.local) - 1

    @property
    def _live(self) -> bool:
        """Whether this half is not known to be zero."""
        return not self.rank << self.levels.local & self.fresh

    # --- plans -------------------------------------------------------------------------------------------------------

    def run(self, plan: Plan, work: Sequence[Any], tick: Tick) -> None:
        """Run a plan that starts in this layout; the first rank counts for all."""
        if (plan.levels, plan.start, plan.fresh) != (self.levels, self.layout, self.fresh):
            raise PlanError("the plan was made for other levels, another layout, or other fresh bits.")
        prepared, numbers = work[self.rank]
        done = 0
        for stage in plan.stages:
            self._move(stage)
            mine, done = numbers[done : done + len(stage.steps)], done + len(stage.steps)
            here = OneState(self._device, self._mine, self.levels.local, prepared, mine, self.rank)
            execute(stage.steps, (here,) if self._live else (), tick if self.rank == 0 else _nobody)
            self.fresh = fresh_after(self.fresh, stage.steps)
        assert self.fresh == plan.left
        self.layout = plan.end
        self.ranks.barrier()

    def _move(self, stage: Stage) -> None:
        """The motion at the beginning of a stage."""
        match stage.motion:
            case None:
                pass
            case Exchange(swaps):
                self.moved(sources(self.num_wires, swaps))
            case Migration():
                raise PlanError("a migration in a plan for two halves.")
            case _:
                assert_never(stage.motion)
        assert self.fresh == stage.fresh

    def moved(self, bits: Sequence[int], flip: int = 0) -> None:
        """Move amplitudes of both halves: new index bit k is old bit ``bits[k]``, XOR bit k of `flip`."""
        self._write_zeros()
        self.ranks.exchange(1 - self.rank, self._mine, self._theirs)
        self.sent += self._mine.nbytes
        whole = [self._mine, self._theirs] if self.rank == 0 else [self._theirs, self._mine]
        index = np.arange(1 << self.levels.local, dtype=np.int64) | self.rank << self.levels.local
        old = move_bits(index ^ np.int64(flip), bits)
        for number, half in enumerate(whole):
            here = old >> self.levels.local == number
            self._both[here] = half[old[here] & self._inside]
        self._mine, self._both = self._both, self._mine
        self.layout = at.moved(self.layout, bits, flip)
        self.fresh = sum((self.fresh >> bit & 1) << k for k, bit in enumerate(bits)) & ~flip

    def arrange(self, layout: Layout) -> None:
        """Move amplitudes so that they lie in another layout."""
        bits, flip = at.moves(self.layout, layout)
        if flip or tuple(bits) != tuple(range(self.num_wires)):
            self.moved(bits, flip)

    # --- near at hand ------------------------------------------------------------------------------------------------

    def visit(self, near: Sequence[int] = (), *, write: bool = False) -> Iterator[NearSubState]:  # noqa: ARG002  (it is here)
        """This half, if it is not known to be zero."""
        self.bring(near)
        self.write_zeros(self._inside)
        if self._live:
            yield NearSubState(self._device, self._mine, self.layout, self.rank)

    def bring(self, near: Sequence[int]) -> None:
        """Make wires local, against the highest local bit that holds none of them."""
        wanted, local = at.index_bits(self.layout, near), self.levels.local
        if local not in wanted:
            return
        free = [bit for bit in range(self.levels.slice, local) if bit not in wanted]
        if not free:
            raise InvalidInput(f"{len(near)} wires cannot be local at once. Ask for fewer wires.")
        self.moved(sources(self.num_wires, ((free[-1], local),)))

    def write_zeros(self, bits: int = -1) -> None:
        """Write the zeros of fresh index bits."""
        mask, live = bits & self.fresh, self._live
        self.fresh &= ~mask
        if self._live and not live:
            self._mine[:] = 0
        elif self._live and mask & self._inside:
            self._clear(mask & self._inside)

    def _write_zeros(self) -> None:
        """Let memory say what is known to be zero; it is still known."""
        if not self._live:
            self._mine[:] = 0
        elif self.fresh & self._inside:
            self._clear(self.fresh & self._inside)

    def _clear(self, fresh: int) -> None:
        self._device.run(self._mine, self.levels.local, ZeroFill(fresh), np.zeros(0, dtype=np.complex128))


def _asked(question: str) -> Any:
    """A method that asks both halves."""

    def ask(self: TwoHalves, *given: Any, **named: Any) -> Any:
        return self._ask(question, *given, *named.values())

    return ask


class TwoHalves(Divided):
    """A state whose halves live in two threads: every call is made in both, and what they answer together comes back.

    An error in one of them ends both: the state is then gone, and the error comes from the call that met it.
    """

    kind = NAME

    def __init__(self, devices: Sequence[Device], num_wires: int, dtype: Any, levels: Levels) -> None:
        if num_wires != levels.local + 1 or levels.peers != 1:
            raise InvalidInput(f"expected one device bit above the local ones, got {num_wires} wires with {levels}.")
        self.levels = levels
        self.dtype = np.dtype(dtype)
        self.devices = tuple(devices)
        self.layout = Layout.identity(num_wires)
        self.fresh = (1 << num_wires) - 1
        *ends, self._control = loopback(3)
        self._threads = [
            threading.Thread(
                target=_work, args=(end, half, device, num_wires, self.dtype, levels),
                name=f"{THREADS} {end.rank}", daemon=True,
            )
            for end, half, device in zip(ends, loopback(2), devices, strict=True)
        ]  # fmt: skip
        for thread in self._threads:
            thread.start()
        self._end = weakref.finalize(self, self._control.close)  # who forgets to release it leaves no threads behind
        self._sent = [0, 0]
        self._ask("traffic")

    # --- both halves -------------------------------------------------------------------------------------------------

    def _ask(self, question: str, *given: Any) -> Any:
        """Have both halves do the same, and return what they answer together."""
        try:
            self._control.broadcast((question, given, self.layout, self.fresh), root=2)
            found, self.layout, self.fresh = self._control.allgather(None)[0]
        except BaseException as error:
            self._control.abort(error)
            self._join()
            if isinstance(error, CommunicationError) and (cause := error.__cause__) is not None:
                traceback.clear_frames(cause.__traceback__)  # they hold the halves' memory
                raise cause  # noqa: B904  (the error itself, where it happened)
            raise
        return found

    def release(self) -> None:
        """End both threads and let go of all memory; may be called again."""
        self._end()
        self._join()

    def _join(self) -> None:
        for thread in self._threads:
            thread.join()

    def run(self, plan: Plan, work: Sequence[Any], tick: Tick) -> None:
        """Run a plan on both halves."""
        self._ask("run", plan, shares_of(work), tick)
        self._sent = self._ask("traffic")

    # --- what it says of itself --------------------------------------------------------------------------------------

    @property
    def bytes_moved(self) -> int:
        """Bytes that the halves had sent after the last run."""
        return sum(self._sent)

    def report(self) -> dict[str, Any]:
        """Bytes sent by each half."""
        return {"bytes_sent": dict(zip(("0>1", "1>0"), self._ask("traffic"), strict=True))}

    # --- what both halves do, each with its own amplitudes ------------------------------------------------------------

    write_zeros, mark_zero, arrange = _asked("write_zeros"), _asked("mark_zero"), _asked("arrange")
    forget, write, scale = _asked("forget"), _asked("write"), _asked("scale")
    gather, read, stored = _asked("gather"), _asked("read"), _asked("stored")
    norm_squared, marginal, search = _asked("norm_squared"), _asked("marginal"), _asked("search")
    paulis, density = _asked("paulis"), _asked("density")

    # --- whole answers -----------------------------------------------------------------------------------------------

    def pieces(self, size: int) -> Iterator[tuple[int, Amplitudes]]:
        """The amplitudes of the halves that are not known to be zero."""
        half = 1 << self.levels.local
        for begin in (0, half):
            if not begin & self.fresh:
                for start in range(begin, begin + half, size):
                    yield start, self.stored(start, min(start + size, begin + half))

    def overwrite(self, pieces: Pieces, layout: Layout) -> None:
        """Overwrite all amplitudes, by index: they lie in that layout then."""
        self.forget()
        for start, values in pieces(0, 1 << self.num_wires):
            self.write(start, values.astype(self.dtype, copy=False))
        self.layout = layout

    def visit(self, near: Sequence[int] = (), *, write: bool = False) -> Iterator[NearSubState]:  # noqa: ARG002
        """Both halves, where they lie: nothing is done in their threads meanwhile."""
        self._ask("bring", near)
        self._ask("write_zeros", (1 << self.levels.local) - 1)
        for number, buffer in enumerate(self._ask("buffer")):
            if not number << self.levels.local & self.fresh:
                yield NearSubState(self.devices[number], buffer, self.layout, number)

    def inner(self, other: Placement) -> complex:
        """<self|other>, a piece at a time."""
        return complex(self.norm_squared()) if other is self else overlap(self, other)

    # --- other numbers of wires --------------------------------------------------------------------------------------

    def another(self, num_wires: int) -> TwoHalves:
        """|0…0> of this many wires; raises `NotSupported` for fewer than two."""
        if num_wires < 2:
            raise NotSupported(f"{num_wires} wires in two halves, each of which has one.")
        local = num_wires - 1
        levels = replace(self.levels, local=local, slice=min(self.levels.slice, local - 1))
        return TwoHalves(self.devices, num_wires, self.dtype, levels)

    def shrink(self, wires: Sequence[int]) -> TwoHalves:
        """This state without some wires; see `Placement.shrink`."""
        self.arrange(at.with_last(self.layout, wires, held_values(self, wires)))
        new = self.another(self.num_wires - len(wires))
        self._copy_to(new, at.without_last(self.layout, wires))
        self.release()
        return new

    def _copy_to(self, new: Divided, layout: Layout) -> None:
        """Copy amplitudes to a new placement, index by index as far as both go; there they have another layout."""
        new.write_zeros(~self.fresh & (1 << min(self.num_wires, new.num_wires)) - 1)
        for first, values in self.pieces(PIECE):
            new.write(first, values[: max(0, (1 << new.num_wires) - first)])
        new.layout = layout


def _work(control: Communicator, ranks: Communicator, *given: Any) -> None:
    """Make a half, and answer for it until the end, or until an error of any thread."""
    half: Half | None = None
    try:
        half = Half(ranks, *given)
        while True:
            question, asked, half.layout, half.fresh = control.broadcast(None, root=2)
            found = half.ask(question, *asked)
            control.allgather((found, half.layout, half.fresh))
            del found, asked
    except CommunicationError as error:  # the other half has failed and has told why, or all is over
        cause = error.__cause__
        ranks.abort(cause or error)
        if cause is not None:
            control.abort(cause)
    except BaseException as error:  # noqa: BLE001  (whoever asks is told)
        ranks.abort(error)
        control.abort(error)
    finally:
        ranks.close()
        control.close()
        if half is not None:
            half.release()


def _nobody() -> None:
    """Counts nothing: the first rank counts for all."""


def threads_of_halves() -> list[threading.Thread]:
    """The threads of all states in two halves that there are."""
    return [thread for thread in threading.enumerate() if thread.name.startswith(THREADS)]
