"""The tables of compiled trajectories: the steps of a program, and the numbers of its bindings.

The steps are laid out once for a program. They are in the order in which `run.traversal` works and makes choices, so
that a seed gives the same shots: level by level, and at the end of a level first the choices that depend on populations
alone. The columns of all tables are those of `kernels.cpu.trajectories`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import ALWAYS, Initialize, Op, Permutation
from qsim_ex.observe.readout import matrix_of, read_ends
from qsim_ex.program.choices import Choice, Conditioned, Reading
from qsim_ex.program.kraus import Kraus, channels_of
from qsim_ex.program.program import Program, Work
from qsim_ex.run.work import BatchInputs

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Complex = NDArray[np.complex128]

GATE, PERMUTATION, INITIALIZE, CHOICE, READING = range(5)
"""Kinds of steps, as the kernel has them; it is not imported here, since it imports Numba."""

OUTCOME = 7
"""The column of a step with its condition, its column of outcomes, or its probabilities."""

_PROJECTIONS = np.array([1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0], dtype=np.complex128)
"""The matrices of a measurement and of a reset, which follow a circuit's operands."""

_SKIPPED = 4e-16
"""A matrix that differs from 1 by no more than this, which is rounding, is not applied."""

_LIKELY = 0.5
"""The window of a channel that is looked at for events is at least this long."""


@dataclass(frozen=True, eq=False, slots=True)
class StepTable:
    """The steps of a program.

    steps: [steps, 8]. ints: their integers. channels: a choice for each channel. readings: by number.
    columns: the number of columns of outcomes. choices: the steps that are choices, and the channel of each.
    """

    steps: Integers
    ints: Integers
    channels: tuple[Choice, ...]
    readings: tuple[Reading, ...]
    columns: int
    choices: Integers
    channel_of: Integers


@dataclass(frozen=True, eq=False, slots=True)
class ChannelTable:
    """The numbers of the channels of a binding.

    channels: [channels, 9]. floats: their numbers. order: the steps that are choices with a window. defaults: uint8
    [columns], the outcomes inside all windows. most: the largest number of matrices.
    """

    channels: Integers
    floats: Floats
    order: Integers
    defaults: NDArray[np.uint8]
    most: int


@lru_cache(maxsize=256)
def steps_of(program: Program, diagonal: tuple[bool, ...]) -> StepTable:
    """Return the steps of a program; diagonal: whether populations decide, for each channel of `channels_of`."""
    layout = _Layout(program)
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

    def __init__(self, program: Program) -> None:
        self._channels, self._numbers = channels_of(program)
        self._columns = len(program.choices) + program.readings
        self._rows: list[tuple[int, ...]] = []
        self._ints: list[int] = []
        self._places: dict[tuple[object, ...], int] = {}
        self._readings: list[Reading] = []
        self._choices: list[tuple[int, int]] = []

    def work(self, piece: Work | Choice | Conditioned) -> None:
        """Append an operation; the matrix of a choice that depends on the state was applied when it was made."""
        match piece:
            case Op():
                self._gate(piece, -1)
            case Conditioned(operation, sources, values):
                columns = [self._column(source) for source in sources]
                self._gate(operation, self._place((len(columns), *columns, len(values), *values)))
            case Permutation(wires, indices):
                self._row(PERMUTATION, 0, self._place((*_bits(wires), *indices)), len(wires))
            case Initialize(wires, operand):
                self._row(INITIALIZE, operand, self._place(_bits(wires)), len(wires))
            case Choice():
                if piece.mixed:
                    self.choice(piece)
            case _:
                assert_never(piece)

    def choice(self, choice: Choice) -> None:
        """Append a choice, which is made and applied at once."""
        channel = self._numbers[choice.number]
        self._choices.append((len(self._rows), channel))
        self._row(CHOICE, channel, self._place(_bits(choice.wires)), len(choice.wires), outcome=choice.number)

    def reading(self, reading: Reading) -> None:
        """Append a reading, whose key follows those of the choices."""
        columns = [self._column(one) for one in (*reading.sources, *reading.columns)]
        key = self._columns + len(self._readings)
        self._row(READING, key, self._place(tuple(columns)), len(reading.clbits))
        self._readings.append(reading)

    def table(self) -> StepTable:
        """Return all steps."""
        choices = np.array(self._choices, dtype=np.int64).reshape(-1, 2)
        return StepTable(
            np.array(self._rows, dtype=np.int64).reshape(-1, 8),
            np.array([*self._ints, 0], dtype=np.int64),
            self._channels,
            tuple(self._readings),
            self._columns,
            np.ascontiguousarray(choices[:, 0]),
            np.ascontiguousarray(choices[:, 1]),
        )

    def _gate(self, op: Op, condition: int) -> None:
        at = self._place((op.mixes, op.reads), (*_bits(op.mixes), *op.reads))
        mask, value = op.when
        self._rows.append((GATE, op.operand, at, len(op.mixes), len(op.reads), mask, value, condition))

    def _row(self, kind: int, number: int, at: int, wires: int, outcome: int = -1) -> None:
        self._rows.append((kind, number, at, wires, 0, *ALWAYS, outcome))

    def _column(self, source: int | None) -> int:
        """Return a column counted from the first one; −1 for a bit that is 0."""
        return -1 if source is None else source + self._columns if source < 0 else source

    def _place(self, key: tuple[object, ...], numbers: Sequence[int] | None = None) -> int:
        """Return where some integers are."""
        at = self._places.get(key)
        if at is None:
            at = self._places[key] = len(self._ints)
            self._ints += key if numbers is None else numbers  # type: ignore[arg-type]
        return at


