"""From work on index bits to work on directions and parities: CX changes the frame, and vanishes.

For each bit q of the work the frame keeps a direction (the stored bits that flip when q flips), a parity (the stored
bits whose sum is q) and a flip. A CX from c to t adds the parity of c to that of t, and the direction of t to that of
c. What is left is named once and for all in the bits that are stored at the start: `tiles` move amplitudes, not frames.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from qsim_ex.circuit.ops import ALWAYS, When, mask_of, wires_of
from qsim_ex.planning.work import NOTHING, Work
from qsim_ex.steps.algebra import Span, image, units

SWEPT = ("mix", "diagonal", "rename")
"""The kinds of work that sweeps do."""

MOST_CONDITIONS = 6
"""The most conditions on sums of several bits, each of which doubles the table of an operation."""


@dataclass(frozen=True, slots=True, eq=False)
class Framed:
    """A piece of work on directions.

    directions, rows: for each bit that the piece mixes what flips with it, and the parity that says which of the two it
        is. reads: the parities under its reads. conditions: the parities that must have a value, and the values.
    flips, read_flips: which of the mixed bits and of the reads are inverted.
    """

    piece: Work
    directions: tuple[int, ...]
    rows: tuple[int, ...]
    reads: tuple[int, ...]
    conditions: tuple[tuple[int, int], ...]
    flips: int
    read_flips: int

    @property
    def parities(self) -> tuple[int, ...]:
        """All parities that the piece depends on."""
        return (*self.rows, *self.reads, *(parity for parity, _ in self.conditions))


class Frame:
    """The direction, the parity, and the flip of each bit of the work."""

    def __init__(self, num_bits: int) -> None:
        self.directions = list(units(range(num_bits)))
        self.parities = list(units(range(num_bits)))
        self.flip = 0

    def cx(self, control: int, target: int, value: int) -> None:
        """Add a control to a target; where the control acts at 0, invert the target too."""
        self.parities[target] ^= self.parities[control]
        self.directions[control] ^= self.directions[target]
        self.flip ^= ((self.flip >> control & 1) ^ (not value)) << target

    def framed(self, piece: Work) -> Framed:
        """Return a piece of work in this frame."""

        def odd(mask: int) -> int:
            return (mask & self.flip).bit_count() & 1

        return Framed(
            piece,
            directions=tuple([self.directions[bit] for bit in piece.bits]),
            rows=tuple([self.parities[bit] for bit in piece.bits]),
            reads=tuple([image(self.parities, mask) for mask in piece.reads]),
            conditions=tuple(
                [(self.parities[b], piece.when.value >> b & 1 ^ odd(1 << b)) for b in wires_of(piece.when.mask)]
            ),
            flips=sum(odd(1 << bit) << k for k, bit in enumerate(piece.bits)),
            read_flips=sum(odd(mask) << k for k, mask in enumerate(piece.reads)),
        )


def changes_frame(piece: Work) -> bool:
    """Return whether a piece adds at most one bit to another: all that it does is to change the frame."""
    return piece.kind == "rename" and piece.to == (1, 0) and piece.when.mask.bit_count() <= 1


def framed(
    work: Sequence[Work], num_bits: int, *, grows: bool = False, stays: bool = False
) -> tuple[list[Framed], Frame] | None:
    """Return the work without CX, and the frame at the end; None if some of it needs its bits as they are.

    grows: whether it begins in |0…0⟩. Then a parity that is even in all directions that were mixed before is 0, so a
    condition on it is decided, and a CX that it controls is nothing, or an X.
    stays: whether no bit may be inverted in the end.
    """
    frame, mixed = Frame(num_bits), Span()
    out = []
    for piece in work:
        if piece.kind not in SWEPT:
            return None
        if grows and piece.when.mask:
            left = _left(piece.when, frame, mixed)
            if left is None:
                continue
            if left != piece.when:
                share = 2.0 ** (piece.when.mask ^ left.mask).bit_count()
                piece = replace(piece, when=left, work=piece.work * share)
        if changes_frame(piece):
            if piece.when.mask:
                frame.cx(piece.when.mask.bit_length() - 1, piece.bits[0], int(piece.when.value != 0))
            else:
                frame.flip ^= 1 << piece.bits[0]
            continue
        made = frame.framed(piece)
        if sum(parity & parity - 1 != 0 for parity, _ in made.conditions) > MOST_CONDITIONS:
            return None
        for direction in made.directions:
            mixed.add(direction)
        out.append(made)
    if stays and frame.flip:
        out.append(_turned_back(frame))
    return out, frame


def _turned_back(frame: Frame) -> Framed:
    """Return one piece of work that inverts all bits which are inverted; none is then."""
    bit, direction = frame.flip.bit_length() - 1, image(frame.directions, frame.flip)
    frame.flip = 0
    turn = Work("rename", (bit,), (), ALWAYS, b"", NOTHING, "x", to=(1, 0))
    return Framed(turn, (direction,), (0,), (), (), 0, 0)  # it is no matter which of a pair is which


def _left(when: When, frame: Frame, mixed: Span) -> When | None:
    """Return what is left of a condition where all directions that were mixed are known; None if it cannot hold."""
    zero = mask_of(
        tuple(
            bit
            for bit in wires_of(when.mask)
            if not any((frame.parities[bit] & vector).bit_count() & 1 for vector in mixed.vectors)
        )
    )
    if (when.value ^ frame.flip) & zero:
        return None
    return When(when.mask & ~zero, when.value & ~zero)
