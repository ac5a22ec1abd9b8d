"""The tables of compiled trajectories: the steps of a program, and the numbers of its bindings.

The steps are laid out once for a program. They are in the order in which `run.traversal` works and makes choices, so
that a seed gives the same shots: level by level, and at the end of a level first the choices that depend on populations
alone. The columns of all tables are those of `core/native/kernels/trajectories/trajectories.hpp`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.kept import Kept
from qsim_ex.circuit.ops import ALWAYS, Initialize, Op, Permutation
from qsim_ex.program.choices import Choice, Conditioned, Reading, channels_of
from qsim_ex.program.program import Program, Work

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Complex = NDArray[np.complex128]

GATE, CHOICE, READING = range(3)
"""Kinds of steps, as the kernel has them."""

KIND, NUMBER, OUTCOME = 0, 1, 7
"""Columns of a step: its kind, its matrix or channel, and its condition, column of outcomes, or key."""


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


@Kept
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
