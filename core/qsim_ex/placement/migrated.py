"""A placement on one device and in host memory: windows of the state are brought near one by one, and written back.

A pass visits all windows of one choice of near bits. It begins with those whose slices are on the device already, and
slices that stay on the device are not copied. `Window` maps windows to slices, `Slots` brings them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from qsim_ex.circuit.ops import mask_of
from qsim_ex.devices.base import Device
from qsim_ex.errors import InvalidInput, PlanError
from qsim_ex.placement import index_bits as at
from qsim_ex.placement.deployment import Deployment
from qsim_ex.placement.divided.near import NearSubState, Wanted, every
from qsim_ex.placement.executor import OneState, execute
from qsim_ex.placement.index_bits import move_bits
from qsim_ex.placement.request import IN_FLIGHT, Limits, StateRequest
from qsim_ex.placement.windows.slice_table import NOWHERE
from qsim_ex.placement.windows.slices import Slices
from qsim_ex.placement.windows.slots import Slots, Tick
from qsim_ex.placement.windows.window import Index, Scenario, Window, allocate, room, turn
from qsim_ex.precision import AmplitudeDtype
from qsim_ex.steps.layout import Layout, Levels
from qsim_ex.steps.plan import Exchange, Plan, Stage, fresh_after
from qsim_ex.steps.step import Step, ZeroFill

SCENARIOS: dict[Scenario, int | None] = {"whole": IN_FLIGHT, "spread": None}
"""The most windows on the device: where the host holds only slices that the device does not, as many as fit."""

_NO_NUMBERS = np.zeros(0, dtype=np.complex128)


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


class Migrated(Slices):
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
        num_wires = len(layout)
        self.needed = room(num_wires, levels, np.dtype(dtype), slots=slots, scenario=scenario, spare=spare, piece=piece)
        self._allowed = allowed
        self._memory = allocate(self.needed, device, allowed)
        self.device = device
        self.devices = (device,)
        self.layout = layout
        self.levels = levels
        self.dtype = np.dtype(dtype)
        self.fresh = (1 << num_wires) - 1
        self._rest = Window(tuple(range(num_wires)), levels.local, self.needed.slice)
        self._window = self._rest
        self._slots = Slots(device, self.needed, self._memory)
        self.begin()

    def begin(self) -> None:
        """Set a state that has `nothing` to |0…0⟩ in the present layout."""
        self._slots.pipe.begin_work(0)
        self.device.begin(self._slots.buffers[0])
        self._slots.pipe.end_work()
        self._slots.places.written(0, self._existing(self._window.slices(0), self.fresh))

    # --- description -----------------------------------------------------------------------------------------------

    @property
    def memory_kind(self) -> str:
        """'pinned', 'plain' or 'pageable': the host's memory, the worst kind among its blocks."""
        return self._memory.kind

    @property
    def device_bytes(self) -> int:
        """Bytes of device memory that the state holds all the time."""
        return self.needed.device_bytes

    @property
    def host_bytes(self) -> int:
        """Bytes of host memory that the state holds all the time."""
        return self.needed.host_bytes

    @property
    def bytes_in(self) -> int:
        """Bytes copied from the host to the device so far."""
        return self._slots.pipe.bytes_in

    @property
    def bytes_out(self) -> int:
        """Bytes copied from the device to the host so far."""
        return self._slots.pipe.bytes_out

    @property
    def bytes_within(self) -> int:
        """Bytes copied from one place on the device to another so far."""
        return self._slots.pipe.bytes_within

    @property
    def bytes_moved(self) -> int:
        """Bytes copied so far between the host and the device."""
        pipe = self._slots.pipe
        return pipe.bytes_in + pipe.bytes_out

    def report(self) -> dict[str, object]:
        """Return the memory, and the bytes that were copied."""
        needed, pipe = self.needed, self._slots.pipe
        return {
            "bytes_held": [needed.device_bytes],
            "bytes_held_on_host": needed.host_bytes,
            "bytes_within": pipe.bytes_within,
            "bytes_from_host": [pipe.bytes_in],
            "bytes_to_host": [pipe.bytes_out],
            "host_memory_kind": self._memory.kind,
        }

    def deployed(self, before: Deployment) -> Deployment:
        """Return a deployment on the same device, with as many windows."""
        return replace(
            before,
            num_wires=self.num_wires,
            levels=self.levels,
            device_bytes=self.device_bytes,
            host_bytes=self.host_bytes,
        )

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
        for window, stages in self._passes(plan):
            steps = [step for stage in stages for step in stage.steps]
            if (begun := window.positions(self.fresh)) != stages[0].fresh:
                raise PlanError(f"expected fresh positions {stages[0].fresh:#x}, as in the plan, got {begun:#x}.")
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
        for slot, value in self._pass(window, _values(window, begun), after, write=True, tick=tick):
            high = above << window.far | value
            execute(
                steps, (OneState(self.device, self._slots.buffers[slot], window.local, prepared, numbers, high),), tick
            )

    def passes(self, plan: Plan) -> Iterator[tuple[int, int]]:
        """Yield for each pass how many stages it has, and how often `run` calls its `tick` in it."""
        for window, stages in self._passes(plan):
            windows = 1 << window.far - (stages[0].fresh >> self.levels.local).bit_count()
            yield len(stages), windows * (self._slots.parts + sum(len(stage.steps) for stage in stages))

    def _passes(self, plan: Plan) -> list[tuple[Window, list[Stage]]]:
        """Return the stages of each pass, and its window."""
        found: list[tuple[Window, list[Stage]]] = []
        for stage in plan.stages:
            if isinstance(stage.motion, Exchange):
                raise PlanError("expected no exchange in a plan for one device, got one.")
            if stage.motion is not None:
                found.append((Window(stage.motion.bits, self.levels.local, self.needed.slice), []))
            elif not found:
                found.append((self._rest, []))
            found[-1][1].append(stage)
        return found

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
        if not wires:
            return self._rest
        wanted = [self.layout.address[wire] for wire in wires]
        if len([bit for bit in wanted if bit >= self.levels.slice]) > self.levels.local - self.levels.slice:
            raise InvalidInput(f"{len(wires)} wires cannot be near at once: {self.division}. Ask for fewer wires.")
        return self._window.bringing(wanted)

    def visit_window(self, window: Window, after: int, wanted: Wanted, write: bool) -> Iterator[NearSubState]:
        """Make a pass for questions; zeros of fresh local positions are written in each window.

        after: the index bits that are fresh when it is over.
        """
        fresh, layout = window.positions(self.fresh), window.layout(self.layout)
        here = fresh & (1 << window.local) - 1
        values = [value for value in _values(window, fresh) if wanted(layout, value)]
        for slot, value in self._pass(window, values, after, write=write):
            buffer = self._slots.buffers[slot]
            if here:
                self.device.run(buffer, window.local, ZeroFill(here), _NO_NUMBERS)
            yield NearSubState(self.device, buffer, layout, value)

    def write_zeros(self, mask: int = -1) -> None:
        """Write the zeros of those fresh index bits that are in a mask; they are not fresh afterwards."""
        if not self.fresh & mask:
            return
        window, before, after = self._rest, self.fresh, self.fresh & ~mask
        local, inside = window.local, (1 << window.local) - 1
        for slot, value in self._pass(window, _values(window, after), after, write=True):
            buffer = self._slots.buffers[slot]
            if value & before >> local:  # the window was known to be zero; now memory holds the zeros
                self.device.set_basis(buffer, 0)
                self.device.write(buffer, 0, np.zeros(1, dtype=self.dtype))
            elif before & mask & inside:
                self.device.run(buffer, local, ZeroFill(before & mask & inside), _NO_NUMBERS)

    def mark_zero(self, bits: int) -> None:
        """Mark index bits as fresh: all amplitudes at which one of them is 1 are zero, and have no place."""
        self._slots.pipe.end_work()
        self.fresh |= bits
        slices = np.arange(self._slots.places.num_slices, dtype=np.int64)
        self._slots.places.nothing(slices[(slices & self.fresh >> self.needed.slice) != 0])

    def forget(self) -> None:
        """Prepare for overwriting all amplitudes: they may be anything, in the order of the wires."""
        self._slots.pipe.end_work()
        self.layout, self.fresh, self._window = Layout.identity(self.num_wires), 0, self._rest
        self._slots.places.everywhere()

    def another(self, num_wires: int) -> Migrated:
        """Return |0…0⟩ of `num_wires` wires in windows of the same size, or smaller for fewer wires."""
        local = min(self.levels.local, num_wires)
        levels = replace(self.levels, local=local, slice=min(self.levels.slice, max(0, local - 1)))
        needed = self.needed
        return Migrated(
            self.device, Layout.identity(num_wires), levels, self.dtype,
            slots=needed.slots, scenario=needed.scenario, spare=needed.spare, piece=needed.piece, allowed=self._allowed,
        )  # fmt: skip

    def release(self) -> None:
        """Wait for work and copies under way, and release all memory."""
        try:
            self._slots.pipe.synchronize()
            self.device.synchronize()
        finally:
            del self._slots, self._memory

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
            for slot, _ in self._pass(turned.window, values, turned.mask(self.fresh), write=True):
                self.device.permute(self._slots.buffers[slot], self.levels.local, turned.moves, turned.flip)
            sources, flip = turned.left, flip & ~turned.flip
        if sources != tuple(range(self.num_wires)) or flip:
            self._renumber(sources, flip)
        self.layout = layout

    def _renumber(self, sources: tuple[int, ...], flip: int) -> None:
        """Renumber slices, so that index bits from the slice up trade places."""
        inside = self.needed.slice
        to = [source - inside for source in sources[inside:]]
        number = np.arange(self._slots.places.num_slices, dtype=np.int64)
        old = move_bits(number ^ np.int64(flip >> inside), to)
        new = np.empty_like(old)
        new[old] = number
        self._slots.places.renumbered(old, new)
        goes = {source: bit for bit, source in enumerate(sources)}
        self.fresh = mask_of(tuple(goes[bit] for bit in range(self.num_wires) if self.fresh >> bit & 1))
        bits = [goes[bit] for bit in self._window.bits]
        local = self.levels.local
        self._window = replace(self._window, bits=(*bits[:local], *sorted(bits[local:])))

    # --- passes ----------------------------------------------------------------------------------------------------

    def _pass(
        self, window: Window, values: list[int], after: int, *, write: bool, tick: Tick | None = None
    ) -> Iterator[tuple[int, int]]:
        """Bring one window after another into a slot; yield (slot, number of the window).

        values: the windows to bring; if no slice of one exists, its amplitudes are undefined.
        after: the index bits that are fresh when the pass is over. write: whether windows are worked on.
        """
        pipe, places = self._slots.pipe, self._slots.places
        pipe.end_work()
        self._window = window
        for slot, value in self._slots.order(window, values):
            slices = window.slices(value)
            self._slots.bring(self._existing(slices, self.fresh), slot, tick)
            pipe.begin_work(slot)
            try:
                yield slot, value
            finally:
                pipe.end_work()
                if write:
                    places.written(slot, self._existing(slices, after))
        self.fresh = after

    def _existing(self, slices: Index, fresh: int) -> Index:
        """Return slices, with `NOWHERE` in place of those that are known to be zero."""
        return np.where(slices & fresh >> self.needed.slice, NOWHERE, slices)


def _values(window: Window, fresh: int) -> list[int]:
    """Return the windows that are not known to be zero where these positions are fresh."""
    return [value for value in range(1 << window.far) if not value & fresh >> window.local]
