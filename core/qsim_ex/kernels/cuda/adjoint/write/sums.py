"""The sums of a kernel in the making, as statements, and what the host makes of them.

A thread adds up the products of its amplitudes for one sum, and the lanes of a warp exchange halves as soon as there
are two of a kind: 32 sums take 31 exchanges, and no more than five wait. Then lane k has sum k of 32 and adds it, in
double precision, to what its warp has of the tiles before.
"""

from __future__ import annotations

from collections.abc import Sequence

from qsim_ex.circuit.ops import Entry, When
from qsim_ex.kernels.cuda.adjoint.derivatives import Derivatives, MatrixSums, TableSums
from qsim_ex.kernels.cuda.adjoint.write.structure import Component, products
from qsim_ex.kernels.cuda.interpret import packing
from qsim_ex.kernels.cuda.write.arithmetic import width
from qsim_ex.kernels.cuda.write.body import BlockText
from qsim_ex.kernels.cuda.write.words import condition, selection
from qsim_ex.steps.step import Diagonal, Item, Mix

LANES = 5
"""The bits of a lane's number."""

MOST_READS = 5
"""The reads of a table, at most, whose sums are written: there are as many as entries."""

FUNCTIONS = """\
// Lanes that have the bit keep b and give a away, the others the other way round.
__device__ __forceinline__ real joined(const real a, const real b, const unsigned bit)
{
    const bool high = threadIdx.x & bit;
    return (high ? b : a) + __shfl_xor_sync(~0u, high ? a : b, bit);
}
__device__ __forceinline__ void add_phase(real& sum, const two& a)  // Im y conj(l)
{
    sum += a.x.y * a.l.x;
    sum -= a.x.x * a.l.y;
}
__device__ __forceinline__ void add_real_part(real& sum, const two& a, const two& b)
{
    sum += a.x.x * b.l.x;
    sum += a.x.y * b.l.y;
    sum -= b.x.x * a.l.x;
    sum -= b.x.y * a.l.y;
}
__device__ __forceinline__ void add_imaginary_part(real& sum, const two& a, const two& b)
{
    sum += a.x.y * b.l.x;
    sum -= a.x.x * b.l.y;
    sum += b.x.y * a.l.x;
    sum -= b.x.x * a.l.y;
}
"""


