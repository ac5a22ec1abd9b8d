"""A placement in host memory of which several devices hold a window together: passes in time, exchanges in space.

The host has a place for every amplitude, its home. A pass copies one window after another, 2^local amplitudes to each
device, works on it, exchanges included, and writes it back home. Several windows are on the devices at a time, so that
one is copied in and one out while another is worked on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from qsim_ex.circuit.ops import mask_of
from qsim_ex.devices.base import Buffer, Device
from qsim_ex.devices.memory import state_bytes
from qsim_ex.devices.peering import Link, link
from qsim_ex.display.amounts import human
from qsim_ex.errors import InvalidInput, NotSupported, OptionError, OutOfMemory
from qsim_ex.placement import index_bits as at
from qsim_ex.placement.deployment import Deployment, Limits, MemoryNeeds, StateRequest
from qsim_ex.placement.divided.divided import Divided
from qsim_ex.placement.divided.near import NearSubState
from qsim_ex.placement.exchange.links import Links, staging
from qsim_ex.placement.exchange.lockstep import check_memory, clear, shares_of
from qsim_ex.placement.windows.carry import bringing, turn_at_home
from qsim_ex.placement.windows.home import CARRIED_BYTES, HomeWindows, course_of, homes, positions, ticks_of
from qsim_ex.placement.wires import narrowed
from qsim_ex.precision import STORAGE, AmplitudeDtype, Storage
from qsim_ex.steps.layout import Layout, Levels
from qsim_ex.steps.plan import Plan, passes_of


def needs(
    num_wires: int,
    levels: Levels,
    storage: Storage,
    frames: int,
    links: Mapping[tuple[int, int], Link],
    piece_bytes: int | None = None,
) -> MemoryNeeds:
    """Return the memory of a state: frames and staging on each device; on the host all amplitudes, and staging."""
    staged = [staging(place, levels, storage, links, piece_bytes) for place in range(1 << levels.peers)]
    sizes = tuple(storage.nbytes(frames << levels.local) + near for near, _ in staged)
    return MemoryNeeds(sizes, storage.nbytes(1 << num_wires) + sum(host for _, host in staged))


def lay_out(request: StateRequest) -> Iterator[Deployment]:
    """Yield windows on several devices of a state in host memory, which has a place for every amplitude."""
    if (local := request.window()) is None:
        return
    if request.options.host_memory == "spread":
        raise OptionError(
            f"host_memory='spread' is for one device, and {1 << request.peers} devices share this state. Use 'whole', "
            "or one device."
        )
    n, levels, frames = request.num_wires, request.levels(local), request.in_flight(local)
    sizes, host = needs(n, levels, STORAGE[request.options.dtype], frames, request.links)
    yield Deployment("peers over host", n, levels, request.places, frames, "whole", max(sizes), host, "")


def create(deployment: Deployment, devices: Sequence[Device], dtype: AmplitudeDtype, limits: Limits) -> PeersOverHost:
    """Return |0…0> in host memory, with windows on several devices."""
    frames = deployment.in_flight
    return PeersOverHost(devices, deployment.num_wires, dtype, deployment.levels, frames=frames, limit=limits)


class PeersOverHost(Divided):
    """A state vector in host memory, windows of which are near to 2^peers devices; it begins as |0…0⟩.

    devices: one for each device number, each also `Copies`; the same device may occur several times.
    levels: all wires beyond ``local + peers`` are on migration bits. frames: windows that the devices have room for.
    piece_bytes, reach: as for `Peers`. limit: bytes of each device and of the host that may be used, in place of the
    free bytes. Raises `InvalidInput`, and `OutOfMemory` before anything is allocated, with the sum.
    """

    kind = "peers over host"

    def __init__(
        self,
        devices: Sequence[Device],
        num_wires: int,
        dtype: DTypeLike,
        levels: Levels,
        *,
        frames: int = 3,
        piece_bytes: int | None = None,
        carried_bytes: int = CARRIED_BYTES,
        limit: tuple[int, int] | None = None,
        reach: Callable[[Device, Device], Link] = link,
    ) -> None:
        if len(devices) != 1 << levels.peers or num_wires < levels.local + levels.peers or frames < 1:
            raise InvalidInput(
                f"expected local + device bits <= {num_wires} wires, a device for each value of the device bits, and "
                f"frames >= 1, got {levels.local} local bits, {levels.peers} device bits, {len(devices)} devices and "
                f"frames={frames}."
            )
        self.levels = levels
        self.dtype = np.dtype(dtype)
        self.devices = tuple(devices)
        self._size = num_wires
        self._options: dict[str, Any] = {
            "frames": frames, "piece_bytes": piece_bytes, "carried_bytes": carried_bytes, "limit": limit, "reach": reach
        }  # fmt: skip
        self._links = Links(devices, levels, self.dtype, piece_bytes, reach)
        self.needs = needs(num_wires, levels, STORAGE[self.dtype], frames, self._links.kinds, piece_bytes)
        check_memory(self._sum(), self.devices, self.memory, self.host_memory, *(limit or (None, None)))
        self._windows = self._allocate(frames, carried_bytes)
        self.begin()

    # --- memory ------------------------------------------------------------------------------------------------------

    @property
    def memory(self) -> tuple[int, ...]:
        """Bytes that this state holds on each device, staging included; they never grow."""
        return self.needs.devices

    @property
    def host_memory(self) -> int:
        """Bytes of host memory: the state, and staging of links through the host."""
        return self.needs.host

    @property
    def sent(self) -> dict[tuple[int, int], int]:
        """Bytes sent so far between devices, for each ordered pair of device numbers."""
        return self._links.sent

    @property
    def bytes_in(self) -> list[int]:
        """Bytes copied from the host to each device so far."""
        return self._windows.bytes_in

    @property
    def bytes_out(self) -> list[int]:
        """Bytes copied from each device to the host so far."""
        return self._windows.bytes_out

    @property
    def links(self) -> dict[tuple[int, int], Link]:
        """The link from one device to another."""
        return dict(self._links.kinds)

    @property
    def bytes_moved(self) -> int:
        """Bytes sent so far between devices, and between devices and the host."""
        return sum(self.sent.values()) + sum(self.bytes_in) + sum(self.bytes_out)

    def report(self) -> dict[str, object]:
        """Return the links, the bytes sent over them, the memory, and the bytes copied from and to the host."""
        return self._links.report() | {
            "bytes_held": list(self.memory),
            "bytes_held_on_host": self.host_memory,
            "bytes_from_host": list(self.bytes_in),
            "bytes_to_host": list(self.bytes_out),
            "host_memory_kind": self.memory_kind,
        }

    def passes(self, plan: Plan) -> Iterator[tuple[int, int]]:
        """Yield for each pass how many stages it has, and how often `run` calls its `tick` in it."""
        for _, stages, _ in passes_of(plan):
            yield len(stages), ticks_of(stages, self._size, self.levels.local + self.levels.peers)

    def _sum(self) -> str:
        """Return the memory that the state needs, for messages."""
        return (
            f"{self._size} wires in {self.dtype.name} need {human(state_bytes(self._size, self.dtype))} of host memory "
            f"and {human(self.memory[0])} on each of {len(self.devices)} devices"
        )

    def _allocate(self, frames: int, carried_bytes: int) -> HomeWindows:
        """Allocate all memory, or none of it."""
        first: Any = self.devices[0]
        try:
            self._home, self.memory_kind = first.host_memory(1 << self._size, self.dtype)
            return HomeWindows(self._home, self._size, self._links, frames, carried_bytes)
        except OutOfMemory as error:
            self._home = None
            raise OutOfMemory(f"{self._sum()}, which could not be allocated. {error}") from error

    def begin(self) -> None:
        """Set the state to |0…0⟩: one amplitude is written at home, and all wires are fresh."""
        self._windows.synchronize()
        self.layout = Layout.identity(self._size)
        self.fresh = (1 << self._size) - 1
        self._home[0] = 1

    def release(self) -> None:
        """Release all memory, at once, even while work or copies are under way."""
        try:
            self._windows.release()
        finally:
            self._home = None

    def another(self, num_wires: int) -> PeersOverHost:
        """Return |0…0⟩ of `num_wires` wires on the same devices; raise `NotSupported` if no wire would be local."""
        levels = self.levels
        divided = narrowed(levels, num_wires, min(levels.local, num_wires - levels.peers), len(self.devices), "devices")
        return PeersOverHost(self.devices, num_wires, self.dtype, divided, **self._options)

    # --- slices in host memory ---------------------------------------------------------------------------------------

    def expose(self) -> None:
        """Write every amplitude at home, and wait until nothing is under way."""
        self.write_zeros()
        self._windows.synchronize()

    def slice_at(self, number: int) -> Buffer:
        """Return a slice of an exposed state at home: NumPy, without a copy."""
        return self._home[number << self.levels.slice : number + 1 << self.levels.slice]

    # --- work --------------------------------------------------------------------------------------------------------

    def run(self, plan: Plan, work: Sequence[Any], tick: Callable[[], None]) -> None:
        """Run a plan that starts in this layout with these fresh bits; `tick` is called before each step of a window.

        work: for each device its prepared steps, and the numbers of all steps.
        Raises `PlanError` for a plan that was made for another state.
        """
        self.check_plan(plan)
        shares = shares_of(work)
        done = 0
        for bits, stages, _ in passes_of(plan):
            course = course_of(bits, stages, self.fresh, self.levels.local + self.levels.peers)
            self._windows.run_pass(course, shares, done, tick)
            self.fresh = course.left
            done += sum(len(stage.steps) for stage in stages)
        self.end_plan(plan)

    # --- visits ------------------------------------------------------------------------------------------------------

    def visit(self, near: Sequence[int] = (), *, write: bool = False) -> Iterator[NearSubState]:
        """Yield every sub state vector that is not known to be zero, brought near; see `Visited.visit`."""
        return self._visit(bringing(self.levels, self._size, at.index_bits(self.layout, near)), write=write)

    def _visit(self, bits: tuple[int, ...], *, write: bool) -> Iterator[NearSubState]:
        """Make a visit in which position p is index bit ``bits[p]``."""
        windows = self._windows
        fresh = positions(bits, self.fresh)
        inside = fresh & (1 << self.levels.local) - 1
        layout = at.moved(self.layout, bits)
        for frame, value in windows.windows(bits, fresh):
            live = windows.live(fresh)
            for d in live:
                if inside:
                    clear(frame.peer_buffers[d], inside)
            try:
                for d in live:
                    peer = frame.peer_buffers[d]
                    yield NearSubState(peer.device, peer.buffer, layout, value << self.levels.peers | d)
            finally:
                if write:
                    windows.send(frame, bits, fresh & ~inside, value)
                else:
                    frame.busy.update({d: frame.peer_buffers[d].device.mark() for d in live})
        if write:
            self.fresh = homes(bits, fresh & ~inside)

    def write_zeros(self, bits: int = -1) -> None:
        """Write the zeros of fresh index bits (all of them by default), which are not fresh afterwards."""
        mask = bits & self.fresh
        if mask:
            self._windows.synchronize()
        for bit in range(self._size):
            if mask >> bit & 1:
                self._home.reshape(-1, 2, 1 << bit)[:, 1] = 0
        self.fresh &= ~mask

    def arrange(self, layout: Layout) -> None:
        """Move amplitudes to another layout: passes, in each of which local bits are permuted."""
        origins, flip = at.moves(self.layout, layout)
        if self.layout != layout and self.levels.local - self.levels.slice < 2:
            raise NotSupported(
                f"moving amplitudes at home needs two local bits above the slice, got {self.levels}. Use more "
                "window_slots or device_wires."
            )
        self.write_zeros(mask_of(tuple(origin for k, origin in enumerate(origins) if flip >> k & 1)))
        while self.layout != layout:
            origins, flip = at.moves(self.layout, layout)
            self._turn(origins, flip)

    def _turn(self, origins: Sequence[int], flip: int) -> None:
        """Make one pass that moves as many index bits as fit to their final places, and flips those it can."""
        bits, moves, turned = turn_at_home(self.levels, origins, flip)
        for near in self._visit(bits, write=True):
            near.device.permute(near.buffer, self.levels.local, moves, turned)
        sources = list(range(self._size))
        for position, source in enumerate(moves):
            sources[bits[position]] = bits[source]
        self.layout = at.moved(self.layout, sources, homes(bits, turned))
