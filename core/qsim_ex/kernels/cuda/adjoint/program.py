"""The program of a sweep for adjoint differentiation: that of the interpreter, with what its sums need.

Whether derivatives with respect to an operation's numbers are needed is a bit of its first word. Where threads look
numbers up in a table, the amplitudes of a tile that share a number have places that differ by the sums of some vectors
over GF(2); a record behind the program says which thread adds up which of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex.kernels.cuda.interpret.sweep_program import SweepProgram

Flags = NDArray[np.bool_]

COLLECTED = 128
"""The bit of an operation's first word that says that its sums are needed, as in adjoint_kernels/adjoint.cu."""

REGISTERS = 4
"""The bits of a register's number."""


class OpCode(IntEnum):
    """Operations, the first of each kind, as in interpreter_kernels/functions.cu."""

    END = 0
    EXCHANGE = 1
    FACTORS = 2
    TABLE = 3
    PHASE = 4
    FLIP = 16
    MIX_1 = 20
    REAL_1 = 24
    CROSSED_1 = 28
    MIX_2 = 32
    CROSSED_2 = 38
    BLOCK = 44
    ANY_1 = 45
    RENAME = 49


class WordPlace(IntEnum):
    """The places of words, in the head of a program and in an operation, as in interpreter_kernels/functions.cu."""

    AT = 1
    READS = 7
    THREADS = 8
    OWN = 12
    REST = 17
    SLOTS = 52
    HEAD = 65


_ADDED = 3
_NUMBERS = {
    OpCode.FACTORS: 32,
    OpCode.PHASE: 2,
    OpCode.FLIP: 0,
    OpCode.MIX_1: 8,
    OpCode.REAL_1: 4,
    OpCode.CROSSED_1: 4,
    OpCode.MIX_2: 32,
    OpCode.CROSSED_2: 16,
    OpCode.BLOCK: 512,
}
"""The real numbers of an operation that takes those that all amplitudes share."""

_LOOKED_UP = (OpCode.TABLE, OpCode.ANY_1)
"""Operations whose threads look numbers up in a table; tables are in the order of operations."""


_SELDOM = (OpCode.MIX_2, OpCode.CROSSED_2, OpCode.BLOCK, OpCode.ANY_1, OpCode.RENAME)


@dataclass(frozen=True, eq=False)
class AdjointProgram:
    """A sweep's program with marked operations, and records from word `records` on.

    collected: whether any derivative is needed. seldom: whether it needs the kernel that has all operations.
    """

    program: SweepProgram
    words: NDArray[np.uint32]
    records: int
    collected: bool
    seldom: bool


class _Operation(NamedTuple):
    """An operation: where its words begin, its kind, and where the slots of its amplitudes stand."""

    at: int
    kind: OpCode
    slots: int


def adjoint_program(program: SweepProgram, together: int, wanted: Flags) -> AdjointProgram:
    """Return the program that collects derivatives with respect to some packed numbers of a sweep.

    together: the real numbers that a kernel loads at a time, in which places are counted. wanted: which numbers.
    """
    words = program.words.copy()
    records: list[int] = []
    known = np.append(np.repeat(wanted, 2), [False] * 3)  # and the constants
    shared, tables = known.take(program.shared), known.take(program.tables)
    operations = list(_operations(words))
    begins = [2 * int(words[one.at + WordPlace.AT]) for one in operations if one.kind in _LOOKED_UP]
    ends = iter([*begins[1:], tables.size])
    for one in operations:
        first = int(words[one.at + WordPlace.AT])
        if one.kind in _LOOKED_UP:
            own = tables[2 * first : next(ends)]
        else:
            own = shared[together * first : together * first + _NUMBERS.get(one.kind, 0)]
        if own.any():
            words[one.at] |= COLLECTED
            if one.kind in _LOOKED_UP:
                records += _record(words, one, program.threads.bit_length() - 1)
    collected, seldom = bool(shared.any() or tables.any()), any(one.kind in _SELDOM for one in operations)
    return AdjointProgram(program, np.append(words, np.array(records, dtype=np.uint32)), len(words), collected, seldom)


def _operations(words: NDArray[np.uint32]) -> Iterator[_Operation]:
    """Yield all operations that take numbers."""
    at, slots = WordPlace.HEAD + (int(words[0]) & 0xFF) + _ADDED * (int(words[0]) >> 8), int(WordPlace.SLOTS)
    while True:
        code = int(words[at]) & 0xFF
        kind = max(op for op in OpCode if op <= code)
        match kind:
            case OpCode.END:
                return
            case OpCode.EXCHANGE:
                slots = at + 1
                at += 13
                continue
            case OpCode.PHASE | OpCode.FLIP:
                size = 7
            case OpCode.TABLE | OpCode.ANY_1 | OpCode.RENAME:
                size = WordPlace.REST + 3 * int(words[at + WordPlace.READS])
            case _:
                size = 2
        yield _Operation(at, kind, slots)
        at += size


def _record(words: NDArray[np.uint32], one: _Operation, lanes: int) -> list[int]:
    """Return the record of a table, see adjoint_kernels/collect.cu; lanes: the bits of a thread's number."""
    slots = words[one.slots : one.slots + 12].tolist()
    halves = words[one.at + WordPlace.THREADS : one.at + WordPlace.OWN + 2].view(np.uint16).tolist()
    columns = [(slots[k], halves[k]) for k in (*range(lanes), *range(8, 8 + REGISTERS))]
    kernel, image = _divided(columns)
    inside = min(len(image), lanes)
    idle = lanes - inside
    threads = [*((slot, 0) for slot in kernel[:idle]), *image[:inside]]
    loops = [*image[inside:], *((slot, 0) for slot in kernel[idle:])]
    packed = [slot | block << 16 for slot, block in [*threads, *[(0, 0)] * (8 - lanes), *loops]]
    return [*packed, idle | (len(image) - inside) << 8]


def _divided(columns: Sequence[tuple[int, int]]) -> tuple[list[int], list[tuple[int, int]]]:
    """Return slots whose sums read one block, and (slot, block) of slots whose blocks are independent."""
    kernel: list[int] = []
    image: dict[int, tuple[int, int]] = {}
    for slot, block in columns:
        for highest, (other, reached) in image.items():
            if block >> highest & 1:
                slot, block = slot ^ other, block ^ reached
        if block:
            image[block.bit_length() - 1] = slot, block
        else:
            kernel.append(slot)
    return kernel, list(image.values())