class Sums:
    """The sums of a kernel: how many there are, and how derivatives with respect to packed numbers follow."""

    def __init__(self, wanted: Sequence[bool]) -> None:
        self.count = 0
        self._wanted = wanted
        self._phases: list[tuple[int, int]] = []
        self._matrices: list[MatrixSums] = []
        self._tables: list[TableSums] = []

    def derivatives(self) -> Derivatives:
        """Return what the host has to know."""
        return Derivatives.of(len(self._wanted), self._phases, self._matrices, self._tables)

    def needs(self, item: Item) -> bool:
        """Return whether a number of an item is differentiated."""
        if not isinstance(item, Mix | Diagonal):
            return False
        return any(self._wanted[item.slot.at : item.slot.at + item.slot.count])

    def lines(self, block: BlockText, item: Item) -> list[str]:
        """Return the statements in front of an item that `needs` sums."""
        match item:
            case Mix():
                return self._mix(block, item)
            case Diagonal() if any(block.elsewhere(item.reads)):
                return self._table(block, item)
            case Diagonal():
                return self._factors(block, item)
        return []

    def last(self) -> list[str]:
        """Return the statements that add up what still waits."""
        rest, lines, any_waits = self.count % (1 << LANES), ["real c = 0;"], False
        for level in range(LANES):
            bit = 1 << level
            if rest & bit:
                lines.append(f"c = joined(p{level}, {'c' if any_waits else '0'}, {bit});")
                any_waits = True
            elif any_waits:
                lines.append(f"c = joined(c, 0, {bit});")
        return ["{", *[f"    {line}" for line in (*lines, self._kept(self.count >> LANES))], "}"] if rest else []

    def _kept(self, group: int) -> str:
        return f"atomicAdd(own + {group << LANES}, (double)c);"

    def _push(self, expression: str) -> list[str]:
        """Return the statements that add up a sum of each thread."""
        lines, number, level = [f"real c = {expression};"], self.count, 0
        while level < LANES and number >> level & 1:
            lines.append(f"c = joined(p{level}, c, {1 << level});")
            level += 1
        lines.append(self._kept(number >> LANES) if level == LANES else f"p{level} = c;")
        self.count += 1
        return lines

    def _sum(self, block: BlockText, when: When, calls: Sequence[str]) -> list[str]:
        """Return the statements of a sum; calls: with `{}` for the number that they add to."""
        added = [call.format("c0" if k % 2 == 0 else "c1") for k, call in enumerate(calls)]
        lines = ["real c0 = 0, c1 = 0;", *_where(block, when, added), *self._push("c0 + c1")]
        return ["{", *[f"    {line}" for line in lines], "}"]

    def _factors(self, block: BlockText, item: Diagonal) -> list[str]:
        constants, lines = block.constants(item.reads), list[str]()
        numbers = packing.numbered(item.pattern, item.slot.at)
        if item.reads:
            numbers = {k: item.slot.at + k for k in range(len(item.pattern))}
        chosen = block.selected(item.when)
        for c in sorted({constants[r] for r in chosen}):
            if width(Entry(item.pattern[c])) and self._wanted[numbers[c]]:
                self._phases.append((numbers[c], self.count))
                calls = [f"add_phase({{}}, {block.a(r)});" for r in chosen if constants[r] == c]
                lines += self._sum(block, item.when, calls)
        return lines

    def _mix(self, block: BlockText, item: Mix) -> list[str]:
        assert not any(block.elsewhere(item.reads)), "registers say which of its matrices an amplitude is for"
        bits = [block.register(1 << bit) for bit in item.bits]
        groups = [r for r in block.selected(item.when) if not any(r & bit for bit in bits)]
        members = [sum(bit for k, bit in enumerate(bits) if x >> k & 1) for x in range(1 << len(bits))]
        constants, size, lines = block.constants(item.reads), len(members) ** 2, list[str]()
        numbers = packing.numbered(item.pattern, item.slot.at)
        if item.reads:
            numbers = {k: item.slot.at + k for k in range(len(item.pattern))}
        for c in sorted({constants[r] for r in groups}):
            classes = tuple(Entry(entry) for entry in item.pattern[c * size : c * size + size])
            chosen = [r for r in groups if constants[r] == c]
            made = products(classes)
            places = [(numbers.get(c * size + k, -1), entry) for k, entry in enumerate(classes)]
            self._matrices.append(MatrixSums(tuple(places), made, self.count))
            for row, column, part in made:
                ends = [(block.a(r | members[row]), block.a(r | members[column])) for r in chosen]
                if row == column:
                    calls = [f"add_phase({{}}, {a});" for a, _ in ends]
                else:
                    name = "add_imaginary_part" if part is Component.IMAG else "add_real_part"
                    calls = [f"{name}({{}}, {a}, {b});" for a, b in ends]
                lines += self._sum(block, item.when, calls)
        return lines

    def _table(self, block: BlockText, item: Diagonal) -> list[str]:
        """Return the statements of a table's sums: a sum over all amplitudes for each sign that entries may have."""
        constants, elsewhere = block.constants(item.reads), block.elsewhere(item.reads)
        basis: list[int] = []
        places = {0: 0}
        for k in range(len(block.bits)):
            own = constants[1 << k]
            if own not in places:
                places |= {c ^ own: place | 1 << len(basis) for c, place in places.items()}
                basis.append(own)
        names = [f"w{place}" for place in range(1 << len(basis))]
        added = [f"add_phase(w{places[constants[r]]}, {block.a(r)});" for r in block.selected(item.when)]
        lines = [f"real {', '.join(f'{name} = 0' for name in names)};", *_where(block, item.when, added)]
        for half in range(len(basis)):
            for place in range(len(names)):
                if not place >> half & 1:
                    low, high = f"w{place}", f"w{place | 1 << half}"
                    lines.append(f"{{ const real b = {high}; {high} = {low} - b; {low} += b; }}")
        block.reads = True
        lines.append(f"const unsigned s = {selection(elsewhere)};")
        self._tables.append(TableSums(item.slot.at, len(item.reads), self.count))
        for mask in range(len(item.pattern)):
            sign = sum(((own & mask).bit_count() & 1) << k for k, own in enumerate(basis))
            value = f"__popc(s & {mask:#x}) & 1 ? -w{sign} : w{sign}" if mask else f"w{sign}"
            lines += ["{", *[f"    {line}" for line in self._push(value)], "}"]
        return ["{", *[f"    {line}" for line in lines], "}"]


def _where(block: BlockText, when: When, lines: Sequence[str]) -> list[str]:
    """Put statements under the part of a condition that registers do not decide."""
    mask, value = when.mask & ~block.mask, when.value & ~block.mask
    if not mask:
        return [*lines]
    block.reads = True
    return [f"if ({condition(mask, value)}) {{", *[f"    {line}" for line in lines], "}"]
