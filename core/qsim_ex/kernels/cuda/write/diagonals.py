"""Phases as statements of CUDA C++: factors passed by value where registers tell them, or looked up in a table.

In kernels that pivot pairs of rotations phases take what these leave: the ratio of a pair's scales is a factor of a
phase that tells the pair's parity, or stands beside one that only registers tell. What stands behind one another is
multiplied on the host.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from operator import xor
from typing import assert_never

import numpy as np

from qsim_ex.circuit.ops import Entry, wires_of
from qsim_ex.kernels.cuda.interpret import packing
from qsim_ex.kernels.cuda.write import pivots
from qsim_ex.kernels.cuda.write.arithmetic import merged, width
from qsim_ex.kernels.cuda.write.body import BlockText, KernelBody
from qsim_ex.kernels.cuda.write.pivots import Pivot
from qsim_ex.kernels.cuda.write.register_frame import Flip
from qsim_ex.kernels.cuda.write.words import one_line, selection
from qsim_ex.steps.algebra import Map, Span, image, inverse, units
from qsim_ex.steps.step import Diagonal, Item


def leave_ratio(block: BlockText, items: Sequence[Item | Flip], number: int, pivot: Pivot) -> None:
    """Leave the ratio of a pair's scales to a phase beside it: one that tells the parity, or else one in registers."""
    near = list(pivots.beside(items, number))
    told = [at for at in near if _tells(block, items[at], pivot)]
    carried = [at for at in near if joined(block, items, at)]
    if told:
        block.ratios.setdefault(told[0], []).append(pivot)
    elif carried:
        block.carried.setdefault(carried[0], []).append(pivot)
    pivot.beside = bool(told or carried)


def joined(block: BlockText, items: Sequence[Item | Flip], number: int) -> list[int]:
    """Return the numbers of phases, from one on, that the host multiplies, so that all take one factor an amplitude.

    That is for kernels with rotations, whose numbers the host changes anyway.
    """
    found: list[int] = []
    for at in range(number, len(items)) if block.told >= 0 else ():
        item = items[at]
        if not isinstance(item, Diagonal) or item.when.mask or any(block.elsewhere(item.reads)):
            break
        if not item.reads or not set(item.pattern) <= {Entry.ONE, Entry.COMPLEX}:
            break
        found.append(at)
    return found


def joined_lines(body: KernelBody, block: BlockText, items: Sequence[Item | Flip], numbers: Sequence[int]) -> list[str]:
    """Return the statements of phases that only registers tell, one factor for each amplitude."""
    factors: dict[int, tuple[Entry, int]] = {}
    made: dict[tuple[int, int], int] = {}

    def multiply(r: int, entry: Entry, at: int) -> None:
        if r not in factors:
            factors[r] = entry, at
            return
        pair = factors[r][1], at
        if pair not in made:
            made[pair] = body.by_value([body.zero, body.zero])
            body.products.append((pivots.PRODUCT, made[pair], *pair))
        factors[r] = Entry.COMPLEX, made[pair]

    for number in numbers:
        item = items[number]
        assert isinstance(item, Diagonal)
        for r, (entry, at) in _factors(body, block, item, block.ratios.get(number, [])).items():
            multiply(r, entry, at)
    for pivot in [pivot for number in numbers for pivot in block.carried.get(number, [])]:
        for r in range(len(block.names)):
            if (r & pivot.parity).bit_count() & 1:
                multiply(r, Entry.REAL, pivot.at + pivots.RATIO)
    made_of = [line for r, (entry, at) in sorted(factors.items()) for line in _factor(body, block.a(r), entry, at)]
    label = " ".join(one_line(items[number].label) or "diagonal" for number in numbers)
    return [f"// {label}", *made_of]


