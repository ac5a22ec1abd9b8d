"""Stretches of gates between what is random, saved or conditional: what is written out of each runs in its place.

A circuit with measurements in the middle, resets, channels, conditions, loops or saves is planned segment by segment,
and in a segment gates take turns with what depends on outcomes (`program.turns`). Each turn of gates is a circuit by
itself, for any state, and the first one for |0…0⟩. What is written out of it stands in its place, with the operator at
its end, and its numbers stand behind those of the circuit. All else stays as it is: choices, branch points, saves, and
the random numbers of each. So a seed gives the same shots, but for rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from operator import itemgetter
from typing import NamedTuple, cast

import numpy as np

from qsim_ex import thresholds
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.parameters.bindings import Bindings, Operands
from qsim_ex.circuit.saves import SAVE_KINDS
from qsim_ex.circuit.structure import Structure
from qsim_ex.errors import NotSupported
from qsim_ex.native.library import check_cancelled
from qsim_ex.planning.longer import Longer, shorter_than
from qsim_ex.planning.planner import MOST_WIRES
from qsim_ex.planning.written.bindings import WrittenBindings
from qsim_ex.planning.written.out import Manner, WritingLimits, WrittenCircuit
from qsim_ex.program.gathered import Gate, moved
from qsim_ex.program.program import Program, Segment
from qsim_ex.program.turns import Turns, turns_of, with_segments, with_turns
from qsim_ex.run.candidates import AS, counted_gates, most_rotations, written_between
from qsim_ex.run.manners import in_manners, wanted
from qsim_ex.run.tried import Tried, least_microseconds, planning_of
from qsim_ex.run.where import Where
from qsim_ex.steps.layout import Layout
from qsim_ex.steps.plan import Plan

SHORT = "its stretches of gates between what is random, saved or conditional take too little time to be written anew"
SLOWER = "nothing that is written of its stretches of gates is predicted to be faster"
EARLY = "what is written of its stretches of gates is compared when all runs have taken as long as that takes"


class Planning(NamedTuple):
    """How programs are planned where they run.

    came: returns the plans of the program as it came. of: those of another program. one: of a segment for states in a
    layout, with fresh bits.
    """

    came: Callable[[], Sequence[Plan]]
    of: Callable[[Program], Sequence[Plan]]
    one: Callable[[Segment, Layout, int], Plan]


class InStretches(NamedTuple):
    """What runs in place of a program: another one, with the numbers of all that is written behind the circuit's."""

    program: Program
    bound: Bindings
    fact: str


class Stretch:
    """A turn of gates of a segment, and what is written of it; gates: with the circuit's operands.

    It may be asked by several threads, so what is written in other manners is kept with that of which it was made.
    """

    def __init__(self, num_wires: int, gates: Sequence[Gate], zeros: bool) -> None:
        self._gates, self._zeros = Structure(num_wires, 0, tuple(gates)), zeros
        self._bindings = WrittenBindings(self._gates, self._written)
        self._latest: tuple[WrittenCircuit | None, dict[Manner, WrittenCircuit]] = None, {}

    def __call__(self, bound: Bindings, manner: Manner, microseconds: int | None = None) -> WrittenCircuit | None:
        """Return what is written for all bindings so far; microseconds: of the run, None if the manner is chosen."""
        if (first := self._bindings.of(bound)) is None:
            return None
        of, known = self._latest
        if of is not first:
            known = {first.manner: first}
            self._latest = first, known
        if manner not in known:
            limits = WritingLimits(most_rotations(self._gates), alone=microseconds is None)
            other = first.again(manner, limits if microseconds is None else limits._replace(microseconds=microseconds))
            if other is None or other.num_gates > thresholds.now.many_more * counted_gates(self._gates):
                return None
            known[manner] = other
        return known[manner]

    def keep(self, manner: Manner) -> None:
        """Let go of what is written in other manners, and of the form."""
        first, known = self._latest
        if first is not None:
            self._latest = first, {one: of for one, of in known.items() if one is manner}
            first.keep(manner)

    def _written(self, given: Circuit) -> WrittenCircuit | None:
        return written_between(self._gates, given, zeros=self._zeros)


