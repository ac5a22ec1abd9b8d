"""`make_plan` in native code, for a state on one device: core/native/plan.cpp, which reads like the Python here.

The instructions become arrays, native code works for some milliseconds at a time, so that Ctrl-C and `cancel` end it,
and its arrays become a `Plan` without being copied.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import ALWAYS, Initialize, Op, Permutation, mask_of
from qsim_ex.errors import NotSupported, PlanError
from qsim_ex.native.library import function
from qsim_ex.planning.cancellation import check_cancelled
from qsim_ex.planning.ordering import TRIES
from qsim_ex.planning.rewrite.absorb import Unitary
from qsim_ex.steps.compiled import NAMES, NativeNumbers, PlanArrays
from qsim_ex.steps.layout import Layout, Levels, Shape
from qsim_ex.steps.plan import Plan, Stage

MOST_WIRES = 62
"""Masks of more index bits do not fit into the integers of native code."""

_SLICE = 50
"""Milliseconds for which native code plans before it returns to Python."""

_UNBOUNDED = -1
_TOO_LARGE = -2

Integers = NDArray[np.int64]


def compiled_plan(
    instructions: tuple[Unitary, ...],
    num_wires: int,
    start: Layout,
    shape: Shape,
    fresh: int,
    place: bool,
) -> Plan:
    """Return the plan of `make_plan` for a state on one device. `shape` is fitted to it by this function."""
    fitted = shape.fit(num_wires)
    known = _Instructions.of(instructions)
    tries = place and fresh == (1 << num_wires) - 1 and fitted.tile < num_wires
    lows = np.array(_lows(num_wires, fitted.low) if tries else (), dtype=np.int64)
    address = np.array(start.address, dtype=np.int64)
    given = np.array(
        [
            *known.given(),
            *(fitted.tile, fitted.near, fitted.low, fitted.edge),
            *(_UNBOUNDED if fitted.phases is None else fitted.phases, fitted.dense, fitted.table, fitted.start),
            *(fitted.blocks_from, fitted.block is not None),
            *(num_wires, address.ctypes.data, start.flip, fresh, lows.ctypes.data, len(lows)),
        ],
        dtype=np.int64,
    )
    rates = np.array([fitted.item_work, fitted.balance, fitted.block or 0.0])
    planner = _Planner(_calls(), given, rates)
    planner.run()
    arrays, (flip, end_flip, reordered) = planner.arrays()
    moved = Layout(tuple(arrays.start.tolist()), flip) if reordered else start
    steps = tuple([arrays.step(number) for number in range(len(arrays.steps))])
    return Plan(
        num_wires=num_wires,
        stages=(Stage(steps, fresh=fresh),) if steps else (),
        start=moved,
        end=Layout(tuple(arrays.end.tolist()), end_flip),
        numbers=NativeNumbers.of(arrays),
        shape=fitted,
        num_gates=len(instructions),
        made_from=(instructions, num_wires, start, shape, fresh, *((place,) if reordered else ())),
        levels=Levels(num_wires),
        fresh=fresh,
    )


class _Planner:
    """A planner in native code, and the memory of the arrays that it makes."""

    def __init__(self, calls: _Calls, given: Integers, rates: NDArray[np.float64]) -> None:
        self._calls = calls
        self.handle = calls.begin(given.ctypes.data, rates.ctypes.data)

    def run(self) -> None:
        """Plan to the end; raises `NotSupported` for too many numbers, `PlanError` for a plan that would never end."""
        while (state := self._calls.advance(self.handle, _SLICE)) > 0:
            check_cancelled()  # and here Python looks for Ctrl-C
        if state == _TOO_LARGE:
            raise NotSupported(
                f"expected a circuit whose matrices and their products have at most {1 << 32} entries, got more; "
                "divide it into several circuits."
            )
        if state < 0:
            raise PlanError(
                "expected a sweep to run some of its work, got none. This is a bug of qsim-ex; please report it."
            )

    def arrays(self) -> tuple[PlanArrays, tuple[int, int, int]]:
        """Return the arrays, which keep this object, and the flips of both layouts; and whether wires were moved."""
        out = np.empty(2 * len(NAMES) + 4, dtype=np.int64)
        self._calls.arrays(self.handle, out.ctypes.data)
        *found, flip, end_flip, num_operands, reordered = out.tolist()
        return PlanArrays(self, found, num_operands), (flip, end_flip, reordered)

    def __del__(self) -> None:
        self._calls.free(self.handle)


class _Calls(NamedTuple):
    """The functions of core/native/plan.cpp."""

    begin: Callable[..., int]
    advance: Callable[..., int]
    arrays: Callable[..., int]
    free: Callable[..., int]


@lru_cache(maxsize=1)
def _calls() -> _Calls:
    return _Calls(
        function("plan_begin", "pp"),
        function("plan_advance", "ii"),
        function("plan_arrays", "ip"),
        function("plan_free", "i"),
    )


class _Instructions(NamedTuple):
    """Instructions as arrays, in the order of `qx_plan_begin`."""

    kind: Integers
    num_mixes: Integers
    mixes: Integers
    num_reads: Integers
    reads: Integers
    when: Integers
    pattern: Integers
    name: Integers
    operand: Integers
    unitary: Integers
    patterns: tuple[Integers, Integers]
    names: tuple[Integers, Integers]

    @classmethod
    def of(cls, instructions: tuple[Unitary, ...]) -> _Instructions:
        """Return the arrays of some instructions.

        Every column is read by one pass in compiled code: a million gates take less than a second.
        """
        kinds, ops = _as_ops(instructions)
        count = len(ops)
        size = len(Op._fields)
        fields: list[Any] = list(chain.from_iterable(ops))
        mixes, reads, when, patterns, operands, names, unitary = (fields[place::size] for place in range(size))
        pattern_of, known_patterns = _numbered(patterns)
        name_of, known_names = _numbered(names)
        lengths, read_lengths = _column(map(len, mixes), count), _column(map(len, reads), count)
        return cls(
            kinds,
            lengths,
            _column(chain.from_iterable(mixes), int(lengths.sum())),
            read_lengths,
            _column(chain.from_iterable(reads), int(read_lengths.sum())),
            _column(chain.from_iterable(when), 2 * count),
            pattern_of,
            name_of,
            _column(operands, count),
            _column(unitary, count),
            _joined(known_patterns),
            _joined([name.encode() for name in known_names]),
        )

    def given(self) -> list[int]:
        """Return the number of instructions, and the address of each array; of strings their number, too."""
        *columns, patterns, names = self
        addresses = [column.ctypes.data for column in columns]
        strings = [[data.ctypes.data, ends.ctypes.data, len(ends)] for data, ends in (patterns, names)]
        return [len(self.kind), *addresses, *strings[0], *strings[1]]


_OP, _PERMUTATION, _INITIALIZE = range(3)


def _as_ops(instructions: tuple[Unitary, ...]) -> tuple[Integers, Sequence[Op]]:
    """Return the kind of each instruction, and all as operations: the indices of a permutation are its reads."""
    kinds = np.zeros(len(instructions), dtype=np.int64)
    types = set(map(type, instructions))
    if types <= {Op}:
        return kinds, instructions  # type: ignore[return-value]
    ops = []
    for number, instruction in enumerate(instructions):
        match instruction:
            case Op():
                ops.append(instruction)
            case Permutation(wires, indices):
                kinds[number] = _PERMUTATION
                ops.append(Op(wires, indices, ALWAYS, b"", 0, "permutation"))
            case Initialize(wires, operand):
                kinds[number] = _INITIALIZE
                ops.append(Op(wires, (), ALWAYS, b"", operand, "initialize"))
    return kinds, ops


def _column(values: Any, count: int) -> Integers:
    return np.fromiter(values, dtype=np.int64, count=count)


def _numbered(values: Sequence[Any]) -> tuple[Integers, list[Any]]:
    """Return the number of each value among the distinct ones, and these."""
    distinct = dict.fromkeys(values)
    number = dict(zip(distinct, range(len(distinct)), strict=True))
    return _column(map(number.__getitem__, values), len(values)), list(distinct)


def _joined(parts: Sequence[bytes]) -> tuple[Any, Integers]:
    """Return byte strings one behind the other, and where each ends."""
    return np.frombuffer(b"".join(parts) or b"\0", dtype=np.uint8), np.cumsum(
        [len(part) for part in parts], dtype=np.int64
    )


@lru_cache(maxsize=64)
def _lows(num_bits: int, low: int) -> tuple[int, ...]:
    """Return the choices of the lowest bits that `ordering.reorder` tries."""
    chance = random.Random(0)
    return tuple(mask_of(tuple(chance.sample(range(num_bits), low))) for _ in range(TRIES))
