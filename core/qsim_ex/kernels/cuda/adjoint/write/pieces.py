"""Sweeps backwards in pieces, where the kernel of the whole would be read too slowly.

A kernel that is larger than the cache of instructions waits for its own text: with 16,600 instructions it took 22 ms
where its arithmetic takes 9 (28 bits, one H100). A pass more costs 3 ms and is hidden behind arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from qsim_ex.circuit.ops import Entry
from qsim_ex.kernels.cuda.adjoint.write.kernel import CollectingSweep
from qsim_ex.kernels.cuda.adjoint.write.structure import products
from qsim_ex.kernels.cuda.adjoint.write.tangents import is_rotation
from qsim_ex.steps.algebra import units
from qsim_ex.steps.step import Diagonal, Item, Mix, RegisterBlock

MOST = 6000
"""The instructions of a kernel, about 96 KB of them."""

_REGISTERS = 16
_EXCHANGE = 110
_SUM = 6
_COSTS = {Entry.ZERO: 0, Entry.COMPLEX: 4}


def pieces(sweep: CollectingSweep) -> tuple[CollectingSweep, ...]:
    """Return sweeps that do the same one after another, each small enough, with about the same work."""
    blocks = [(block, [_cost(sweep, item) for item in block.items]) for block in sweep.register_blocks]
    whole = sum(_EXCHANGE + sum(costs) for _, costs in blocks)
    count = max(1, -(-whole // MOST))
    parts: list[list[RegisterBlock]] = [[]]
    done = 0
    for block, costs in blocks:
        items: list[Item] = []
        done += _EXCHANGE
        for item, cost in zip(block.items, costs, strict=True):
            if done + cost / 2 > len(parts) * whole / count and len(parts) < count:
                parts[-1] += [RegisterBlock(block.registers, tuple(items))] if items else []
                parts.append([])
                items = []
            items.append(item)
            done += cost
        parts[-1].append(RegisterBlock(block.registers, tuple(items)))
    return tuple(_placed(sweep, parts))


def _placed(sweep: CollectingSweep, parts: list[list[RegisterBlock]]) -> Iterator[CollectingSweep]:
    """Yield the pieces: the first one reads where the sweep does, the last one writes there, the rest stays."""
    last = len(parts) - 1
    plain = units(range(max(len(sweep.load), len(sweep.store))))
    for number, blocks in enumerate(parts):
        load = sweep.load if number == 0 else ()
        store = (sweep.store or sweep.load) if number == last else plain if load else ()
        if store == load or (not load and store == plain):
            store = ()
        dropped = sweep.dropped if number == last else 0
        yield replace(sweep, register_blocks=tuple(blocks), load=load, store=store, dropped=dropped)


def _cost(sweep: CollectingSweep, item: Item) -> int:
    """Return about how many instructions of a thread an item takes, with its sums."""
    if not isinstance(item, Mix | Diagonal):
        return 0
    wanted = any(sweep.wanted[item.slot.at : item.slot.at + item.slot.count])
    inside = item.when.mask.bit_count() and 1  # a condition on a register bit leaves half of them
    if isinstance(item, Diagonal):
        chosen = _REGISTERS >> inside
        if not item.reads:
            return chosen * 10 + _SUM
        share = sum(entry != Entry.ONE for entry in item.pattern) / len(item.pattern)
        sums = len(item.pattern) * _SUM if wanted else 0
        return int(chosen * share * (8 + 2 * wanted)) + sums
    size = 1 << len(item.bits)
    entries = [Entry(entry) for entry in item.pattern[: size * size]]
    groups = _REGISTERS // size
    found = products(tuple(entries)) if wanted else ()
    each = 1 if sweep.tangents and wanted and is_rotation(item) else 2
    work = 2 * sum(_COSTS.get(entry, each) for entry in entries)
    return groups * (work + 4 * len(found)) + _SUM * len(found)
