"""The tables of compiled trajectories: the steps of a program, and the numbers of its bindings.

The steps are laid out once for a program. They are in the order in which `run.traversal` works and makes choices, so
that a seed gives the same shots: level by level, and at the end of a level first the choices that depend on populations
alone. The columns of all tables are those of `core/native/kernels/trajectories/trajectories.hpp`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, assert_never

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.circuit.noise.readout import ReadoutErrors, matrix_of
from qsim_ex.circuit.ops import ALWAYS, Initialize, Op, Permutation
from qsim_ex.observe.readout import read_ends
from qsim_ex.program.choices import Choice, Conditioned, Reading
from qsim_ex.program.kraus import Kraus, channels_of
from qsim_ex.program.program import Program, Work

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Complex = NDArray[np.complex128]

GATE, CHOICE, READING = range(3)
"""Kinds of steps, as the kernel has them."""

KIND, NUMBER, OUTCOME = 0, 1, 7
"""Columns of a step: its kind, its matrix or channel, and its condition, column of outcomes, or key."""

ENTRIES, FLOATS, DEFAULT, SKIPS, WINDOW = 2, 4, 7, 8, 9
"""Columns of a channel: the places of its matrices and of its numbers, its likeliest matrix, whether that is 1, and
whether it has a window."""

BLOCK = 32
"""The steps of a block, as the kernel has it."""

_WIDEST = 8
"""The wires of the widest operation, as the kernel has it."""

_SKIPPED = 4e-16
"""A matrix that differs from 1 by no more than this, which is rounding, is not applied."""

_LIKELY = 0.5
"""The window of a channel that is looked at for events is at least this long."""


@dataclass(frozen=True, eq=False, slots=True)
class StepTable:
    """The steps of a program.

    steps: [steps + 1, 8], the last of which is the end. ints: their integers. matrices: the entries
    of all permutations, which follow a circuit's operands. states: for each initialisation where its amplitudes are
    among the operands, how many there are, and where its matrix is. channels: a choice for each channel. readings: by
    number. choices: the steps that are choices. columns: the number of columns of outcomes.
    """

    steps: Integers
    ints: Integers
    matrices: Complex
    states: tuple[tuple[int, int, int], ...]
    channels: tuple[Choice, ...]
    readings: tuple[Reading, ...]
    choices: Integers
    columns: int


@dataclass(frozen=True, eq=False, slots=True)
class ChannelTable:
    """The numbers of the channels of a binding.

    channels: [channels, 10], those of readings last. floats: their numbers. entries: of their matrices. order: the
    steps that are choices with a window. next_work: for each step, and the end, the first one from there on that does
    something without an event, or where a block begins. blocks: where those begin that are certain without an event.
    defaults: uint8 [columns], the outcomes inside all windows. most: the largest number of
    outcomes of a step.
    """

    channels: Integers
    floats: Floats
    entries: Complex
    order: Integers
    next_work: Integers
    blocks: Integers
    defaults: NDArray[np.uint8]
    most: int


@thresholds.depends
@lru_cache(maxsize=256)
def pays(program: Program, num_wires: int) -> bool:
    """Return whether a program on so many wires is faster here than with plans, and can be run here."""
    work = [piece for level in program.levels for piece in level.work]
    most = thresholds.now
    if num_wires > most.measured_trajectory_wires and all(choice.kind != "channel" for choice in program.choices):
        return False
    if num_wires > most.trajectory_wires:
        asked = sum(choice.kind == "channel" and not choice.mixed for choice in program.choices)
        if num_wires > most.damped_trajectory_wires or most.pieces_for_a_question * asked < len(work):
            return False
    return max(map(_num_wires, work), default=0) <= _WIDEST


def _num_wires(piece: Work | Choice | Conditioned) -> int:
    """Return on how many wires a matrix of an operation is."""
    match piece:
        case Op():
            return len(piece.mixes)
        case Conditioned(operation):
            return len(operation.mixes)
        case _:
            return len(piece.wires)


@lru_cache(maxsize=256)
def steps_of(program: Program, diagonal: tuple[bool, ...], num_operands: int) -> StepTable:
    """Return the steps of a program.

    diagonal: whether probabilities depend on populations alone, for each channel of `channels_of`. num_operands: the
    number of the circuit's operands.
    """
    layout = _Layout(program, num_operands)
    numbers = channels_of(program)[1]
    for level in program.levels:
        for piece in level.work:
            layout.work(piece)
        later = []
        for choice in level.choices:
            if diagonal[numbers[choice.number]]:
                layout.choice(choice)
            else:
                later.append(choice)
        for choice in later:
            layout.choice(choice)
        for reading in level.readings:
            layout.reading(reading)
    return layout.table()


class _Layout:
    """Collects the rows of the steps, and their integers; equal groups of integers are kept once."""

    def __init__(self, program: Program, num_operands: int) -> None:
        self._channels, self._numbers = channels_of(program)
        self._columns = len(program.choices) + program.readings
        self._rows: list[tuple[int, ...]] = []
        self._ints: list[int] = []
        self._places: dict[object, int] = {}
        self._matrices: list[Complex] = []
        self._size = num_operands  # of all matrices so far
        self._states: list[tuple[int, int, int]] = []
        self._readings: list[Reading] = []
        self._outcomes = len(self._channels)  # the channels so far, with those of readings

    def work(self, piece: Work | Choice | Conditioned) -> None:
        """Append an operation; the matrix of a choice that depends on the state was applied when it was made."""
        match piece:
            case Op():
                self._gate(piece, -1)
            case Conditioned(operation, sources, values):
                columns = [self._column(source) for source in sources]
                self._gate(operation, self._place((len(columns), *columns, len(values), *values)))
            case Permutation(wires, indices):
                matrix = np.zeros((len(indices), len(indices)), dtype=np.complex128)
                matrix[list(indices), range(len(indices))] = 1
                self._row(GATE, self._keep(matrix), wires)
            case Initialize(wires, operand):  # they are |0⟩, so only the first column of a matrix matters
                size = 1 << len(wires)
                self._states.append((operand, size, self._size))
                self._row(GATE, self._keep(np.zeros((size, size), dtype=np.complex128)), wires)
            case Choice():
                if piece.mixed:
                    self.choice(piece)
            case _:
                assert_never(piece)

    def choice(self, choice: Choice) -> None:
        """Append a choice, which is made and applied at once."""
        self._row(CHOICE, self._numbers[choice.number], choice.wires, choice.number)

    def reading(self, reading: Reading) -> None:
        """Append a reading, whose key follows those of the choices; it has a channel for each true value."""
        columns = tuple([self._column(one) for one in (*reading.sources, *reading.columns)])
        key = self._columns + len(self._readings)
        wires = len(reading.clbits)
        self._rows.append((READING, self._outcomes, self._place(columns), wires, 0, *ALWAYS, key))
        self._outcomes += 1 << wires
        self._readings.append(reading)

    def table(self) -> StepTable:
        """Return all steps."""
        steps = np.array([*self._rows, (GATE, 0, 0, 0, 0, *ALWAYS, -1)], dtype=np.int64)
        return StepTable(
            steps=steps,
            ints=np.array(self._ints, dtype=np.int64),
            matrices=np.concatenate([np.zeros(0, dtype=np.complex128), *self._matrices]),
            states=tuple(self._states),
            channels=self._channels,
            readings=tuple(self._readings),
            choices=np.flatnonzero(steps[:, KIND] == CHOICE),
            columns=self._columns,
        )

    def _gate(self, op: Op, condition: int) -> None:
        key = op.mixes, op.reads
        at = self._places.get(key)
        if at is None:
            at = self._place((*[1 << wire for wire in op.mixes], *op.reads))
            self._places[key] = at
        mask, value = op.when
        self._rows.append((GATE, op.operand, at, len(op.mixes), len(op.reads), mask, value, condition))

    def _row(self, kind: int, number: int, wires: tuple[int, ...], outcome: int = -1) -> None:
        key = wires, ()
        at = self._places.get(key)
        if at is None:
            at = self._places[key] = self._place(tuple([1 << wire for wire in wires]))
        self._rows.append((kind, number, at, len(wires), 0, *ALWAYS, outcome))

    def _keep(self, matrix: Complex) -> int:
        """Return where a matrix is, after the operands."""
        self._matrices.append(matrix.reshape(-1))
        self._size += matrix.size
        return self._size - matrix.size

    def _column(self, source: int | None) -> int:
        """Return a column counted from the first one; −1 for a bit that is 0."""
        return -1 if source is None else source + self._columns if source < 0 else source

    def _place(self, numbers: tuple[int, ...]) -> int:
        """Return where some integers are."""
        self._ints += numbers
        return len(self._ints) - len(numbers)


# --- numbers ----------------------------------------------------------------------------------------------------------


def matrices_of(table: StepTable, numbers: ChannelTable, operands: Complex) -> Floats:
    """Return the entries of all matrices of a binding, real and imaginary parts in turn."""
    found = np.concatenate((operands, table.matrices, numbers.entries))
    for operand, size, at in table.states:
        found[at : at + size * size : size] = operands[operand : operand + size]
    return found.view(np.float64)


def numbers_of(table: StepTable, kraus: Sequence[Kraus], num_operands: int, readout: ReadoutErrors) -> ChannelTable:
    """Return the numbers of the channels of a binding; kraus: the matrices of each channel of the table."""
    packed = [_packed(one, choice.mixed) for choice, one in zip(table.channels, kraus, strict=True)]
    for reading in table.readings:
        matrix = matrix_of(readout, reading.clbits, reading.measurement)
        matrix = np.eye(1 << len(reading.clbits)) if matrix is None else matrix
        packed += [_read(row) for row in matrix]
    channels = np.array([one.row for one in packed], dtype=np.int64).reshape(-1, 10)
    at = num_operands + len(table.matrices)
    channels[:, ENTRIES] = at + _begins([one.entries for one in packed])
    channels[:, FLOATS] = _begins([one.floats for one in packed])
    of = table.steps[table.choices, NUMBER]
    windows = channels[of, WINDOW] == 1
    defaults = np.zeros(table.columns, dtype=np.uint8)
    defaults[table.steps[table.choices, OUTCOME]] = channels[of, DEFAULT]
    works = np.arange(len(table.steps))
    works[table.choices[windows & (channels[of, SKIPS] == 1)]] = len(table.steps) - 1
    uncertain = (table.steps[:, KIND] == READING) | ((table.steps[:, KIND] == GATE) & (table.steps[:, OUTCOME] >= 0))
    uncertain[table.choices[~windows]] = True
    whole = (len(uncertain) - 1) // BLOCK * BLOCK
    works[0:whole:BLOCK] = np.arange(0, whole, BLOCK)
    return ChannelTable(
        channels=channels,
        floats=np.concatenate([one.floats for one in packed]),
        entries=np.concatenate([one.entries for one in packed]),
        order=table.choices[windows],
        next_work=np.ascontiguousarray(np.minimum.accumulate(works[::-1])[::-1]),
        blocks=np.flatnonzero(~uncertain[:whole].reshape(-1, BLOCK).any(axis=1)) * BLOCK,
        defaults=defaults,
        most=int(channels[:, 0].max()),
    )


def _begins(pieces: Sequence[NDArray[np.generic]]) -> Integers:
    """Return where each of some arrays begins in their concatenation."""
    return np.cumsum([0, *[piece.size for piece in pieces[:-1]]])


class _Packed(NamedTuple):
    """The row of a channel in the table, with 0 for its places; its entries and its numbers."""

    row: tuple[int, ...]
    entries: Complex
    floats: Floats


@lru_cache(maxsize=4096)
def _packed(kraus: Kraus, mixed: bool) -> _Packed:
    """Return a channel of the table."""
    (count, size), (_, width) = kraus.gains.shape, kraus.entries.shape
    scales = np.maximum(kraus.mean, 1e-300) ** -0.5
    if mixed:
        order, ends = np.arange(count), np.cumsum(kraus.mean)
        default, factor = int(np.argmax(kraus.mean)), ends[-1]
        low = ends[default - 1] if default else 0.0
        high = np.inf if default == count - 1 else ends[default]  # rounding never leads beyond the last matrix
    else:
        order = np.argsort(-kraus.least, kind="stable")
        ends = np.cumsum(kraus.least[order])
        default, factor, low, high = int(order[0]), 1.0, 0.0, ends[0]
    window = min(high, factor) - low >= _LIKELY * factor
    skips = np.abs(kraus.matrices[default] * scales[default] - np.eye(size)).max() <= _SKIPPED
    row = count, size, 0, width, 0, int(kraus.diagonal), int(mixed), default, int(skips), int(window)
    floats = (
        *([low, high, factor], ends, scales, kraus.least, order.astype(np.float64)),
        *(kraus.gains.reshape(-1), kraus.grams.reshape(-1).view(np.float64)),
    )
    return _Packed(row, kraus.entries.reshape(-1), np.concatenate(floats))


def _read(row: Floats) -> _Packed:
    """Return the probabilities of what is read for a true value as a channel of the table, without matrices."""
    count = len(row)
    floats = np.concatenate(([0, 0, 1], read_ends(row), np.ones(count), np.zeros(count), np.arange(count)))
    return _Packed((count, 0, 0, 0, 0, 1, 1, 0, 0, 0), np.zeros(0, dtype=np.complex128), floats)
