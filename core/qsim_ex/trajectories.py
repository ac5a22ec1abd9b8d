"""Running a course: branches of shots through its parts, as many states at a time as there is room for.

Branches are visited depth first. Where they divide and there is room, the states that they divide from are kept until
all that come from them are done; where there is none, what must wait begins again from |0…0> later, with the choices
that it has made already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex.branches import Branches
from qsim_ex.chance import Kraus, kraus_of
from qsim_ex.course import Choice, Conditioned, Course, Part
from qsim_ex.parts import part_of
from qsim_ex.placement.base import Tick
from qsim_ex.placement.batch import Begin, States
from qsim_ex.program import Segment
from qsim_ex.steps.layout import Layout
from qsim_ex.steps.plan import Plan
from qsim_ex.stops import Given, Stop

Complex = NDArray[np.complex128]
Floats = NDArray[np.float64]

Prepare = Callable[[Plan, Complex], Sequence[tuple[Any, Iterable[Any]]]]
"""Makes a plan and its numbers ready for the devices, for operands [rows, total] or, alike for all rows, [1, total]."""

PlanFor = Callable[[Segment, Layout, int], Plan]
"""The plan of some work on states in a layout with fresh bits."""


@dataclass(frozen=True, eq=False, slots=True)
class Route:
    """What is the same for all states of a course on a machine.

    plans: of each part. rows: how many states are worked on at a time; while they divide, twice as many are held.
    """

    course: Course
    plans: tuple[Plan, ...]
    plan_for: PlanFor
    prepare: Prepare
    begin: Begin
    rows: int
    tick: Tick


def given(course: Course, operands: Complex, seeds: Sequence[int], first: int, shots: int) -> Given:
    """The numbers of some bindings; bindings whose channels are alike share their matrices."""
    known: dict[bytes, list[Kraus]] = {}
    kraus = []
    for row in operands if course.choices else ():
        key = b"".join(row[at].tobytes() for at in _channels(course))
        if key not in known:
            known[key] = _all_kraus(course, row)
        kraus.append(known[key])
    return Given(operands, seeds, first, shots, kraus)


def _all_kraus(course: Course, operands: Complex) -> list[Kraus]:
    """The matrices of all choices; equal channels of a circuit share their operands."""
    known: dict[tuple[object, ...], Kraus] = {}
    for choice in course.choices:
        if choice.key not in known:
            known[choice.key] = kraus_of(choice, operands)
    return [known[choice.key] for choice in course.choices]


def _channels(course: Course) -> list[slice]:
    """Where the matrices of channels are among a circuit's operands."""
    found = {}
    for choice in course.choices:
        if choice.kind == "channel":
            found[choice.operand] = slice(choice.operand, choice.operand + choice.count * 4 ** len(choice.wires))
    return list(found.values())


@dataclass(slots=True)
class _Waiting:
    """Branches that still have to go through the parts from `level` on; from `states`, or from the beginning."""

    level: int
    states: States | None
    branches: Branches


