"""Pairs of rotations that kernels apply with half of the multiply-adds: one of a rotation's two numbers is made 1.

A rotation by φ is cos φ times a matrix of ones and ±tan φ, or sin φ times one of ones and ±cot φ, and one of the two
has no number above 1. So each part of an amplitude takes one multiply-add, where it took two. The scale is left to the
last rotation of a sweep, behind which all amplitudes are multiplied by the product. These numbers are made on the host
(`kernels.cuda.launch.pivoted`), and a kernel does not depend on them: it has both forms, and that of any matrix. All
threads take the same way.

RXX, RYY and their products are two rotations: of the amplitudes at which two bits are alike, and of those at which they
differ. The first one gives the scale. By how much the second one's scale differs goes into a phase of the bits' parity,
where a phase beside them tells it, or into a factor beside one that only registers tell; else the second one stays a
matrix, with its numbers divided by the scale.

Usually RXX and RYY have the same angle, and a small one: then the first rotation is none, and the second one takes a
tangent. A register block of a kernel is written twice, for pairs that are all like that and for any, and the host says
which.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from qsim_ex.circuit.ops import Entry, pattern
from qsim_ex.kernels.cuda.interpret import packing
from qsim_ex.kernels.cuda.write.body import BlockText, KernelBody
from qsim_ex.kernels.cuda.write.register_frame import Flip
from qsim_ex.steps.step import Diagonal, Item, Mix

MOST = 64
"""The pairs behind which their scale is applied: until then amplitudes grow by its inverse, 2^32 at most."""

USEFUL = range(3, 33)
"""The numbers of pairs that gain. With fewer a sweep gains less than its scale takes; with more its kernel, which
has several forms of each, is read too slowly: with 64 pairs it took 1.4 times as long as matrices would."""

WAYS = ("by_tangent_imaginary", "by_cotangent_imaginary")
"""The functions that apply a rotation; a kernel finds the number of one among its numbers, or another number."""


PAIR, PRODUCT = 0, 1
"""The first words of records: of a pair, see `Pivot.record`; and of a product of two complex numbers, behind which are
the places in `v` of it and of both."""

_PATTERN = pattern("r00i0ri00ir0i00r")

_ENTRIES = 0, 3, 12, 15, 5, 6, 9, 10
"""The entries of a pair's matrix that are not 0, first those at which its bits are alike."""

_MADE = 6
"""What the host makes: of both rotations the number that is left and the way, the ratio of their scales, and 0."""

RATIO = 12
"""The place of a pair's ratio among its numbers; it is a complex number."""


def is_pair(item: Item | Flip) -> bool:
    """Return whether an item may be two rotations as RXX and RYY are."""
    return isinstance(item, Mix) and not item.reads and not item.when.mask and item.pattern == _PATTERN


@dataclass
class Pivot:
    """A pair of rotations in a kernel.

    at: where its numbers begin in `v`; total: where the scale is that has its own as a factor, 0 until that is known.
    parity: the bits of a register whose sum says which rotation of a pair is its.
    usual: where the number is that is 1 as long as all pairs of its register block are as usual, see `usual_lines`; or
    -1.
    beside: whether a phase takes the ratio of a pair's scales. folds: the numbers in `v` that are multiplied by it.
    """

    at: int
    parity: int
    total: int = 0
    usual: int = -1
    beside: bool = False
    folds: list[int] = field(default_factory=list)

    @property
    def ratio(self) -> str:
        """The ratio of a pair's scales, as text."""
        return f"v[{self.at + RATIO}]"

    def record(self) -> list[int]:
        """Return what the host has to know."""
        return [PAIR, self.at, self.total, self.usual, len(self.folds) if self.beside else -1, *self.folds]


def pivots_of(body: KernelBody, block: BlockText, items: Sequence[Item | Flip]) -> dict[int, Pivot]:
    """Return the pairs of a register block by the numbers of their items, with their numbers passed by value."""
    made: dict[int, Pivot] = {}
    for number, item in enumerate(items):
        if isinstance(item, Mix) and is_pair(item):
            parity = block.register(sum(1 << bit for bit in item.bits))
            made[number] = Pivot(body.by_value(_taken(item, body.zero)), parity)
    return made


