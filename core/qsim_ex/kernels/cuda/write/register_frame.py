"""CX inside a register block that moves no amplitude: a thread takes the amplitudes of its registers in another order.

A CX whose control differs between threads, or between blocks, would exchange registers where it is 1. Instead each
register bit has a parity of such bits: the amplitude of a bit's value x is in the registers of x + parity. Matrices on
other bits do not notice, tables read the sum, and when the amplitudes leave, the thread's slot is XORed. Only what
mixes the bit, or has it as a condition, wants it as it is: then registers are exchanged, once for all CX so far, and
the first time not even that, since amplitudes may have come in that order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from qsim_ex.circuit.ops import ALWAYS, When, mask_of
from qsim_ex.kernels.cuda.write.register_layout import LANES, RegisterLayout, banks, swizzle
from qsim_ex.precision import Precision
from qsim_ex.steps.algebra import Span
from qsim_ex.steps.step import Item, Mix, Permute

Taker = Callable[[int, int], int]
"""What may be done by addresses: from a register bit (its place among them) and a parity to the part of it that may."""


@dataclass(frozen=True, slots=True)
class Flip:
    """An exchange of registers that differ in a bit, where a parity of other index bits is odd."""

    bits: tuple[int, ...]
    parity: int
    label: str = "cx"
    when: When = ALWAYS


@dataclass(frozen=True)
class FramedBlock:
    """A register block's items without such CX.

    first, last: the parity of each register bit when amplitudes come and when they leave, lowest register bit first.
    """

    items: tuple[Item | Flip, ...]
    first: tuple[int, ...]
    last: tuple[int, ...]


def no_bits(_item: Item) -> int:
    """Want no bits as they are."""
    return 0


def framed(
    items: Sequence[Item], bits: Sequence[int], come: Taker, leave: Taker, kept: Callable[[Item], int] = no_bits
) -> FramedBlock:
    """Return a register block's items in its frame.

    bits: the index bits that are register bits. kept: which bits an item wants as they are beside those it mixes.
    """
    frame = _Frame(bits, come)
    later = [mask_of(tuple(bits)) if leave is nothing else 0]
    for item in reversed(items):
        later.append(later[-1] | _settled(item) | kept(item))
    for item, after in zip(items, later[-2::-1], strict=True):
        frame.add(item, after, kept(item))
    return frame.finish(leave)


def _settled(item: Item) -> int:
    """Return the bits that an item wants as they are; an X under a condition on one bit wants none."""
    if isinstance(item, Permute) and item.to == (1, 0):
        return item.when.mask if item.when.mask.bit_count() > 1 else 0
    return item.when.mask | mask_of(_wanted(item))


def _wanted(item: Item) -> tuple[int, ...]:
    """Return the bits that an item mixes, unless it only exchanges them, which does not depend on their parities."""
    return () if is_exchange(item) else getattr(item, "bits", ())


def is_exchange(item: Item | Flip) -> bool:
    """Return whether an item is an X, or nothing, for each value of its reads."""
    if not isinstance(item, Mix) or len(item.bits) > 1 or not item.reads:
        return False
    return all(item.pattern[k : k + 4] in (NOTHING, X) for k in range(0, len(item.pattern), 4))


NOTHING, X = (bytes(map(int, entries)) for entries in ((1, 0, 0, 1), (0, 1, 1, 0)))
"""The patterns of the two matrices, of `Entry.ZERO` and `Entry.ONE`."""


def by_memory(place: RegisterLayout, tile: Sequence[int], fresh: int = 0) -> Taker:
    """Return what may be done by addresses in memory: nothing by the lanes that are neighbours there.

    fresh: index bits at whose 1 nothing is read, which is known of registers before threads differ.
    """
    lanes = mask_of(tuple(tile[position] for position in place.threads[:LANES]))
    old = [not fresh >> tile[position] & 1 for position in place.registers]
    return lambda register, parity: parity & ~lanes if old[register] else 0


def by_tile(place: RegisterLayout, tile: Sequence[int], precision: Precision) -> Taker:
    """Return what may be done by slots of shared memory: all that leaves lanes with banks of their own."""
    lanes = place.threads[: banks(precision)]
    low = (1 << banks(precision)) - 1
    met = [swizzle(1 << position, precision) & low for position in lanes]
    among = [1 << tile[position] for position in lanes]
    apart = len(Span(met))

    def take(register: int, parity: int) -> int:
        own = swizzle(1 << place.registers[register], precision) & low
        moved = [bank ^ own if parity & bit else bank for bank, bit in zip(met, among, strict=True)]
        if len(Span(moved)) < apart:
            return parity & ~sum(among)
        met[:] = moved
        return parity

    return take


def nothing(_register: int, _parity: int) -> int:
    """Do nothing by addresses."""
    return 0


def is_cx(item: Item) -> bool:
    """Return whether an item is a CX."""
    return isinstance(item, Permute) and item.to == (1, 0) and item.when.mask.bit_count() == 1


class _Frame:
    """The parities of a register block's register bits while its items are gone through.

    pending: those of now. first: those with which amplitudes came, of bits on which something has depended already.
    """

    def __init__(self, bits: Sequence[int], come: Taker) -> None:
        self._bits = tuple(bits)
        self._own = mask_of(self._bits)
        self._come = come
        self._pending = dict.fromkeys(self._bits, 0)
        self._first: dict[int, int] = {}
        self._items: list[Item | Flip] = []

    def add(self, item: Item, later: int, kept: int) -> None:
        """Append an item; kept: see `framed`; later: bits that items behind it want as they are."""
        if isinstance(item, Permute) and item.to == (1, 0):
            self._x(item, later)
            return
        self._settle(self._among(item.when.mask | kept))
        if isinstance(item, Permute):
            self._settle(item.bits)
            self._items.append(item)
            return
        self._settle(_wanted(item))
        reads = tuple([self._read(mask) for mask in item.reads])
        self._items.append(item if reads == item.reads else replace(item, reads=reads))

    def finish(self, leave: Taker) -> FramedBlock:
        """Return the register block, whose amplitudes leave in the order that `leave` allows."""
        last = []
        for register, bit in enumerate(self._bits):
            taken = leave(register, self._pending[bit])
            self._pending[bit] ^= taken
            self._settle([bit])
            last.append(taken)
        return FramedBlock(tuple(self._items), tuple(self._first[bit] for bit in self._bits), tuple(last))

    def _x(self, item: Permute, later: int) -> None:
        """Append an X under a condition, which depends on no parity of its bit.

        A chain of CX would spread a parity over registers, each of which then costs an exchange: it is ended here.
        """
        (bit,), mask = item.bits, item.when.mask
        inner = self._among(mask)
        if mask.bit_count() == 1 and not inner:
            self._pending[bit] ^= mask
            if not item.when.value:
                self._items.append(Permute(item.bits, ALWAYS, (1, 0), item.label))
            return
        if mask.bit_count() == 1:
            self._begin(inner[0])
            if later >> bit & 1:
                self._settle(inner)
            self._pending[bit] ^= self._pending[inner[0]]
        else:
            self._settle(inner)
        self._items.append(item)

    def _read(self, mask: int) -> int:
        """Return a parity of index bits as one of where amplitudes are."""
        for bit in self._among(mask):
            self._begin(bit)
            mask ^= self._pending[bit]
        return mask

    def _among(self, mask: int) -> list[int]:
        return [bit for bit in self._bits if mask >> bit & 1]

    def _begin(self, bit: int) -> None:
        """Let amplitudes have come in the present order, as far as they may: something depends on it."""
        if bit not in self._first:
            self._first[bit] = self._come(self._bits.index(bit), self._pending[bit])
            self._pending[bit] ^= self._first[bit]

    def _settle(self, bits: Iterable[int]) -> None:
        """Put amplitudes where their bits say."""
        for bit in bits:
            self._begin(bit)
            if self._pending[bit]:
                self._items.append(Flip((bit,), self._pending[bit]))
                self._pending[bit] = 0
