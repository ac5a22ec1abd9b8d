"""Copies between host and device while the device works: their order, and their division into few pieces.

There are two queues of copies, one in each direction, and the device's own queue of work. An operation on a place
waits for the last operation on it in another queue, and for nothing else; so copies in, copies out and work overlap
wherever the order of calls allows it, and every order of calls is correct.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.devices.base import Buffer, Copies, CopyQueue

Index = NDArray[np.int64]


AHEAD = 2
"""The most windows on which work is queued."""


class CopyPiece(NamedTuple):
    """`times` runs of `length` neighbouring places each, in constant steps on both sides: one copy."""

    to: int
    source: int
    length: int
    times: int
    to_step: int
    source_step: int


class QueuedCopies:
    """One direction: its copy_queue, and the copies that have been queued on it.

    Copies are numbered from 1. touched: for each place the last copy that read or wrote it.
    """

    def __init__(self, copy_queue: CopyQueue, places: int) -> None:
        self.copy_queue = copy_queue
        self.touched = np.zeros(places, dtype=np.int64)
        self.last = 0
        self.done = 0  # copies up to this one have been waited for on the host
        self.marks: dict[int, Any] = {}
        self.waited = 0  # the last copy of the other direction that this one waits for
        self.worked: set[int] = set()  # slots with work for which this queue has not waited
        self.in_flight: deque[tuple[int, int]] = deque()
        self.queued_bytes = 0


class Pipeline:
    """The copies of one migrated state.

    slots: buffers on the device. host: blocks of host memory. rows: slices in each slot and, but for the last, in each
    block. scratch: device memory of one slice or more, for slices that change places on the device.
    piece: most bytes in one copy (at least one slice).
    bytes_in, bytes_out: bytes copied from and to the host; bytes_within: on the device.
    """

    def __init__(
        self, device: Copies, slots: Sequence[Buffer], host: Sequence[Buffer], scratch: Buffer, rows: int, piece: int
    ) -> None:
        self._device = device
        self._blocks = [*slots, *host]
        self._scratch = scratch
        self._rows = rows
        self._slots = len(slots)
        self._slice: int = slots[0].size // rows
        self._slice_bytes: int = slots[0].nbytes // rows
        self._most = max(1, piece // self._slice_bytes)
        places = sum(block.size for block in self._blocks) // self._slice
        self._in = QueuedCopies(device.copy_queue(), places)
        self._out = QueuedCopies(device.copy_queue(), places)
        self._work: dict[int, Any] = {}
        self._working: int | None = None
        self._recent: deque[Any] = deque()
        self.bytes_in = self.bytes_out = self.bytes_within = 0

    def at(self, place: int) -> Buffer:
        """Return the slice in a place, without a copy; valid when nothing is under way."""
        row = place % self._rows * self._slice
        return self._blocks[place // self._rows][row : row + self._slice]

    # --- copies ----------------------------------------------------------------------------------------------------

    def bring(self, rows: Index, source: Index) -> None:
        """Copy slices from places on the host to rows of the device."""
        self._copy(self._in, self._out, rows, source)
        self.bytes_in += len(rows) * self._slice_bytes

    def send(self, to: Index, rows: Index) -> None:
        """Copy slices from rows of the device to places on the host."""
        self._copy(self._out, self._in, to, rows)
        self.bytes_out += len(rows) * self._slice_bytes

    def shift(self, to: Index, source: Index) -> None:
        """Copy slices from rows of the device to other rows."""
        self._copy(self._in, self._out, to, source)
        self.bytes_within += len(to) * self._slice_bytes

    def exchange(self, one: Index, other: Index) -> None:
        """Let slices on the device trade places; no row is given twice."""
        most = self._scratch.size // self._slice
        for first in range(0, len(one), most):
            a, b = one[first : first + most], other[first : first + most]
            self._before(self._in, self._out, a, b)
            copy_queue = self._in.copy_queue
            for piece in self._pieces(np.arange(len(a), dtype=np.int64), a, of_scratch=True):
                copy_queue.copy(self._aside(piece), self._view(piece.source, piece, piece.source_step))
            self._queue_pieces(copy_queue, a, b)
            for piece in self._pieces(np.arange(len(b), dtype=np.int64), b, of_scratch=True):
                copy_queue.copy(self._view(piece.source, piece, piece.source_step), self._aside(piece))
            self._after(self._in, a, b)
            self.bytes_within += 3 * len(a) * self._slice_bytes

    def _copy(self, queue: QueuedCopies, other: QueuedCopies, to: Index, source: Index) -> None:
        if not len(to):
            return
        self._before(queue, other, to, source)
        self._queue_pieces(queue.copy_queue, to, source)
        self._after(queue, to, source)

    def _queue_pieces(self, copy_queue: CopyQueue, to: Index, source: Index) -> None:
        for piece in self._pieces(to, source):
            left = self._view(piece.to, piece, piece.to_step)
            copy_queue.copy(left, self._view(piece.source, piece, piece.source_step))

    # --- order -----------------------------------------------------------------------------------------------------

    def _before(self, queue: QueuedCopies, other: QueuedCopies, to: Index, source: Index) -> None:
        """Let the next copy on `queue`, which uses these places, wait for all earlier uses of them in other queues."""
        if self._device.at_once:
            return
        if queue.worked:
            for slot in queue.worked & set(np.unique(np.concatenate([to, source]) // self._rows).tolist()):
                queue.copy_queue.wait(self._work[slot])
                queue.worked.discard(slot)
        last = int(max(other.touched[to].max(), other.touched[source].max()))
        if last > max(queue.waited, other.done):
            queue.copy_queue.wait(other.marks[last])
            queue.waited = last

    def _after(self, queue: QueuedCopies, to: Index, source: Index) -> None:
        """Number the copy that was just queued, and limit the length of the queue."""
        if self._device.at_once:
            return
        queue.last += 1
        queue.marks[queue.last] = queue.copy_queue.mark()
        queue.touched[to] = queue.touched[source] = queue.last
        size = len(to) * self._slice_bytes
        queue.in_flight.append((queue.last, size))
        queue.queued_bytes += size
        most = thresholds.now
        while len(queue.in_flight) > 1 and (
            queue.queued_bytes > most.window_bytes or len(queue.in_flight) > most.window_copies
        ):
            number, size = queue.in_flight.popleft()
            self._device.reach(queue.marks.pop(number))
            queue.done = number
            queue.queued_bytes -= size

    def begin_work(self, slot: int) -> None:
        """Let work that is queued on the device from now on wait for all copies so far that used the slot."""
        if self._device.at_once:
            return
        rows = slice(slot * self._rows, (slot + 1) * self._rows)
        for queue in (self._in, self._out):
            last = int(queue.touched[rows].max())
            if last > queue.done:
                self._device.wait(queue.marks[last])
        self._working = slot

    def end_work(self) -> None:
        """Let copies that use the slot from now on wait for the work that has been queued; may be called again."""
        if self._working is None:
            return
        slot, self._working = self._working, None
        mark = self._work[slot] = self._device.mark()
        self._in.worked.add(slot)
        self._out.worked.add(slot)
        self._recent.append(mark)
        if len(self._recent) > AHEAD:
            self._device.reach(self._recent.popleft())

    def synchronize(self) -> None:
        """Wait on the host for all copies."""
        self.end_work()
        for queue in (self._in, self._out):
            queue.copy_queue.synchronize()
            queue.done, queue.queued_bytes = queue.last, 0
            queue.marks.clear()
            queue.in_flight.clear()

    # --- pieces ----------------------------------------------------------------------------------------------------

    def _pieces(self, to: Index, source: Index, *, of_scratch: bool = False) -> Iterator[CopyPiece]:
        """Yield pairs of places as few copies, each within the piece limit and within one block."""
        turn = np.lexsort((to, source)) if not of_scratch else np.arange(len(to))
        to, source = to[turn], source[turn]
        cut = (to[1:] - to[:-1] != 1) | (source[1:] - source[:-1] != 1) | (source[1:] % self._rows == 0)
        if not of_scratch:
            cut |= to[1:] % self._rows == 0
        starts = np.concatenate([[0], np.flatnonzero(cut) + 1, [len(to)]])
        runs = [(int(to[a]), int(source[a]), int(b - a)) for a, b in pairwise(starts)]
        at = 0
        while at < len(runs):
            first, begin, length = runs[at]
            if length > self._most:
                for done in range(0, length, self._most):
                    yield CopyPiece(first + done, begin + done, min(self._most, length - done), 1, 0, 0)
                at += 1
                continue
            count = 1
            to_step = source_step = 0
            if at + 1 < len(runs) and not of_scratch:
                to_step, source_step = runs[at + 1][0] - first, runs[at + 1][1] - begin
            while (
                at + count < len(runs)
                and runs[at + count] == (first + count * to_step, begin + count * source_step, length)
                and (count + 1) * length <= self._most
                and self._fits(first, length, count + 1, to_step)
                and self._fits(begin, length, count + 1, source_step)
            ):
                count += 1
            yield CopyPiece(first, begin, length, count, to_step, source_step)
            at += count

    def _fits(self, place: int, length: int, count: int, step: int) -> bool:
        """Return whether `count` runs are the same columns of as many rows of a matrix within one block."""
        if step < length:
            return False
        row = place % self._rows
        base = row - row % step
        return row % step + length <= step and base + count * step <= self._block_rows(place)

    def _block_rows(self, place: int) -> int:
        size: int = self._blocks[place // self._rows].size
        return size // self._slice

    def _view(self, place: int, piece: CopyPiece, step: int) -> Buffer:
        """Return the amplitudes of a piece on one side: [k] for one run, [times, k] for several."""
        block, row = self._blocks[place // self._rows], place % self._rows
        k = piece.length * self._slice
        if piece.times == 1:
            return block[row * self._slice : row * self._slice + k]
        base, column = row - row % step, row % step
        matrix = block[base * self._slice : (base + piece.times * step) * self._slice]
        return matrix.reshape(piece.times, -1)[:, column * self._slice : column * self._slice + k]

    def _aside(self, piece: CopyPiece) -> Buffer:
        """Return a piece's place in scratch memory."""
        return self._scratch[piece.to * self._slice : (piece.to + piece.length) * self._slice]
