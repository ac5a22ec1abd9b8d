"""The schedule of an exchange as plain data: which part of each sub state vector goes where, and in which order.

A swap of local bits with device bits makes pairs of devices trade parts: device d, whose swapped device bits are s,
and device e, whose bits are t, trade the part of d at which the swapped local bits are t for the part of e at which
they are s. Each part takes the place of the other. So one piece after the other is traded in place, through a
little staging memory, and amplitudes that are known to be zero are not sent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from qsim_ex import thresholds
from qsim_ex.circuit.ops import mask_of
from qsim_ex.display.amounts import human
from qsim_ex.errors import PlanError
from qsim_ex.placement.index_bits import move_bits
from qsim_ex.precision import Storage
from qsim_ex.steps.layout import Levels

Swaps = tuple[tuple[int, int], ...]

SLOTS = 2
"""The staging pieces for each lane of a device: one is filled by a link while the other is copied into place."""


@dataclass(frozen=True, slots=True)
class Part:
    """Some amplitudes of a sub state vector: `rows` runs of `width` amplitudes, `stride` apart, from `start` on."""

    start: int
    rows: int
    width: int
    stride: int

    @property
    def size(self) -> int:
        """The number of amplitudes."""
        return self.rows * self.width

    def at(self, start: int) -> Part:
        """Return the part of this shape at a higher index: `start` has only bits that no index in this part has."""
        return Part(self.start | start, self.rows, self.width, self.stride)

    def of(self, buffer: Any) -> Any:
        """Return these amplitudes as a view: [width] or [rows, width]."""
        if self.rows == 1:
            return buffer[self.start : self.start + self.width]
        low = self.start % self.stride
        first = self.start - low
        rows = buffer[first : first + self.rows * self.stride].reshape(self.rows, self.stride)
        return rows[:, low : low + self.width]

    def laid_out(self, staging: Any) -> Any:
        """Return the beginning of a staging piece as an array of this shape."""
        return staging[: self.width] if self.rows == 1 else staging[: self.size].reshape(self.rows, self.width)


@dataclass(frozen=True, slots=True)
class Trade:
    """One piece of an exchange: two devices trade parts, and each takes the place of the other.

    devices: two device numbers, the lower first. parts: the part that each of them gives; alike in shape.
    sent: whether each part is sent; one that is known to be zero is not. A part without one in return is copied
        straight into place.
    lane: trades of one lane follow each other, those of different lanes run at the same time.
    slot: the staging piece of the lane, at each receiving device.
    """

    devices: tuple[int, int]
    parts: tuple[Part, Part]
    sent: tuple[bool, bool]
    lane: int
    slot: int


@dataclass(frozen=True, slots=True)
class Schedule:
    """All trades of one exchange, in the order in which they are queued.

    network: as in `Levels`. Over a switch, devices meet in rounds, each device one partner at full speed; in a mesh
        each device meets all partners at the same time, each over a link, and in a lane, of its own.
    partners: how many other devices each device trades with.
    """

    network: Literal["switch", "mesh"]
    partners: int
    trades: tuple[Trade, ...]

    def at(self, start: int) -> Schedule:
        """Return the schedule for other values of the bits by which its trades are kept apart; see `schedule`."""
        moved = (replace(trade, parts=(trade.parts[0].at(start), trade.parts[1].at(start))) for trade in self.trades)
        return replace(self, trades=tuple(moved))

    def sent(self) -> Counter[tuple[int, int]]:
        """Return the amplitudes that go from one device to another, for each ordered pair with any."""
        found: Counter[tuple[int, int]] = Counter()
        for trade in self.trades:
            (d, e), (there, back) = trade.devices, trade.sent
            found[d, e] += there * trade.parts[0].size
            found[e, d] += back * trade.parts[1].size
        return +found

    def describe(self, storage: Storage) -> str:
        """Return one line for people: how the devices meet, and how many bytes the busiest link carries."""
        sent = self.sent()
        if not sent:
            return "nothing moves: all amplitudes to exchange are known to be zero"
        if self.partners == 1:
            how = "in pairs"
        elif self.network == "switch":
            how = f"in {self.partners} rounds, in each of which every device meets one partner"
        else:
            how = f"each with {self.partners} partners at the same time"
        busiest = human(storage.nbytes(max(sent.values())))
        return (
            f"devices trade {how}; {human(storage.nbytes(sent.total()))} in all, at most {busiest} from one to another"
        )


@thresholds.depends
@lru_cache(maxsize=64)
def schedule(
    levels: Levels,
    swaps: Swaps,
    fresh: int,
    piece: int,
    own: tuple[int, ...] | None = None,
    apart: tuple[int, ...] = (),
) -> Schedule:
    """Return the schedule of an exchange.

    swaps: as in `steps.Exchange`. fresh: mask of the positions that are fresh before it (see `steps.Sweep`).
    piece: most amplitudes of one copy, the size of a staging piece; a power of two. own: device numbers, if only the
    trades of these are asked for. apart: local positions that are not swapped; the trades are those of amplitudes
    at which all of them are 0, and `Schedule.at` returns those of others.
    Raises `PlanError` where pairs are not of one local position and one device bit each, or not disjoint.
    """
    check(levels, swaps)
    swaps = tuple(sorted(swaps, key=lambda swap: swap[1]))  # so that of two devices the lower has the lower value
    inner, outer = [a for a, _ in swaps], [b for _, b in swaps]
    shapes = _pieces(levels.local, {*inner, *apart, *_spared(levels, inner, fresh)}, piece)
    values = np.arange(1 << len(swaps), dtype=np.int64)
    starts, numbers = move_bits(values, inner).tolist(), move_bits(values, [b - levels.local for b in outer]).tolist()
    rest = [p for p in range(levels.peers) if p + levels.local not in outer]
    within = mask_of(tuple(rest))
    asked = None if own is None else [(numbers.index(number & ~within), number & within) for number in own]
    trades: list[Trade] = []

    def pairs(distance: int) -> Iterator[tuple[int, int]]:
        """Yield the lower swapped bits and the group of each two devices, those of `own` in the same order."""
        if asked is not None:
            yield from sorted({(min(s, s ^ distance), group) for s, group in asked})
            return
        groups = move_bits(np.arange(1 << len(rest), dtype=np.int64), rest).tolist()
        for s in range(len(values)):
            if s < s ^ distance:
                yield from ((s, group) for group in groups)

    def trade(distance: int, shape: Part, lane: int, slot: int) -> None:
        """Append the trades of one piece between each two devices whose swapped bits differ by `distance`."""
        for s, group in pairs(distance):
            t = s ^ distance
            devices = group | numbers[s], group | numbers[t]
            given = shape.at(starts[t]), shape.at(starts[s])
            sent = [
                not (d << levels.local | part) & fresh for d, part in zip(devices, (starts[t], starts[s]), strict=True)
            ]
            if any(sent):
                trades.append(Trade(devices, given, (sent[0], sent[1]), lane, slot))

    partners = len(values) - 1
    if levels.network == "switch":
        for distance in range(1, partners + 1):
            for k, shape in enumerate(shapes):
                trade(distance, shape, 0, ((distance - 1) * len(shapes) + k) % SLOTS)
    else:
        for k, shape in enumerate(shapes):
            for distance in range(1, partners + 1):
                trade(distance, shape, distance - 1, k % SLOTS)
    return Schedule(levels.network, partners, tuple(trades))


def amplitudes_sent(levels: Levels, swaps: Swaps, fresh: int) -> int:
    """Return how many amplitudes all devices send in an exchange, without a list of trades."""
    pairs = [(fresh >> a & 1, fresh >> b & 1) for a, b in swaps]
    inner, outer = [a for a, _ in swaps], [b for _, b in swaps]
    top = levels.local + levels.peers
    rest = sum(not fresh >> p & 1 for p in range(levels.local, top) if p not in outer)
    kept = levels.local - len(swaps) - len(_spared(levels, inner, fresh))
    live = sum(not there for _, there in pairs)  # bits of devices that have any amplitudes
    parts = sum(not here for here, _ in pairs)  # bits of parts that have any
    own = sum(not (here or there) for here, there in pairs)  # a device keeps its own part
    return ((1 << live + parts) - (1 << own)) << rest + kept


def _spared(levels: Levels, inner: Sequence[int], fresh: int) -> list[int]:
    """Return the fresh local positions whose zeros are not sent; the lowest are sent along."""
    return [
        p
        for p in range(min(levels.slice, thresholds.now.spared_from), levels.local)
        if fresh >> p & 1 and p not in inner
    ]


def check(levels: Levels, swaps: Swaps) -> None:
    """Raise `PlanError` unless each pair is a local position and a device bit, and none occurs twice."""
    positions = [position for swap in swaps for position in swap]
    top = levels.local + levels.peers
    fitting = all(0 <= a < levels.local <= b < top for a, b in swaps)
    if not swaps or not fitting or len(set(positions)) < len(positions):
        raise PlanError(
            f"expected disjoint pairs of a local position (below {levels.local}) and a device bit ({levels.local} to "
            f"{top - 1}), got an exchange of {swaps}."
        )


def sources(num_bits: int, swaps: Swaps) -> list[int]:
    """Return the position from which each position of an index has come, after an exchange."""
    found = list(range(num_bits))
    for a, b in swaps:
        found[a], found[b] = b, a
    return found


def lanes(levels: Levels) -> int:
    """Return how many lanes the schedules of these levels use at most."""
    return 1 if levels.network == "switch" else max(1, (1 << levels.peers) - 1)


def _pieces(local: int, fixed: set[int], piece: int) -> list[Part]:
    """Return the amplitudes at which all `fixed` bits are 0, in pieces with the longest and the most rows possible."""
    runs = _runs([bit for bit in range(local) if bit not in fixed])
    total = sum(length for _, length in runs)
    most = min(piece, max((1 << total) // thresholds.now.pieces_of_a_part, thresholds.now.small_piece)).bit_length() - 1
    begins_low = bool(runs) and runs[0][0] == 0
    width = min(runs[0][1], most) if begins_low else 0
    above = [run for run in runs[begins_low:] if 1 << run[0] <= thresholds.now.row_pitch]
    bit, length = max(above, key=lambda run: run[1], default=(0, 0))
    rows = min(length, most - width)
    inside = mask_of(tuple(range(width))) | mask_of(tuple(range(bit, bit + rows)))
    outside = [p for first, many in runs for p in range(first, first + many) if not inside >> p & 1]
    starts: list[int] = move_bits(np.arange(1 << len(outside), dtype=np.int64), outside).tolist()
    return [Part(start, 1 << rows, 1 << width, 1 << bit) for start in starts]


def _runs(bits: Sequence[int]) -> list[tuple[int, int]]:
    """Return ascending bits as runs of neighbours: the first of each run, and its length."""
    runs: list[tuple[int, int]] = []
    for bit in bits:
        if runs and bit == sum(runs[-1]):
            runs[-1] = runs[-1][0], runs[-1][1] + 1
        else:
            runs.append((bit, 1))
    return runs