class TriedStretches(Tried):
    """What is known of a program in a place.

    why: why it runs as it came. long: the places of segments that are worth a look. stretches: the turns of a segment,
    and those of gates that are long enough, by its place. manners: what is chosen, by the place of a segment and the
    number of its turn. latest: what was written at last, and the program of it.
    """

    why = EARLY
    short = True  # it is looked at when all runs have taken as long
    long: tuple[int, ...] = ()
    latest: tuple[tuple[WrittenCircuit, ...], Program] | None = None

    def __init__(self) -> None:
        self.manners: Mapping[tuple[int, int], Manner] = {}
        self.stretches: dict[int, tuple[Turns, dict[int, Stretch]]] = {}


@thresholds.depends
@lru_cache(maxsize=256)
def tried_stretches(*_key: Hashable) -> TriedStretches:
    """Return what is known of a program in a place, which the key names."""
    return TriedStretches()


def in_stretches(look: StretchLook, states: Callable[[], float], *, again: bool = False) -> InStretches | str:
    """Return what runs in place of a program; or in words why it runs as it came.

    states: returns about how many states are simulated. again: whether the circuit comes again, so all is compared.
    """
    tried, where = look.tried, look.where
    if tried.slower or not thresholds.now.written_percent:
        return tried.why
    if not tried.looked and not look.is_long():
        return look.stays(SHORT)
    tried.spent += int(tried.run * min(states(), 1 << 30))
    at_once = again or (where.compiles and not tried.compared)
    look.kernels = again or not where.interprets or tried.spent >= thresholds.now.settled_microseconds
    if not (at_once or look.is_read()):
        return tried.why
    if tried.is_time(where.interprets) or at_once:
        tried.compared = max(tried.compared, 1)
        look.in_all_manners()
    return look.chosen() if tried.manners else tried.why


def as_told(look: StretchLook, manners: Sequence[tuple[tuple[int, int], int]]) -> InStretches | str:
    """Return what is written in some manners, each of a turn of a segment, whatever is predicted."""
    look.tried.manners = {of: Manner(manner) for of, manner in manners}
    return look.chosen(told=True)


