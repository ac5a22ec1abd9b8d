"""What a run of separate parts takes from their final states: outcomes, values, tables of probabilities, and shots."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.saves import SaveValues
from qsim_ex.observe.joint import JointDraw, LiveShots, Run
from qsim_ex.placement.base import States
from qsim_ex.program.program import Program
from qsim_ex.program.separation import Separation
from qsim_ex.run.branches import Branches
from qsim_ex.run.part_values import PartValues
from qsim_ex.run.request import BatchInputs, WorkUnit


@dataclass(frozen=True, eq=False, slots=True)
class PartAnswers:
    """The answers of all parts so far.

    packed: the bits of the circuit, uint8 [bindings, shots, bytes]. kept: for each part and each of its bits that is
    needed later, uint8 [bindings, trajectories]. values: of observables. draw: the shots; None without shots.
    """

    separation: Separation
    count: int
    shots: int
    packed: NDArray[np.uint8] | None
    kept: dict[tuple[int, int], NDArray[np.uint8]]
    values: PartValues
    draw: JointDraw | None


@dataclass(eq=False)
class PartsCollector:
    """Takes the final states of parts with one structure; the bindings of the first part come first.

    live: the runs that are drawn from the states at once, for the one part of `numbers`; None for a table.
    """

    answers: PartAnswers
    numbers: Sequence[int]
    program: Program
    live: Sequence[Run] | None
    first_visit: bool
    done: NDArray[np.bool_] | None = None
    report: dict[str, object] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def read(self, *of: object) -> list[SaveValues]:
        """Raise an error, since circuits with saves are not separated."""
        raise AssertionError(of)

    def save(self, *of: object) -> None:
        """Raise an error, since circuits with saves are not separated."""
        raise AssertionError(of)

    def left(self, *of: object) -> Branches:
        """Raise an error, since runs with checkpoints are not separated."""
        raise AssertionError(of)

    def ahead(self, states: States) -> None:
        """Queue nothing."""

    def finish(self, unit: WorkUnit, inputs: BatchInputs, states: States, branches: Branches) -> None:  # noqa: ARG002
        """Take the final states of some bindings and shots."""
        if self.program.branches:
            rows = branches.branch_of
            ended = _Ended(rows, unit.begin + branches.binding[rows], unit.first + branches.shots)
        else:
            ended = _Ended(np.arange(len(branches)), unit.begin + branches.binding, None)
        draw = self.answers.draw
        with self.lock:
            if self.first_visit:
                self._values(states, branches, ended)
                self._recorded(branches, ended)
            if draw is not None and self.live is None:
                first = draw.tables[self.numbers[0]].add(states)
                for number, some in self._of_parts(ended):
                    draw.rows[number][some.binding, some.column] = first + some.row
            elif draw is not None and self.live:
                some = ended.of_every_shot(self.answers.shots)
                assert some.shot is not None
                draw.draw(self.live, self.numbers[0], LiveShots(states, some.row, some.binding, some.shot))
            self.report.update(states.report())

    def _of_parts(self, ended: _Ended) -> Iterator[tuple[int, _Ended]]:
        """Yield the shots of each part, with its number; their bindings are those of the circuit."""
        count = self.answers.count
        for place, number in enumerate(self.numbers):
            mine = ended.binding // count == place
            shot = None if ended.shot is None else ended.shot[mine]
            yield number, _Ended(ended.row[mine], ended.binding[mine] % count, shot)

    def _values(self, states: States, branches: Branches, ended: _Ended) -> None:
        """Keep the values of all Pauli strings on these parts."""
        values = self.answers.values
        if values.asked(self.numbers[0]):
            found = values.of(self.numbers[0], states, branches)
            for number, some in self._of_parts(ended):
                values.put(number, some.binding, some.column, found[some.row])

    def _recorded(self, branches: Branches, ended: _Ended) -> None:
        """Write the bits that were measured before the end."""
        answers, packed, recorded = self.answers, self.answers.packed, self.program.recorded
        if not recorded:
            return
        for number, some in self._of_parts(ended):
            part = answers.separation.parts[number]
            written = [(part.clbits[clbit], recorded[clbit]) for clbit in part.final if clbit in recorded]
            written += [(clbit, recorded[bit]) for clbit, bit in part.copied if bit in recorded]
            if packed is not None:
                for clbit, column in written:
                    byte, at = divmod(clbit, 8)
                    packed[some.binding, some.shot, byte] |= branches.outcomes[some.row, column] << at
            for (owner, bit), found in answers.kept.items():
                if owner == number and bit in recorded:
                    found[some.binding, some.shot] = branches.outcomes[some.row, recorded[bit]]


@dataclass(frozen=True, eq=False, slots=True)
class _Ended:
    """Shots at the end of a part: shot k is ``shot[k]`` of ``binding[k]``, in row ``row[k]`` of the states.

    shot: None if all shots of a binding share its state.
    """

    row: NDArray[np.int64]
    binding: NDArray[np.int64]
    shot: NDArray[np.int64] | None

    @property
    def column(self) -> NDArray[np.int64] | int:
        """The column of each shot in arrays that have one column where all shots share a state."""
        return 0 if self.shot is None else self.shot

    def of_every_shot(self, shots: int) -> _Ended:
        """Return the same with each shot by itself."""
        if self.shot is not None:
            return self
        every = np.tile(np.arange(shots), len(self.row))
        return _Ended(np.repeat(self.row, shots), np.repeat(self.binding, shots), every)
