"""The numbers of compiled trajectories: of the channels of a binding, and all its tables; see `trajectory_tables`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.circuit.kept import Kept
from qsim_ex.circuit.noise.readout import ReadoutErrors, matrix_of
from qsim_ex.circuit.parameters.bindings import Operands
from qsim_ex.kernels.cpu.trajectories import TrajectoryTables
from qsim_ex.observe.readout import read_ends
from qsim_ex.program.choices import Kraus, channels_of
from qsim_ex.program.program import Program
from qsim_ex.run.request import BatchInputs
from qsim_ex.run.trajectory_tables import (
    GATE,
    KIND,
    NUMBER,
    OUTCOME,
    READING,
    Complex,
    Floats,
    Integers,
    StepTable,
    steps_of,
)

ENTRIES, FLOATS, DEFAULT, SKIPS, WINDOW = 2, 4, 7, 8, 9
"""Columns of a channel: the places of its matrices and of its numbers, its likeliest matrix, whether that is 1, and
whether it has a window."""


BLOCK = 32
"""The steps of a block, as the kernel has it."""


_SKIPPED = 4e-16
"""A matrix that differs from 1 by no more than this, which is rounding, is not applied."""


_LIKELY = 0.5
"""The window of a channel that is looked at for events is at least this long."""


_NUMBER_WORK = 4
"""The work of a random number, in amplitudes that a gate multiplies."""


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


@Kept
def _streams(program: Program) -> NDArray[np.int64]:
    """Return the stream of random numbers of each choice."""
    return np.array([choice.stream for choice in program.choices], dtype=np.int64)


_NO_BLOCKS = np.zeros(0, dtype=np.int64)


class BindingTables:
    """The tables of the bindings of a unit; bindings with equal channels share theirs.

    windows: the number of choices whose random numbers are looked at for events. work: that of a shot, in about
    nanoseconds. columns: of outcomes.
    """

    def __init__(self, program: Program, num_wires: int, inputs: BatchInputs, operands: Operands) -> None:
        channels, _ = channels_of(program)
        kraus = {id(every): [every[one.number] for one in channels] for every in inputs.kraus}
        diagonal = tuple(all(some[k].diagonal for some in kraus.values()) for k in range(len(channels)))
        table = steps_of(program, diagonal, operands.shape[1])
        self._table = table
        self._program = program
        self._inputs = inputs
        self._operands = operands
        self._numbers = {key: numbers_of(table, some, operands.shape[1], inputs.readout) for key, some in kraus.items()}
        self.windows = max(len(one.order) for one in self._numbers.values())
        self.work = max(1, len(table.steps)) * (_NUMBER_WORK + (1 << num_wires))
        self.columns = table.columns
        self._num_wires = num_wires

    def _keys(self, binding: int) -> NDArray[np.uint64]:
        """Return the keys of the random numbers of a binding: of each choice, in its column, and then of each reading.

        This is the one place here that knows keys; those of the traversal are in `first_branches` and `Decider`.
        """
        table = self._table
        keys = np.zeros((table.columns + len(table.readings), 2), dtype=np.uint64)
        keys[:, 0] = self._inputs.seeds[binding]
        own, given = _streams(self._program), self._inputs.streams
        keys[: len(own), 1] = 1 + (own if given is None else np.array(given[binding])[own])
        keys[table.columns :, 1] = [self._inputs.reading_key(one) for one in table.readings]
        return keys

    def tables(self, binding: int, shots: int) -> TrajectoryTables:
        """Return the tables of a binding, for parts of about so many shots."""
        table, numbers, n = self._table, self._numbers[id(self._inputs.kraus[binding])], self._num_wires
        pays = n <= thresholds.now.block_wires and shots >= thresholds.now.block_shots << n
        return TrajectoryTables(
            {"num_wires": n, "columns": table.columns, "most": numbers.most},
            {
                "steps": table.steps,
                "channels": numbers.channels,
                "next_work": numbers.next_work,
                "blocks": numbers.blocks if pays else _NO_BLOCKS,
                "order": numbers.order,
                "ints": table.ints,
                "floats": numbers.floats,
                "m": matrices_of(table, numbers, self._operands[binding]),
                "keys": self._keys(binding),
                "defaults": numbers.defaults,
            },
        )
