"""Work that steps of rewriting change while they read on: a piece may be taken away, and another put in its place."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict

from qsim_ex.planning.work import Work


class HeldWork:
    """The work that is kept, by its position, and for each bit the positions of the pieces that touch it, ascending."""

    def __init__(self) -> None:
        self.pieces: dict[int, Work] = {}
        self.on_bit: defaultdict[int, list[int]] = defaultdict(list)

    def push(self, piece: Work, at: int) -> None:
        """Keep a piece behind all others."""
        self.pieces[at] = piece
        for bit in piece.touched:
            self.on_bit[bit].append(at)

    def put(self, piece: Work | None, at: int) -> None:
        """Keep a piece at a position that is free; None stands for nothing."""
        if piece is None:
            return
        self.pieces[at] = piece
        for bit in piece.touched:
            places = self.on_bit[bit]
            places.insert(bisect_left(places, at), at)

    def remove(self, at: int) -> None:
        """Take a piece away."""
        for bit in self.pieces.pop(at).touched:
            places = self.on_bit[bit]
            del places[bisect_left(places, at)]

    def kept(self) -> list[Work]:
        """Return the work, in order."""
        return [self.pieces[at] for at in sorted(self.pieces)]
