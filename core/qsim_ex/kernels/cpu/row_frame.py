"""Where rows are while a sweep runs: a CX between bits of a tile moves no amplitudes, only the frame.

A row has *positions*, each with an index bit, and a number, which says where it lies in the tile. Both are bits, and
the frame is an affine map over GF(2) between them: position k is the parity of some bits of the number, of some index
bits outside the tile, and perhaps inverted. A CX adds its control to all of these. So instructions run over other
rows, and the tile is stored at other places.
"""

from __future__ import annotations

from collections.abc import Sequence

from qsim_ex.circuit.ops import wires_of


class RowFrame:
    """The direction and the parity of each position, in bits of the row number.

    columns: for each position the bits of the number that flip with it. parities: the bits whose sum it is. outside:
    the index bits outside the tile that are in this sum, too. flips: mask of the positions that are inverted.
    """

    def __init__(self, size: int) -> None:
        self.columns = [1 << position for position in range(size)]
        self.parities = [1 << position for position in range(size)]
        self.outside = [0] * size
        self.flips = 0

    def cx(self, control: int, target: int, value: int) -> None:
        """Add one position to another; where the control acts at 0, invert the target too."""
        self.columns[control] ^= self.columns[target]
        self.parities[target] ^= self.parities[control]
        self.outside[target] ^= self.outside[control]
        self.flips ^= ((self.flips >> control & 1) ^ (not value)) << target

    def cx_outside(self, control: int, target: int, value: int) -> None:
        """Add an index bit outside the tile to a position."""
        self.outside[target] ^= 1 << control
        self.flips ^= (not value) << target

    def row(self, values: int) -> int:
        """Return the number of a row, given its positions, as far as nothing outside the tile changes it."""
        return self.direction(values ^ self.flips)

    def direction(self, positions: int) -> int:
        """Return the bits of the number that flip with some positions."""
        out = 0
        for position in wires_of(positions):
            out ^= self.columns[position]
        return out

    def steps(self, free: int) -> list[int]:
        """Return by what rows differ that follow each other when some positions are counted up, lowest rows first.

        Entry j is the sum of the first j + 1 vectors of a basis.
        """
        reduced: dict[int, int] = {}
        for position in wires_of(free):
            column = self.columns[position]
            while column.bit_length() in reduced:
                column ^= reduced[column.bit_length()]
            reduced[column.bit_length()] = column
        out, total = [], 0
        for length in sorted(reduced):
            total ^= reduced[length]
            out.append(total)
        return out

    def origin(self) -> list[int]:
        """Return for each bit of the number the index bits outside the tile that flip it; nothing if none does."""
        if not any(self.outside):
            return []
        out = [0] * len(self.columns)
        for column, mask in zip(self.columns, self.outside, strict=True):
            for bit in wires_of(column):
                out[bit] ^= mask
        return out

    def read(self, positions: int) -> tuple[int, int, int]:
        """Return a sum of positions as bits of the number, as index bits outside the tile, and as a constant."""
        inside = outside = 0
        for position in wires_of(positions):
            inside ^= self.parities[position]
            outside ^= self.outside[position]
        return inside, outside, (positions & self.flips).bit_count() & 1

    def places(self, steps: Sequence[int]) -> list[int]:
        """Return how far each bit of the number leads, if each position leads as far as `steps` says; −1: nowhere."""
        out = [0] * len(steps)
        for parity, step in zip(self.parities, steps, strict=True):
            for bit in wires_of(parity):
                out[bit] = -1 if step < 0 or out[bit] < 0 else out[bit] ^ step
        return out