def _tells(block: BlockText, item: Item | Flip, pivot: Pivot) -> bool:
    """Return whether a phase has factors for the registers at which a pair's bits differ, and these alone have them."""
    if not isinstance(item, Diagonal) or item.when.mask:
        return False
    decided = sum(1 << k for k, mask in enumerate(block.elsewhere(item.reads)) if not mask)
    numbers = pivots.odd(block.constants(item.reads), pivot.parity)
    return bool(numbers) and all(width(_met(item.pattern, c, decided)) for c in numbers)


def lines(body: KernelBody, block: BlockText, item: Diagonal, ratios: Sequence[Pivot]) -> list[str]:
    """Multiply by factors: known at once if only registers are read, looked up once for each thread otherwise.

    ratios: pairs of rotations whose ratio of scales the factors are multiplied by.
    """
    elsewhere = block.elsewhere(item.reads)
    if any(elsewhere):
        constants = block.constants(item.reads)
        return _table(body, block, item, block.selected(item.when), constants, elsewhere, ratios)
    factors = _factors(body, block, item, ratios)
    return [line for r, (entry, at) in factors.items() for line in _factor(body, block.a(r), entry, at)]


def _factors(
    body: KernelBody, block: BlockText, item: Diagonal, ratios: Sequence[Pivot]
) -> dict[int, tuple[Entry, int]]:
    """Pass the factors of a phase that only registers tell by value; return those that are not 1 by register."""
    constants = block.constants(item.reads)
    numbers = packing.numbered(item.pattern, item.slot.at)
    if item.reads:
        numbers = {k: item.slot.at + k for k in range(len(item.pattern))}
    at: dict[int, int] = {}
    factors: dict[int, tuple[Entry, int]] = {}
    for r in block.selected(item.when):
        entry = Entry(item.pattern[constants[r]])
        if constants[r] not in at and width(entry):
            taken = packing.parts(numbers[constants[r]], entry)
            at[constants[r]] = begin = body.by_value(taken)
            for pivot in ratios:
                if constants[r] in pivots.odd(constants, pivot.parity):
                    pivot.folds += range(begin, begin + len(taken))
        if entry is not Entry.ONE:
            factors[r] = entry, at.get(constants[r], 0)
    return factors


def _factor(body: KernelBody, a: str, entry: Entry, at: int) -> list[str]:
    """Multiply an amplitude by a number of a class that begins at ``v[at]``."""
    match entry:
        case Entry.ZERO:
            return [body.call("clear", a)]
        case Entry.ONE:
            return []
        case Entry.MINUS_ONE:
            return [body.call("negate", a)]
        case Entry.REAL:
            return [body.call("scale", a, f"v[{at}]")]
        case Entry.IMAG:
            return [body.call("turn", a, f"v[{at}]")]
        case Entry.COMPLEX:
            return [body.call("times", a, f"v[{at}]", f"v[{at + 1}]")]
        case _:
            assert_never(entry)


@functools.lru_cache(maxsize=4096)
def _met(pattern: bytes, constant: int, decided: int) -> Entry:
    """Return the class of the entries of a register: those whose number, under `decided`, is the constant's."""
    if len(set(pattern)) == 1:
        return Entry(pattern[0])
    number = np.arange(len(pattern))
    return merged(set(np.frombuffer(pattern, dtype=np.uint8)[(number ^ constant) & decided == 0].tolist()))