@lru_cache(maxsize=4096)
def _bits(wires: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(1 << wire for wire in wires)


# --- numbers ----------------------------------------------------------------------------------------------------------


def matrices_of(operands: Complex) -> Floats:
    """Return the entries of all matrices of a binding, real and imaginary parts in turn."""
    return np.concatenate((operands, _PROJECTIONS)).view(np.float64)


def numbers_of(table: StepTable, kraus: Sequence[Kraus], num_operands: int) -> ChannelTable:
    """Return the numbers of the channels of a binding.

    kraus: the matrices of each channel of the table.
    """
    rows, pieces, at = [], [], 0
    for choice, one in zip(table.channels, kraus, strict=True):
        row, numbers = _packed(one, choice.mixed)
        kept = {"channel": choice.operand, "measure": num_operands, "reset": num_operands + 8}
        rows.append((row[0], kept[choice.kind], row[1], at, *row[2:]))
        pieces.append(numbers)
        at += len(numbers)
    channels = np.array(rows, dtype=np.int64).reshape(-1, 9)
    defaults = np.zeros(table.columns, dtype=np.uint8)
    defaults[table.steps[table.choices, OUTCOME]] = channels[table.channel_of, 6]
    order = table.choices[channels[table.channel_of, 8] == 0]
    most = int(channels[:, 0].max(initial=1))
    return ChannelTable(channels, np.concatenate([*pieces, np.zeros(1)]), order, defaults, most)


@lru_cache(maxsize=4096)
def _packed(kraus: Kraus, mixed: bool) -> tuple[tuple[int, ...], Floats]:
    """Return the row of a channel, without the places of its entries and numbers, and its numbers."""
    scales = np.maximum(kraus.mean, 1e-300) ** -0.5
    if mixed:
        order, lengths = np.arange(len(kraus.mean)), kraus.mean
        default = int(np.argmax(kraus.mean))
        ends = np.cumsum(kraus.mean)
        low, factor = (ends[default - 1] if default else 0.0), ends[-1]
        # Rounding never leads beyond the last matrix.
        high = np.inf if default == len(ends) - 1 else ends[default]
    else:
        order = np.argsort(-kraus.least, kind="stable")
        lengths = kraus.least[order]
        default, low, high, factor = int(order[0]), 0.0, lengths[0], 1.0
        ends = np.cumsum(lengths)
    count, size = kraus.gains.shape
    likely = lengths[default] / factor >= _LIKELY if mixed else lengths[0] >= _LIKELY
    scaled = kraus.matrices[default] * scales[default]
    skips = bool(np.abs(scaled - np.eye(size)).max() <= _SKIPPED)
    row = count, size, int(kraus.diagonal), int(mixed), default, int(skips), int(not likely)
    grams = kraus.grams.reshape(-1).view(np.float64)
    return row, np.concatenate(
        ([low, high, factor], ends, scales, kraus.least, order.astype(np.float64), kraus.gains.reshape(-1), grams)
    )


def with_readings(
    table: StepTable, numbers: ChannelTable, inputs: BatchInputs
) -> tuple[Integers, ChannelTable, tuple[int, ...]]:
    """Return the steps and numbers with the probabilities of all readings, and the keys of their random numbers."""
    steps, floats, most = table.steps.copy(), [numbers.floats], numbers.most
    at, keys = len(numbers.floats), []
    places = np.flatnonzero(steps[:, 0] == READING)
    for place, reading in zip(places, table.readings, strict=True):
        most = max(most, 1 << len(reading.clbits))
        keys.append(inputs.reading_key(reading))
        matrix = matrix_of(inputs.readout, reading.clbits, reading.measurement)
        if matrix is not None:
            steps[place, OUTCOME] = at
            floats += [read_ends(row) for row in matrix]
            at += matrix.size
    made = ChannelTable(numbers.channels, np.concatenate(floats), numbers.order, numbers.defaults, most)
    return steps, made, tuple(keys)
