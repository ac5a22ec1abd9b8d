"""The table of a noisy circuit of a few wires: what each of its operations does to a density matrix.

The columns are those of `core/native/kernels/narrow_density.cpp`. A circuit that repeats an instruction, as noise does,
has the same object many times, so that each distinct one is looked at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.circuit.bits import gathered, spread
from qsim_ex.circuit.ops import (
    Channel,
    Initialize,
    Instruction,
    Measure,
    Op,
    Permutation,
    Reset,
    When,
    mask_of,
    wires_of,
)
from qsim_ex.circuit.structure import Structure
from qsim_ex.kernels.cpu.narrow_density import pauli_transfer
from qsim_ex.program.program import Program

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Complex = NDArray[np.complex128]

MOST_ACTED_ON = 3
"""The most wires of one operation, as the kernel has it."""

IS_ONE, IS_ZERO = -1, -2
"""Entries of a gate's matrix that are no operands, as the kernel has them."""

_RESET = np.array([[[1, 0], [0, 0]], [[0, 1], [0, 0]]], dtype=np.complex128)


@dataclass(frozen=True, slots=True)
class ChannelAt:
    """A channel of a table, which several operations may have.

    It is the place of its `count` matrices among the operands, and its wires' order: for each wire of the table's
    operation, which wire of the channel it is. A reset has no operands.
    """

    operand: int
    count: int
    order: tuple[int, ...]


@dataclass(frozen=True, eq=False, slots=True)
class DensityTable:
    """What a circuit does to a density matrix.

    wires: those that are not idle, ascending; all numbers of wires below are places in it. ops: [ops, 6], and steps:
    the numbers of the operations in their order; forms: of the gates' matrices. channels: by number.
    program: the circuit without its operations.
    """

    wires: tuple[int, ...]
    ops: Integers
    steps: NDArray[np.int32]
    forms: Integers
    channels: tuple[ChannelAt, ...]
    program: Program

    def transfers(self, operands: Complex) -> tuple[Floats, Integers]:
        """Return the transfer matrices of all channels, one after another, and where they begin, [bindings, channels].

        operands: [bindings, total].
        """
        known: dict[bytes | int, tuple[int, Floats]] = {}
        at = np.zeros((len(operands), len(self.channels)), dtype=np.int64)
        size = 0
        for number, one in enumerate(self.channels):
            width = one.count * 4 ** len(one.order)
            for binding, row in enumerate(operands):
                data = row[one.operand : one.operand + width].tobytes() if one.count else b""
                key = data + bytes(one.order)
                found = known.get(key)
                if found is None:
                    found = known[key] = size, _transfer(data, one.count, one.order)
                    size += found[1].size
                at[binding, number] = found[0]
        return np.concatenate([np.zeros(0), *[matrix.reshape(-1) for _, matrix in known.values()]]), at


@lru_cache(maxsize=4096)
def _transfer(data: bytes, count: int, order: tuple[int, ...]) -> Floats:
    """Return a channel's transfer matrix for the bytes of its matrices; cached, since noise repeats itself."""
    if not count:
        return pauli_transfer(_RESET)
    size = 1 << len(order)
    matrices = np.frombuffer(data, dtype=np.complex128).reshape(count, size, size)
    moved = [spread(value, order) for value in range(size)]
    return pauli_transfer(matrices[:, moved][:, :, moved])


@thresholds.depends
@lru_cache(maxsize=1024)
def table_of(structure: Structure) -> DensityTable | None:
    """Return the table of a circuit with channels; None for circuits whose shots are run as trajectories.

    Those have too many wires, or measure on the way; or they save or set states, or have no channels.
    """
    instructions = structure.instructions
    kinds = [*map(type, instructions)]
    if Channel not in kinds or not {*kinds} <= {Op, Permutation, Initialize, Measure, Channel, Reset}:
        return None
    places = [*map(id, instructions)]
    distinct = dict(zip(places, instructions, strict=True))
    live = _live_wires(distinct.values())
    measured = _measured(instructions[kinds.index(Measure) :]) if Measure in kinds else {}
    if live is None or measured is None:
        return None
    layout = _TableRows(live)
    try:
        numbers = {place: layout.numbers(instruction) for place, instruction in distinct.items()}
    except _TooWide:
        return None
    steps = chain.from_iterable(map(numbers.__getitem__, places))
    return DensityTable(
        wires=live,
        ops=np.array(layout.rows, dtype=np.int64).reshape(-1, 3 + MOST_ACTED_ON),
        steps=np.fromiter(steps, dtype=np.int32),
        forms=np.array(layout.forms, dtype=np.int64),
        channels=tuple(layout.channels),
        program=_program(measured, Measure in kinds),
    )


def _live_wires(instructions: Iterable[Instruction]) -> tuple[int, ...] | None:
    """Return the wires that some operation may take out of |0⟩, None if there are too many."""
    live = 0
    for instruction in instructions:
        if isinstance(instruction, Op):
            live |= mask_of(instruction.mixes)
        elif isinstance(instruction, Permutation | Initialize | Channel):
            live |= mask_of(instruction.wires)
        if live.bit_count() > thresholds.now.narrow_density_wires:
            return None
    return wires_of(live)


