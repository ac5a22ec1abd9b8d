"""A placement over several processes, each of which has its part in host memory and windows on its devices.

A rank's part is at home in the memory of its host, in one array. Ranks trade halves of their homes, as those of `Ranks`
trade halves of sub state vectors; between two trades each rank makes passes over its own part. Questions are answered
at home, by the processor of the host: it reads its memory faster than a link carries it to a device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from qsim_ex.circuit.ops import mask_of
from qsim_ex.comm import connection
from qsim_ex.comm.protocol import Communicator
from qsim_ex.devices import discover
from qsim_ex.devices.base import Buffer, Device
from qsim_ex.devices.peering import Link, link
from qsim_ex.errors import InvalidInput, OptionError, OutOfMemory
from qsim_ex.placement import peers_over_host
from qsim_ex.placement.deployment import Deployment, Limits, MemoryNeeds, StateRequest
from qsim_ex.placement.divided import exchanged
from qsim_ex.placement.exchange.links import Links, PeerBuffer
from qsim_ex.placement.exchange.lockstep import shares_of
from qsim_ex.placement.exchange.messages import staging
from qsim_ex.placement.exchange.schedule import Swaps, amplitudes_sent, schedule, sources
from qsim_ex.placement.index_bits import move_bits
from qsim_ex.placement.ranks import spread as ranks_spread
from qsim_ex.placement.ranks.ranks import NO_LINKS, Ranks
from qsim_ex.placement.windows.arrivals import Arrivals
from qsim_ex.placement.windows.home import CARRIED_BYTES, HomeWindows, course_of, ticks_of
from qsim_ex.placement.wires import narrowed
from qsim_ex.precision import STORAGE, AmplitudeDtype, Storage
from qsim_ex.steps.layout import Levels
from qsim_ex.steps.plan import Plan, passes_of

Reach = Callable[[Device, Device], Link]


def needs(num_wires: int, levels: Levels, storage: Storage, frames: int, links: Any = NO_LINKS) -> MemoryNeeds:
    """Return the memory of a rank: windows on each device; its part, and staging, on its host."""
    parts = num_wires - levels.ranks
    found = peers_over_host.needs(parts, levels, storage, frames, links)
    return MemoryNeeds(found.devices, found.host + staging(Levels(parts, levels.ranks, levels.slice), storage))


def lay_out(request: StateRequest) -> Iterator[Deployment]:
    """Yield windows on the devices of each rank, of a part on its host; first of one that is whole there."""
    if request.ranks == 1 or (local := request.window()) is None:
        return
    n, bits, frames = request.num_wires, request.ranks.bit_length() - 1, request.in_flight(local)
    levels = replace(request.levels(local), peers=request.peers - bits, layers=(), ranks=bits)
    kind, wanted, dtype = "ranks over host", request.options.host_memory, request.options.dtype
    if wanted != "spread":
        sizes, host = needs(n, levels, STORAGE[dtype], frames, request.links)
        yield Deployment(kind, n, levels, request.places, frames, "whole", max(sizes), host, "")
    if levels.peers and wanted == "spread":
        raise OptionError(
            f"host_memory='spread' is for one device of each process, and each has {1 << levels.peers}. Start a "
            "process for each device, or use 'whole'."
        )
    if not levels.peers and wanted != "whole":
        slots = request.in_flight(local, None)
        sizes, host = ranks_spread.needs(n, levels, dtype, slots)
        yield Deployment(kind, n, levels, request.places, slots, "spread", max(sizes), host, "")


def create(deployment: Deployment, devices: Sequence[Device], dtype: AmplitudeDtype, limits: Limits) -> Ranks:
    """Return |0…0> over the ranks that this process is connected to."""
    found, n, levels = connection.current(), deployment.num_wires, deployment.levels
    if deployment.host_memory == "spread":
        return ranks_spread.RanksSpread(found, devices[0], n, dtype, levels, slots=deployment.in_flight, allowed=limits)
    return RanksOverHost(found, devices, n, dtype, levels, frames=deployment.in_flight)


class RanksOverHost(Ranks):
    """A state vector over 2^ranks processes, each with 2^peers devices; begins as |0…0⟩, and every rank makes one.

    To the ranks it is a state of 2^ranks sub state vectors, which are those at home (`levels`); plans are made for
    windows (`planning_levels`).

    communicator: as for `Ranks`. devices: those of this rank, one for each of its device numbers, each also `Copies`.
    levels: as plans have them, with migration bits and bits of ranks. frames: windows that the devices have room for.
    carried_bytes, reach: as for `PeersOverHost`.
    """

    kind = "ranks over host"

    def __init__(
        self,
        communicator: Communicator,
        devices: Sequence[Device],
        num_wires: int,
        dtype: DTypeLike,
        levels: Levels,
        *,
        frames: int = 3,
        carried_bytes: int = CARRIED_BYTES,
        reach: Reach = link,
    ) -> None:
        if len(devices) != 1 << levels.peers or levels.migration(num_wires) < 1 or frames < 1:
            raise InvalidInput(
                f"expected a device for each value of the device bits, migration bits and frames >= 1, got "
                f"{len(devices)} devices, {num_wires} wires with {levels}, and frames={frames}."
            )
        self._plans_for = levels
        self._workers = tuple(devices)
        self._options: dict[str, Any] = {"frames": frames, "carried_bytes": carried_bytes, "reach": reach}
        self._windows: HomeWindows | None = None
        self._inside = Links(devices, levels, np.dtype(dtype), reach=reach)
        self.memory_kind = ""
        host: Any = devices[0] if devices[0].in_host_memory else discover.cpu()
        parts = num_wires - levels.ranks
        super().__init__(communicator, [host], num_wires, dtype, Levels(parts, levels.ranks, levels.slice))
        self.needs = needs(num_wires, levels, STORAGE[self.dtype], frames, self._inside.kinds)
        refused = ""
        try:
            if self._mine:
                self._windows = HomeWindows(self._mine[0].buffer, parts, self._inside, frames, carried_bytes)
        except OutOfMemory as error:
            refused = str(error)
        self._all_have_room(refused)
        self.devices = self._workers

    def _allocated(self, k: int) -> PeerBuffer:
        """Return this rank's part in memory of the host that its devices copy from, and its end of the links.

        Other ranks of the host map it where they can; else it is memory as devices like it best.
        """
        first: Any = self._workers[0]

        def unshared() -> Buffer:
            home, self.memory_kind = first.host_memory(1 << self.levels.local, self.dtype)
            return home

        end = self._links.buffer(k, 1 << self.levels.local, self.dtype, unshared)
        if not self.memory_kind:
            self.memory_kind = first.lock(end.buffer)
        return end

    def release(self) -> None:
        """Release the memory of this rank; the others are not asked."""
        windows, self._windows = self._windows, None
        try:
            if windows is not None:
                windows.release()
        finally:
            super().release()

    def another(self, num_wires: int) -> RanksOverHost:
        """Return |0…0⟩ of `num_wires` wires on the same ranks; raise `NotSupported` if no wire would be local."""
        levels = self._plans_for
        local = min(levels.local, num_wires - levels.ranks - levels.peers - 1)
        levels = narrowed(levels, num_wires, local, self._used, "processes")
        return RanksOverHost(self.communicator, self._workers, num_wires, self.dtype, levels, **self._options)

    # --- description -------------------------------------------------------------------------------------------------

    @property
    def planning_levels(self) -> Levels:
        """The levels of plans, with windows."""
        return self._plans_for

    def passes(self, plan: Plan) -> Iterator[tuple[int, int]]:
        """Yield for each pass how many stages it has, and how often `run` calls its `tick` in it."""
        window = self._plans_for.local + self._plans_for.peers
        for _, stages, _ in passes_of(plan):
            yield len(stages), ticks_of(stages, self.levels.local, window)

    @property
    def bytes_moved(self) -> int:
        """Bytes sent so far between all hosts, and between this rank's devices, and them and its host."""
        windows = self._windows
        copied = 0 if windows is None else sum(windows.bytes_in) + sum(windows.bytes_out)
        return super().bytes_moved + sum(self._inside.sent.values()) + copied

    def report(self) -> dict[str, object]:
        """Return what `Ranks` reports, and the bytes between the devices and the host of this rank."""
        windows = self._windows
        return super().report() | {
            "bytes_held": sum(self.needs.devices) + self.needs.host,
            "bytes_held_on_host": self.needs.host,
            "bytes_sent_within": {f"{a}>{b}": size for (a, b), size in sorted(self._inside.sent.items())},
            "bytes_from_host": [] if windows is None else list(windows.bytes_in),
            "bytes_to_host": [] if windows is None else list(windows.bytes_out),
            "host_memory_kind": self.memory_kind,
        }

    # --- work --------------------------------------------------------------------------------------------------------

    def run(self, plan: Plan, work: Sequence[Any], tick: Callable[[], None]) -> None:
        """Run a plan that starts in this layout with these fresh bits; `tick` is called before each step of a window.

        work: for each device of this rank its prepared steps, and the numbers of all steps.
        Raises `PlanError` for a plan that was made for another state.
        """
        self.check_plan(plan)
        shares = shares_of(work)
        local, window, done = self.levels.local, self._plans_for.local + self._plans_for.peers, 0
        inside = (1 << local) - 1
        for bits, stages, swaps in passes_of(plan):
            arrivals = self._arrivals(swaps, bits[window:local], tick) if swaps else None
            course = course_of(bits[:local], stages, self.fresh & inside, window)
            if self._windows is not None and (live := exchanged.live(self)):
                (self._windows.above,) = live
                self._windows.run_pass(course, shares, done, tick, arrivals)
                self._windows.synchronize()  # what follows is done at home
            else:
                for _ in range(ticks_of(stages, local, window)):
                    tick()
            if arrivals is not None:
                arrivals.rest()
            self.fresh = self.fresh & ~inside | course.left
            done += sum(len(stage.steps) for stage in stages)
        self.end_plan(plan)

    def _arrivals(self, swaps: Swaps, far: Sequence[int], tick: Callable[[], None]) -> Arrivals:
        """Return a trade of homes, in parts of one window each; the layout and the fresh bits are those behind it.

        far: the bits at home that number the windows of the pass that follows.
        """
        swapped = [inner for inner, _ in swaps]
        apart = tuple(bit for bit in far if bit not in swapped)
        there = [bit for bit in apart if not self.fresh >> bit & 1]
        starts: list[int] = move_bits(np.arange(1 << len(there), dtype=np.int64), there).tolist()
        held, places = self._held, self.places
        first = schedule(self._flat, swaps, self.fresh, self._links.piece, tuple(sorted(held)), apart)
        sent = STORAGE[self.dtype].nbytes(amplitudes_sent(self._flat, swaps, self.fresh)) // len(starts)

        def trade(start: int) -> None:
            if held:
                self._links.exchange(held, places, first.at(start), tick)
            self._bytes_moved += sent

        exchanged.moved(self, sources(self.num_wires, swaps))
        return Arrivals(starts, mask_of(apart), trade)
