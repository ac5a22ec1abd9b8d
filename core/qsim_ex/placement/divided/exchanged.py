"""Divided states whose sub state vectors stay where they are and trade parts in exchanges.

Device numbers are the bits from `Levels.local` up. They are free: permuting and flipping device bits renumbers devices
and moves nothing. A process works on the numbers that are here; for a state over several processes these are few.
Every process that holds a part of the state makes the same calls, so `layout` and `fresh` are the same in all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, assert_never

import numpy as np

from qsim_ex import thresholds
from qsim_ex.devices.base import CopyQueue
from qsim_ex.errors import PlanError
from qsim_ex.placement import index_bits as at
from qsim_ex.placement.divided.near import NearSubState
from qsim_ex.placement.exchange.links import PeerBuffer
from qsim_ex.placement.exchange.lockstep import clear, shares_of, work_on
from qsim_ex.placement.exchange.schedule import Swaps, schedule, sources
from qsim_ex.precision import AmplitudeDtype
from qsim_ex.steps.layout import Layout, Levels
from qsim_ex.steps.plan import Exchange, Migration, Plan, Stage, begins_alike, fresh_after


class TradedParts(Protocol):
    """A divided state with its parts: where they are, and how they are traded."""

    layout: Layout
    levels: Levels
    fresh: int
    dtype: AmplitudeDtype
    places: Sequence[int]  # of each device number

    @property
    def num_wires(self) -> int:
        """The number of wires of the state."""

    @property
    def home_bits(self) -> int:
        """The number of index bits of a part that stays where it is."""

    def here(self, number: int) -> PeerBuffer:
        """Return the memory of a device number that is here."""

    def numbers_here(self) -> list[int]:
        """Return the device numbers that are here, in order."""

    def queue_of(self, number: int) -> CopyQueue:
        """Return a queue of copies of the device of a number that is here."""

    def exchange(self, swaps: Swaps, tick: Callable[[], None] | None = None) -> None:
        """Swap local positions with device bits; the layout and the fresh bits follow (`moved`)."""

    def rename(self, origins: Sequence[int], flip: int) -> None:
        """Give devices other numbers: new bit ``local + k`` is old bit ``origins[k]``, XOR bit k of `flip`."""

    def permute(self, origins: Sequence[int], flip: int = 0) -> None:
        """Move bits of every part: new bit k is old bit ``origins[k]``, XOR bit k of `flip`."""

    def write_zeros(self, bits: int = -1) -> None:
        """Write the zeros of fresh index bits (all of them by default), which are not fresh afterwards."""

    def check_plan(self, plan: Plan) -> None:
        """Raise `PlanError` for a plan that was made for another state."""

    def end_plan(self, plan: Plan) -> None:
        """Take the layout at the end of a plan; raise `PlanError` if other bits are fresh than it says."""


def run(state: TradedParts, plan: Plan, work: Sequence[Any], tick: Callable[[], None]) -> None:
    """Run a plan that starts in this layout with these fresh bits; `tick` is called before each step.

    work: for each device of the caller's list, its prepared steps, and the numbers of all steps.
    Raises `PlanError` for a plan that was made for another state.
    """
    state.check_plan(plan)
    shares = shares_of(work)
    done = 0
    alike = begins_alike(plan.stages, plan.num_wires, plan.levels)
    for k, stage in enumerate(plan.stages):
        if alike and k == 1:
            _keep_own(state, stage)
        else:
            _move(state, stage, tick)
        parts = _all_begun(state) if alike and k == 0 else [(state.here(d), d) for d in live(state)]
        work_on(parts, stage.steps, shares, done, tick)
        state.fresh = fresh_after(state.fresh, stage.steps)
        done += len(stage.steps)
    state.end_plan(plan)


def _move(state: TradedParts, stage: Stage, tick: Callable[[], None]) -> None:
    """Make the motion at the beginning of a stage."""
    match stage.motion:
        case None:
            pass
        case Exchange(swaps):
            state.exchange(swaps, tick)
        case Migration():
            raise PlanError("expected no migration in a plan for devices alone, got one.")
        case _:
            assert_never(stage.motion)
    _check(state, stage)


def _check(state: TradedParts, stage: Stage) -> None:
    if state.fresh != stage.fresh:
        raise PlanError(f"expected fresh bits {stage.fresh:#x} at the beginning of a stage, got {state.fresh:#x}.")


def live(state: TradedParts) -> list[int]:
    """Return the device numbers here whose sub state vectors are not known to be zero."""
    return [number for number in state.numbers_here() if not number << state.levels.local & state.fresh]


def _all_begun(state: TradedParts) -> list[tuple[PeerBuffer, int]]:
    """Return the memory of all devices here, each as if it were the first one of a new state."""
    found = [state.here(number) for number in state.numbers_here()]
    for peer in found:
        peer.device.begin(peer.buffer)
    return [(peer, 0) for peer in found]


def _keep_own(state: TradedParts, stage: Stage) -> None:
    """Make an exchange before which all devices have the same: each keeps the part of its number."""
    assert isinstance(stage.motion, Exchange)
    flat = Levels(state.levels.local, state.levels.peers, state.levels.slice)  # whichever way devices are connected
    for number in state.numbers_here():
        peer, queue = state.here(number), state.queue_of(number)
        planned = schedule(flat, stage.motion.swaps, state.fresh, 1 << thresholds.now.alike_bits, (number,))
        queue.wait(peer.device.mark())
        for trade in planned.trades:
            mine = trade.devices.index(number)
            if trade.sent[1 - mine]:
                queue.copy(trade.parts[mine].of(peer.buffer), trade.parts[1 - mine].of(peer.buffer))
        peer.device.wait(queue.mark())
    moved(state, sources(state.num_wires, stage.motion.swaps))
    _check(state, stage)


def moved(state: TradedParts, sources: Sequence[int], flip: int = 0) -> None:
    """Record that new position k of every index is old position ``sources[k]``, XOR bit k of `flip`."""
    state.layout = at.moved(state.layout, sources, flip)
    state.fresh = sum((state.fresh >> source & 1) << k for k, source in enumerate(sources))


def visit(state: TradedParts, near: Sequence[int]) -> Iterator[NearSubState]:
    """Yield every sub state vector that is not known to be zero; far wires of `near` are exchanged in first."""
    bring(state, near)
    state.write_zeros((1 << state.levels.local) - 1)
    for number in live(state):
        peer = state.here(number)
        yield NearSubState(peer.device, peer.buffer, state.layout, number)


def bring(state: TradedParts, near: Sequence[int]) -> None:
    """Make wires local by one exchange, in the places of the highest local positions that hold none of them."""
    if swaps := at.brought_in(at.index_bits(state.layout, near), state.levels.slice, state.home_bits):
        state.exchange(swaps)


def write_zeros(state: TradedParts, bits: int = -1) -> None:
    """Write the zeros of fresh index bits (all of them by default), which are not fresh afterwards."""
    local = (1 << state.levels.local) - 1
    mask = bits & state.fresh
    before = live(state)
    state.fresh &= ~mask
    for number in live(state):
        peer = state.here(number)
        if number not in before:  # the sub state vector was known to be zero; now memory holds the zeros
            peer.device.set_basis(peer.buffer, 0)
            peer.device.write(peer.buffer, 0, np.zeros(1, dtype=state.dtype))
        elif mask & local:
            clear(peer, mask & local)


def arrange(state: TradedParts, layout: Layout) -> None:
    """Move amplitudes to another layout: one exchange at most, and local permutations."""
    local, width = state.home_bits, state.num_wires
    origins, flip = at.moves(state.layout, layout)
    state.write_zeros(sum(1 << origins[k] for k in range(width) if flip >> k & 1))
    leaving = [origin for origin in origins[local:] if origin < local]
    entering = [origin for origin in origins[:local] if origin >= local]
    if any(position < state.levels.slice for position in leaving):  # on top they are long rows
        state.permute([p for p in range(local) if p not in leaving] + leaving)
        leaving = list(range(local - len(leaving), local))
    if leaving:
        state.exchange(tuple(zip(leaving, entering, strict=True)))
    origins, flip = at.moves(state.layout, layout)
    state.rename(origins[local:], flip >> local)
    state.permute(origins[:local], flip & (1 << local) - 1)


def permute(state: TradedParts, origins: Sequence[int], flip: int = 0) -> None:
    """Move local bits on every device: new bit k is old bit ``origins[k]``, XOR bit k of `flip`."""
    local = state.levels.local
    if flip == 0 and list(origins) == list(range(local)):
        return
    for number in live(state):
        peer = state.here(number)
        peer.device.permute(peer.buffer, local, origins, flip)
    moved(state, [*origins, *range(local, state.num_wires)], flip)


def copy_to(state: TradedParts, new: TradedParts, layout: Layout) -> None:
    """Copy the beginning of each sub state vector, as far as both have it; nothing leaves its device."""
    local, wider = state.levels.local, new.levels.local
    size = 1 << min(local, wider)
    state.write_zeros(size - 1)
    new.places, new.layout = state.places, layout
    for number in live(state):
        mine, to = state.here(number), new.here(number)
        to.device.copy(to.buffer[:size], mine.buffer[:size])
    new.fresh = state.fresh >> local << wider | (1 << wider) - size


class Exchanges:
    """What a divided state does by the functions of this file."""

    @property
    def home_bits(self: TradedParts) -> int:
        """The number of index bits of a part that stays where it is: those of a sub state vector."""
        return self.levels.local

    def run(self: TradedParts, plan: Plan, work: Sequence[object], tick: Callable[[], None]) -> None:
        """Run a plan that starts in this layout with these fresh bits; `tick` is called before each step.

        work: for each device of the caller's list, its prepared steps, and the numbers of all steps.
        Raises `PlanError` for a plan that was made for another state.
        """
        run(self, plan, work, tick)

    def visit(self: TradedParts, near: Sequence[int] = (), *, write: bool = False) -> Iterator[NearSubState]:  # noqa: ARG002  (all is near)
        """Yield every sub state vector that is not known to be zero; far wires of `near` are exchanged in first."""
        return visit(self, near)

    def write_zeros(self: TradedParts, bits: int = -1) -> None:
        """Write the zeros of fresh index bits (all of them by default), which are not fresh afterwards."""
        write_zeros(self, bits)

    def arrange(self: TradedParts, layout: Layout) -> None:
        """Move amplitudes to another layout: one exchange at most, and local permutations."""
        arrange(self, layout)

    def permute(self: TradedParts, origins: Sequence[int], flip: int = 0) -> None:
        """Move local bits on every device: new bit k is old bit ``origins[k]``, XOR bit k of `flip`."""
        permute(self, origins, flip)

    def copy_to(self: TradedParts, new: Any, layout: Layout) -> None:
        """Copy the beginning of each sub state vector, as far as both have it; nothing leaves its device."""
        copy_to(self, new, layout)
