"""Rotations that kernels apply with half of the multiply-adds: one of their two numbers is made 1.

A rotation by φ is cos φ times a matrix of ones and ±tan φ, or sin φ times one of ones and ±cot φ, and one of the two has no
number above 1. So each amplitude takes one multiply-add for a part, where it took two. The scale belongs to the whole
sweep: behind its last rotation all amplitudes are multiplied by the product. These numbers are made on the host
(`kernels.cuda.launch.pivoted`), and a kernel does not depend on them: it has both forms, and that of any matrix, for
those that are no rotations. All threads take the same way.

RXX, RYY and their products are two rotations: of the amplitudes at which two bits are alike, and of those at which they
differ. The first one gives the scale. By how much the second one's scale differs goes into a phase of the bits' parity,
where a phase beside them tells it; else the second one stays a matrix, with its numbers divided by the scale.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from qsim_ex.circuit.ops import Entry, pattern
from qsim_ex.kernels.cuda.interpret import packing
from qsim_ex.kernels.cuda.write.body import KernelBody, PhaseText
from qsim_ex.steps.step import Diagonal, Item, Mix

MOST = 64
"""The most scales of one sweep: until they are applied, amplitudes grow by their inverse, which is 2^32 at most."""

FEWEST = 3
"""With fewer rotations a sweep gains less than its scale takes."""

TANGENT, COTANGENT, MATRIX = range(3)
"""The ways to apply a rotation, as a kernel finds them among its numbers."""

_PAIR = pattern("r00i0ri00ir0i00r")
_ENTRIES = (0, 3, 12, 15, 5, 6, 9, 10)
"""The entries of a matrix on two bits that are not 0: where the bits are alike, and where they differ."""

NUMBERS = 13
"""The numbers of a pair: its entries; for each rotation the number that is left, and the way; the ratio of the scales."""

_LEFT, _RATIO = 8, 12


def rotates(item: Item) -> bool:
    """Return whether an item may be two rotations, as RXX and RYY are."""
    return isinstance(item, Mix) and item.pattern == _PAIR and not item.reads and not item.when.mask


@dataclass
class Pivot:
    """A pair of rotations in a kernel.

    at: where its numbers begin in `v`. parity: the bits of a register whose sum says which rotation is its.
    beside: whether a phase takes the ratio of the scales. folds: the numbers in `v` that are multiplied by it.
    """

    at: int
    parity: int
    beside: bool = False
    folds: list[int] = field(default_factory=list)

    @property
    def ratio(self) -> str:
        """The ratio of the scales, as text."""
        return f"v[{self.at + _RATIO}]"

    def record(self, total: int) -> list[int]:
        """Return what the host has to know; total: the place of the sweep's scale in `v`."""
        return [self.at, total, len(self.folds) if self.beside else -1, *self.folds]


def pivots_of(body: KernelBody, phase: PhaseText, items: Sequence[Item]) -> dict[int, Pivot]:
    """Return the pairs of a phase by the numbers of their items, with their numbers passed by value."""
    made: dict[int, Pivot] = {}
    for number, item in enumerate(items):
        if isinstance(item, Mix) and rotates(item) and len(body.pivots) < MOST:
            parity = phase.register(sum(1 << bit for bit in item.bits))
            made[number] = Pivot(body.by_value(_taken(item, body.zero)), parity)
            body.pivots.append(made[number])
    return made


def _taken(item: Mix, zero: int) -> list[int]:
    """Return the positions of a pair's numbers in the packed array; zero: that of a 0, for what the host makes."""
    numbers = packing.numbered(item.pattern, item.slot.at)
    entries = [packing.parts(numbers[k], Entry(item.pattern[k]))[0] for k in _ENTRIES]
    return entries + [zero] * (NUMBERS - len(entries))


def lines(body: KernelBody, phase: PhaseText, pivot: Pivot, bits: Sequence[int]) -> Iterator[str]:
    """Yield the statements of a pair of rotations."""
    one, other = (phase.register(1 << bit) for bit in bits)
    groups = [r for r in range(len(phase.names)) if not r & (one | other)]
    for block, (low, high) in enumerate(((0, one | other), (one, other))):
        pairs = [(f"a{phase.names[r | low]}", f"a{phase.names[r | high]}") for r in groups]
        entries, left = pivot.at + 4 * block, pivot.at + _LEFT + 2 * block
        matrix = [body.call("pair", a, b, *(f"v[{entries + k}]" for k in range(4))) for a, b in pairs]
        if block and not pivot.beside:
            yield from matrix
            continue
        yield f"if (v[{left + 1}] == {TANGENT}) {{"
        yield from (f"    {body.call('by_tangent', a, b, f'v[{left}]')}" for a, b in pairs)
        yield f"}} else if (v[{left + 1}] == {COTANGENT}) {{"
        yield from (f"    {body.call('by_cotangent', a, b, f'v[{left}]')}" for a, b in pairs)
        yield "} else {"
        yield from (f"    {line}" for line in matrix)
        yield "}"


def beside(phase: PhaseText, items: Sequence[Item], number: int) -> Iterator[int]:
    """Yield the numbers of the phases that a pair of rotations commutes with and could stand beside, the nearest last.

    What mixes both bits as such a pair does leaves their parity as it is.
    """
    item = items[number]
    assert isinstance(item, Mix)
    for way in (range(number + 1, len(items)), range(number - 1, -1, -1)):
        for at in way:
            other = items[at]
            if isinstance(other, Diagonal):
                yield at
            elif set(other.bits) & set(item.bits) and not (rotates(other) and set(other.bits) == set(item.bits)):
                break


def odd(constants: Sequence[int], parity: int) -> frozenset[int]:
    """Return the numbers of a phase's entries in registers of odd parity; none if even registers have some of them.

    constants: those of all registers, see `PhaseText.constants`.
    """
    sides: tuple[set[int], set[int]] = set(), set()
    for register, constant in enumerate(constants):
        sides[(register & parity).bit_count() & 1].add(constant)
    return frozenset() if sides[0] & sides[1] else frozenset(sides[1])