class Walk:
    """One walk of some branches through a course.

    finish: called with states and their branches, row for row, when they are through.
    saved: called with a label, states and branches where a state is to be saved.
    """

    def __init__(
        self,
        route: Route,
        given: Given,
        finish: Callable[[States, Branches], None],
        saved: Callable[[str, States, Branches], None],
    ) -> None:
        self._route = route
        self._given = given
        self._finish = finish
        self._saved = saved
        self._waiting: list[_Waiting] = []
        self.most_rows = 0
        self.states = 0

    def __call__(self, branches: Branches) -> None:
        """Go through the whole course with some branches; their states begin as |0…0>."""
        self._waiting = [_Waiting(0, None, branches)]
        try:
            while self._waiting:
                self._next()
        finally:
            for waiting in self._waiting:
                if waiting.states is not None:
                    waiting.states.release()

    def _held(self) -> int:
        return sum(waiting.states.rows for waiting in self._waiting if waiting.states is not None)

    def _next(self) -> None:
        """Take as many of the latest branches as there is room for, as far as they can go."""
        waiting = self._waiting[-1]
        group, rest = self._group(waiting)
        if len(rest):
            waiting.branches = rest
        else:
            self._waiting.pop()
        if waiting.states is None:
            states = self._route.begin(len(group))
            self.states += len(group)
        else:
            states = waiting.states.take(group.row)
            if not len(rest):
                waiting.states.release()
        self.most_rows = max(self.most_rows, self._held() + states.rows)
        self._go_on(waiting.level, states, group.settled())

    def _group(self, waiting: _Waiting) -> tuple[Branches, Branches]:
        """The branches to go on with, and those to wait: if they divide, room is left for what they divide into."""
        branches = waiting.branches
        own = waiting.states.rows if waiting.states is not None else 0
        room = self._route.rows - self._held()
        if len(branches.shots) > room + own:  # else there can never be more branches than room
            if branches.may_divide:
                room //= 1 + sum(bool(part.stop) for part in self._route.course.parts[waiting.level :])
            count = min(len(branches), max(1, room))
        else:
            count = len(branches)
        every = np.arange(len(branches))
        return branches.chosen(every[:count]), branches.chosen(every[count:])

    def _go_on(self, level: int, states: States, branches: Branches) -> None:
        """Through all parts, as long as every branch stays in its row."""
        parts = self._route.course.parts
        while True:
            self._run(level, states, branches)
            if parts[level].label is not None:
                self._saved(str(parts[level].label), states, branches)
            if level == len(parts) - 1:
                self._finish(states, branches)
                states.release()
                return
            branches = self._decided(parts[level], level, states, branches)
            level += 1
            if not branches.in_place or len(branches) != states.rows:
                fits = len(branches.shots) <= self._route.rows - self._held()
                if fits and 2 * len(branches) > len(branches.shots):
                    branches = branches.singles()  # they will part soon, and then nothing needs to be copied again
                if fits or self._held() + states.rows < self._route.rows:
                    self._waiting.append(_Waiting(level, states, branches))
                    return
                branches = self._postponed(level, branches)

    def _postponed(self, level: int, branches: Branches) -> Branches:
        """Keep one branch in each row; the others begin again later."""
        _, first = np.unique(branches.row, return_index=True)
        others = np.setdiff1d(np.arange(len(branches)), first)
        self._waiting.insert(0, _Waiting(0, None, replace(branches.chosen(others), decided=level)))
        return branches.chosen(first)

    # --- work ------------------------------------------------------------------------------------------------------

    def _run(self, level: int, states: States, branches: Branches) -> None:
        self._work(self._route.plans[level], self._route.course.parts[level], states, branches)

    def _work(self, plan: Plan, part: Part, states: States, branches: Branches) -> None:
        """Do the work of a part; `plan` is for it, unless what was asked since has changed the states' layout."""
        if (plan.start, plan.fresh) != (states.layout, states.fresh):
            plan = self._route.plan_for(part.segment, states.layout, states.fresh)
        states.run(plan, self._route.prepare(plan, self._operands(part, branches)), self._route.tick)

    def _operands(self, part: Part, branches: Branches) -> Complex:
        """The operands of a part for each branch; one row where they are alike for all."""
        of, same = self._given.operands, len(self._given.operands) == 1
        if part.take is None:
            return of if same or (branches.in_place and len(of) == len(branches)) else of[branches.binding]
        branches_of = branches.binding[:1] if same and not part.chosen else branches.binding
        operands = np.empty((len(branches_of), part.total), dtype=np.complex128)
        operands[:, 0], operands[:, 1] = 0, 1
        at = 2 + len(part.take)
        operands[:, 2:at] = of[:, part.take] if same else of[np.ix_(branches_of, part.take)]
        for piece in part.chosen:
            found = self._matrices(piece, branches) if isinstance(piece, Choice) else self._conditioned(piece, branches)
            operands[:, at : at + piece.width] = found
            at += piece.width
        return operands

    def _matrices(self, choice: Choice, branches: Branches) -> Complex:
        """What stands among the operands of each branch for a choice that it has made."""
        outcome, scale = branches.outcomes[:, choice.number], branches.scales[:, choice.number]
        one = self._given.kraus[0][choice.number]
        if self._given.alike():
            found = one.entries[outcome]
        else:
            every = np.array([kraus[choice.number].entries for kraus in self._given.kraus])
            found = every[branches.binding, outcome]
        found[:, : one.first] *= scale[:, None]
        return found

    def _conditioned(self, piece: Conditioned, branches: Branches) -> Complex:
        """What stands among the operands of each branch for an operation under a condition."""
        at = slice(piece.operation.operand, piece.operation.operand + piece.width)
        of = self._given.operands
        own = of[:, at] if len(of) == 1 else of[branches.binding, at]
        return np.where(piece.holds(branches.outcomes)[:, None], own, piece.identity())

    # --- choices ---------------------------------------------------------------------------------------------------

    def _decided(self, part: Part, level: int, states: States, branches: Branches) -> Branches:
        """The branches after a stop, in the order of the rows that they come from."""
        if branches.decided > level or not part.stop:
            return branches
        room = self._route.rows - self._held() - states.rows
        return Stop(self._given, states, self._catch_up, max(1, room))(part.stop, branches)

    def _catch_up(self, states: States, choices: Sequence[Choice], branches: Branches) -> None:
        """Apply choices that wait for the next part."""
        part = part_of(tuple(choices))
        self._work(self._route.plan_for(part.segment, states.layout, states.fresh), part, states, branches)