def _measured(instructions: Sequence[Instruction]) -> dict[int, int] | None:
    """Return the wire of each classical bit that is measured, None if something acts on a wire after its measurement.

    instructions: from the first measurement on.
    """
    found: dict[int, int] = {}
    measured = 0
    for instruction in instructions:
        if isinstance(instruction, Measure):
            found.update(zip(instruction.clbits, instruction.wires, strict=True))
            measured |= mask_of(instruction.wires)
        elif instruction.acts_on & measured:
            return None
    return found


class _TooWide(Exception):
    """An operation acts on more wires than the kernel can multiply."""


class _TableRows:
    """Collects the rows of the operations, the forms of their matrices, and their channels."""

    def __init__(self, live: tuple[int, ...]) -> None:
        self.rows: list[tuple[int, ...]] = []
        self.forms: list[int] = []
        self.channels: dict[ChannelAt, int] = {}  # and the number of each
        self._place = {wire: place for place, wire in enumerate(live)}
        self._idle = ~mask_of(live)
        self._known: dict[object, tuple[tuple[int, ...], int] | None] = {}  # wires and form of a gate without numbers

    def numbers(self, instruction: Instruction) -> tuple[int, ...]:
        """Return the numbers of the operations of an instruction; raises `_TooWide`."""
        match instruction:
            case Op(mixes, reads, when, _, operand):
                key = mixes, reads, when
                if key not in self._known:
                    self._known[key] = self._gate(mixes, reads, when)
                known = self._known[key]
                return () if known is None else self._row(*known, operand)
            case Permutation(wires, indices):
                return self._row(*self._permutation(wires, indices), 0)
            case Initialize(wires, operand):
                return self._row(*self._initialize(wires), operand)
            case Channel(wires, count, operand):
                return self._channel(wires, count, operand)
            case Reset(wires):
                live = [wire for wire in wires if wire in self._place]
                return tuple(chain.from_iterable(self._channel((wire,), 0, 0) for wire in live))
            case _:  # a measurement, at the end
                return ()

    def _row(self, wires: Sequence[int], form: int, number: int) -> tuple[int]:
        on = [self._place[wire] for wire in wires]
        self.rows.append((len(on), *on, *[0] * (MOST_ACTED_ON - len(on)), form, number))
        return (len(self.rows) - 1,)

    def _channel(self, wires: tuple[int, ...], count: int, operand: int) -> tuple[int]:
        self._check_width(len(wires))
        ascending = sorted(wires)
        channel = ChannelAt(operand, count, tuple(map(wires.index, ascending)))
        return self._row(ascending, -1, self.channels.setdefault(channel, len(self.channels)))

    def _gate(self, mixes: tuple[int, ...], reads: tuple[int, ...], when: When) -> tuple[tuple[int, ...], int] | None:
        """Return the wires of a gate and the place of its form; None if it does nothing: idle wires are 0."""
        if when.value & self._idle:
            return None
        acted = (mask_of(mixes) | when.mask | _union(reads)) & ~self._idle
        wires = wires_of(acted)
        self._check_width(len(wires))
        form, size, mixed = [IS_ZERO] * 4 ** len(wires), 1 << len(wires), mask_of(mixes)
        for column in range(size):
            value = spread(column, wires)
            if value & when.mask != when.value:
                form[column * size + column] = IS_ONE
                continue
            block = sum(((value & read).bit_count() & 1) << k for k, read in enumerate(reads))
            at = gathered(value, mixes)
            for to in range(1 << len(mixes)):
                row = gathered(value & ~mixed | spread(to, mixes), wires)
                form[row * size + column] = (block << len(mixes) | to) << len(mixes) | at
        return (wires, self._keep(form)) if wires else None

    def _permutation(self, wires: tuple[int, ...], indices: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
        ascending, size = self._ascending(wires), len(indices)
        form = [IS_ZERO] * size**2
        for value, moved in enumerate(indices):
            row, column = (gathered(spread(one, wires), ascending) for one in (moved, value))
            form[row * size + column] = IS_ONE
        return ascending, self._keep(form)

    def _initialize(self, wires: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
        """Return a matrix whose first column is the state; the others do not matter, since the wires are |0⟩."""
        ascending, size = self._ascending(wires), 1 << len(wires)
        form = [IS_ZERO] * size**2
        for value in range(size):
            form[gathered(spread(value, wires), ascending) * size] = value
        return ascending, self._keep(form)

    def _ascending(self, wires: tuple[int, ...]) -> tuple[int, ...]:
        self._check_width(len(wires))
        return tuple(sorted(wires))

    def _check_width(self, wires: int) -> None:
        if wires > MOST_ACTED_ON:
            raise _TooWide

    def _keep(self, form: list[int]) -> int:
        self.forms += form
        return len(self.forms) - len(form)


def _union(masks: Iterable[int]) -> int:
    found = 0
    for mask in masks:
        found |= mask
    return found


def _program(measured: dict[int, int], measures: bool) -> Program:
    """Return a program of measurements alone, by which requests are checked and results are collected."""
    return Program(levels=(), make_nodes=tuple, measured=measured, has_measurement=measures, touched=int)
