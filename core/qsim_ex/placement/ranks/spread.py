"""A placement over several processes: the part of each is on its device and, as far as that has no room, on its host.

A rank's part is a state in windows (`migrated`, in the scenario *spread*): each slice of it is on the device or on the
host. Plans are those of `over_host`. Where ranks trade halves of their parts they trade slices by their numbers,
so none needs to know where the other keeps them. A rank whose part is known to be zero keeps one slice of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from qsim_ex.comm import neighbours
from qsim_ex.comm.protocol import Communicator
from qsim_ex.errors import InvalidInput, OutOfMemory, PlanError
from qsim_ex.placement import index_bits as at
from qsim_ex.placement.deployment import Limits, MemoryNeeds
from qsim_ex.placement.divided import exchanged
from qsim_ex.placement.divided.divided import Divided
from qsim_ex.placement.divided.near import NearSubState, Wanted, bits_near, every
from qsim_ex.placement.exchange.mapped import MappedMemory
from qsim_ex.placement.exchange.schedule import Swaps, amplitudes_sent, sources
from qsim_ex.placement.exchange.slice_trades import SliceTrades, staging, trades_of
from qsim_ex.placement.migrated import Migrated
from qsim_ex.placement.ranks.ranks import Ranks
from qsim_ex.placement.windows.window import MigratedMemory, Window, room
from qsim_ex.placement.wires import narrowed
from qsim_ex.precision import STORAGE, AmplitudeDtype
from qsim_ex.steps.layout import Layout, Levels
from qsim_ex.steps.plan import Pass, Plan, fresh_after, passes_of


def memory_of(num_wires: int, levels: Levels, dtype: AmplitudeDtype, slots: int) -> MigratedMemory:
    """Return the memory of a rank's part."""
    own = Levels(levels.local, 0, levels.slice)
    return room(num_wires - levels.ranks, own, dtype, slots=slots, scenario="spread")


def needs(num_wires: int, levels: Levels, dtype: AmplitudeDtype, slots: int) -> MemoryNeeds:
    """Return the memory of a rank: slots on its device; on its host what they do not hold, and staging."""
    found = memory_of(num_wires, levels, dtype, slots)
    return MemoryNeeds(
        (found.device_bytes,), found.host_bytes + staging(found.slice_bytes, 1 << found.num_wires - found.slice)
    )


