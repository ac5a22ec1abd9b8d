"""A divided state whose sub state vectors stay where they are and trade parts in exchanges.

Device numbers are the bits from `Levels.local` up. They are free: permuting and flipping device bits renumbers devices
and moves nothing. A process works on the numbers that are here; for a state over several processes these are few.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, assert_never

import numpy as np

from qsim_ex.devices.base import CopyQueue
from qsim_ex.errors import InvalidInput, PlanError
from qsim_ex.placement import index_bits as at
from qsim_ex.placement.divided.divided import Divided, NearSubState
from qsim_ex.placement.exchange.links import PeerBuffer
from qsim_ex.placement.exchange.lockstep import clear, shares_of, work_on
from qsim_ex.placement.exchange.schedule import Swaps, schedule, sources
from qsim_ex.steps.layout import Layout, Levels
from qsim_ex.steps.plan import ALIKE_BITS, Exchange, Migration, Plan, Stage, begins_alike, fresh_after


class Exchanged(Divided):
    """2^n amplitudes in 2^peers sub state vectors, each of which stays on its device.

    A subclass has the memory, and says how parts are traded. Every process that holds a part of the state makes the
    same calls, so `layout` and `fresh` are the same in all of them.
    """

    # --- what a placement has to say ---------------------------------------------------------------------------------

    @abstractmethod
    def _here(self, number: int) -> PeerBuffer:
        """Return the memory of a device number that is here."""

    @abstractmethod
    def _numbers(self) -> list[int]:
        """Return the device numbers that are here, in order."""

    @abstractmethod
    def _queue(self, number: int) -> CopyQueue:
        """Return a queue of copies of the device of a number that is here."""

    @abstractmethod
    def _exchange(self, swaps: Swaps, tick: Callable[[], None] | None = None) -> None:
        """Swap local positions with device bits; the layout and the fresh bits follow (`_moved`)."""

    @abstractmethod
    def _rename(self, origins: Sequence[int], flip: int) -> None:
        """Give devices other numbers: new bit ``local + k`` is old bit ``origins[k]``, XOR bit k of `flip`."""

    @property
    def home_bits(self) -> int:
        """The number of index bits of a part that stays where it is: those of a sub state vector."""
        return self.levels.local

    # --- work --------------------------------------------------------------------------------------------------------

    def run(self, plan: Plan, work: Sequence[Any], tick: Callable[[], None]) -> None:
        """Run a plan that starts in this layout with these fresh bits; `tick` is called before each step.

        work: for each device of the caller's list, its prepared steps, and the numbers of all steps.
        Raises `PlanError` for a plan that was made for another state.
        """
        self._check_plan(plan)
        shares = shares_of(work)
        done = 0
        alike = begins_alike(plan.stages, plan.num_wires, plan.levels)
        for k, stage in enumerate(plan.stages):
            if alike and k == 1:
                self._keep_own(stage)
            else:
                self._move(stage, tick)
            live = self._all_begun() if alike and k == 0 else [(self._here(d), d) for d in self._live()]
            work_on(live, stage.steps, shares, done, tick)
            self.fresh = fresh_after(self.fresh, stage.steps)
            done += len(stage.steps)
        self._end_plan(plan)

    def _move(self, stage: Stage, tick: Callable[[], None]) -> None:
        """Make the motion at the beginning of a stage."""
        match stage.motion:
            case None:
                pass
            case Exchange(swaps):
                self._exchange(swaps, tick)
            case Migration():
                raise PlanError("expected no migration in a plan for devices alone, got one.")
            case _:
                assert_never(stage.motion)
        self._check(stage)

    def _check(self, stage: Stage) -> None:
        if self.fresh != stage.fresh:
            raise PlanError(f"expected fresh bits {stage.fresh:#x} at the beginning of a stage, got {self.fresh:#x}.")

    def _live(self) -> list[int]:
        """Return the device numbers here whose sub state vectors are not known to be zero."""
        return [number for number in self._numbers() if not number << self.levels.local & self.fresh]

    # --- beginnings that all devices make alike (`begins_alike`) ----------------------------------------------------

    def _all_begun(self) -> list[tuple[PeerBuffer, int]]:
        """Return the memory of all devices here, each as if it were the first one of a new state."""
        found = [self._here(number) for number in self._numbers()]
        for peer in found:
            peer.device.begin(peer.buffer)
        return [(peer, 0) for peer in found]

    def _keep_own(self, stage: Stage) -> None:
        """Make an exchange before which all devices have the same: each keeps the part of its number."""
        assert isinstance(stage.motion, Exchange)
        flat = Levels(self.levels.local, self.levels.peers, self.levels.slice)  # whichever way devices are connected
        for number in self._numbers():
            peer, queue = self._here(number), self._queue(number)
            planned = schedule(flat, stage.motion.swaps, self.fresh, 1 << ALIKE_BITS, (number,))
            queue.wait(peer.device.mark())
            for trade in planned.trades:
                mine = trade.devices.index(number)
                if trade.sent[1 - mine]:
                    queue.copy(trade.parts[mine].of(peer.buffer), trade.parts[1 - mine].of(peer.buffer))
            peer.device.wait(queue.mark())
        self._moved(sources(self.num_wires, stage.motion.swaps))
        self._check(stage)

    def _moved(self, sources: Sequence[int], flip: int = 0) -> None:
        """Record that new position k of every index is old position ``sources[k]``, XOR bit k of `flip`."""
        self.layout = at.moved(self.layout, sources, flip)
        self.fresh = sum((self.fresh >> source & 1) << k for k, source in enumerate(sources))

    # --- visits ------------------------------------------------------------------------------------------------------

    def visit(self, near: Sequence[int] = (), *, write: bool = False) -> Iterator[NearSubState]:  # noqa: ARG002  (all is near)
        """Yield every sub state vector that is not known to be zero; far wires of `near` are exchanged in first."""
        self._bring(near)
        self.write_zeros((1 << self.levels.local) - 1)
        for number in self._live():
            peer = self._here(number)
            yield NearSubState(peer.device, peer.buffer, self.layout, number)

    def _bring(self, near: Sequence[int]) -> None:
        """Make wires local by one exchange, in the places of the highest local positions that hold none of them."""
        local = self.home_bits
        wanted = at.index_bits(self.layout, near)
        far = [position for position in wanted if position >= local]
        free = [position for position in range(self.levels.slice, local) if position not in wanted]
        if len(far) > len(free):
            raise InvalidInput(
                f"{len(near)} wires cannot be local at once: {local} local bits, of which the lowest "
                f"{self.levels.slice} stay where they are. Ask for fewer wires."
            )
        if far:
            self._exchange(tuple(zip(free[-len(far) :], far, strict=True)))

    def write_zeros(self, bits: int = -1) -> None:
        """Write the zeros of fresh index bits (all of them by default), which are not fresh afterwards."""
        local = (1 << self.levels.local) - 1
        mask = bits & self.fresh
        live = self._live()
        self.fresh &= ~mask
        for number in self._live():
            peer = self._here(number)
            if number not in live:  # the sub state vector was known to be zero; now memory holds the zeros
                peer.device.set_basis(peer.buffer, 0)
                peer.device.write(peer.buffer, 0, np.zeros(1, dtype=self.dtype))
            elif mask & local:
                clear(peer, mask & local)

    def arrange(self, layout: Layout) -> None:
        """Move amplitudes to another layout: one exchange at most, and local permutations."""
        local, width = self.home_bits, self.num_wires
        origins, flip = at.moves(self.layout, layout)
        self.write_zeros(sum(1 << origins[k] for k in range(width) if flip >> k & 1))
        leaving = [origin for origin in origins[local:] if origin < local]
        entering = [origin for origin in origins[:local] if origin >= local]
        if any(position < self.levels.slice for position in leaving):  # on top they are long rows
            self._permute([p for p in range(local) if p not in leaving] + leaving)
            leaving = list(range(local - len(leaving), local))
        if leaving:
            self._exchange(tuple(zip(leaving, entering, strict=True)))
        origins, flip = at.moves(self.layout, layout)
        self._rename(origins[local:], flip >> local)
        self._permute(origins[:local], flip & (1 << local) - 1)

    def _permute(self, origins: Sequence[int], flip: int = 0) -> None:
        """Move local bits on every device: new bit k is old bit ``origins[k]``, XOR bit k of `flip`."""
        local = self.levels.local
        if flip == 0 and list(origins) == list(range(local)):
            return
        for number in self._live():
            peer = self._here(number)
            peer.device.permute(peer.buffer, local, origins, flip)
        self._moved([*origins, *range(local, self.num_wires)], flip)
