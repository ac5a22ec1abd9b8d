"""The steps and numbers of a plan that native code made: arrays of integers, and objects made from them on demand.

Most runs on a CPU never ask: native code reads the arrays. Whoever explains, draws or verifies a plan, or writes the
kernels of a GPU, sees the same `Sweep` and `Coefficients` as everywhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import ALWAYS, Pattern, When, wires_of
from qsim_ex.native.library import function
from qsim_ex.steps.algebra import columns_on
from qsim_ex.steps.coefficients import Coefficients, Euler, Fold, Product
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

Integers = NDArray[np.int64]
Key = Hashable
"""What a sweep's kernels are known by; see `key_of`."""

NAMES = (
    ("steps", "i8", 18),
    ("register_blocks", "i8", 3),
    ("items", "i8", 11),
    ("packed", "u4", 1),
    ("words", "u8", 1),
    ("values", "u4", 1),
    ("patterns", "u1", 1),
    ("pattern_ends", "u8", 1),
    ("labels", "u1", 1),
    ("label_ends", "u8", 1),
    ("start", "i4", 1),
    ("end", "i4", 1),
)
"""The arrays of a compiled plan, in the order of `qx_plan_arrays`: name, type, and integers of a row."""

LISTED = (("program", "i8", 9), ("places", "u4", 1), ("incidence", "u8", 1), ("packed", "u4", 1))
"""The arrays of a listed coefficient program, in the order of `qx_plan_listed`: as in `NAMES`."""

# Columns of `steps`, of `items` and of `program`: the structs Step and Item of planner/tiles/sweep.hpp; Instruction.
(
    KIND,
    TILE,
    FRESH,
    BEGIN,
    END,
    NUMBERS,
    TABLES,
    PACKED,
    WORDS,
    BITS,
    READS,
    MASK,
    VALUE,
    TO,
    HELD,
    LABEL,
    LOADS,
    LOAD_COUNT,
) = range(18)
SWEEP, _, _BASIS_PERMUTATION, _INITIAL_AMPLITUDES, _ZERO_FILL = range(5)
MIX, DIAGONAL, PERMUTE = range(3)
PRODUCT, EULER, FOLD = range(3)


class Owner(Protocol):
    """Keeps the memory of a plan's arrays; `handle` is the plan in native code."""

    @property
    def handle(self) -> int:
        """The address of the plan."""

    def listed(self) -> list[int]:
        """Return address and length of each array of `LISTED`."""

    def passes(self) -> float:
        """Return the predicted time of the plan, in passes over the full state."""


class ListedCoefficients(NamedTuple):
    """A coefficient program with lists of places, in which each number has a place of its own; see `Coefficients`.

    The struct Instruction of planner/coefficients/program.hpp has the columns of `program`.

    packed: the places of all steps' numbers.
    """

    program: Integers
    places: NDArray[np.uint32]
    incidence: NDArray[np.uint64]
    packed: NDArray[np.uint32]


class Memory:
    """An array in memory of native code, which its owner keeps."""

    def __init__(self, owner: object, address: int, count: int, kind: str) -> None:
        self.owner, self._kind, self._count = owner, kind, count
        self.__array_interface__ = {"data": (address, False), "shape": (count,), "typestr": f"<{kind}", "version": 3}

    def array(self) -> NDArray[Any]:
        """Return the array, without a copy."""
        return np.asarray(self) if self._count else np.zeros(0, dtype=self._kind)


