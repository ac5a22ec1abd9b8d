"""The arrays of a plan that native code made: its steps, items and numbers as integers, and where each begins.

Most runs on a CPU read nothing else: native code takes the arrays. `compiled` makes objects of them on demand.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Hashable
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import Pattern
from qsim_ex.native.library import function, integers
from qsim_ex.steps.algebra import columns_on

Integers = NDArray[np.int64]
Key = Hashable
"""What a sweep's kernels are known by; see `compiled.key_of`."""

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

_NUMBERS = {name: number for number, (name, _, _) in enumerate(NAMES)}
_ROW_BYTES = [int(kind[1:]) * row for _, kind, row in NAMES]

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
ITEM_KIND, ITEM_READS = 0, 2
SWEEP, _, BASIS_PERMUTATION, INITIAL_AMPLITUDES, ZERO_FILL = range(5)
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
    others: how many steps are no sweeps.
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
        self, owner: Owner, handle: int, found: list[int], num_operands: int, size: int, program_bytes: int, others: int
    ) -> None:
        self.owner, self.handle, self.others = owner, handle, others
        self.num_operands = num_operands
        self.size = size
        self.staged = False
        self.num_steps = found[1]
        self._found, self._program_bytes = found, program_bytes

    def __getattr__(self, name: str) -> NDArray[Any]:
        """Return an array of `NAMES`, which is made when it is first asked for: a first run reads few of them."""
        if (number := _NUMBERS.get(name)) is None:
            raise AttributeError(name)
        (made,) = arrays_at(self.owner, (NAMES[number],), self._found[2 * number : 2 * number + 2])
        self.__dict__[name] = made
        return made

    def bits_of(self, name: str) -> tuple[int, ...]:
        """Return the index bits in `start` or `end`, without an array of NumPy, which takes ten times as long."""
        at, count = self._found[2 * _NUMBERS[name] :][:2]
        return struct.unpack(f"{count}i", ctypes.string_at(at, 4 * count))

    @property
    def bytes(self) -> int:
        """The bytes of all arrays, and of the coefficient program."""
        return self._program_bytes + sum([row * rows for row, rows in zip(_ROW_BYTES, self._found[1::2], strict=True)])

    @cached_property
    def sweep_places(self) -> dict[int, int]:
        """The place of each sweep among all sweeps, by the number of its step."""
        if not self.others:
            return {number: number for number in range(self.num_steps)}
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

    @cached_property
    def keys(self) -> list[Key]:
        """For each sweep, by the number of its step, bytes that are equal exactly if sweeps are; () for other steps."""
        made = function("plan_keys")(self.handle, out := integers(4))
        try:
            words, count, ends, sweeps = out
            whole = Memory(self, words, count, "i8").array().tobytes()
            bounds = [8 * end for end in [0, *Memory(self, ends, sweeps, "i8").array().tolist()]]
        finally:
            function("plan_free_keys")(made)
        parts = iter([whole[begin:end] for begin, end in pairwise(bounds)])
        return [next(parts) if kind == SWEEP else () for kind in self.steps[:, KIND].tolist()]

    @cached_property
    def pattern_of(self) -> list[Pattern]:
        """The patterns of matrices, by the numbers that items name."""
        return _parts(self.patterns, self.pattern_ends, bytes)

    @cached_property
    def labelled(self) -> list[str]:
        """The labels, by the numbers that steps and items name."""
        return _parts(self.labels, self.label_ends, lambda text: str(text, "utf-8"))

    def reads(self, at: int, num_bits: int, count: int) -> tuple[int, ...]:
        """Return parities that stand among the words behind `num_bits` directions and as many parities."""
        return tuple(self.words[at + 2 * num_bits : at + 2 * num_bits + count].tolist())

    def permuted(self, at: int, num_bits: int) -> tuple[int, ...]:
        """Return a permutation of the values of some bits."""
        return tuple(self.values[at : at + (1 << num_bits)].tolist())


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
