"""The steps and numbers of a plan that native code made, as objects that are made of its arrays on demand.

Most runs on a CPU never ask: native code reads the arrays. Whoever explains, draws or verifies a plan, or writes the
kernels of a GPU, sees the same `Sweep` and `Coefficients` as everywhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from qsim_ex.circuit.ops import ALWAYS, When, wires_of
from qsim_ex.steps import plan_arrays as column
from qsim_ex.steps.coefficients import Coefficients, Euler, Fold, Product
from qsim_ex.steps.plan_arrays import (
    BASIS_PERMUTATION,
    DIAGONAL,
    EULER,
    INITIAL_AMPLITUDES,
    PERMUTE,
    PRODUCT,
    SWEEP,
    ZERO_FILL,
    Integers,
    Key,
    PlanArrays,
)
from qsim_ex.steps.step import (
    BasisPermutation,
    DenseMatrix,
    Diagonal,
    InitialAmplitudes,
    Item,
    Mix,
    Permute,
    RegisterBlock,
    Slot,
    Step,
    Sweep,
    ZeroFill,
)
from qsim_ex.steps.sweep_arrays import SweepArrays

_MADE_LATER = frozenset({"tile", "numbers", "tables", "fresh", "load", "store"})


class PlannedSweep(Sweep):
    """A sweep whose fields are made from the arrays of its plan when they are asked for.

    arrays: those of its plan; None for a changed copy. number: which of the plan's steps it is.
    """

    __slots__ = ("_blocks", "arrays", "number")

    arrays: PlanArrays | None
    number: int
    _blocks: tuple[RegisterBlock, ...] | None

    @classmethod
    def of(cls, arrays: PlanArrays, number: int) -> Self:
        """Return the sweep in a row of `PlanArrays.steps`."""
        made, put = cls.__new__(cls), object.__setattr__
        put(made, "arrays", arrays)
        put(made, "number", number)
        put(made, "_blocks", None)
        return made

    def __getattr__(self, name: str) -> Any:
        """Return a field that nobody asked for yet; a million gates have many sweeps, and few of them are asked."""
        if name not in _MADE_LATER or self.arrays is None:
            raise AttributeError(name)
        row, put = self.arrays.steps[self.number].tolist(), object.__setattr__
        put(self, "tile", wires_of(row[column.TILE]))
        put(self, "numbers", row[column.NUMBERS])
        put(self, "tables", row[column.TABLES])
        put(self, "fresh", row[column.FRESH])
        put(self, "load", self.arrays.loads(row[column.LOADS], row[column.LOAD_COUNT]))
        put(self, "store", self.arrays.stored(self.tile, row[column.WORDS], row[column.BITS]))
        return getattr(self, name)

    @property
    def register_blocks(self) -> tuple[RegisterBlock, ...]:
        """The register blocks, in order."""
        if self._blocks is None:
            assert self.arrays is not None
            begin, end = self.arrays.steps[self.number, column.BEGIN : column.END + 1].tolist()
            object.__setattr__(self, "_blocks", _blocks(self.arrays, begin, end))
        assert self._blocks is not None
        return self._blocks

    @register_blocks.setter
    def register_blocks(self, register_blocks: tuple[RegisterBlock, ...]) -> None:
        object.__setattr__(self, "arrays", None)
        object.__setattr__(self, "_blocks", register_blocks)

    def __eq__(self, other: object) -> bool:
        """Return whether another sweep has the same fields, compiled or not."""
        if not isinstance(other, Sweep):
            return NotImplemented
        return _fields(self) == _fields(other)

    def __hash__(self) -> int:
        """Return the hash of its fields."""
        return hash(_fields(self))

    def __reduce__(self) -> tuple[object, ...]:
        """Copy and pickle it as a plain sweep, since another process has none of the plan's arrays."""
        return Sweep, _fields(self)


def steps_of(arrays: PlanArrays) -> tuple[Step, ...]:
    """Return all steps of a plan; what a sweep consists of is made when it is asked for."""
    kinds = arrays.steps[:, column.KIND].tolist() if arrays.others else [SWEEP] * arrays.num_steps
    steps = [PlannedSweep.of(arrays, at) if kind == SWEEP else _step(arrays, at) for at, kind in enumerate(kinds)]
    return tuple(steps)


def _step(arrays: PlanArrays, number: int) -> Step:
    """Return a step that is not a sweep."""
    row = arrays.steps[number].tolist()
    kind = row[column.KIND]
    if kind == ZERO_FILL:
        return ZeroFill(row[column.FRESH])
    bits, label = arrays.bits(row[column.WORDS], row[column.BITS]), arrays.labelled[row[column.LABEL]]
    if kind == BASIS_PERMUTATION:
        return BasisPermutation(bits, arrays.permuted(row[column.TO], row[column.BITS]), label)
    if kind == INITIAL_AMPLITUDES:
        return InitialAmplitudes(bits, row[column.HELD], label)
    reads = arrays.reads(row[column.WORDS], row[column.BITS], row[column.READS])
    return DenseMatrix(bits, reads, _when(row[column.MASK], row[column.VALUE]), label)


def _blocks(arrays: PlanArrays, begin: int, end: int) -> tuple[RegisterBlock, ...]:
    """Return some register blocks with their items."""
    rows = arrays.register_blocks[begin:end].tolist()
    return tuple(
        RegisterBlock(wires_of(registers), tuple(_item(arrays, *row) for row in arrays.items[first:last].tolist()))
        for registers, first, last in rows
    )


