"""Trajectories of narrow states on the CPU: all shots of a program in compiled code, without segments and plans.

A plan pays for itself where a state is large, or where many states pass a step together. For a state of a few
wires, and choices after every gate, it costs more than the run. So here the program becomes a table of steps
(`trajectory_tables`), and `kernels.cpu.trajectories` runs all shots through it. Random numbers have the keys that
they have in `run.traversal`, and choices are made in the same order: a seed gives the same shots.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from time import perf_counter
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.parameters.bindings import Operands
from qsim_ex.deployment.assign import Assignment
from qsim_ex.devices.cpu.batch import CpuBatches
from qsim_ex.execution.progress import Ticker
from qsim_ex.kernels.cpu import pool
from qsim_ex.options import Options
from qsim_ex.placement.batch import Batch, BatchDevice
from qsim_ex.placement.deployment import Deployment
from qsim_ex.program.kraus import BLOCK, STEP, channels_of
from qsim_ex.program.program import Program
from qsim_ex.run import trajectory_tables as tables
from qsim_ex.run.branches import Branches
from qsim_ex.run.collector import Collects
from qsim_ex.run.request import Request
from qsim_ex.run.work import BatchInputs, WorkUnit
from qsim_ex.run.worker import WorkQueue
from qsim_ex.steps.layout import Layout
from qsim_ex.steps.plan import Plan

DESCRIPTION = (
    "so few wires run as compiled trajectories: gate by gate, from one random outcome to the next; the plans below are "
    "not followed, they are those of a run with saves or a checkpoint, or on a GPU"
)
"""What `explain` says of a circuit that is run here."""

_UNIT_BYTES = 1 << 25
"""The bytes of states and outcomes of one unit of work."""

_CALL_WORK = 1 << 28
"""The most work of one call, in about nanoseconds; Ctrl-C waits for it."""

_CALL_EVENTS = 1 << 22
"""The most random numbers that one call may keep as events."""

_ALONE = 1 << 25
"""The work below which other threads do not pay: they wait for the interpreter, which changes threads after 5 ms."""

_NUMBER_WORK = 4
"""The work of a random number, in amplitudes that a gate multiplies."""

_BLOCK_WIRES = 3
"""The widest states of which blocks of steps are one matrix; of wider ones the steps are faster."""

_BLOCK_SHOTS = 8
"""The shots for each column of a block's matrix for which making it pays."""

_enabled = True
"""Tests of the general way set this to False."""


def suits(program: Program, device: object, deployment: Deployment, options: Options) -> bool:
    """Return whether the trajectories of a program are run here, and not by `run.traversal`.

    Saves, states that are set, and checkpoints of states in progress are about states between two steps, which only the
    traversal has, as it has bits that are given.
    """
    return (
        _enabled
        and bool(program.choices)
        and program.only_work_and_choices
        and not program.given
        and options.checkpoint is None
        and deployment.in_one_piece
        and deployment.num_wires <= tables.MOST_WIRES
        and isinstance(device, CpuBatches)
    )


