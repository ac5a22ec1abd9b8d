"""Matrices as statements of CUDA C++: what one does to a thread's registers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from qsim_ex.circuit.ops import Entry
from qsim_ex.kernels.cuda.interpret import packing
from qsim_ex.kernels.cuda.write.arithmetic import merged, width
from qsim_ex.kernels.cuda.write.body import BlockText, KernelBody
from qsim_ex.kernels.cuda.write.register_frame import X, is_exchange
from qsim_ex.kernels.cuda.write.register_layout import WARP
from qsim_ex.kernels.cuda.write.words import condition, selection
from qsim_ex.steps.step import Mix

IN_REGISTERS = 3
"""The most bits of a matrix whose inputs and outputs fit into registers together."""

KEPT_BYTES = 256
"""The bytes of a matrix that groups of registers may share in registers; a larger one is read again by each group."""

KEPT_FROM_MEMORY = 128
"""The same limit for numbers that are loaded from memory into registers; with more, kernels spill."""

_SELECTED = 5
"""The most parities whose values are the bits of one word."""


def lines(body: KernelBody, block: BlockText, item: Mix) -> list[str]:
    """Multiply groups of registers by a matrix, or by the one that parities select for the group."""
    groups, members = _groups(block, item)
    constants = block.constants(item.reads)
    elsewhere = block.elsewhere(item.reads)
    if not any(elsewhere):
        return _known_matrix(body, block, item, groups, members, constants)
    if is_exchange(item) and len(item.reads) <= _SELECTED:
        return _exchange(body, block, item, groups, constants)
    told = sum(1 << k for k, mask in enumerate(elsewhere) if mask)
    tables, at = dict[tuple[Entry, ...], int](), dict[int, list[str]]()
    for c in sorted({constants[r] for r in groups}):
        chosen = [r for r in groups if constants[r] == c]
        values, text = _chosen_by_threads(body, block, item, chosen, members, (c, told), tables)
        at.setdefault(values, []).extend(text)
    found = [f"unsigned s = {selection(elsewhere, block.source(elsewhere))};"]
    for values, text in at.items():
        found += [f"if ({values:#x}u >> s & 1) {{", *[f"    {line}" for line in text], "}"] if values else text
    return found if any(at.values()) else []


def _groups(block: BlockText, item: Mix) -> tuple[list[int], list[int]]:
    """Return the first register of each group that a matrix mixes, and what the others of a group have beside it."""
    bits = [block.register(1 << bit) for bit in item.bits]
    groups = [r for r in block.selected(item.when) if not any(r & bit for bit in bits)]
    return groups, [sum(bit for k, bit in enumerate(bits) if x >> k & 1) for x in range(1 << len(bits))]


def _lanes(block: BlockText) -> int:
    """Return the index bits in which threads of a warp differ."""
    return sum(1 << block.tile[position] for position in block.place.threads[:WARP])


def _chosen_by_threads(
    body: KernelBody,
    block: BlockText,
    item: Mix,
    groups: list[int],
    members: list[int],
    number: tuple[int, int],
    tables: dict[tuple[Entry, ...], int],
) -> tuple[int, list[str]]:
    """Multiply groups of registers whose matrix a thread's own bits select, unless all are the identity.

    Returns at which values of `s` that is done, as the bits of a word, 0 for all, and the statements.

    number: what registers say of the matrix's number, and the bits of it that threads say.
    tables: where the numbers of matrices of some classes begin; more are added.
    """
    (c, told), size = number, len(members) ** 2
    one = bytes(k % (len(members) + 1) == 0 for k in range(size))
    there = [k for k in range(1 << len(item.reads)) if not (k ^ c) & ~told]
    acting = [k for k in there if item.pattern[k * size : (k + 1) * size] != one]
    if not acting:
        return 0, []
    skips = len(item.reads) <= _SELECTED and 2 * _in_warps(block, item, acting) <= len(there)
    classes = tuple(merged(item.pattern[k * size + at] for k in (acting if skips else there)) for at in range(size))
    if not any(map(width, classes)):
        lines = _multiply(body, block, classes, groups, members, "v")
    else:
        if classes not in tables:
            tables[classes] = body.in_table(packing.records(item.pattern, classes, item.slot.at))
        record = sum(map(width, classes)) + sum(map(width, classes)) % 2
        numbers, lines = f"table + {tables[classes]} + {record} * (s ^ {c:#x})", list[str]()
        if len(members) > 2:  # too many numbers to keep: each group reads them again
            for r in groups:
                lines.append('asm volatile("" : "+r"(s));')
                lines += _multiply(body, block, classes, [r], members, numbers, 2 if body.in_memory else 0)
        else:
            lines += ["{", f"    real m[{record}];", "    " + body.call("load", "m", numbers)]
            lines += [f"    {line}" for line in _multiply(body, block, classes, groups, members, "m")]
            lines.append("}")
    return sum(1 << (k ^ c) for k in acting) if skips else 0, lines


def _in_warps(block: BlockText, item: Mix, acting: list[int]) -> int:
    """Return for how many values of its parities a warp meets a matrix that acts, in any of its threads."""
    differ = sum(1 << k for k, mask in enumerate(item.reads) if mask & _lanes(block))
    return len({k & ~differ for k in acting}) << differ.bit_count()


def where_lanes_differ(body: KernelBody, block: BlockText, item: Mix) -> list[str] | None:
    """Multiply by a matrix where its condition on bits of the tile holds, and by the identity elsewhere.

    A warp whose threads differ computes all of it anyway, and a branch would move amplitudes to the same registers at
    its end. None where no warp's do, or where the identity has other entries than the matrix.
    """
    identity = _identity_numbers(item)
    if not item.when.mask & _lanes(block) or identity is None:
        return None
    if len(identity) * body.precision.storage.computed_bytes > KEPT_FROM_MEMORY:
        return None
    groups, members = _groups(block, item)
    numbers = packing.numbered(item.pattern, item.slot.at)
    classes = tuple(map(Entry, item.pattern))
    at = body.by_value([part for k, number in numbers.items() for part in packing.parts(number, classes[k])])
    mask = item.when.mask & block.tile_mask & ~block.mask
    test = condition(mask, item.when.value & mask, block.source((mask,)))
    count = len(identity)
    if body.in_memory:
        taken = [f"real m[{count + count % 2}];", body.call("load", "m", f"v + {at}")]
        taken += [f"m[{k}] = acts ? m[{k}] : {one};" for k, one in enumerate(identity)]
    else:
        chosen = ", ".join(f"acts ? v[{at + k}] : {one}" for k, one in enumerate(identity))
        taken = [f"const real m[{count}] = {{{chosen}}};"]
    return [
        "{",
        f"    const bool acts = {test};",
        *[f"    {line}" for line in taken],
        *[f"    {line}" for line in _multiply(body, block, classes, groups, members, "m")],
        "}",
    ]


def _identity_numbers(item: Mix) -> list[int] | None:
    """Return the numbers of the identity, given as those of a matrix without reads; None if its entries are others."""
    if item.reads:
        return None
    size, found = 1 << len(item.bits), list[int]()
    for k, entry in enumerate(map(Entry, item.pattern)):
        one = k % (size + 1) == 0
        match entry:
            case Entry.REAL:
                found.append(int(one))
            case Entry.COMPLEX:
                found += [int(one), 0]
            case Entry.IMAG if not one:
                found.append(0)
            case Entry.ZERO if not one:
                pass
            case Entry.ONE if one:
                pass
            case _:
                return None
    return found or None


def _exchange(
    body: KernelBody, block: BlockText, item: Mix, groups: Sequence[int], constants: Sequence[int]
) -> list[str]:
    """Exchange registers where parities select an X, and leave them elsewhere."""
    high, elsewhere = block.register(1 << item.bits[0]), block.elsewhere(item.reads)
    odd = [k for k in range(1 << len(item.reads)) if item.pattern[4 * k : 4 * k + 4] == X]
    lines = [f"unsigned s = {selection(elsewhere, block.source(elsewhere))};"]
    for c in sorted({constants[r] for r in groups}):
        selected = sum(1 << (k ^ c) for k in odd)
        one = f"s == {selected.bit_length() - 1:#x}" if len(odd) == 1 else f"{selected:#x}u >> s & 1"
        swaps = [body.call("swap", block.a(r), block.a(r | high)) for r in groups if constants[r] == c]
        lines += [f"if ({one}) {{", *[f"    {swap}" for swap in swaps], "}"]
    return lines


def _known_matrix(
    body: KernelBody, block: BlockText, item: Mix, groups: list[int], members: list[int], constants: list[int]
) -> list[str]:
    """Multiply by a matrix that is the same for all threads, so that its numbers come by value."""
    size = len(members) ** 2
    numbers = packing.numbered(item.pattern, item.slot.at)
    if item.reads:
        numbers = {k: item.slot.at + k for k in range(len(item.pattern))}
    lines = []
    for c in sorted({constants[r] for r in groups}):
        places = range(c * size, c * size + size)
        classes = tuple(Entry(item.pattern[k]) for k in places)
        taken = [part for k in places if k in numbers for part in packing.parts(numbers[k], Entry(item.pattern[k]))]
        at = body.by_value(taken)
        chosen = [r for r in groups if constants[r] == c]
        first = f"v + {at}" if at else "v"
        if (
            body.in_memory
            and taken
            and (len(members) == 2 or len(taken) * body.precision.storage.computed_bytes <= KEPT_FROM_MEMORY)
        ):
            lines += ["{", f"    real m[{len(taken) + len(taken) % 2}];", "    " + body.call("load", "m", first)]
            lines += [f"    {line}" for line in _multiply(body, block, classes, chosen, members, "m")]
            lines.append("}")
        else:
            lines += _multiply(body, block, classes, chosen, members, first, body.vector if body.in_memory else 0)
    return lines


def _multiply(
    body: KernelBody,
    block: BlockText,
    classes: tuple[Entry, ...],
    groups: list[int],
    members: list[int],
    numbers: str,
    fetched: int = 0,
) -> list[str]:
    """Multiply groups of registers by a matrix of known classes; `fetched`: as in `matrix_function`.

    numbers: the place where the matrix's numbers begin.
    """
    registers = [[group | member for member in members] for group in groups]
    if len(members) > 1 << IN_REGISTERS:
        return [line for r in registers for line in _by_columns(body, block, classes, r, numbers)]
    function = body.matrix(classes, fetched)
    calls = [f"{function}({', '.join(block.a(r) for r in group)}, {numbers});" for group in registers]
    if len(members) == 2:
        return calls
    if fetched or sum(map(width, classes)) * body.precision.storage.computed_bytes > KEPT_BYTES:
        return [body.apart(call) for call in calls]
    return [body.apart("{"), *[f"    {call}" for call in calls], "}"]


def _by_columns(
    body: KernelBody, block: BlockText, classes: tuple[Entry, ...], registers: list[int], numbers: str
) -> list[str]:
    """Apply a matrix to all registers: the inputs are kept in the thread's shared memory, and loaded in turn."""
    block.shared = True
    slots = body.slots.registers(block.place)
    lines = [f"{body.slots.at('w', slots[r])} = {block.a(r)};" for r in registers]
    lines.append('asm volatile("" ::: "memory");  // or the compiler would keep the inputs in registers, and spill')
    lines += [body.call("clear", block.a(r)) for r in registers]
    size = len(registers)
    starts = [sum(map(width, classes[:k])) for k in range(len(classes))]
    for column in range(size):
        lines += [body.apart("{"), f"    const amp c = {body.slots.at('w', slots[registers[column]])};"]
        for row in range(size):
            k = row * size + column
            lines += [
                f"    {line}" for line in _add(body, block.a(registers[row]), classes[k], f"({numbers})", starts[k])
            ]
        lines.append("}")
    return lines


def _add(body: KernelBody, a: str, entry: Entry, numbers: str, at: int) -> list[str]:
    """Add the product of a matrix entry and the column's input to an amplitude."""
    match entry:
        case Entry.ZERO:
            return []
        case Entry.ONE:
            return [body.call("add_real", a, "c", "1")]
        case Entry.MINUS_ONE:
            return [body.call("add_real", a, "c", "-1")]
        case Entry.REAL:
            return [body.call("add_real", a, "c", f"{numbers}[{at}]")]
        case Entry.IMAG:
            return [body.call("add_imaginary", a, "c", f"{numbers}[{at}]")]
        case Entry.COMPLEX:
            return [body.call("add", a, "c", f"{numbers}[{at}]", f"{numbers}[{at + 1}]")]
        case _:
            assert_never(entry)