class StretchLook:
    """A look at what runs in place of a program.

    tried: what is known of it there. kernels: whether all runs are long enough for new kernels, so that plans are
    compared by the time of later runs.
    """

    kernels = True

    def __init__(self, program: Program, num_wires: int, bound: Bindings, plans: Planning, where: Where) -> None:
        self._program, self._num_wires, self._bound, self._plans = program, num_wires, bound, plans
        place = where.deployment, where.options.dtype, where.options.threads, bound.count > 1
        self.where, self.tried = where, tried_stretches(program, num_wires, *place)

    @cached_property
    def _total(self) -> int:
        """How many numbers the circuit has."""
        return int(self._bound.operands(0, 1).shape[1])

    def stays(self, why: str) -> str:
        """Keep that the program runs as it came, and return why."""
        self.tried.slower, self.tried.why, self.tried.stretches = True, why, {}
        return why

    def is_long(self) -> bool:
        """Find the segments that take long enough to be written; return whether there are any."""
        tried, now, found, run = self.tried, thresholds.now, list[int](), 0
        if self._num_wires > MOST_WIRES:
            return False
        least = least_microseconds()
        for place, plan in zip(self._program.segment_places, self._plans.came(), strict=True):
            seconds = self.where.times([plan]).later
            run += int(1e6 * seconds)
            long = int(1e6 * seconds) >= least and int(1e9 * seconds) >= now.written_nanoseconds * plan.num_gates
            if long and self._of(place)[1]:
                found.append(place)
        tried.run, tried.long, tried.looked = run, tuple(found), True
        return bool(found)

    def is_read(self) -> bool:
        """Return whether it is known how many gates are written; all runs have to take as long as planning before."""
        tried = self.tried
        if not tried.gates and tried.spent >= planning_of(sum(plan.num_gates for plan in self._plans.came())):
            every = [stretch for place in tried.long for stretch in self._of(place)[1].values()]
            written = [one(self._bound, Manner.BETWEEN) for one in every]
            tried.gates = sum(one.num_gates for one in written if one is not None)
            if not tried.gates:
                self.stays(SLOWER)
        return tried.gates > 0

    def _of(self, place: int) -> tuple[Turns, dict[int, Stretch]]:
        if (found := self.tried.stretches.get(place)) is None:
            zeros = not (place or any(SAVE_KINDS[save.what].gates_only for save in self._program.saves))
            turns, of = turns_of(self._program.segment_at(place)), dict[int, Stretch]()
            for number, turn in enumerate(turns):
                if number % 2 == 0 and len(turn) >= thresholds.now.stretch_gates:
                    on_zeros = zeros and number == 0  # else it is for any state; a unitary is for all
                    of[number] = Stretch(self._num_wires, cast(Sequence[Gate], turn), on_zeros)
            found = self.tried.stretches[place] = turns, of
        return found

    def in_all_manners(self) -> None:
        """Choose the fastest manner for each segment, by the time of runs that are long enough for new kernels."""
        came = dict(zip(self._program.segment_places, self._plans.came(), strict=True))
        manners: dict[tuple[int, int], Manner] = {}
        for place in self.tried.long:
            seconds = self._time([came[place]])
            limit, most = int(1e6 * seconds), wanted(self.where.rates.surely * seconds)
            begin = partial(partial, self._in_manner, place, limit, came[place])
            least, best = min(in_manners(begin, itemgetter(0), most), default=(most, Manner.LOCAL))
            if least >= most:
                self.tried.stretches.pop(place, None)  # with all that is written of it
                continue
            for number, stretch in self._of(place)[1].items():
                if stretch(self._bound, best, limit) is not None:
                    manners[place, number] = best
                    stretch.keep(best)
        self.tried.manners = manners
        if not manners:
            self.stays(SLOWER)

    def _time(self, plans: Sequence[Plan]) -> float:
        """Return the seconds of some plans."""
        times = self.where.times(plans)
        return times.later if self.kernels else times.first

    def _in_manner(
        self, place: int, limit: int, came: Plan, manner: Manner, most: float
    ) -> tuple[float, Manner] | None:
        """Return the seconds of a segment in a manner; None if it cannot be written, or run there in less than most."""
        check_cancelled()
        made = {}
        for number, stretch in self._of(place)[1].items():
            if (written := stretch(self._bound, manner, limit)) is not None:
                made[number] = written
        if not made:
            return None
        segment, _ = self._segment(place, made, self._total)
        try:
            with shorter_than(most / self.where.one_pass):
                return self._time([self._plans.one(segment, came.start, came.fresh)]), manner
        except (NotSupported, Longer):  # it mixes more bits than a sub state vector has, or nobody wants it
            return None

    def _segment(self, place: int, made: Mapping[int, WrittenCircuit], begin: int) -> tuple[Segment, int]:
        """Return a segment with what is written in some turns, whose operands begin at a place, and where they end."""
        others: dict[int, tuple[Gate, ...]] = {}
        for number, written in made.items():
            others[number] = moved(cast(tuple[Gate, ...], written.structure.instructions), begin)
            begin += written.numbers(self._bound.operands(0, 1)).shape[1]
        return with_turns(self._program.segment_at(place), self._of(place)[0], others), begin

    def chosen(self, *, told: bool = False) -> InStretches | str:
        """Return what is chosen, or stands between gates if that is not for all bindings; told: whatever it takes."""
        made: dict[int, dict[int, WrittenCircuit]] = {}
        for (place, number), manner in self.tried.manners.items():
            stretch = self._of(place)[1][number]
            if (written := stretch(self._bound, manner) or stretch(self._bound, Manner.BETWEEN)) is not None:
                made.setdefault(place, {})[number] = written
        all_made = tuple([written for of in made.values() for written in of.values()])
        latest, program = self.tried.latest or ((), None)
        if program is None or latest != all_made:
            program = self._program_of(made)
            # As a whole, since its other segments begin in other layouts.
            faster = told or self._time(self._plans.of(program)) < wanted(self._time(self._plans.came()))
            if not all_made or not faster:
                return self.stays(SLOWER)
            self.tried.latest = all_made, program
        fact = f"{AS} in {len(made)} of {len(self._program.segments)} segments"
        return InStretches(program, with_numbers(self._bound, all_made), fact)

    def _program_of(self, made: Mapping[int, Mapping[int, WrittenCircuit]]) -> Program:
        segments, begin = {}, self._total
        for place, of in made.items():
            segments[place], begin = self._segment(place, of, begin)
        return with_segments(self._program, segments)


def with_numbers(bound: Bindings, written: Sequence[WrittenCircuit]) -> Bindings:
    """Return bindings with the numbers of all that is written behind their own."""

    def operands(begin: int, end: int) -> Operands:
        own = bound.operands(begin, end)
        return np.concatenate([own, *(one.numbers(own) for one in written)], axis=1)

    return Bindings.of(operands(0, 1)) if bound.count == 1 else Bindings(bound.count, operands)