def _taken(item: Mix, zero: int) -> list[int]:
    """Return the positions of an item's numbers in the packed array; zero: that of a 0, for what the host makes."""
    numbers = packing.numbered(item.pattern, item.slot.at)
    return [packing.parts(numbers[k], Entry(item.pattern[k]))[0] for k in _ENTRIES] + [zero] * _MADE


def lines(body: KernelBody, block: BlockText, pivot: Pivot, bits: Sequence[int]) -> Iterator[str]:
    """Yield the statements of a pair of rotations."""
    for half, pairs in enumerate(_halves(block, bits)):
        entries, left = pivot.at + 4 * half, pivot.at + 8 + 2 * half
        yield from _rotation(body, pairs, entries, left, always=half == 1 and not pivot.beside)


def usual_lines(body: KernelBody, block: BlockText, pivot: Pivot, bits: Sequence[int]) -> Iterator[str]:
    """Yield the statements of a usual pair: RXX and RYY by the same angle, and that is small.

    Amplitudes at which the bits are alike stay, and the others are turned by a tangent.
    """
    _, pairs = _halves(block, bits)
    for a, b in pairs:
        if pivot.beside:
            yield body.call("by_tangent_imaginary", a, b, f"v[{pivot.at + 10}]")
        else:
            yield body.call("mix_imaginary", a, b, *(f"v[{pivot.at + k}]" for k in range(4, 8)))


def _halves(block: BlockText, bits: Sequence[int]) -> list[list[tuple[str, str]]]:
    """Return the amplitudes that the first rotation of a pair turns, two by two, and those that the second one does."""
    low, high = (block.register(1 << bit) for bit in bits)
    groups = [r for r in range(len(block.names)) if not r & (low | high)]
    halves = (0, low | high), (low, high)
    return [[(f"a{block.names[r | one]}", f"a{block.names[r | other]}") for r in groups] for one, other in halves]


def _rotation(
    body: KernelBody, pairs: Sequence[tuple[str, str]], entries: int, left: int, *, always: bool
) -> Iterator[str]:
    """Yield the statements of one rotation of some pairs of amplitudes; always: whether it is a matrix in any case."""
    matrix = [body.call("mix_imaginary", a, b, *(f"v[{entries + k}]" for k in range(4))) for a, b in pairs]
    if always:
        yield from matrix
        return
    for way, function in enumerate(WAYS):
        yield f"{'} else ' if way else ''}if (v[{left + 1}] == {way}) {{"
        yield from (f"    {body.call(function, a, b, f'v[{left}]')}" for a, b in pairs)
    yield "} else {"
    yield from (f"    {line}" for line in matrix)
    yield "}"


def scaled(body: KernelBody, block: BlockText) -> Iterator[str]:
    """Yield the statements that apply the scales of all pairs that have left theirs."""
    total = body.by_value([body.zero + 1])
    for pivot in body.pivots:
        pivot.total = pivot.total or total
    yield from (body.call("scale", f"a{name}", f"v[{total}]") for name in block.names)


def beside(items: Sequence[Item | Flip], number: int) -> Iterator[int]:
    """Yield the numbers of the phases beside which a pair of rotations could stand, first those behind it.

    What mixes both bits as such a pair does leaves their parity as it is.
    """
    item = items[number]
    assert isinstance(item, Mix)
    for way in (range(number + 1, len(items)), range(number - 1, -1, -1)):
        for at in way:
            other = items[at]
            if isinstance(other, Diagonal):
                yield at
            elif set(other.bits) & set(item.bits) and not (is_pair(other) and set(other.bits) == set(item.bits)):
                break


def odd(constants: Sequence[int], parity: int) -> frozenset[int]:
    """Return the numbers of a table's entries in registers of odd parity; none if even registers have some of them.

    constants: those of all registers, see `BlockText.constants`.
    """
    sides: tuple[set[int], set[int]] = set(), set()
    for register, constant in enumerate(constants):
        sides[(register & parity).bit_count() & 1].add(constant)
    return frozenset() if sides[0] & sides[1] else frozenset(sides[1])
