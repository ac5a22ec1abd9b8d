"""Sweeps that Python made, as the arrays that native code encodes: those of a copied plan, a test, or a benchmark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any, assert_never

import numpy as np

from qsim_ex.circuit.ops import When, mask_of
from qsim_ex.native.library import address, function
from qsim_ex.steps.plan_arrays import DIAGONAL, MIX, NAMES, PERMUTE, SWEEP
from qsim_ex.steps.step import Diagonal, Item, Mix, Permute, Slot, Sweep

_FORMS = {name: (kind, row) for name, kind, row in NAMES}
_READ = ("steps", "register_blocks", "items", "words", "values", "patterns", "pattern_ends")
"""The arrays that native code reads, in the order of `qx_sweeps_read`."""

_NO_NUMBERS = Slot(0, 0)


class SweepArrays:
    """Sweeps in memory of native code, which lives as long as this object; a sweep's number is its place among them.

    handle: the struct PlanSteps in native code. bytes: what the arrays take.
    """

    _owned = 0  # until there is one: Ctrl-C may come before `__init__` begins

    def __init__(self, sweeps: Sequence[Sweep]) -> None:
        self._free = function("sweeps_free")
        self.sweep_places = {number: number for number in range(len(sweeps))}
        written = _Written()
        for sweep in sweeps:
            written.sweep(sweep)
        arrays = written.arrays()
        given = np.array([part for array in arrays for part in (address(array), len(array))], dtype=np.int64)
        found = np.zeros(1, dtype=np.int64)
        self._owned = function("sweeps_read")(address(given), address(found))
        self.handle = int(found[0])
        self.bytes = sum(array.nbytes for array in arrays)

    def __del__(self) -> None:
        if self._owned:
            self._free(self._owned)


class _Written:
    """The rows of sweeps, written one behind the other; `NAMES` in `plan_arrays` has their columns."""

    def __init__(self) -> None:
        self._steps: list[tuple[int, ...]] = []
        self._blocks: list[tuple[int, ...]] = []
        self._items: list[tuple[int, ...]] = []
        self._words: list[int] = []
        self._values: list[int] = []
        self._patterns: dict[bytes, int] = {}

    def arrays(self) -> list[np.ndarray[Any, np.dtype[Any]]]:
        """Return the arrays of `_READ`."""
        ends = list(accumulate(map(len, self._patterns)))
        parts = [self._steps, self._blocks, self._items, self._words, self._values, [*b"".join(self._patterns)], ends]
        forms = [_FORMS[name] for name in _READ]
        return [np.array(part, dtype=kind).reshape(-1, row) for (kind, row), part in zip(forms, parts, strict=True)]

    def sweep(self, sweep: Sweep) -> None:
        """Write a sweep, with its register blocks and their items."""
        begin = len(self._blocks)
        for block in sweep.register_blocks:
            first = len(self._items)
            for item in block.items:
                self._item(item)
            self._blocks.append((mask_of(block.registers), first, len(self._items)))
        stored = _stored(sweep)
        maps = self._add(stored), len(stored), self._add(sweep.load), len(sweep.load)
        row = [SWEEP, mask_of(sweep.tile), sweep.fresh, begin, len(self._blocks), sweep.numbers, sweep.tables, 0]
        self._steps.append((*row, *maps[:2], *[0] * 6, *maps[2:]))

    def _item(self, item: Item) -> None:
        match item:
            case Mix(bits, reads, when, pattern, slot):
                self._row(MIX, bits, reads, when, self._pattern(pattern), slot, 0)
            case Diagonal(reads, when, pattern, slot):
                self._row(DIAGONAL, (), reads, when, self._pattern(pattern), slot, 0)
            case Permute(bits, when, to):
                self._values += to
                self._row(PERMUTE, bits, (), when, self._pattern(b""), _NO_NUMBERS, len(self._values) - len(to))
            case _:
                assert_never(item)

    def _row(
        self, kind: int, bits: Sequence[int], reads: Sequence[int], when: When, pattern: int, slot: Slot, to: int
    ) -> None:
        """Append an item; its bits stand among the words as directions and as parities, which are the same masks."""
        masks = [1 << bit for bit in bits]
        words = self._add([*masks, *masks, *reads])
        self._items.append((kind, len(bits), len(reads), words, *when, pattern, slot.at, slot.count, to, 0))

    def _add(self, words: Iterable[int]) -> int:
        at = len(self._words)
        self._words += words
        return at

    def _pattern(self, pattern: bytes) -> int:
        return self._patterns.setdefault(pattern, len(self._patterns))


def _stored(sweep: Sweep) -> tuple[int, ...]:
    """Return the columns of the map by which a sweep writes, of all bits that it moves; () for that of `load`."""
    known = max(len(sweep.store), len(sweep.load), *[bit + 1 for bit in sweep.tile[-1:]])
    return sweep.stores(range(known)) if sweep.store else ()
