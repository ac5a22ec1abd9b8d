"""The coordinates of one sweep: what its items call index bits, when its tile is a subspace.

Each direction of a basis of the tile is a position, and where a piece of work mixes a direction that is a sum of
several, or where a parity says which of a pair is which, CX on positions change the coordinates on the way. So every
item acts on positions as if they were bits, and its matrix is as it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest

import numpy as np

from qsim_ex.circuit.circuit import ONE_AT, ZERO_AT
from qsim_ex.circuit.ops import Entry, Pattern, When, mask_of, wires_of
from qsim_ex.planning.linear.frame import Framed
from qsim_ex.planning.work import NOTHING, Work
from qsim_ex.steps.algebra import Map, Span, image, inverse, pulled_back, units


class Coordinates:
    """What each bit of a sweep's coordinates stands for, as work is written in them.

    tile: the index bits that are positions. load: for each index bit what flips in memory with it, as it is read.
    work: the work so far, in coordinates; pieces: for each of them the number of the piece that needs it.
    """

    def __init__(
        self, back: Map, directions: Sequence[int], low: int, parities: Sequence[int] = (), fresh: int = 0
    ) -> None:
        """Take directions that span a tile, as they are in memory; `back` leads from memory to the bits of the frame.

        parities: for each of the first directions the one that says which of a pair is which.
        fresh: mask of index bits at whose 1 the state is zero. The first direction with one of them has no other.
        """
        span, others, rows = Span(units(range(low))), list[int](), list[int]()
        grown: dict[int, int] = {}
        for direction, row in zip_longest(directions, parities, fillvalue=0):
            if span.add(direction):
                high = direction >> low << low
                for bit in wires_of(high & fresh):
                    high ^= grown.get(bit, 0)
                for bit in wires_of(high & fresh):
                    grown[bit] = high
                others.append(high)
                rows.append(0 if direction != high else row)
        places = _on_bits(others, fresh)
        self.tile = (*range(low), *sorted(places))
        self.fresh = fresh
        self._zero = fresh & ~mask_of(self.tile)
        settled = {bit: column for bit, column in places.items() if not fresh >> bit & 1}
        used = {place: row for place, row in zip(places, rows, strict=True) if row and place in settled}
        in_memory = {place: pulled_back(back, row) for place, row in used.items()}
        self.load = list(units(range(low)))
        for bit in range(low, len(back)):
            column = places.get(bit, 1 << bit)
            self.load.append(column if fresh >> bit & 1 else _apart(bit, column, settled, in_memory))
        self.work: list[Work] = []
        self.pieces: list[int] = []
        self._low = low
        self._home: dict[int, int] = {}  # the last position of each bit of the work
        self._columns = [image(back, column) for column in self.load]
        self._inverse = list(inverse(self._columns))

    def place(self, framed: Framed, number: int) -> None:
        """Write a piece of work, and the CX before it."""
        bits = self._single(framed.directions, number, framed.piece.bits)
        for bit, parity in zip(bits, framed.rows, strict=True):
            for other in wires_of(self._seen(parity) & ~(1 << bit)):
                self._cx(other, bit, number)
        reads = [self._seen(parity) for parity in framed.reads]
        conditions = {(self._seen(parity), value) for parity, value in framed.conditions}
        if len({mask for mask, _ in conditions}) == len(conditions):  # two that were one contradict each other
            self._write(on_positions(framed, tuple(bits), reads, sorted(conditions)), number)

    def _seen(self, parity: int) -> int:
        """Return a parity of the frame's bits as one of index bits, without those at whose 1 all is zero."""
        return pulled_back(self._columns, parity) & ~self._zero

    def lanes(self, wanted: Sequence[int]) -> list[int]:
        """Return the positions of some directions after CX that make each of them a position of its own."""
        return self._single(wanted, -1)

    def directions(self) -> dict[int, int]:
        """Return the direction of each position, as it is now."""
        return {bit: self._columns[bit] for bit in self.tile}

    def stores(self, lanes: Sequence[int]) -> Map:
        """Return what flips in memory with each index bit, if the positions in `lanes` go to the lowest bits.

        A tile is written where it was read, so all others get what is left of its directions.
        """
        made = list(units(range(len(self.load))))
        others = self.tile[self._low :]
        for lane, bit in enumerate(lanes):
            made[bit] = 1 << lane
        for bit in others:
            made[bit] = self.load[bit] if bit not in lanes else made[bit]
        free = [self.load[bit] for bit in others if bit in lanes]
        for bit, column in zip([bit for bit in self.tile[: self._low] if bit not in lanes], free, strict=True):
            made[bit] = column
        return tuple(made)

    def arrive(self, after: Map, *, in_vectors: bool) -> Map:
        """Return what flips in memory with each index bit, if `after` leads from the frame's bits to it.

        The lowest bits become positions of their own; in_vectors: and no other position flips them.
        """
        lanes = self.lanes(inverse(after)[: self._low])
        for bit in range(len(after)) if in_vectors else ():
            if bit not in lanes and not self._zero >> bit & 1:
                for lane in wires_of(image(after, self._columns[bit]) & (1 << self._low) - 1):
                    self._cx(bit, lanes[lane], -1)
        made = [image(after, column) for column in self._columns]
        return tuple([1 << bit if self._zero >> bit & 1 else column for bit, column in enumerate(made)])

    def after(self, stores: Map) -> Map:
        """Return the map from the frame's bits to memory behind the sweep."""
        return tuple([image(stores, column) for column in self._inverse])

    def _single(self, directions: Sequence[int], number: int, names: Sequence[int] = ()) -> list[int]:
        """Return positions of their own for some directions, after CX that make them so.

        names: the bits of the work whose directions they are. Each keeps its position as long as it can: then a CX of
        the circuit between two bits of a tile is one CX on positions, and both are as they were before.
        """
        bits: list[int] = []
        for k, direction in enumerate(directions):
            found = image(self._inverse, direction)
            name = names[k] if names else -1
            own = self._home.get(name, -1)
            if own < 0 or own in bits or not found >> own & 1:
                free = [bit for bit in wires_of(found) if bit not in bits]
                own = max(free, key=lambda bit: (bit not in self._home.values(), bit))
            if names:
                self._home[name] = own
            for bit in wires_of(found & ~(1 << own)):
                self._cx(own, bit, number)
            bits.append(own)
        return bits

    def _cx(self, control: int, target: int, number: int) -> None:
        self._columns[control] ^= self._columns[target]
        self._inverse = [column ^ (column >> control & 1) << target for column in self._inverse]
        when = When(1 << control, 1 << control)
        self._write(Work("rename", (target,), (), when, b"", NOTHING, "cx", to=(1, 0)), number)

    def _write(self, piece: Work, number: int) -> None:
        piece.order = len(self.work)
        self.work.append(piece)
        self.pieces.append(number)


