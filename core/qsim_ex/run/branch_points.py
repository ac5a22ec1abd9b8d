"""The choices of a branch point, which depend on the states, and then the readings of the bits that they measured.

The choices of a branch point act on different wires, and the segment after it applies the chosen matrices. So a choice
has to be made as if the choices before it were applied already. If K†K of all matrices is diagonal (measurement, reset,
damping, relaxation) probabilities depend on populations alone: the joint populations of all wires are computed once,
and an earlier choice multiplies them by a factor. For other channels the states are copied where a choice depends on
them, the earlier choices are applied to the copies, and the probabilities are those of the copies' reduced density
matrices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.circuit.classical import as_bits, evaluate
from qsim_ex.circuit.noise.readout import matrix_of
from qsim_ex.observe.expectation import density_of, strings_of
from qsim_ex.observe.readout import read_value
from qsim_ex.placement.base import States
from qsim_ex.program.choices import Choice, Kraus, Reading, value_of
from qsim_ex.program.program import BranchPoint
from qsim_ex.run.branches import Branches, uniforms
from qsim_ex.run.request import BatchInputs

Complex = NDArray[np.complex128]
Floats = NDArray[np.float64]
Values = NDArray[np.int64]


class Decider:
    """Makes the choices of branch points on some states.

    catch_up: applies choices to states, for branches with branch b in row b. room: the number of states that may be
    copied at a time.
    """

    def __init__(
        self,
        inputs: BatchInputs,
        states: States,
        catch_up: Callable[[States, Sequence[Choice], Branches], None],
        room: int,
    ) -> None:
        self._inputs = inputs
        self._states = states
        self._catch_up = catch_up
        self._room = room
        self._alike = inputs.alike

    def __call__(self, point: BranchPoint, branches: Branches) -> Branches:
        """Return the branches after a branch point, in the order of the rows that they come from."""
        branches = self._chosen(point.choices, branches)
        for reading in point.readings:
            branches = self._read(reading, branches)
        for assignment in point.assignments:
            values = evaluate(assignment.expression, branches.outcomes)
            branches = branches.assigned(assignment.columns, as_bits(values, assignment.expression.width))
        return branches

    def _read(self, reading: Reading, branches: Branches) -> Branches:
        """Read bits with their readout error; each shot has one random number for each group of bits."""
        if reading.given is not None:
            assert self._inputs.given is not None
            found = self._inputs.given[branches.binding[branches.branch_of], branches.shots, reading.given]
            return branches.divided(reading.columns, found[:, None])[0]
        matrix = matrix_of(self._inputs.readout, reading.clbits, reading.measurement)
        true = value_of(reading.sources, branches.outcomes)[branches.branch_of]
        if matrix is None:
            found = true
        else:
            u = uniforms(branches, self._inputs, [self._inputs.reading_key(reading)] * len(self._inputs.seeds))
            found = read_value(true, matrix, u)
        bits = found[:, None] >> np.arange(len(reading.clbits)) & 1
        return branches.divided(reading.columns, bits)[0]

    def _chosen(self, choices: Sequence[Choice], branches: Branches) -> Branches:
        """Return the branches after some choices."""
        diagonal = [choice for choice in choices if all(k[choice.number].diagonal for k in self._inputs.kraus)]
        earlier: list[Choice] = []
        for group in _groups(diagonal):
            branches = self._by_populations(group, earlier, branches)
            earlier += group
        for choice in choices:
            if choice not in diagonal:
                branches = self._by_density(choice, earlier, branches)
                earlier.append(choice)
        return branches

    # --- channels whose probabilities depend on populations ----------------------------------------------------------

    def _by_populations(self, choices: Sequence[Choice], earlier: Sequence[Choice], branches: Branches) -> Branches:
        """Make choices among matrices with diagonal K†K; `earlier` choices are not applied to the states yet."""
        state_free = [self._state_free(choice, branches) for choice in choices]
        asks = np.zeros(len(branches), dtype=bool)
        for outcomes, _, _ in state_free:
            asks[branches.branch_of[outcomes < 0]] = True
        weights = self._populations(choices, earlier, branches, np.flatnonzero(asks))
        place = np.where(asks, np.cumsum(asks) - 1, -1)  # of each branch among the weights
        for number, choice in enumerate(choices):
            outcomes, scales, rest = state_free[0] if number == 0 else self._state_free(choice, branches)
            values = 1 << len(choice.wires)
            weights = weights.reshape(len(weights), values, weights.shape[1] // values)
            undecided = np.flatnonzero(outcomes < 0)
            if len(undecided):
                which = place[branches.branch_of[undecided]]
                populations = weights.sum(axis=2)[which]
                self._choose_by_state(
                    choice, branches, undecided, outcomes, scales, rest, partial(_populated, populations)
                )
            branches, parent = branches.divided([choice.number], outcomes[:, None], scales[:, None])
            place = place[parent]
            kept = np.flatnonzero(place >= 0)
            factors = self._gains(choice, branches)[kept]
            weights = np.einsum("bv,bvr->br", factors, weights[place[kept]])
            place[kept] = np.arange(len(kept))
        return branches

    def _populations(
        self, choices: Sequence[Choice], earlier: Sequence[Choice], branches: Branches, queried: Values
    ) -> Floats:
        """Return joint populations [queried, 2^wires] of the wires of choices, those of the first highest."""
        wires = [wire for choice in reversed(choices) for wire in choice.wires]
        if not len(queried):
            return np.zeros((0, 1 << len(wires)))
        if not earlier and 2 * len(queried) > self._states.rows:
            return self._states.marginals(wires)[branches.row[queried]]
        return np.concatenate([copies.marginals(wires) for copies in self._copies(earlier, branches.chosen(queried))])

    def _gains(self, choice: Choice, branches: Branches) -> Floats:
        """Return for each branch the factors of its chosen matrix on the populations of the choice's wires."""
        outcomes = branches.outcomes[:, choice.number]
        if self._alike:
            return self._inputs.kraus[0][choice.number].gains[outcomes]
        every = np.array([kraus[choice.number].gains for kraus in self._inputs.kraus])
        found: Floats = every[branches.binding, outcomes]
        return found

    # --- all other channels ------------------------------------------------------------------------------------------

    def _by_density(self, choice: Choice, earlier: Sequence[Choice], branches: Branches) -> Branches:
        """Make a choice among any matrices; `earlier` choices are not applied to the states yet."""
        outcomes, scales, rest = self._state_free(choice, branches)
        undecided = np.flatnonzero(outcomes < 0)
        if len(undecided):
            who, which = np.unique(branches.branch_of[undecided], return_inverse=True)
            densities = self._densities(choice, earlier, branches.chosen(who))[which]
            self._choose_by_state(choice, branches, undecided, outcomes, scales, rest, partial(_dense, densities))
        return branches.divided([choice.number], outcomes[:, None], scales[:, None])[0]

    def _densities(self, choice: Choice, earlier: Sequence[Choice], queried: Branches) -> Complex:
        """Return the reduced density matrix of some branches on a channel's wires."""
        parts = strings_of(choice.wires)
        if not earlier and 2 * len(queried) > self._states.rows:
            return density_of(self._states.paulis(parts)[queried.row], len(choice.wires))
        found = [density_of(copies.paulis(parts), len(choice.wires)) for copies in self._copies(earlier, queried)]
        return np.concatenate(found)

    # --- both --------------------------------------------------------------------------------------------------------

    def _state_free(self, choice: Choice, branches: Branches) -> tuple[Values, Floats, Floats]:
        """Return for each shot its choice, −1 if that depends on the state, a scale, and the rest of its number."""
        u = uniforms(branches, self._inputs, self._inputs.keys(choice))
        outcomes, rest, scales = np.empty(len(u), dtype=np.int64), np.empty(len(u)), np.empty(len(u))
        for kraus, mine in self._by_kraus(choice, branches, np.arange(len(u))):
            outcomes[mine], rest[mine] = kraus.state_free(u[mine])
            scales[mine] = kraus.mean[outcomes[mine]] ** -0.5  # the norm is only kept near 1
        return outcomes, scales, rest

    def _choose_by_state(
        self,
        choice: Choice,
        branches: Branches,
        undecided: Values,
        outcomes: Values,
        scales: Floats,
        rest: Floats,
        probabilities: Callable[[Kraus, Values], Floats],
    ) -> None:
        """Choose for the shots `undecided`, whose choice depends on the state.

        probabilities: returns those of each matrix for some of these shots, given by their places in `undecided`.
        """
        for kraus, mine in self._by_kraus(choice, branches, undecided):
            found, p = kraus.state_dependent(probabilities(kraus, np.searchsorted(undecided, mine)), rest[mine])
            outcomes[mine], scales[mine] = found, p**-0.5

    def _by_kraus(self, choice: Choice, branches: Branches, shots: Values) -> list[tuple[Kraus, Values]]:
        """Return shots, grouped by the matrices among which they choose."""
        if self._alike:
            return [(self._inputs.kraus[0][choice.number], shots)]
        of = branches.binding[branches.branch_of[shots]]
        return [(self._inputs.kraus[b][choice.number], shots[of == b]) for b in np.unique(of).tolist()]

    def _copies(self, earlier: Sequence[Choice], queried: Branches) -> Iterator[States]:
        """Yield copies of the states of some branches with earlier choices applied, as many at a time as fit."""
        for first in range(0, len(queried), self._room):
            some = queried.chosen(np.arange(first, min(first + self._room, len(queried))))
            copies = self._states.take(some.row)
            try:
                if earlier:
                    self._catch_up(copies, earlier, some)
                yield copies
            finally:
                copies.release()


def _populated(populations: Floats, kraus: Kraus, some: Values) -> Floats:
    return kraus.populated(populations[some])


def _dense(densities: Complex, kraus: Kraus, some: Values) -> Floats:
    return kraus.dense(densities[some])


def _groups(choices: Sequence[Choice]) -> list[list[Choice]]:
    """Divide choices into groups of at most `thresholds.jointly` wires."""
    groups: list[list[Choice]] = []
    wires = jointly = thresholds.now.jointly
    for choice in choices:
        if wires + len(choice.wires) > jointly:
            groups.append([])
            wires = 0
        groups[-1].append(choice)
        wires += len(choice.wires)
    return groups