def _item(
    arrays: PlanArrays,
    kind: int,
    num_bits: int,
    num_reads: int,
    words: int,
    mask: int,
    value: int,
    pattern: int,
    slot: int,
    count: int,
    to: int,
    label: int,
) -> Item:
    when, name = _when(mask, value), arrays.labelled[label]
    if kind == PERMUTE:
        return Permute(arrays.bits(words, num_bits), when, arrays.permuted(to, num_bits), name)
    reads = arrays.reads(words, num_bits, num_reads)
    if kind == DIAGONAL:
        return Diagonal(reads, when, arrays.pattern_of[pattern], Slot(slot, count), name)
    return Mix(arrays.bits(words, num_bits), reads, when, arrays.pattern_of[pattern], Slot(slot, count), name)


def _when(mask: int, value: int) -> When:
    return When(mask, value) if mask else ALWAYS


def arrays_of(steps: Sequence[Step]) -> PlanArrays | None:
    """Return the arrays of the compiled plan whose steps these are, all of them; None for others, and for stages."""
    first = next((step for step in steps if isinstance(step, PlannedSweep)), None)
    arrays = first.arrays if first else None
    if arrays is None or arrays.staged or len(steps) != arrays.num_steps:
        return None
    for number, step in enumerate(steps):
        if isinstance(step, PlannedSweep) and (step.arrays is not arrays or step.number != number):
            return None
    return arrays


def native_of(sweep: Sweep) -> tuple[PlanArrays | SweepArrays, int]:
    """Return arrays in native code that have a sweep, and its number among their steps."""
    if isinstance(sweep, PlannedSweep) and sweep.arrays is not None:
        return sweep.arrays, sweep.number
    return SweepArrays([sweep]), 0


def key_of(sweep: Sweep) -> Key:
    """Return what is equal for equal sweeps: of a compiled plan's sweep, bytes, for which no register block is made."""
    if isinstance(sweep, PlannedSweep) and sweep.arrays is not None:
        return sweep.arrays.keys[sweep.number]
    return sweep


def _fields(sweep: Sweep) -> tuple[object, ...]:
    return sweep.tile, sweep.register_blocks, sweep.numbers, sweep.tables, sweep.fresh, sweep.store, sweep.load


class NativeCoefficients(Coefficients):
    """The numbers of a compiled plan; instructions and places are made from its arrays when they are asked for.

    arrays: those of the plan; None for a changed copy.
    """

    __slots__ = ("_packed", "_program", "arrays")

    arrays: PlanArrays | None
    _program: tuple[Product | Euler | Fold, ...] | None
    _packed: tuple[Integers, ...] | None

    @classmethod
    def of(cls, arrays: PlanArrays) -> Self:
        """Return the numbers of a plan with these arrays."""
        made = cls.__new__(cls)
        known = {"num_operands": arrays.num_operands, "arrays": arrays, "_program": None, "_packed": None}
        for name, value in known.items():
            object.__setattr__(made, name, value)
        return made

    @property
    def program(self) -> tuple[Product | Euler | Fold, ...]:
        """The instructions, in order."""
        if self._program is None:
            assert self.arrays is not None
            object.__setattr__(self, "_program", _instructions(self.arrays))
        assert self._program is not None
        return self._program

    @program.setter
    def program(self, program: tuple[Product | Euler | Fold, ...]) -> None:
        object.__setattr__(self, "arrays", None)
        object.__setattr__(self, "_program", program)

    @property
    def packed(self) -> tuple[Integers, ...]:
        """For each step the entries of the buffer that it is given."""
        if self._packed is None:
            assert self.arrays is not None
            object.__setattr__(self, "_packed", _packed_places(self.arrays))
        assert self._packed is not None
        return self._packed

    @packed.setter
    def packed(self, packed: tuple[Integers, ...]) -> None:
        object.__setattr__(self, "arrays", None)
        object.__setattr__(self, "_packed", packed)

    def __reduce__(self) -> tuple[object, ...]:
        """Copy and pickle them as plain numbers, as `PlannedSweep` is."""
        return Coefficients, (self.num_operands, self.program, self.packed)


def _instructions(arrays: PlanArrays) -> tuple[Product | Euler | Fold, ...]:
    """Return the coefficient program."""
    return tuple(_instruction(arrays, *row) for row in arrays.listed.program.tolist())


def _instruction(
    arrays: PlanArrays,
    kind: int,
    count: int,
    blocks: int,
    size: int,
    columns: int,
    entries: int,
    factors: int,
    at: int,
    bits: int,
) -> Product | Euler | Fold:
    def taken(*shape: int) -> Integers:
        nonlocal at
        begin, at = at, at + int(np.prod(shape))
        return arrays.listed.places[begin:at].astype(np.int64).reshape(shape)

    if kind == PRODUCT:
        return Product(taken(count, blocks, size, size), taken(count, blocks, size, columns))
    if kind == EULER:
        return Euler(taken(count, 4), bool(blocks))
    words = -(-factors // 64)
    rows = arrays.listed.incidence[bits : bits + count * entries * words].reshape(count, entries, words)
    unpacked = np.unpackbits(rows.view(np.uint8), axis=-1, count=factors, bitorder="little")
    return Fold(unpacked.astype(np.float64), taken(count, factors))


def _packed_places(arrays: PlanArrays) -> tuple[Integers, ...]:
    """Return the entries of the coefficient buffer that each step is given."""
    places = arrays.listed.packed.astype(np.int64)
    return tuple(np.split(places, arrays.steps[:-1, column.PACKED])) if len(arrays.steps) else ()


# Users see what an object is, not how it was made.
PlannedSweep.__name__ = PlannedSweep.__qualname__ = "Sweep"
NativeCoefficients.__name__ = NativeCoefficients.__qualname__ = "Coefficients"
