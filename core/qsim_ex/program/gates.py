"""Gates without the wires that they only read while these are |0⟩, and many gates that are joined.

What is asked of a gate's wires is asked once for all gates on these wires: a circuit has many gates, on few wires.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.instruction import Answers
from qsim_ex.circuit.ops import Op, When, mask_of, wires_of
from qsim_ex.program.joined import Joined

Entries = NDArray[np.int64] | None

OnWires = tuple[tuple[int, ...], tuple[int, ...], When]
"""The wires that an operation mixes, those that it reads, and its controls."""


class Left(NamedTuple):
    """What an operation reads and is controlled by without idle wires; entries: its operands then, None if all."""

    reads: tuple[int, ...]
    when: When
    entries: Entries


@lru_cache(maxsize=4096)
def left_of(mixes: tuple[int, ...], reads: tuple[int, ...], when: When, alive: int) -> Left | None:
    """Return what is left of operations; None if these change nothing. alive: mask of the wires that are not idle."""
    if when.value & ~alive:
        return None  # a control is 0 where 1 is required
    if not (when.mask | _union(reads)) & ~alive:
        return Left(reads, when, None)
    some = [read & alive for read in reads]
    kept = tuple(dict.fromkeys(read for read in some if read))
    return Left(kept, When(when.mask & alive, when.value), _entries(some, kept, 4 ** len(mixes)))


def without_idle(op: Op, left: Left) -> tuple[Op, Entries]:
    """Return what is left of an operation, and the places of its operands, unless they still stand together."""
    entries = left.entries
    if entries is None:
        return op, None
    pattern = bytes([op.pattern[entry] for entry in entries.tolist()])
    found = op._replace(reads=left.reads, when=left.when, pattern=pattern)
    return found, None if np.array_equal(entries, np.arange(len(entries))) else op.operand + entries


@dataclass(frozen=True, eq=False, slots=True)
class Gates(Answers):
    """Operations that are in one part, since they are joined, and no live range of a wire ends among them.

    entries: the places of the operands of those whose operands do not stand together, by the operation's `id`.
    """

    operations: list[Op] = field(default_factory=list)
    entries: dict[int, NDArray[np.int64]] = field(default_factory=dict)

    def put(self, left: Left, op: Op) -> None:
        """Put what is left of an operation behind the others."""
        found, entries = without_idle(op, left)
        self.operations.append(found)
        if entries is not None:
            self.entries[id(found)] = entries


class OnDistinctWires:
    """The operations that a circuit begins with, by their wires.

    first: the first operation on any wires.
    """

    def __init__(self, operations: Sequence[Op]) -> None:
        known: dict[OnWires, int] = {}
        self._operations = operations
        self._numbers = [known.setdefault(op[:3], len(known)) for op in operations]
        self._wires = list(known)
        self.first = dict(zip(reversed(self._numbers), reversed(operations), strict=True)).values()

    def joined(self, num_wires: int, alive: int, phases: list[int], *, together: bool) -> list[tuple[int, Gates]]:
        """Return what is left of all, those that are joined together, each with the mask of its wires.

        alive: mask of the wires that are not idle. phases: gets the places of operands that are global phases, which no
        measurement and no expectation value shows; they are kept for amplitudes. together: whether all are joined.
        """
        left = [left_of(*one, alive) for one in self._wires]
        acted = [0 if of is None else _acted(mixes, of) for (mixes, _, _), of in zip(self._wires, left, strict=True)]
        wires = [wires_of(mask) for mask in acted]
        joined = Joined(num_wires, ((on[0], other) for on in wires for other in on[1:]))
        roots = [0 if together or not on else joined.root(on[0]) for on in wires]
        masks: dict[int, int] = {}
        for root, mask in zip(roots, acted, strict=True):
            masks[root] = masks.get(root, 0) | mask
        found = {root: (masks[root], Gates()) for root in sorted(masks) if masks[root]}
        put: list[Callable[[Op], object]] = []
        for of, mask, root in zip(left, acted, roots, strict=True):
            if of is None:
                put.append(id)  # it changes nothing
            elif not mask:
                put.append(lambda op: phases.append(op[4]))
            else:
                gates = found[root][1]
                put.append(gates.operations.append if of.entries is None else partial(gates.put, of))
        for op, number in zip(self._operations, self._numbers, strict=True):
            put[number](op)
        return list(found.values())


def _acted(mixes: tuple[int, ...], left: Left) -> int:
    return mask_of(mixes) | left.when.mask | _union(left.reads)


def _entries(reads: Sequence[int], kept: Sequence[int], block: int) -> NDArray[np.int64]:
    """Return which entries of an operation are left if it reads only `kept`; an empty read is 0, equal ones are equal.

    block: the number of entries for each value of the reads.
    """
    blocks = []
    for value in range(1 << len(kept)):
        parity = {read: value >> k & 1 for k, read in enumerate(kept)}
        blocks.append(sum(parity.get(read, 0) << k for k, read in enumerate(reads)))
    return (np.array(blocks)[:, None] * block + np.arange(block)).reshape(-1)


def _union(masks: Iterable[int]) -> int:
    union = 0
    for mask in masks:
        union |= mask
    return union
