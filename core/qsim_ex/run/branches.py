"""Branches: sets of shots with equal choices so far, which share a state; how they begin, divide, and get operands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import SetState
from qsim_ex.later import later
from qsim_ex.observe.sampling import uniforms_of
from qsim_ex.placement.index_bits import move_bits
from qsim_ex.program.program import Program, Segment
from qsim_ex.run.request import BatchInputs

if TYPE_CHECKING:
    from qsim_ex.program import choices
    from qsim_ex.program.choices import Choice, Conditioned, Kraus
else:
    choices = later("qsim_ex.program.choices")

Floats = NDArray[np.float64]
Complex = NDArray[np.complex128]
Values = NDArray[np.int64]


class Recorded(NamedTuple):
    """What branches have recorded under a label: how many values each branch, and all values, uint8 [all, bits]."""

    counts: Values
    values: NDArray[np.uint8]


@dataclass(frozen=True, eq=False, slots=True)
class Branches:
    """Sets of shots, each of one binding and with the same choices so far.

    binding: the binding of each branch, int64 [branches], counted from the first binding of the unit.
    shots, begins: branch b has the shots ``shots[begins[b] : begins[b + 1]]``, ascending, counted from the first of the
        unit.
    outcomes: the number of the matrix of each choice, and in the last columns the bits that were read, uint8
        [branches, choices + readings]; scales: the factor on each matrix.
    row: the row of the states in which the branch is, or from which it is to be copied.
    decided: all branch points before this node were decided by an earlier visit.
    own: whether `outcomes` and `scales` may be written, since only the branches that follow from these have them. To
        copy all columns at every choice would cost the square of their number.
    recorded: what the branches have recorded under each label, at the end of a program that records something.
    """

    binding: Values
    shots: Values
    begins: Values
    outcomes: NDArray[np.uint8]
    scales: Floats
    row: Values
    decided: int = 0
    own: bool = False
    recorded: Mapping[str, Recorded] | None = None

    def __len__(self) -> int:
        return len(self.binding)

    @property
    def counts(self) -> Values:
        """The number of shots of each branch."""
        return np.diff(self.begins)

    @property
    def branch_of(self) -> Values:
        """The branch of each of `shots`."""
        return np.repeat(np.arange(len(self)), self.counts)

    @property
    def in_place(self) -> bool:
        """Whether every branch b is in row b."""
        return bool((self.row == np.arange(len(self))).all())

    @property
    def may_divide(self) -> bool:
        """Whether a branch point may divide a branch."""
        return len(self.shots) > len(self)

    def chosen(self, branches: Values) -> Branches:
        """Return some of the branches, given by their numbers, in the given order."""
        counts = self.counts[branches]
        begins = np.concatenate(([0], np.cumsum(counts)))
        at = np.repeat(self.begins[:-1][branches] - begins[:-1], counts) + np.arange(begins[-1])
        return replace(
            self,
            binding=self.binding[branches],
            shots=self.shots[at],
            begins=begins,
            outcomes=self.outcomes[branches],
            scales=self.scales[branches],
            row=self.row[branches],
        )

    def singles(self) -> Branches:
        """Return a branch for every shot."""
        of = self.branch_of
        return replace(
            self, binding=self.binding[of], begins=np.arange(len(of) + 1), outcomes=self.outcomes[of],
            scales=self.scales[of], row=self.row[of],
        )  # fmt: skip

    def settled(self) -> Branches:
        """Return the same branches with branch b in row b, for states that were put into this order."""
        return replace(self, row=np.arange(len(self)))

    def without(self, done: NDArray[np.bool_]) -> Branches:
        """Return the branches without the shots that are done; branches without shots are removed.

        done: for each of `shots`, whether it is done.
        """
        kept = ~done
        counts = np.add.reduceat(kept, self.begins[:-1], dtype=np.int64) if len(self) else np.zeros(0, dtype=np.int64)
        left = np.flatnonzero(counts)
        begins = np.concatenate(([0], np.cumsum(counts[left])))
        return replace(self.chosen(left), shots=self.shots[kept], begins=begins)

    def divided(
        self, at: Sequence[int], outcomes: NDArray[np.integer], scales: Floats | float = 1.0
    ) -> tuple[Branches, Values]:
        """Return the branches after a choice or a reading, and for each the branch from which it comes.

        at: the columns that are written. outcomes, scales: for each shot, [shots, columns].
        """
        scales = np.broadcast_to(scales, outcomes.shape)
        if not self.may_divide:
            return self._written(at, outcomes, scales), np.arange(len(self))
        of = self.branch_of.astype(">u8").view(np.uint8).reshape(-1, 8)  # bytes that sort as the numbers do, and first
        rows = np.ascontiguousarray(np.concatenate([of, outcomes.astype(np.uint8)], axis=1))
        keys = rows.view(np.dtype((np.void, rows.shape[1]))).reshape(-1)
        _, first, which = np.unique(keys, return_index=True, return_inverse=True)
        if len(first) == len(self):  # no branch divides
            return self._written(at, outcomes[first], scales[first]), np.arange(len(self))
        order = np.argsort(which, kind="stable")
        parent = self.branch_of[first]
        made, factors = self.outcomes[parent], self.scales[parent]
        made[:, at], factors[:, at] = outcomes[first], scales[first]
        begins = np.concatenate(([0], np.cumsum(np.bincount(which, minlength=len(first)))))
        after = replace(
            self, binding=self.binding[parent], shots=self.shots[order], begins=begins, outcomes=made, scales=factors,
            row=self.row[parent], own=True,
        )  # fmt: skip
        return after, parent

    def assigned(self, at: Sequence[int], bits: NDArray[np.uint8]) -> Branches:
        """Return the same branches with bits written into some columns, [branches, columns]."""
        made = self.outcomes if self.own else self.outcomes.copy()
        made[:, at] = bits
        return replace(self, outcomes=made, scales=self.scales if self.own else self.scales.copy(), own=True)

    @classmethod
    def joined(cls, parts: Sequence[Branches]) -> Branches:
        """Return the branches of several groups, whose states follow one another; those of one binding together."""
        counts = np.concatenate([one.counts for one in parts])
        rows = np.cumsum([0, *[len(one) for one in parts[:-1]]])
        whole = cls(
            binding=np.concatenate([one.binding for one in parts]),
            shots=np.concatenate([one.shots for one in parts]),
            begins=np.concatenate(([0], np.cumsum(counts))),
            outcomes=np.concatenate([one.outcomes for one in parts]),
            scales=np.concatenate([one.scales for one in parts]),
            row=np.concatenate([one.row + first for one, first in zip(parts, rows, strict=True)]),
            own=True,
        )
        order = np.argsort(whole.binding, kind="stable")
        return whole if (order[1:] > order[:-1]).all() else whole.chosen(order)

    def _written(self, at: Sequence[int], outcomes: NDArray[np.generic], scales: Floats) -> Branches:
        """Return the same branches with some columns written; outcomes, scales: [branches, columns]."""
        made, factors = (self.outcomes, self.scales) if self.own else (self.outcomes.copy(), self.scales.copy())
        made[:, at], factors[:, at] = outcomes, scales
        return replace(self, outcomes=made, scales=factors, own=True)


def first_branches(program: Program, inputs: BatchInputs) -> Branches:
    """Return the branches before the first segment: sets of shots with equal choices of all mixed-unitary channels."""
    seeds, shots, early = inputs.seeds, inputs.shots, program.early
    bindings = len(seeds)
    whole = _undecided(bindings, len(program.choices) + program.readings, shots)
    if not early:
        return whole
    outcomes = np.empty((bindings, shots, len(early)), dtype=np.uint8)
    scales = np.empty(outcomes.shape)
    seed_of = np.array(seeds, dtype=np.uint64)
    key_of = np.array([inputs.keys(choice) for choice in early], dtype=np.uint64)
    for alike, kraus in _with_equal_channels(inputs):
        for columns, one in _of_equal_channels(early, kraus):
            seed = np.tile(seed_of[alike], len(columns))
            drawn = uniforms_of(seed, key_of[columns][:, alike].reshape(-1), shots, first=inputs.first)
            found = one.mixed(drawn).reshape(len(columns), len(alike), shots).transpose(1, 2, 0)
            at = np.ix_(alike, np.arange(shots), columns)
            outcomes[at], scales[at] = found, (one.mean**-0.5)[found]
    columns_of = bindings * shots, len(early)
    outcomes, scales = outcomes.reshape(columns_of), scales.reshape(columns_of)
    return whole.divided([choice.number for choice in early], outcomes, scales)[0].settled()


def _with_equal_channels(inputs: BatchInputs) -> Iterator[tuple[Values, Sequence[Kraus]]]:
    """Yield sets of bindings that share the matrices of their choices, and these."""
    if inputs.alike:
        yield np.arange(len(inputs.seeds)), inputs.kraus[0]
        return
    groups: dict[int, list[int]] = {}
    for binding, kraus in enumerate(inputs.kraus):
        groups.setdefault(id(kraus), []).append(binding)
    for same in groups.values():
        yield np.array(same), inputs.kraus[same[0]]


def _of_equal_channels(early: Sequence[Choice], kraus: Sequence[Kraus]) -> Iterator[tuple[Values, Kraus]]:
    """Yield the columns of choices among the same matrices, and these."""
    groups: dict[int, list[int]] = {}
    for column, choice in enumerate(early):
        groups.setdefault(id(kraus[choice.number]), []).append(column)
    for columns in groups.values():
        yield np.array(columns), kraus[early[columns[0]].number]


@lru_cache(maxsize=16)
def _undecided(bindings: int, columns: int, shots: int) -> Branches:
    """Return a branch for each binding, with all of its shots; cached, since arrays of branches are never written."""
    return Branches(
        binding=np.arange(bindings),
        shots=np.tile(np.arange(shots), bindings),
        begins=np.arange(bindings + 1) * shots,
        outcomes=np.zeros((bindings, columns), dtype=np.uint8),
        scales=np.ones((bindings, columns)),
        row=np.arange(bindings),
    )


def uniforms(branches: Branches, inputs: BatchInputs, keys: Sequence[int]) -> Floats:
    """Return the random number of every shot of some branches; keys: of each binding, see `BatchInputs.keys`."""
    of = branches.binding[branches.branch_of]  # ascending, since branches divide in place
    first, last = int(of[0]), int(of[-1]) + 1
    seeds, named = (np.array(some[first:last], dtype=np.uint64) for some in (inputs.seeds, keys))
    found: Floats = uniforms_of(seeds, named, inputs.shots, first=inputs.first)[of - first, branches.shots]
    return found


def operands_of(segment: Segment, branches: Branches, inputs: BatchInputs) -> Complex:
    """Return the operands of a segment for each branch; one row if they are equal for all."""
    of, gathered = inputs.operands, segment.operands
    same = len(of) == 1
    if gathered is None:
        return of if same or (len(of) == len(branches) and branches.in_place) else of[branches.binding]
    branches_of = branches.binding[:1] if same and not gathered.inserted else branches.binding
    operands = np.empty((len(branches_of), gathered.total), dtype=np.complex128)
    operands[:, 0], operands[:, 1] = 0, 1
    at = 2 + len(gathered.taken)
    operands[:, 2:at] = of[:, gathered.taken] if same else of[np.ix_(branches_of, gathered.taken)]
    for piece in gathered.inserted:
        found = (
            _matrices(piece, branches, inputs)
            if isinstance(piece, choices.Choice)
            else _conditioned(piece, branches, inputs)
        )
        begin, at = at, at + found.shape[1]
        operands[:, begin:at] = found
    return operands


def _matrices(choice: Choice, branches: Branches, inputs: BatchInputs) -> Complex:
    """Return the operands of each branch for a choice: the chosen matrix, scaled."""
    outcome, scale = branches.outcomes[:, choice.number], branches.scales[:, choice.number]
    one = inputs.kraus[0][choice.number]
    if inputs.alike:
        found = one.entries[outcome]
    else:
        every = np.array([kraus[choice.number].entries for kraus in inputs.kraus])
        found = every[branches.binding, outcome]
    found[:, : one.first] *= scale[:, None]
    return found


def _conditioned(piece: Conditioned, branches: Branches, inputs: BatchInputs) -> Complex:
    """Return the operands of each branch for an operation under a condition: its matrix or 1."""
    at = slice(piece.operation.operand, piece.operation.operand + piece.width)
    of = inputs.operands
    own = of[:, at] if len(of) == 1 else of[branches.binding, at]
    return np.where(piece.holds(branches.outcomes)[:, None], own, piece.identity())


def amplitudes_of(given: SetState, branches: Branches, inputs: BatchInputs) -> Complex:
    """Return the amplitudes given for each branch, in the order of the index bits; one row if all are equal."""
    of, n = inputs.operands, len(given.wires)
    at = slice(given.operand, given.operand + (1 << n))
    amplitudes = of[:, at] if len(of) == 1 else of[branches.binding, at]
    if given.wires != tuple(range(n)):
        amplitudes = amplitudes[:, move_bits(np.arange(1 << n), np.argsort(given.wires).tolist())]
    return amplitudes
