"""Windows on a state at home in one array of host memory, on several devices: passes in time, exchanges in space.

A pass copies one window after another, 2^local amplitudes to each device, works on it, exchanges included, and writes
it back home. Several windows are on the devices at a time, so that one is copied in and one out while another is worked
on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from qsim_ex.circuit.ops import mask_of
from qsim_ex.devices.base import CopyQueue
from qsim_ex.errors import PlanError
from qsim_ex.placement.exchange.links import Links, PeerBuffer, synchronize
from qsim_ex.placement.exchange.lockstep import Share, work_on
from qsim_ex.placement.exchange.schedule import schedule, sources
from qsim_ex.placement.windows.arrivals import Arrivals
from qsim_ex.placement.windows.carry import Carried, carried
from qsim_ex.precision import STORAGE
from qsim_ex.steps.plan import Exchange, Stage, fresh_after

CARRIED_BYTES = 1 << 26
"""The bytes of one copy between host and device: 1.2 ms, so that starting a copy is negligible."""


@dataclass(eq=False, slots=True)
class WindowBuffers:
    """Room for one window: a peer on each device. `came`: marks behind the copies in; `busy`: marks behind its use."""

    peer_buffers: list[PeerBuffer]
    came: dict[int, Any] = field(default_factory=dict)
    busy: dict[int, Any] = field(default_factory=dict)


class _Moment(NamedTuple):
    """A stage of a pass: the fresh positions before and after the stage's motion."""

    before: int
    fresh: int


class PassCourse(NamedTuple):
    """Where everything is in the course of a pass over a state at home.

    bits, home: the index bit at home of each position in the beginning, and in the end. begun, ended: the fresh
    positions then. moments: one for each stage.
    """

    bits: tuple[int, ...]
    stages: Sequence[Stage]
    moments: Sequence[_Moment]
    home: tuple[int, ...]
    begun: int
    ended: int

    @property
    def left(self) -> int:
        """The index bits that are fresh at home after the pass."""
        return homes(self.home, self.ended)


def course_of(bits: tuple[int, ...], stages: Sequence[Stage], fresh_at_home: int, window: int) -> PassCourse:
    """Return the course of a pass; raise `PlanError` unless fresh bits are as the plan says.

    bits: the index bit at home of each position. window: the number of bits of a window.
    """
    home, fresh = bits, positions(bits, fresh_at_home)
    begun, inside = fresh, (1 << len(bits)) - 1
    moments: list[_Moment] = []
    for stage in stages:
        before = fresh
        if isinstance(stage.motion, Exchange):
            moved = sources(len(bits), stage.motion.swaps)
            if len(bits) > window:  # otherwise the former device bit stays local, as on peers without a host
                home = tuple(home[source] for source in moved)
            fresh = mask_of(tuple(k for k, source in enumerate(moved) if fresh >> source & 1))
        if fresh != stage.fresh & inside:
            raise PlanError(f"expected fresh bits {stage.fresh:#x} at the beginning of a stage, got {fresh:#x}.")
        moments.append(_Moment(before, fresh))
        fresh = fresh_after(fresh, stage.steps) & inside
    return PassCourse(bits, stages, moments, home, begun, fresh)


def ticks_of(stages: Sequence[Stage], num_bits: int, window: int) -> int:
    """Return how often a pass over 2^num_bits amplitudes calls its `tick`: for each step of each window."""
    migration = (1 << num_bits) - (1 << window)
    return sum(len(stage.steps) for stage in stages) << (migration & ~stages[0].fresh).bit_count()