class RanksSpread(Ranks):
    """A state vector over 2^ranks processes with a device each; begins as |0…0⟩, and every rank makes one.

    communicator: as for `Ranks`. device: that of this rank. levels: as plans have them, with migration bits and bits of
    ranks. slots: windows that the device has room for. allowed: as for `Migrated`.
    """

    kind = "ranks over host"

    def __init__(
        self,
        communicator: Communicator,
        device: Any,
        num_wires: int,
        dtype: DTypeLike,
        levels: Levels,
        *,
        slots: int = 3,
        allowed: Limits = None,
    ) -> None:
        if levels.peers or levels.migration(num_wires) < 1:
            raise InvalidInput(f"expected migration bits and one device, got {num_wires} wires with {levels}.")
        self.levels = levels
        self.dtype = np.dtype(dtype)
        self.devices = (device,)
        self.communicator = self.shared_by = communicator
        self._home = num_wires - levels.ranks
        self._each = 1
        self._seats = self.places = neighbours.seats_of(communicator, 1 << levels.ranks).ranks
        self._bytes_moved = 0
        self._options: dict[str, Any] = {"slots": slots, "allowed": allowed}
        self._room = memory_of(num_wires, levels, self.dtype, slots)
        self.needs = needs(num_wires, levels, self.dtype, slots)
        self._links: Any = SliceTrades(communicator, self._room.slice_bytes, 1 << self._home - self._room.slice)
        self._part: Migrated | None = None
        MappedMemory.let_go(communicator)
        refused = ""
        try:
            if communicator.rank in self._seats:
                own = Levels(levels.local, 0, levels.slice)
                start = Layout.identity(self._home)
                self._part = Migrated(device, start, own, self.dtype, slots=slots, scenario="spread", allowed=allowed)
                self._links.allocate(device, self.dtype)
        except OutOfMemory as error:
            refused = str(error)
        self._all_have_room(refused)
        self.begin()

    def begin(self) -> None:
        """Set the state to |0…0⟩: one amplitude is written, and all wires are fresh."""
        n = self._home + self.levels.ranks
        self.layout = Layout.identity(n)
        self.fresh = (1 << n) - 1
        self._empty(1 if self._number == 0 else 0)

    def release(self) -> None:
        """Release the memory of this rank; the others are not asked."""
        part, self._part = self._part, None
        try:
            if part is not None:
                part.release()
        finally:
            self._links.close()

    def another(self, num_wires: int) -> RanksSpread:
        """Return |0…0⟩ of `num_wires` wires on the same ranks; raise `NotSupported` if no wire would be local."""
        levels = self.levels
        local = min(levels.local, num_wires - levels.ranks - 1)
        levels = narrowed(levels, num_wires, local, self._used, "processes")
        return RanksSpread(self.communicator, self.devices[0], num_wires, self.dtype, levels, **self._options)

    # --- description -------------------------------------------------------------------------------------------------

    @property
    def home_bits(self) -> int:
        """The number of index bits of a rank's part."""
        return self._home

    def passes(self, plan: Plan) -> Iterator[tuple[int, int]]:
        """Yield for each pass how many stages it has, and how often `run` calls its `tick` in it."""
        for one in passes_of(plan):
            yield len(one.stages), self._ticks(one)

    def _ticks(self, one: Pass) -> int:
        """Return the ticks of a pass: for each step and part of each window."""
        parts = 1 if self._part is None else self._part.slots.parts
        return one.windows(self.levels.local, self._home) * (parts + len(one.steps))

    @property
    def bytes_moved(self) -> int:
        """Bytes sent so far between all hosts, and between this rank's device and its host."""
        part = self._part
        return self._bytes_moved + (0 if part is None else part.slots.bytes_moved)

    def report(self) -> dict[str, object]:
        """Return what `Ranks` reports, and the bytes between the device and the host of this rank."""
        nothing = {"bytes_from_host": [], "bytes_to_host": [], "host_memory_kind": ""}
        copied = nothing if self._part is None else self._part.slots.report()
        return super().report() | {"bytes_held_on_host": self.needs.host, "bytes_sent_within": {}} | copied

    # --- the part of this rank ---------------------------------------------------------------------------------------

    @property
    def _number(self) -> int:
        """The device number of this rank; -1 if it holds no part."""
        rank = self.communicator.rank
        return self.places.index(rank) if rank in self.places else -1

    def _live_part(self) -> Migrated | None:
        """Return the part of this rank, if there is one that is not known to be zero."""
        return self._part if self._lives(self._number) else None

    def _lives(self, number: int) -> bool:
        """Return whether the part of a device number is not known to be zero."""
        return number >= 0 and not number << self._home & self.fresh

    def _empty(self, first: int = 0) -> None:
        """Make the part of this rank zero but for its first amplitude, with all of its bits fresh."""
        if self._part is not None:
            self._part.nothing()
            self._part.begin()
            if not first:
                self._part.write(0, np.zeros(1, dtype=self.dtype))

    # --- work --------------------------------------------------------------------------------------------------------

    def run(self, plan: Plan, work: Sequence[Any], tick: Callable[[], None]) -> None:
        """Run a plan that starts in this layout with these fresh bits.

        work: (prepared, numbers) for the device. `tick` is called `ticks` times; if it raises, the state is lost.
        Raises `PlanError` for a plan that was made for another state.
        """
        self.check_plan(plan)
        ((prepared, numbers),) = work
        packed, done, inside = list(numbers), 0, (1 << self._home) - 1
        for one in passes_of(plan):
            if one.swaps:
                self.exchange(one.swaps, tick)
            steps, window = one.steps, Window(one.bits[: self._home], self.levels.local, self._room.slice)
            begun, expected = window.positions(self.fresh & inside), one.stages[0].fresh & inside
            if begun != expected:
                raise PlanError(f"expected fresh positions {expected:#x}, as in the plan, got {begun:#x}.")
            if (part := self._live_part()) is not None:
                part.run_pass(window, steps, prepared, packed[done : done + len(steps)], tick, begun, self._number)
            else:
                for _ in range(self._ticks(one)):
                    tick()
            self.fresh = self.fresh & ~inside | window.homes(fresh_after(begun, steps))
            done += len(steps)
        self.end_plan(plan)

    # --- visits ------------------------------------------------------------------------------------------------------

    def visit(self, near: Sequence[int] = (), *, write: bool = False) -> Iterator[NearSubState]:
        """Yield every sub state vector of this rank that is not known to be zero, brought near; see `Visited.visit`."""
        exchanged.bring(self, near)
        window = self._window(near)
        here = window.homes(window.positions(self.fresh) & (1 << window.local) - 1)
        return self._visited(window, self.fresh & ~here if write else self.fresh, every, write)

    def visit_some(self, wanted: Wanted, near: Sequence[int] = (), *, write: bool = False) -> Iterator[NearSubState]:
        """Yield the sub state vectors of this rank for which `wanted` is true; nothing else is copied."""
        exchanged.bring(self, near)
        return self._visited(self._window(near), self.fresh, wanted, write)

    def _window(self, near: Sequence[int]) -> Window:
        """Return a window with some wires near, whose bits are those of a rank's part; the same on all ranks."""
        rest = Window(tuple(range(self._home)), self.levels.local, self._room.slice)
        return rest.bringing(bits_near(self, near)) if near else rest

    def _visited(self, window: Window, after: int, wanted: Wanted, write: bool) -> Iterator[NearSubState]:
        """Make a visit; after: the index bits that are fresh when it is over."""
        layout = at.moved(self.layout, (*window.bits, *range(self._home, self.num_wires)))
        if (part := self._live_part()) is not None:
            above = self._number << window.far

            def some(_: Layout, value: int) -> bool:
                return wanted(layout, above | value)

            for one in part.visit_window(window, after & (1 << self._home) - 1, some, write):
                yield NearSubState(one.device, one.buffer, layout, above | one.high)
        self.fresh = after

    def write_zeros(self, bits: int = -1) -> None:
        """Write the zeros of fresh index bits (all of them by default), which are not fresh afterwards."""
        self.fresh &= ~bits
        if (part := self._live_part()) is not None:
            part.write_zeros(~self.fresh)

    def mark_zero(self, bits: int) -> None:
        """Mark index bits as fresh: all amplitudes at which one of them is 1 are zero, and need no memory."""
        before = self._live_part()
        self.fresh |= bits
        if (part := self._live_part()) is not None:
            part.mark_zero(bits & (1 << self._home) - 1)
        elif before is not None:
            self._empty()

    def forget(self) -> None:
        """Prepare for overwriting all amplitudes: they may be anything, in the order of the wires."""
        self.layout, self.fresh = Layout.identity(self.num_wires), 0
        if self._part is not None:
            self._part.forget()

    # --- moving amplitudes -------------------------------------------------------------------------------------------

    def exchange(self, swaps: Swaps, tick: Callable[[], None] | None = None) -> None:
        """Swap bits of a rank's part with bits of ranks; the layout and the fresh bits follow."""
        number, part = self._number, self._part
        lived, fresh = self._lives(number), self.fresh
        flat = Levels(self._home, self.levels.ranks, self.levels.slice)
        self._bytes_moved += STORAGE[self.dtype].nbytes(amplitudes_sent(flat, swaps, fresh))
        if part is not None:
            part.slots.settle()
            if not lived:
                part.nothing()
            for one in trades_of(number, swaps, fresh, self._home, self._room.slice):
                self._links.trade(part.slots, self.places[one.other], one, tick)
            part.slots.settle()
        exchanged.moved(self, sources(self.num_wires, swaps))
        if part is not None and self._lives(number):
            part.fresh = self.fresh & (1 << self._home) - 1
        else:
            self._empty()

    def permute(self, origins: Sequence[int], flip: int = 0) -> None:
        """Move bits of each rank's part: new bit k is old bit ``origins[k]``, XOR bit k of `flip`."""
        if flip == 0 and list(origins) == list(range(self._home)):
            return
        if (part := self._live_part()) is not None:
            address = [0] * self._home
            for k, origin in enumerate(origins):
                address[origin] = k
            part.arrange(Layout(tuple(address), flip))
            part.layout = Layout.identity(self._home)
        exchanged.moved(self, [*origins, *range(self._home, self.num_wires)], flip)

    # --- other numbers of wires --------------------------------------------------------------------------------------

    def copy_to(self, new: Divided, layout: Layout) -> None:
        """Copy the beginning of each rank's part, as far as both have it; nothing leaves its rank."""
        assert isinstance(new, RanksSpread)
        mine, to = self._live_part(), new._part
        new.places, new.layout = self.places, layout
        if mine is not None and to is not None:
            mine.copy_to(to, Layout.identity(new._home))
        else:
            new._empty()
        low = (1 << min(self._home, new._home)) - 1
        new.fresh = self.fresh & low | self.fresh >> self._home << new._home | (1 << new._home) - (low + 1)