class TrajectoryMachine:
    """Simulates the trajectories of one program; it has no plans, and in all else it answers as `machine.Machine`.

    rows: the number of shots at a time. run_seconds: the time in compiled code so far.
    """

    plans: tuple[Plan, ...] = ()
    batched = True
    bytes_moved = 0
    prepare_seconds = 0.0

    def __init__(self, where: Assignment, program: Program, options: Options, states: int) -> None:
        self.where = where
        self.run_seconds = 0.0
        self.dtype: np.dtype[Any] = options.dtype
        self.num_wires = where.deployment.num_wires
        each = (16 << self.num_wires) + len(program.choices) + program.readings
        self.rows = max(STEP, min(states, BLOCK, _UNIT_BYTES // each))

    def worker(
        self, program: Program, request: Request, collector: Collects, ticker: Ticker, count: int
    ) -> TrajectoryWorker:
        """Return a worker for this machine; count: the number of all bindings."""
        return TrajectoryWorker(self, program, request, collector, ticker, count)


class TrajectoryWorker:
    """Runs units of work in compiled code, and passes their final states to the collector.

    most_rows: the largest number of states at a time. states: the number of all final states.
    """

    def __init__(
        self,
        machine: TrajectoryMachine,
        program: Program,
        request: Request,
        collector: Collects,
        ticker: Ticker,
        count: int,
    ) -> None:
        self.machine = machine
        self.most_rows = 0
        self.states = 0
        self._program = program
        self._request = request
        self._collector = collector
        self._ticker = ticker
        self._threads = cast(Any, machine.where.device).threads
        if ticker.reports:  # a trajectory is one step
            ticker.expect(count * request.trajectories, (1,), lambda: 0)

    def __call__(self, queue: WorkQueue, seeds: Sequence[int]) -> None:
        """Run units of work until none is left; after an error or Ctrl-C no worker begins another one."""
        try:
            while (found := queue.next()) is not None:
                unit, operands = found
                mine = seeds[unit.begin : unit.end]
                inputs = BatchInputs.of(self._program, operands, mine, unit, self._request)
                self._finish(unit, inputs, self._run(unit, inputs, operands))
        except BaseException:
            queue.end()
            raise

    def _finish(self, unit: WorkUnit, inputs: BatchInputs, groups: Sequence[_Groups]) -> None:
        """Pass the final states of all groups to the collector, as states with one branch in each row."""
        device, n = cast(BatchDevice, self.machine.where.device), self.machine.num_wires
        counts = [len(one.states) for one in groups]
        rows = sum(counts)
        # Amplitudes are computed in complex128, whatever the precision: narrow states are bound by latency.
        states = np.concatenate([one.states for one in groups]).astype(self.machine.dtype, copy=False)
        buffer = device.allocate(rows << n, self.machine.dtype)
        device.write(buffer, 0, states.reshape(-1))
        shots = np.concatenate([one.shots for one in groups])
        sizes = np.concatenate([one.counts for one in groups])
        shots = shots[np.lexsort((shots, np.repeat(np.arange(rows), sizes)))]  # ascending in each branch
        begins = np.concatenate(([0], np.cumsum(sizes)))
        outcomes = np.concatenate([one.outcomes for one in groups])
        binding = np.repeat([one.binding for one in groups], counts)
        scales = np.broadcast_to(1.0, outcomes.shape)  # they are in the states already
        branches = Branches(binding, shots, begins, outcomes, scales, np.arange(rows))
        batch = Batch.over(device, buffer, Layout.identity(n))
        self.most_rows, self.states = max(self.most_rows, rows), self.states + rows
        try:
            self._collector.finish(unit, inputs, batch, branches)
        finally:
            batch.release()

    def _run(self, unit: WorkUnit, inputs: BatchInputs, operands: Operands) -> list[_Groups]:
        """Run all shots of a unit, each call some shots of one binding; return their groups, binding by binding."""
        began = perf_counter()
        bindings = _Bindings(self._program, self.machine.num_wires, inputs, operands)
        work = max(1, bindings.steps) * (_NUMBER_WORK + (1 << self.machine.num_wires))
        threads = self._threads if work * unit.shots * len(operands) > _ALONE else 1
        each = -(-unit.shots * len(operands) // threads)  # shots of a call
        each = min(each, unit.shots, _CALL_WORK // work, _CALL_EVENTS // max(1, bindings.windows))
        each = max(STEP, -(-each // STEP) * STEP)
        calls = [
            (binding, first, min(each, unit.shots - first))
            for binding in range(len(operands))
            for first in range(0, unit.shots, each)
        ]
        found: list[_Groups] = [_NOTHING] * len(calls)

        def call(number: int) -> None:
            binding, first, shots = calls[number]
            if self._ticker.reports:
                self._ticker.advance(shots)
            else:
                self._ticker.tick()
            found[number] = bindings.run(binding, first, shots, self.machine.num_wires)

        pool.share(call, len(calls), threads)
        self.machine.run_seconds += perf_counter() - began
        return found


class _Groups:
    """Groups of shots of one binding with equal outcomes: their final states, their shots, and the outcomes.

    states: complex128 [groups, 2^n]. shots: those of all groups, counted from the first of the unit.
    counts: the shots of each group. outcomes: uint8 [groups, columns].
    """

    def __init__(
        self,
        binding: int,
        states: NDArray[np.complex128],
        shots: NDArray[np.int64],
        counts: NDArray[np.int64],
        outcomes: NDArray[np.uint8],
    ) -> None:
        self.binding, self.states, self.shots, self.counts, self.outcomes = binding, states, shots, counts, outcomes


@lru_cache(maxsize=256)
def _streams(program: Program) -> NDArray[np.int64]:
    """Return the stream of random numbers of each choice."""
    return np.array([choice.stream for choice in program.choices], dtype=np.int64)


_NO_BLOCKS = np.zeros(0, dtype=np.int64)
_NOTHING = cast(_Groups, None)


class _Bindings:
    """The tables of the bindings of a unit; bindings with equal channels share theirs.

    steps: their number. windows: the number of choices whose random numbers are looked at for events.
    """

    def __init__(self, program: Program, num_wires: int, inputs: BatchInputs, operands: Operands) -> None:
        channels, _ = channels_of(program)
        kraus = {id(every): [every[one.number] for one in channels] for every in inputs.kraus}
        diagonal = tuple(all(some[k].diagonal for some in kraus.values()) for k in range(len(channels)))
        table = tables.steps_of(program, num_wires, diagonal, operands.shape[1])
        self._table = table
        self._program = program
        self._inputs = inputs
        self._operands = operands
        self._numbers = {
            key: tables.numbers_of(table, some, operands.shape[1], inputs.readout) for key, some in kraus.items()
        }
        self.steps = len(table.steps)
        self.windows = max(len(one.order) for one in self._numbers.values())

    def keys(self, binding: int) -> NDArray[np.uint64]:
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

    def run(self, binding: int, first: int, shots: int, num_wires: int) -> _Groups:
        """Run some shots of a binding."""
        from qsim_ex.kernels.cpu import trajectories

        table, numbers = self._table, self._numbers[id(self._inputs.kraus[binding])]
        waiting = shots + 1  # at most; memory that is not used costs nothing
        states = np.empty((shots, 1 << num_wires), dtype=np.complex128)
        found, begins = np.empty(shots, dtype=np.int64), np.empty(shots + 1, dtype=np.int64)
        outcomes = np.empty((shots, table.columns), dtype=np.uint8)
        size = 1 << num_wires
        blocks = numbers.blocks if num_wires <= _BLOCK_WIRES and shots >= _BLOCK_SHOTS << num_wires else _NO_BLOCKS
        m = tables.matrices_of(table, numbers, self._operands[binding], len(blocks) * size * size)
        products = np.full(len(table.steps), -1)
        products[blocks] = len(m) // 2 - size * size * np.arange(len(blocks), 0, -1)
        groups = trajectories.run(
            table.steps, numbers.next_work, blocks, products, table.ints, numbers.floats, m, numbers.channels,
            self.keys(binding),
            numbers.order, numbers.defaults, self._inputs.first + first, shots, numbers.most,
            np.empty((waiting, 2, 1 << num_wires)), np.empty((waiting, table.columns), dtype=np.uint8),
            np.empty((waiting, 6), dtype=np.int64), np.empty(shots, dtype=np.int64),
            np.empty((2, shots * len(numbers.order)), dtype=np.int32), states, found, begins, outcomes,
        )  # fmt: skip
        found += first
        return _Groups(binding, states[:groups], found, np.diff(begins[: groups + 1]), outcomes[:groups])