def _table(
    body: KernelBody,
    block: BlockText,
    item: Diagonal,
    registers: list[int],
    constants: list[int],
    elsewhere: list[int],
    ratios: Sequence[Pivot],
) -> list[str]:
    """Look factors up, one for each value that the registers' own bits contribute."""
    decided = sum(1 << k for k, mask in enumerate(elsewhere) if not mask)
    met = {c: _met(item.pattern, c, decided) for c in {constants[r] for r in registers}}
    needed = {c for c, entry in met.items() if entry is not Entry.ONE}
    if not needed:
        return []
    real = all(met[c] in _REAL for c in needed)
    basis = _basis(block, elsewhere)
    renumbered = inverse(basis)
    told = [_sum(elsewhere[k] for k in wires_of(row)) for row in _transposed(renumbered)]
    at = body.in_table(_taken(item.slot.at, basis, real))
    lines = [f"const unsigned s = {_number(block, told)};"]
    moved = {c: image(renumbered, c) for c in needed}
    met_by_both = sum(1 << k for k, mask in enumerate(told) if mask)
    kind, cast = ("real", "") if real else ("amp", "(const amp*)")
    for crossing in sorted({moved[c] & met_by_both for c in needed}):
        index = f"s ^ {crossing:#x}" if crossing else "s"
        lines.append(f"const {kind}* const e{crossing} = {cast}(table + {at}) + ({index});")
    for c in sorted(needed, key=moved.__getitem__):
        f, crossing = f"f{moved[c]}", moved[c] & met_by_both
        scales = [pivot.ratio for pivot in ratios if c in pivots.odd(constants, pivot.parity)]
        lines.append(f"{'' if scales else 'const '}{kind} {f} = __ldg(e{crossing} + {moved[c] ^ crossing});")
        lines += [f"{f} *= {scale};" if real else body.call("scale", f, scale) for scale in scales]
    for r in registers:
        if constants[r] in needed:
            f = f"f{moved[constants[r]]}"
            lines.append(
                body.call("scale", block.a(r), f) if real else body.call("times", block.a(r), f"{f}.x", f"{f}.y")
            )
    return lines


def _basis(block: BlockText, reads: Sequence[int]) -> Map:
    """Return the entries' numbers that are to be units in a table: first what the bits of a thread's number tell.

    So the threads of a warp read entries side by side; if these were far apart, each would wait for its own line. And
    what most bits of a number come from is one bit of the thread, beside what all threads of a tile have in common.
    """
    bits = [block.tile[position] for position in block.place.threads]
    tells = [sum((mask >> bit & 1) << k for k, mask in enumerate(reads)) for bit in bits]
    return tuple(Span([*tells, *units(range(len(reads)))]).vectors)


def _transposed(columns: Map) -> Map:
    """Return the rows of a square matrix."""
    return tuple(sum((column >> row & 1) << k for k, column in enumerate(columns)) for row in range(len(columns)))


def _sum(masks: Iterable[int]) -> int:
    return functools.reduce(xor, masks, 0)


def _number(block: BlockText, reads: Sequence[int]) -> str:
    """Return the number whose bit k is the parity of ``i & reads[k]``, of which the threads' bits are apart if few."""
    tile = sum(1 << bit for bit in block.tile)
    own = [sum((mask >> block.tile[p] & 1) << k for k, p in enumerate(block.place.threads)) for mask in reads]
    apart = [not mask & mask - 1 for mask in own]
    terms = {
        "t": [mask if alone else 0 for mask, alone in zip(own, apart, strict=True)],
        "around": [mask & ~tile if alone else 0 for mask, alone in zip(reads, apart, strict=True)],
        "i": [0 if alone else mask for mask, alone in zip(reads, apart, strict=True)],
    }
    block.reads |= any(terms["i"])
    block.around |= any(terms["around"])
    written = [selection(masks, source) for source, masks in terms.items() if any(masks)]
    return written[0] if len(written) == 1 else " ^ ".join(f"({term})" for term in written)


def _taken(first: int, basis: Map, real: bool) -> list[int]:
    """Return the positions of a table's numbers, rearranged: bit k of the new entry number stands for ``basis[k]``."""
    entries = np.zeros(1, dtype=np.int64)
    for vector in basis:
        entries = np.concatenate([entries, entries ^ vector])
    entries += first
    if real:
        return [int(position) for position in (2 * entries).tolist()]
    return [int(position) for position in np.stack([2 * entries, 2 * entries + 1], axis=1).ravel().tolist()]


_REAL = frozenset({Entry.ZERO, Entry.ONE, Entry.MINUS_ONE, Entry.REAL})
