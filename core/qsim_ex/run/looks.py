"""Looks at what is written out of a circuit, which may run in its place, when it comes again."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, cast

from qsim_ex import thresholds
from qsim_ex.circuit.parameters.bindings import Bindings
from qsim_ex.circuit.structure import Structure
from qsim_ex.display.log import LOGGER
from qsim_ex.errors import Cancelled, NotSupported
from qsim_ex.kernels.background import Background
from qsim_ex.kernels.giving_way import GivesWay
from qsim_ex.kernels.host import cores
from qsim_ex.native.library import cancelled_by, check_cancelled
from qsim_ex.planning.longer import Longer, shorter_than
from qsim_ex.planning.written.out import Manner, WritingLimits, WrittenCircuit
from qsim_ex.program.program import Program
from qsim_ex.run.beside import SideThreads
from qsim_ex.run.candidates import SOON, Kind, candidates, counted_gates, in_place, most_rotations
from qsim_ex.run.manners import in_manners, wanted, writing_limits
from qsim_ex.run.tried import Chosen, Tried, least_microseconds
from qsim_ex.run.where import Times, Where
from qsim_ex.steps.plan import Plan

Planned = Callable[[Structure], tuple[Program, Sequence[Plan]]]

_ALIKE = 1.1
"""By how much a later run may take longer than the first one."""


class Option(NamedTuple):
    """What may run in place of a circuit, its program, and its times."""

    written: WrittenCircuit
    fact: str
    structure: Structure
    program: Program
    times: Times = Times(math.inf, math.inf)  # where nobody asks for them


class Look:
    """A look at what runs in place of some bindings; see `written_out`."""

    def __init__(
        self,
        structure: Structure,
        bound: Bindings,
        plans: Callable[[], Sequence[Plan]],
        where: Where,
        planned: Planned,
        tried: Tried,
        only_values: bool,
    ) -> None:
        self._structure, self._bound, self._where, self._tried = structure, bound, where, tried
        self._plans, self._planned, self._only_values = plans, planned, only_values
        self._gates, self._times = counted_gates(structure), cast("Times | None", None)
        tried.read = self._gates
        self._threads = 1 if bound.count > 1 else where.options.threads or cores()

    def again(self) -> Option | None:
        """Return what a run takes that is not the first one; what all have taken so far pays for further looks."""
        tried, chosen = self._tried, self._tried.chosen
        tried.spent += tried.run * self._bound.count
        if time := tried.is_time(self._where.interprets):
            if not self._where.interprets:
                return self.in_all_manners(waits=True)
            self._threads = 1  # nobody waits, and other threads' Python would be in the way of runs
            _BACKGROUND.later(partial(_quietly, partial(self.in_all_manners, alike=time == 1, waits=True)))
        if chosen is None:
            return None
        for written, fact in self._candidates():
            limits = WritingLimits(most_rotations(self._structure), alone=True)
            other = written if written.manner is chosen.manner else written.again(chosen.manner, limits)
            structure = self._in_place(other or written)
            program, plans = self._planned(structure)
            option = Option(other or written, fact, structure, program)
            if structure is chosen.structure:
                return option
            if self._is_faster(self._where.times(plans).first, self._came().first):
                return self._taken(option)
            tried.alone = True
        return self._stays()

    def in_all_manners(self, *, alike: bool = False, waits: bool = False) -> Option | None:
        """Return the fastest of what is written in all manners, by the time of later runs; None if nothing is faster.

        alike: take nothing whose sweeps take longer until kernels are there than those of the first run. waits: until
        all runs pay for it, where gates turn out to be many rotations each.
        """
        tried, came = self._tried, self._came()
        if not self._is_long(came.first):
            return self._stays()
        most = _ALIKE * 1e-6 * tried.run if alike else math.inf

        def seconds(option: Option) -> float:
            return option.times.later if option.times.first <= most else math.inf

        for written, fact in self._candidates():
            with SideThreads(self._threads) as beside:
                begin = partial(self._begun_in, beside, written, fact)
                found = in_manners(begin, seconds, self._most(came.later))
            faster = [one for one in found if self._is_faster(one.times.later, came.later)]
            if alikes := [one for one in faster if one.times.first <= most]:
                best = self._taken(min(alikes, key=seconds))
                written.keep(best.written.manner)
                return best
            written.keep(tried.chosen.manner if tried.chosen else written.manner)
            if faster or came.first > most:
                tried.chosen = tried.chosen if came.first > most else None
                return None
            tried.alone = True
        if tried.many or next(self._candidates(), None):
            return self._stays()
        tried.many = True
        if waits and tried.spent < tried.comparing():
            tried.compared -= 1
            return None
        return self.in_all_manners(alike=alike)

    def _begun_in(
        self, beside: SideThreads, written: WrittenCircuit, fact: str, manner: Manner, most: float
    ) -> Callable[[], Option | None]:
        """Begin what runs of something in a manner; it is None where later runs do not take less than `most`."""
        limits = writing_limits(most_rotations(self._structure), self._came().later)

        def in_manner() -> Option | None:
            check_cancelled()
            other = written if manner is written.manner else written.again(manner, limits)
            if other is None or (not self._tried.many and other.num_gates >= thresholds.now.many_more * self._gates):
                return None
            return self._option(other, fact, most)

        return beside.begin(in_manner).result

    def _taken(self, option: Option, *, first: bool = False) -> Option:
        """Keep what runs in place of the circuit."""
        self._tried.chosen = Chosen(option.structure, option.written.manner)
        self._tried.looked = True
        if first:
            self._tried.took(option.times.first, self._bound.count)
        return option

    def _stays(self) -> Option | None:
        """Keep that the circuit runs as it came, and return None; a larger batch may take longer."""
        self._tried.slower = self._bound.count == 1 or self._is_long(self._came().first)
        return None

    def _candidates(self, kinds: tuple[Kind, ...] = ()) -> Iterator[tuple[WrittenCircuit, str]]:
        kinds = kinds or (tuple(Kind) if self._tried.many else SOON)
        return candidates(self._structure, self._bound, alone=self._tried.alone, kinds=kinds)

    def _came(self) -> Times:
        """Return the times of the circuit as it came."""
        if self._times is None:
            least = 1e-6 * least_microseconds() / self._bound.count
            self._times = self._where.times(self._plans(), least)
        return self._times

    def _option(self, written: WrittenCircuit, fact: str, most: float = math.inf) -> Option | None:
        """Return what runs of something that is written; None if it mixes more bits than a sub state vector has.

        most: seconds; None is returned, too, where runs do not take less.
        """
        structure = self._in_place(written)
        check_cancelled()
        try:
            with shorter_than(most / self._where.one_pass):
                program, plans = self._planned(structure)
        except (NotSupported, Longer):
            return None
        return Option(written, fact, structure, program, self._where.times(plans))

    def _in_place(self, written: WrittenCircuit) -> Structure:
        return in_place(written, only_values=self._only_values)

    def _is_long(self, seconds: float, least: int = 0) -> bool:
        """Return whether runs that take so many seconds for each binding are worth looking for others.

        least: the microseconds that they have to take; 0 for those of runs that come again and again.
        """
        if int(1e6 * seconds * self._bound.count) < (least or least_microseconds()):
            return False
        return not least or int(1e9 * seconds) >= thresholds.now.written_nanoseconds * self._gates

    def _is_faster(self, seconds: float, came: float) -> bool:
        """Return whether something surely takes less time than the circuit as it came."""
        return seconds < self._most(came)

    def _most(self, came: float) -> float:
        """Return the seconds below which something surely takes less time than the circuit as it came."""
        return wanted(self._where.rates.surely * came)


_BACKGROUND = Background()


def _quietly(look: Callable[[], object]) -> None:
    """Look in the background, where nobody could be told of an error but by the log: the circuit runs as before."""
    try:
        with cancelled_by(GivesWay()):
            look()
    except Cancelled:
        pass
    except Exception as error:  # noqa: BLE001 - see above
        LOGGER.warning("what is written of a circuit could not be compared, so it runs as before: %s", error)
