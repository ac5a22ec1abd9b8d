"""A placement on one device and in host memory: windows of the state are brought near one by one, and written back.

A pass visits all windows of one choice of near bits. It begins with those whose slices are on the device already, and
slices that stay on the device are not copied. `Window` maps windows to slices, `Slots` brings them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from qsim_ex.circuit.ops import mask_of
from qsim_ex.devices.base import Buffer, Device
from qsim_ex.errors import PlanError
from qsim_ex.placement import executor
from qsim_ex.placement import index_bits as at
from qsim_ex.placement.deployment import IN_FLIGHT, Deployment, Limits, MemoryNeeds, StateRequest
from qsim_ex.placement.divided.divided import Divided
from qsim_ex.placement.divided.near import NearSubState, Wanted, bits_near, every
from qsim_ex.placement.windows.slots import Slots, Tick
from qsim_ex.placement.windows.window import Scenario, Window, allocate, room, turn
from qsim_ex.precision import AmplitudeDtype
from qsim_ex.steps.layout import Layout, Levels
from qsim_ex.steps.plan import Plan, fresh_after, passes_of
from qsim_ex.steps.step import Step

SCENARIOS: dict[Scenario, int | None] = {"whole": IN_FLIGHT, "spread": None}
"""The most windows on the device: where the host holds only slices that the device does not, as many as fit."""


def lay_out(request: StateRequest) -> Iterator[Deployment]:
    """Yield windows of a state in host memory on one device; first of a state that is whole there, then 'spread'."""
    if (local := request.window()) is None:
        return
    n, levels, dtype = request.num_wires, request.levels(local), request.options.dtype
    for scenario, most in SCENARIOS.items():
        if request.options.host_memory in ("auto", scenario):
            slots = request.in_flight(local, most)
            needed = room(n, levels, dtype, slots=slots, scenario=scenario)
            sizes = needed.device_bytes, needed.host_bytes
            yield Deployment("migrated", n, levels, request.places, slots, scenario, *sizes, "")


def create(deployment: Deployment, devices: Sequence[Device], dtype: AmplitudeDtype, limits: Limits) -> Migrated:
    """Return |0…0> in host memory, with windows on one device."""
    return Migrated(
        devices[0],
        Layout.identity(deployment.num_wires),
        deployment.levels,
        dtype,
        slots=deployment.in_flight,
        scenario=deployment.host_memory or "whole",
        allowed=limits,
    )


class Migrated(Divided):
    """2^n amplitudes, of which windows of 2^local are on the device `device`.

    A new state is |0…0⟩ in the given layout, all of its bits fresh; see `forget` for a state that is overwritten at
    once.

    device: a `Device` that is a `Copies`. layout, levels: as in `Divided`; no device bits.
    slots: windows that the device has room for. With one, copies and work take turns; with more they overlap.
    scenario, spare, piece: see `windows.MigratedMemory`. allowed: see `windows.allocate`.
    Raises `InvalidInput`, and `OutOfMemory` with the sum.
    """

    kind = "migrated"

    def __init__(
        self,
        device: Any,
        layout: Layout,
        levels: Levels,
        dtype: DTypeLike,
        *,
        slots: int = 3,
        scenario: Scenario = "whole",
        spare: int | None = None,
        piece: int | None = None,
        allowed: tuple[int, int] | None = None,
    ) -> None:
        num_wires = len(layout.address)
        self.needed = room(num_wires, levels, np.dtype(dtype), slots=slots, scenario=scenario, spare=spare, piece=piece)
        self._alike = partial(Migrated, slots=slots, scenario=scenario, spare=spare, piece=piece, allowed=allowed)
        self.device = device
        self.devices = (device,)
        self.needs = MemoryNeeds((self.needed.device_bytes,), self.needed.host_bytes)
        self.layout = layout
        self.levels = levels
        self.dtype = np.dtype(dtype)
        self.fresh = (1 << num_wires) - 1
        self._rest = Window(tuple(range(num_wires)), levels.local, self.needed.slice)
        self._window = self._rest
        self.slots = Slots(device, self.needed, allocate(self.needed, device, allowed))
        self.begin()

    def begin(self) -> None:
        """Set a state that has `nothing` to |0…0⟩ in the present layout."""
        self.slots.begin(self.slots.existing(self._window.slices[0], self.fresh))

    # --- description -----------------------------------------------------------------------------------------------

    @property
    def bytes_moved(self) -> int:
        """Bytes copied so far between the host and the device."""
        return self.slots.bytes_moved

    def report(self) -> dict[str, object]:
        """Return the memory, and the bytes that were copied."""
        held = {"bytes_held": list(self.needs.devices), "bytes_held_on_host": self.needs.host}
        return held | {"bytes_within": self.slots.pipe.bytes_within} | self.slots.report()

    # --- work ------------------------------------------------------------------------------------------------------

    def run(self, plan: Plan, work: Sequence[Any], tick: Tick) -> None:
        """Run a plan that starts in this layout with these fresh bits.

        work: (prepared, numbers) for the device; numbers are iterated once. `tick` is called `ticks` times; if it
        raises, the state is neither the old one nor the new one, and has to be released.
        Raises `PlanError` if the plan is not for this state.
        """
        self.check_plan(plan)
        ((prepared, numbers),) = work
        packed = list(numbers)
        first = 0
        for one in passes_of(plan):
            steps, window = one.steps, self._rest
            if one.bits != window.bits:
                window = replace(window, bits=one.bits)
            if (begun := window.positions(self.fresh)) != one.stages[0].fresh:
                raise PlanError(f"expected fresh positions {one.stages[0].fresh:#x}, as in the plan, got {begun:#x}.")
            self.run_pass(window, steps, prepared, packed[first : first + len(steps)], tick, begun)
            first += len(steps)
        self.layout = plan.end

    def run_pass(
        self,
        window: Window,
        steps: Sequence[Step],
        prepared: object,
        numbers: Sequence[object],
        tick: Tick,
        begun: int,
        above: int = 0,
    ) -> None:
        """Run steps on one window after the other.

        begun: the fresh positions. above: the value of the bits above those of a window's number.
        """
        after = window.homes(fresh_after(begun, steps))
        for buffer, value in self._pass(window, _values(window, begun), after, write=True, tick=tick):
            one = executor.OneState(self.device, buffer, window.local, prepared, numbers, above << window.far | value)
            executor.execute(steps, (one,), tick)

    def passes(self, plan: Plan) -> Iterator[tuple[int, int]]:
        """Yield for each pass how many stages it has, and how often `run` calls its `tick` in it."""
        for one in passes_of(plan):
            windows = one.windows(self.levels.local, self.num_wires)
            yield len(one.stages), windows * (self.slots.parts + len(one.steps))

    def visit(self, near: Sequence[int] = (), *, write: bool = False) -> Iterator[NearSubState]:
        """Yield every sub state vector that is not known to be zero, brought near; see `Visited.visit`."""
        window = self._near(near)
        here = window.homes(window.positions(self.fresh) & (1 << window.local) - 1)
        return self.visit_window(window, self.fresh & ~here if write else self.fresh, every, write)

    def visit_some(self, wanted: Wanted, near: Sequence[int] = (), *, write: bool = False) -> Iterator[NearSubState]:
        """Yield the sub state vectors for which `wanted` is true; nothing else is copied."""
        return self.visit_window(self._near(near), self.fresh, wanted, write)

    def _near(self, wires: Sequence[int]) -> Window:
        """Return a window with some wires near; the one at rest without wires."""
        return self._window.bringing(bits_near(self, wires)) if wires else self._rest

    def visit_window(self, window: Window, after: int, wanted: Wanted, write: bool) -> Iterator[NearSubState]:
        """Make a pass for questions; zeros of fresh local positions are written in each window.

        after: the index bits that are fresh when it is over.
        """
        fresh, layout = window.positions(self.fresh), window.layout(self.layout)
        here = fresh & (1 << window.local) - 1
        values = [value for value in _values(window, fresh) if wanted(layout, value)]
        for buffer, value in self._pass(window, values, after, write=write):
            if here:
                executor.clear(self.device, buffer, window.local, here)
            yield NearSubState(self.device, buffer, layout, value)

    def write_zeros(self, mask: int = -1) -> None:
        """Write the zeros of those fresh index bits that are in a mask; they are not fresh afterwards."""
        if not self.fresh & mask:
            return
        window, before, after = self._rest, self.fresh, self.fresh & ~mask
        local, inside = window.local, (1 << window.local) - 1
        for buffer, value in self._pass(window, _values(window, after), after, write=True):
            if value & before >> local:  # the window was known to be zero; now memory holds the zeros
                self.device.set_basis(buffer, 0)
                self.device.write(buffer, 0, np.zeros(1, dtype=self.dtype))
            elif before & mask & inside:
                executor.clear(self.device, buffer, local, before & mask & inside)

    def mark_zero(self, bits: int) -> None:
        """Mark index bits as fresh: all amplitudes at which one of them is 1 are zero, and have no place."""
        self.fresh |= bits
        if self.fresh:
            self.slots.drop(self.fresh)

    def nothing(self) -> None:
        """Forget all slices, and mark all index bits as fresh: amplitude 0 has no place either."""
        self._window, self.fresh = self._rest, (1 << self.num_wires) - 1
        self.slots.drop()

    def forget(self) -> None:
        """Prepare for overwriting all amplitudes: they may be anything, in the order of the wires."""
        self.slots.pipe.end_work()
        self.layout, self.fresh, self._window = Layout.identity(self.num_wires), 0, self._rest
        self.slots.places.everywhere()

    def another(self, num_wires: int) -> Migrated:
        """Return |0…0⟩ of `num_wires` wires in windows of the same size, or smaller for fewer wires."""
        local = min(self.levels.local, num_wires)
        levels = replace(self.levels, local=local, slice=min(self.levels.slice, max(0, local - 1)))
        return self._alike(self.device, Layout.identity(num_wires), levels, self.dtype)

    def release(self) -> None:
        """Wait for work and copies under way, and release all memory."""
        try:
            self.slots.settle()
        finally:
            del self.slots

    # --- slices ----------------------------------------------------------------------------------------------------

    def expose(self) -> None:
        """Copy every slice that has a place on the host there, and wait until nothing is under way."""
        self.write_zeros()
        self.slots.send_home()

    def slice_at(self, number: int) -> Buffer:
        """Return a slice of an exposed state, without a copy: NumPy on the host, the device's array on the device."""
        return self.slots.at(number)

    # --- layouts ---------------------------------------------------------------------------------------------------

    @property
    def slice_bits(self) -> int:
        """The number of index bits of a slice as it is copied: at most `Levels.slice`."""
        return self.needed.slice

    def arrange(self, layout: Layout) -> None:
        """Move amplitudes to another layout.

        Bits of a slice's number change by renumbering slices, which moves nothing. Bits inside slices are moved on the
        device, in passes that each bring as many as fit of the bits near that have to be inside.
        """
        sources, flip = at.moves(self.layout, layout)
        if any(self.fresh >> source & 1 and flip >> bit & 1 for bit, source in enumerate(sources)):
            self.write_zeros()
        low = (1 << self.needed.slice) - 1
        while (turned := turn(self._window, sources, flip & low)) is not None:
            values = _values(turned.window, turned.window.positions(self.fresh))
            for buffer, _ in self._pass(turned.window, values, turned.mask(self.fresh), write=True):
                self.device.permute(buffer, self.levels.local, turned.moves, turned.flip)
            sources, flip = turned.left, flip & ~turned.flip
        if sources != tuple(range(self.num_wires)) or flip:
            self._renumber(sources, flip)
        self.layout = layout

    def _renumber(self, sources: tuple[int, ...], flip: int) -> None:
        """Renumber slices, so that index bits from the slice up trade places."""
        self.slots.renumber(sources, flip)
        goes = {source: bit for bit, source in enumerate(sources)}
        self.fresh = mask_of(tuple(goes[bit] for bit in range(self.num_wires) if self.fresh >> bit & 1))
        bits = [goes[bit] for bit in self._window.bits]
        local = self.levels.local
        self._window = replace(self._window, bits=(*bits[:local], *sorted(bits[local:])))

    # --- passes ----------------------------------------------------------------------------------------------------

    def _pass(
        self, window: Window, values: list[int], after: int, *, write: bool, tick: Tick | None = None
    ) -> Iterator[tuple[Buffer, int]]:
        """Make a pass, after which `after` is fresh (see `Slots.windows`); write: whether windows are worked on."""
        self.slots.pipe.end_work()
        self._window = window
        yield from self.slots.windows(window, values, self.fresh, after if write else None, tick)
        self.fresh = after


def _values(window: Window, fresh: int) -> list[int]:
    """Return the windows that are not known to be zero where these positions are fresh."""
    return [value for value in range(1 << window.far) if not value & fresh >> window.local]