def _on_bits(masks: Sequence[int], fresh: int) -> dict[int, int]:
    """Return independent masks, in their order, by index bits that tell them apart.

    A mask with a fresh bit is on it, and a single bit on itself.
    """
    own = {mask: mask & fresh or mask for mask in masks if mask & fresh or not mask & mask - 1}
    bits = Span([mask for mask in masks if not mask & fresh]).pivots()
    free = iter(wires_of(bits & ~sum(own.values())))
    return {own[mask].bit_length() - 1 if mask in own else next(free): mask for mask in masks}


def _apart(bit: int, column: int, places: Mapping[int, int], parities: Mapping[int, int]) -> int:
    """Return a column with directions of the tile added such that the parities of other positions vanish in it.

    Then they say which of a pair is which by their own position alone.
    """
    for place, parity in parities.items():
        if place != bit and bit not in parities and (column & parity).bit_count() & 1:
            column ^= places[place]
    return column


def on_positions(
    framed: Framed, bits: tuple[int, ...], reads: Sequence[int], conditions: Sequence[tuple[int, int]]
) -> Work:
    """Return a piece of work on positions. Conditions on sums of several bits become reads."""
    piece = framed.piece
    when = When(
        sum(mask for mask, _ in conditions if not mask & mask - 1),
        sum(mask for mask, value in conditions if value and not mask & mask - 1),
    )
    sums = [(mask, value) for mask, value in conditions if mask & mask - 1]
    if piece.kind == "rename" and not sums:
        to = tuple([piece.to[x ^ framed.flips] ^ framed.flips for x in range(len(piece.to))])
        return Work("rename", bits, (), when, piece.pattern, NOTHING, piece.label, to=to)
    plain = piece.kind != "rename" and not sums and not framed.flips | framed.read_flips and all(reads)
    if plain:
        return _like(piece, Work(piece.kind, bits, tuple(reads), when, piece.pattern, piece.source, piece.label))
    size = 1 << len(bits)
    of, source = _permutation(piece.to) if piece.kind == "rename" else (piece.pattern, piece.source)
    values = np.arange(size) ^ framed.flips
    blocks = np.array([framed.read_flips])
    for k, mask in enumerate(reads):  # one that nothing has mixed is 0
        blocks = np.concatenate([blocks, blocks ^ 1 << k]) if mask else blocks
    reads = [mask for mask in reads if mask]
    index = np.arange(len(of)).reshape(-1, size, size)[np.ix_(blocks, values, values)]
    classes = np.frombuffer(of, dtype=np.uint8)[index]
    places = source[index]
    for mask, value in sums:
        unit = np.broadcast_to(np.eye(size, dtype=np.int64), classes.shape)
        kinds = np.where(unit, Entry.ONE, Entry.ZERO).astype(np.uint8), np.where(unit, ONE_AT, ZERO_AT)
        parts = [kinds, (classes, places)] if value else [(classes, places), kinds]
        classes, places = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
        reads = [*reads, mask]
    kind = "mix" if piece.kind == "rename" else piece.kind
    return _like(piece, Work(kind, bits, tuple(reads), when, classes.tobytes(), places.reshape(-1), piece.label))


def _like(piece: Work, made: Work) -> Work:
    """Return a piece of work that was made of another one, with what is known of that one."""
    made.work, made.unitary, made.level = piece.work, piece.unitary, piece.level
    return made


def _permutation(to: Sequence[int]) -> tuple[Pattern, np.ndarray]:
    """Return a permutation as a matrix."""
    matrix = np.zeros((len(to), len(to)), dtype=np.int64)
    matrix[list(to), range(len(to))] = 1
    return np.where(matrix, Entry.ONE, Entry.ZERO).astype(np.uint8).tobytes(), np.where(matrix, ONE_AT, ZERO_AT).ravel()