class HomeWindows:
    """The windows of a state of 2^num_bits amplitudes in one array of host memory.

    home: the array. links: between the devices, one for each device number. num_frames: windows that they have room
    for. carried_bytes: most bytes of one copy. above: the value of all index bits above `num_bits`, for a state that is
    the part of one rank. bytes_in, bytes_out: bytes copied so far to each device, and from it. Raises `OutOfMemory`.
    """

    def __init__(self, home: object, num_bits: int, links: Links, num_frames: int, carried_bytes: int) -> None:
        self.home = home
        self.num_bits = num_bits
        self.levels = links.levels
        self.above = 0
        self._links = links
        self._storage = STORAGE[links.dtype]
        self._piece = 1 << (max(self._storage.count(carried_bytes), 1)).bit_length() - 1
        places = range(len(links.devices))
        self.bytes_in, self.bytes_out = [0] * len(places), [0] * len(places)
        self.frames: deque[WindowBuffers] = deque()
        try:
            for _ in range(num_frames):
                beside = self.frames[0].peer_buffers if self.frames else [None] * len(places)
                self.frames.append(WindowBuffers([links.peer(p, 1 << self.levels.local, beside[p]) for p in places]))
        except BaseException:
            self.frames.clear()
            raise
        self._in: list[CopyQueue] = [peer.device.copy_queue() for peer in self.frames[0].peer_buffers]
        self._out: list[CopyQueue] = [peer.device.copy_queue() for peer in self.frames[0].peer_buffers]

    def synchronize(self) -> None:
        """Wait for devices, links and copies."""
        for copy_queue in (*self._in, *self._out):
            copy_queue.synchronize()
        for frame in self.frames:
            synchronize(frame.peer_buffers)

    def release(self) -> None:
        """Release all memory, at once, even while work or copies are under way."""
        try:
            self.synchronize()
        finally:
            self.frames.clear()
            self._in, self._out, self.home = [], [], None

    # --- work --------------------------------------------------------------------------------------------------------

    def run_pass(
        self,
        course: PassCourse,
        shares: Sequence[Share],
        begin: int,
        tick: Callable[[], None],
        arrivals: Arrivals | None = None,
    ) -> None:
        """Run all stages of a pass on one window after the other; `begin` steps of the plan came before.

        arrivals: what has to come home first; it comes for one window while devices work on the windows before.
        """
        for frame, value in self.windows(course.bits, course.begun, arrivals):
            done, high = begin, self._high(value)
            for stage, at in zip(course.stages, course.moments, strict=True):
                if isinstance(stage.motion, Exchange):
                    self._exchange(frame, stage.motion, at.before, tick)
                live = [(frame.peer_buffers[d], high | d) for d in self.live(at.fresh)]
                work_on(live, stage.steps, shares, done, tick)
                done += len(stage.steps)
            self.send(frame, course.home, course.ended, value)

    def _exchange(self, frame: WindowBuffers, motion: Exchange, fresh: int, tick: Callable[[], None]) -> None:
        """Make an exchange within a window."""
        window = (1 << self._window) - 1
        self._links.exchange(
            frame.peer_buffers, schedule(self.levels, motion.swaps, fresh & window, self._links.piece), tick
        )

    @property
    def _window(self) -> int:
        """The number of bits of a window."""
        return self.levels.local + self.levels.peers

    def _high(self, value: int) -> int:
        """Return the value of all positions above the local ones for device 0 in a window."""
        return self.above << self.num_bits - self.levels.local | value << self.levels.peers

    # --- windows -----------------------------------------------------------------------------------------------------

    def windows(
        self, bits: tuple[int, ...], fresh: int, arrivals: Arrivals | None = None
    ) -> Iterator[tuple[WindowBuffers, int]]:
        """Yield every window that is not known to be zero, with its number, while the next one is being copied.

        bits: the bit at home of each position. fresh: mask of positions. arrivals: see `run_pass`; then work on a
        window is queued before anything of the next one arrives, which this process may have to wait for.
        """
        window = self._window
        marks = [copy_queue.mark() for copy_queue in self._out]  # the last pass is written home before this one begins
        for copy_queue in self._in:
            for mark in marks:
                copy_queue.wait(mark)
        coming: deque[tuple[WindowBuffers, int]] = deque()
        ahead = min(2, len(self.frames)) if arrivals is None else 1
        for value in range(1 << self.num_bits - window):
            if value << window & fresh:
                continue
            if arrivals is not None:
                arrivals.until(self._start(bits, 0, value))
            frame = self.frames[0]
            self.frames.rotate(-1)
            self._bring(frame, bits, fresh, value)
            coming.append((frame, value))
            if len(coming) == ahead:
                yield self._begun(*coming.popleft())
        for frame, value in coming:
            yield self._begun(frame, value)

    def _bring(self, frame: WindowBuffers, bits: tuple[int, ...], fresh: int, value: int) -> None:
        """Queue the copies of a window to a frame, once the frame's former window has been copied out."""
        frame.came.clear()
        for peer in frame.peer_buffers:
            if peer.place in frame.busy:
                peer.device.reach(frame.busy.pop(peer.place))
        for d in self.live(fresh):
            peer, copy_queue = frame.peer_buffers[d], self._in[d]
            start = self._start(bits, d, value)
            for near, far in self._carried(bits, fresh):
                copy_queue.copy(near.of(peer.buffer), far.at(start).of(self.home))
                self.bytes_in[d] += self._storage.nbytes(near.size)
            frame.came[d] = copy_queue.mark()

    def _begun(self, frame: WindowBuffers, value: int) -> tuple[WindowBuffers, int]:
        """Let work from now on wait for the copies of the window."""
        for d, mark in frame.came.items():
            frame.peer_buffers[d].device.wait(mark)
        return frame, value

    def send(self, frame: WindowBuffers, bits: tuple[int, ...], fresh: int, value: int) -> None:
        """Queue the copies of a window home, behind all work queued on the devices."""
        marks = [peer.device.mark() for peer in frame.peer_buffers]
        for d in self.live(fresh):
            peer, copy_queue = frame.peer_buffers[d], self._out[d]
            for mark in marks:
                copy_queue.wait(mark)
            start = self._start(bits, d, value)
            for near, far in self._carried(bits, fresh):
                copy_queue.copy(far.at(start).of(self.home), near.of(peer.buffer))
                self.bytes_out[d] += self._storage.nbytes(near.size)
            frame.busy[d] = copy_queue.mark()

    def _carried(self, bits: tuple[int, ...], fresh: int) -> Carried:
        """Return the copies of one sub state vector; zeros are not copied as far as slices stay whole."""
        local = self.levels.local
        spared = fresh & ((1 << local) - 1) >> self.levels.slice << self.levels.slice
        return carried(bits[:local], spared, self._piece)

    def _start(self, bits: tuple[int, ...], number: int, value: int) -> int:
        """Return the index at home at which a sub state vector of this device number and window begins."""
        high = value << self.levels.peers | number
        return mask_of(tuple(bit for k, bit in enumerate(bits[self.levels.local :]) if high >> k & 1))

    def live(self, fresh: int) -> list[int]:
        """Return the device numbers whose sub state vectors are not known to be zero; `fresh`: mask of positions."""
        return [d for d in range(len(self._links.devices)) if not d << self.levels.local & fresh]


def positions(bits: tuple[int, ...], at_home: int) -> int:
    """Return a mask of index bits at home as a mask of positions, if position p is index bit ``bits[p]``."""
    return mask_of(tuple(p for p, bit in enumerate(bits) if at_home >> bit & 1))


def homes(bits: tuple[int, ...], places: int) -> int:
    """Return a mask of positions as a mask of index bits at home."""
    return mask_of(tuple(bit for p, bit in enumerate(bits) if places >> p & 1))