class PlanArrays:
    """The arrays of one compiled plan; `NAMES` has their names, the structs of core/native/planner their columns.

    owner: keeps the memory. handle: the struct PlanSteps in native code. found: address and length of each array.
    num_operands: as in `Coefficients`. size: how many numbers there are while a CPU runs the coefficient program, the
    operands included; `packed` are places among these.
    staged: whether the state has several levels, so that not all steps run one behind the other.
    """

    steps: Integers
    register_blocks: Integers
    items: Integers
    packed: NDArray[np.uint32]
    words: NDArray[np.uint64]
    values: NDArray[np.uint32]
    patterns: NDArray[np.uint8]
    pattern_ends: NDArray[np.uint64]
    labels: NDArray[np.uint8]
    label_ends: NDArray[np.uint64]
    start: NDArray[np.int32]
    end: NDArray[np.int32]

    def __init__(
        self, owner: Owner, handle: int, found: list[int], num_operands: int, size: int, program_bytes: int
    ) -> None:
        self.owner, self.handle = owner, handle
        self.num_operands = num_operands
        self.size = size
        self.staged = False
        self._program_bytes = program_bytes
        for (name, _, _), made in zip(NAMES, arrays_at(owner, NAMES, found), strict=True):
            setattr(self, name, made)

    @property
    def bytes(self) -> int:
        """The bytes of all arrays, and of the coefficient program."""
        return sum([int(getattr(self, name).nbytes) for name, _, _ in NAMES], self._program_bytes)

    @cached_property
    def sweep_places(self) -> dict[int, int]:
        """The place of each sweep among all sweeps, by the number of its step."""
        numbers = np.flatnonzero(self.steps[:, KIND] == SWEEP).tolist()
        return {number: place for place, number in enumerate(numbers)}

    @cached_property
    def listed(self) -> ListedCoefficients:
        """The coefficient program as lists of places, which GPUs, descriptions and tests read; made by native code."""
        return ListedCoefficients(*arrays_at(self.owner, LISTED, self.owner.listed()))

    @cached_property
    def passes(self) -> float:
        """How long the plan takes as its planner predicts, in passes over the full state; for one device."""
        return self.owner.passes()

    @cached_property
    def packed_ends(self) -> list[int]:
        """Where the numbers of each step end among all of them."""
        ends: list[int] = self.steps[:, PACKED].tolist()
        return ends

    def made_steps(self) -> tuple[Step, ...]:
        """Return all steps; what a sweep consists of is made when it is asked for."""
        kinds = enumerate(self.steps[:, KIND].tolist())
        return tuple([PlannedSweep.of(self, number) if kind == SWEEP else self._step(number) for number, kind in kinds])

    def _step(self, number: int) -> Step:
        """Return a step that is not a sweep."""
        row = self.steps[number].tolist()
        kind = row[KIND]
        if kind == _ZERO_FILL:
            return ZeroFill(row[FRESH])
        bits = self.bits(row[WORDS], row[BITS])
        label = self._labels[row[LABEL]]
        if kind == _BASIS_PERMUTATION:
            return BasisPermutation(bits, self._values(row[TO], row[BITS]), label)
        if kind == _INITIAL_AMPLITUDES:
            return InitialAmplitudes(bits, row[HELD], label)
        reads = self._reads(row[WORDS], row[BITS], row[READS])
        return DenseMatrix(bits, reads, _when(row[MASK], row[VALUE]), label)

    def made_blocks(self, begin: int, end: int) -> tuple[RegisterBlock, ...]:
        """Return some register blocks with their items."""
        rows = self.register_blocks[begin:end].tolist()
        return tuple(RegisterBlock(wires_of(registers), self._items(first, last)) for registers, first, last in rows)

    def packed_places(self) -> tuple[Integers, ...]:
        """Return the entries of the coefficient buffer that each step is given."""
        places = self.listed.packed.astype(np.int64)
        return tuple(np.split(places, self.steps[:-1, PACKED])) if len(self.steps) else ()

    def instructions(self) -> tuple[Product | Euler | Fold, ...]:
        """Return the coefficient program."""
        return tuple(self._instruction(*row) for row in self.listed.program.tolist())

    def _instruction(
        self,
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
            return self.listed.places[begin:at].astype(np.int64).reshape(shape)

        if kind == PRODUCT:
            return Product(taken(count, blocks, size, size), taken(count, blocks, size, columns))
        if kind == EULER:
            return Euler(taken(count, 4), bool(blocks))
        words = -(-factors // 64)
        rows = self.listed.incidence[bits : bits + count * entries * words].reshape(count, entries, words)
        unpacked = np.unpackbits(rows.view(np.uint8), axis=-1, count=factors, bitorder="little")
        return Fold(unpacked.astype(np.float64), taken(count, factors))

    def _items(self, first: int, last: int) -> tuple[Item, ...]:
        return tuple(self._item(*row) for row in self.items[first:last].tolist())

    def _item(
        self,
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
        when, name = _when(mask, value), self._labels[label]
        if kind == PERMUTE:
            return Permute(self.bits(words, num_bits), when, self._values(to, num_bits), name)
        reads = self._reads(words, num_bits, num_reads)
        if kind == DIAGONAL:
            return Diagonal(reads, when, self._patterns[pattern], Slot(slot, count), name)
        return Mix(self.bits(words, num_bits), reads, when, self._patterns[pattern], Slot(slot, count), name)

    def bits(self, at: int, count: int) -> tuple[int, ...]:
        """Return index bits that stand as masks among the words."""
        return tuple([mask.bit_length() - 1 for mask in self.words[at : at + count].tolist()])

    def stored(self, tile: tuple[int, ...], at: int, count: int) -> tuple[int, ...]:
        """Return the map by which a sweep writes its tile, whose columns stand among the words; () for that of `loads`.

        They are those of the tile, or of all bits.
        """
        if count != len(tile):
            return self.loads(at, count)
        return columns_on(tile, self.words[at : at + count].tolist())

    def loads(self, at: int, count: int) -> tuple[int, ...]:
        """Return a map whose columns stand among the words; () if all bits stay."""
        return tuple(self.words[at : at + count].tolist())

    def _reads(self, at: int, num_bits: int, count: int) -> tuple[int, ...]:
        return tuple(self.words[at + 2 * num_bits : at + 2 * num_bits + count].tolist())

    def _values(self, at: int, num_bits: int) -> tuple[int, ...]:
        return tuple(self.values[at : at + (1 << num_bits)].tolist())

    @cached_property
    def keys(self) -> list[Key]:
        """For each sweep, by the number of its step, bytes that are equal exactly if sweeps are; () for other steps."""
        out = np.empty(4, dtype=np.int64)
        made = function("plan_keys")(self.handle, out.ctypes.data)
        try:
            words, count, ends, sweeps = out.tolist()
            whole = Memory(self, words, count, "i8").array().tobytes()
            bounds = [8 * end for end in [0, *Memory(self, ends, sweeps, "i8").array().tolist()]]
        finally:
            function("plan_free_keys")(made)
        parts = iter([whole[begin:end] for begin, end in pairwise(bounds)])
        return [next(parts) if kind == SWEEP else () for kind in self.steps[:, KIND].tolist()]

    @cached_property
    def _patterns(self) -> list[Pattern]:
        return _parts(self.patterns, self.pattern_ends, bytes)

    @cached_property
    def _labels(self) -> list[str]:
        return _parts(self.labels, self.label_ends, lambda text: str(text, "utf-8"))


def arrays_at(owner: object, names: tuple[tuple[str, str, int], ...], found: list[int]) -> list[NDArray[Any]]:
    """Return arrays in memory of native code, without copies.

    owner: keeps the memory. names: name, type, and integers of a row. found: address and length of each.
    """
    made = []
    for (_, kind, row), address, length in zip(names, found[::2], found[1::2], strict=True):
        array = Memory(owner, address, length * row, kind).array()
        made.append(array.reshape(-1, row) if row > 1 else array)
    return made


def _parts(data: NDArray[np.uint8], ends: NDArray[np.uint64], made: Callable[[bytes], Any]) -> list[Any]:
    """Return the byte strings that stand one behind the other."""
    whole, bounds = data.tobytes(), [0, *ends.tolist()]
    return [made(whole[begin:end]) for begin, end in pairwise(bounds)]


def _when(mask: int, value: int) -> When:
    return When(mask, value) if mask else ALWAYS


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
        put(self, "tile", wires_of(row[TILE]))
        put(self, "numbers", row[NUMBERS])
        put(self, "tables", row[TABLES])
        put(self, "fresh", row[FRESH])
        put(self, "load", self.arrays.loads(row[LOADS], row[LOAD_COUNT]))
        put(self, "store", self.arrays.stored(self.tile, row[WORDS], row[BITS]))
        return getattr(self, name)

    @property
    def register_blocks(self) -> tuple[RegisterBlock, ...]:
        """The register blocks, in order."""
        if self._blocks is None:
            assert self.arrays is not None
            begin, end = self.arrays.steps[self.number, BEGIN : END + 1].tolist()
            object.__setattr__(self, "_blocks", self.arrays.made_blocks(begin, end))
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


def arrays_of(steps: Sequence[Step]) -> PlanArrays | None:
    """Return the arrays of the compiled plan whose steps these are, all of them; None for others, and for stages."""
    first = next((step for step in steps if isinstance(step, PlannedSweep)), None)
    arrays = first.arrays if first else None
    if arrays is None or arrays.staged or len(steps) != len(arrays.steps):
        return None
    for number, step in enumerate(steps):
        if isinstance(step, PlannedSweep) and (step.arrays is not arrays or step.number != number):
            return None
    return arrays


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
            object.__setattr__(self, "_program", self.arrays.instructions())
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
            object.__setattr__(self, "_packed", self.arrays.packed_places())
        assert self._packed is not None
        return self._packed

    @packed.setter
    def packed(self, packed: tuple[Integers, ...]) -> None:
        object.__setattr__(self, "arrays", None)
        object.__setattr__(self, "_packed", packed)

    def __reduce__(self) -> tuple[object, ...]:
        """Copy and pickle them as plain numbers, as `PlannedSweep` is."""
        return Coefficients, (self.num_operands, self.program, self.packed)


# Users see what an object is, not how it was made.
PlannedSweep.__name__ = PlannedSweep.__qualname__ = "Sweep"
NativeCoefficients.__name__ = NativeCoefficients.__qualname__ = "Coefficients"
