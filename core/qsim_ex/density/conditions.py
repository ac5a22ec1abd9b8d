"""Conditions on classical bits that wires hold, as conditions on those wires."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from qsim_ex.circuit.ops import ALWAYS, When

Wires = tuple[int, ...]


def assigned(places: Sequence[int | None], values: Iterable[int]) -> tuple[Wires, frozenset[int]]:
    """Return the wires that hold the bits of a condition, and the values of these wires at which it holds."""
    wires = tuple(sorted({at for at in places if at is not None}))
    found = set()
    for value in values:
        held: dict[int | None, int] = {None: 0}
        bits = [(at, value >> k & 1) for k, at in enumerate(places)]
        if all(held.setdefault(at, bit) == bit for at, bit in bits):
            found.add(sum(held.get(wire, 0) << k for k, wire in enumerate(wires)))
    return wires, frozenset(found)


def cubes(condition: tuple[Wires, frozenset[int]], given: When = ALWAYS) -> Iterator[When]:
    """Yield disjoint conditions on single wires, one of which holds where a condition holds."""
    wires, values = condition
    if len(values) == 1 << len(wires):
        yield given
    elif values:
        last = len(wires) - 1
        for bit in range(2):
            half = frozenset(value & (1 << last) - 1 for value in values if value >> last == bit)
            when = When(given.mask | 1 << wires[last], given.value | bit << wires[last])
            yield from cubes((wires[:last], half), when)


def joined(one: When, other: When) -> When | None:
    """Return the condition that both hold; None if they cannot."""
    if (one.value ^ other.value) & one.mask & other.mask:
        return None
    return When(one.mask | other.mask, one.value | other.value)


def on_columns(when: When, num_wires: int) -> When:
    """Return a condition on row wires and bit wires as column wires hold it; bit wires have no columns."""
    rows = (1 << num_wires) - 1
    mask, value = when.mask & rows, when.value & rows
    return When(when.mask & ~rows | mask << num_wires, when.value & ~rows | value << num_wires)
