"""The look of a first run at what is written out of its circuit, beside which the circuit as it came is planned."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from qsim_ex import thresholds
from qsim_ex.kernels.giving_way import FIRST_RUNS
from qsim_ex.planning.written.out import Manner, WritingLimits, WrittenCircuit
from qsim_ex.run.beside import Begun, SideThreads
from qsim_ex.run.candidates import Kind, gates_of, most_rotations
from qsim_ex.run.looks import Look, Option
from qsim_ex.run.tried import (
    TakenApart,
    affordable,
    clusters_pay,
    few_rotations,
    fewest,
    is_sooner,
    pays,
    planning_of,
    taken_apart,
    worth,
)
from qsim_ex.run.where import Times

_SWEEP = 20
"""Gates of a sweep, of which most have more: how long a run may take before it is planned."""

_LONGER = 3
"""How many times as long as planning a circuit clusters may be looked for beside that."""

_LATE = 4
"""The most rotations of a grown state, once all of it is there, that take as long as a pass over it; 2 to 4 of most."""


class _Begun(NamedTuple):
    """Something that is written, and how it is, and what may run of it.

    ahead: writes it, and plans what may run of it if that surely pays and enough threads work.
    """

    ahead: Begun[None]
    found: Begun[tuple[WrittenCircuit, str] | None]
    option: Begun[Option | None]


class _AtFirstSight(NamedTuple):
    """What is seen of a circuit before it is planned.

    planning: how many microseconds that takes, about. short: whether its run is short beside it. takes_long: whether
    other threads may help; long: whether what is planned sooner is looked for first. apart: what it looks like, if that
    is asked. promises: whether something faster is likely to be found.
    """

    planning: int
    short: bool
    takes_long: bool
    long: bool
    apart: TakenApart
    promises: bool


class FirstLook(Look):
    """A look within a first run; see `written_out`."""

    _clusters: Begun[None]  # looks for them beside other work
    _more_than = 0  # how many rotations the form has more than, as far as is known

    def first(self) -> Option | None:
        """Return what a first run takes, if that is not the circuit as it came.

        Far fewer gates are taken at once; else the circuit is planned as it came, too, by another thread if it can be.
        """
        seen = self._at_first_sight()
        threads = self._threads if seen.promises or (seen.takes_long and seen.long) else 1
        with FIRST_RUNS, SideThreads(threads) as beside:
            if threads == 1 and not seen.long and not seen.promises:  # for most of these nothing else is made
                times = self._came()
                if not self._looks_on(times):
                    return self._stays()
                if not self._promises(times) and self._worth(times) < thresholds.now.few_percent:
                    return self._as_it_came(times)
            few = self._begun(beside, Kind.FEW)
            between = self._begun(beside, Kind.BETWEEN, after=None if seen.apart is TakenApart.MATRICES else few)
            self._clusters = beside.begin(partial(self._look_for_clusters, between, seen.planning), now=False)
            if seen.apart is TakenApart.GATES and seen.long:
                beside.start(between.found, self._clusters)  # while few rotations are looked for here
            came = beside.begin(self._came, now=seen.long and seen.apart is TakenApart.NOTHING)
            if soon := self._before_it_is_planned(seen, few, between):
                return self._taken(soon, first=True)
            if not seen.long:
                beside.start(few.ahead, between.ahead)
            elif threads > 1 and seen.promises and (seen.apart is TakenApart.MATRICES or not self._few(few)):
                beside.start(between.ahead)  # while the circuit is planned
                beside.start(self._clusters)
            times = came.result()
            if not self._looks_on(times):
                return self._stays()
            if self._tried.short or self._worth(times) < thresholds.now.worth_percent:
                return self._as_it_came(times)
            found = self._few(few) if seen.apart is not TakenApart.MATRICES else None
            begun = few if found and self._pays(found[0], times.first) else between
            if begun is between and not self._promises(times):
                return self._as_it_came(times)
            if (found := begun.found.result()) is None:
                self._tried.many = True
                return self._as_it_came(times)
            self._tried.gates = found[0].num_gates
            best = self._fastest_at_first(begun, times)
            return self._taken(best, first=True) if best else self._as_it_came(times)

    def _at_first_sight(self) -> _AtFirstSight:
        """Return what is seen of the circuit before it is planned."""
        now, planning = thresholds.now, planning_of(self._gates)
        most = self._where.one_pass * self._bound.count * self._gates / _SWEEP
        short = worth(most, self._gates) < 100 * now.short_runs or int(1e6 * most) < now.written_microseconds
        takes_long = planning >= now.beside_microseconds
        apart = self._apart() if takes_long and not short else TakenApart.NOTHING
        promises = takes_long and not short and self._promises()
        return _AtFirstSight(
            planning, short, takes_long, planning >= now.sooner_microseconds * (1 + short), apart, promises
        )

    def _before_it_is_planned(self, seen: _AtFirstSight, few: _Begun, between: _Begun) -> Option | None:
        """Return what surely runs sooner than the circuit as it came can be planned and run."""
        found = self._few(few) if seen.long and seen.apart is not TakenApart.MATRICES else None
        if found and is_sooner(found[0], seen.planning):
            soon = few.option.result()
            if soon and 1e6 * soon.times.first * self._bound.count <= seen.planning:
                return soon
        read = [between] * (seen.apart is not TakenApart.NOTHING) + [few] * bool(found and not seen.short)
        return self._of_far_fewer(read)

    def _few(self, few: _Begun) -> tuple[WrittenCircuit, str] | None:
        """Return what is written of few rotations; None if there are more."""
        found = few.found.result()
        if found is None:
            self._more_than = fewest(
                most_rotations(self._structure), few_rotations(self._gates, self._structure.num_qubits)
            )
        return found

    def _as_it_came(self, times: Times) -> Option | None:
        """Keep how long this run takes as it came, and return None; others are looked for when it comes again."""
        if not self._tried.gates:  # of what a transpiler took apart a part of the gates is written, as a rule
            self._tried.gates = self._gates // (1 if self._apart() is TakenApart.NOTHING else thresholds.now.far_fewer)
        self._tried.took(times.first, self._bound.count)
        return None

    def _worth(self, times: Times) -> int:
        return worth(times.first * self._bound.count, self._gates)

    def _promises(self, came: Times | None = None) -> bool:
        """Return whether something faster is likely to be found within this run, or is looked for since it is long."""
        long = came and self._worth(came) >= thresholds.now.whole_percent
        return bool(long) or not self._where.interprets or self._apart() is not TakenApart.NOTHING

    def _apart(self) -> TakenApart:
        return taken_apart(self._structure, gates_of(self._structure))

    def _of_far_fewer(self, begun: Sequence[_Begun]) -> Option | None:
        """Return what runs of what is written of far fewer gates than the circuit's, the first that there is.

        It is faster, planning included, whatever the circuit as it came takes, which is not planned.
        """
        for one in begun:
            found = one.found.result()
            if found and self._is_far_fewer(found[0]) and (option := one.option.result()):
                self._tried.gates = found[0].num_gates
                self._looks_on(option.times)
                between = found[0].manner is Manner.BETWEEN
                if not between:
                    return option
                return self._in_other_manners(found, option.times, option, self._in_clusters(found[0], option.times))
        return None

    def _look_for_clusters(self, between: _Begun, planning: int) -> None:
        """Look for clusters beside other work; plan what is found of far fewer gates, which is kept for who asks."""
        if self._where.interprets and (found := between.found.result()):
            clusters = found[0].again(Manner.CLUSTERS, WritingLimits(within=_LONGER * planning))
            if clusters and self._is_far_fewer(clusters):
                self._option(clusters, found[1])

    def _is_far_fewer(self, written: WrittenCircuit) -> bool:
        return written.num_gates * thresholds.now.far_fewer <= self._gates

    def _begun(self, beside: SideThreads, kind: Kind, after: _Begun | None = None) -> _Begun:
        """Return what may be begun of a kind; after: what comes before it, if that can be written."""
        found = beside.begin(lambda: next(self._candidates((kind,)), None), now=False)
        option = beside.begin(lambda: self._promising(found.result()), now=False)

        def ahead() -> None:
            written = None if after and after.found.result() else found.result()
            if written and self._threads > 2 and pays(self._gates, written[0], planning_of(self._gates)):
                option.result()

        return _Begun(beside.begin(ahead, now=False), found, option)

    def _promising(self, found: tuple[WrittenCircuit, str] | None) -> Option | None:
        """Return what runs of something that is written, unless that is between as many gates as the circuit has."""
        if found is None or (found[0].manner is Manner.BETWEEN and found[0].num_gates >= self._gates > 0):
            return None
        return self._option(*found)

    def _fastest_at_first(self, begun: _Begun, times: Times) -> Option | None:
        """Return the fastest of what is written and planned within a first run; None for the circuit as it came.

        Clusters of no more gates than stand between those of the circuit are planned in their place.
        """
        found, best = begun.found.result(), None
        assert found is not None
        written, _ = found
        between = written.manner is Manner.BETWEEN
        clusters = self._in_clusters(written, times) if between else None
        if (clusters and clusters.num_gates <= written.num_gates) or not self._pays(written, times.first):
            begun.ahead.drop()
        elif other := begun.option.result():
            best = other if self._is_faster(other.times.first, times.first) else None
        return self._in_other_manners(found, times, best, clusters) if between else best

    def _in_clusters(self, written: WrittenCircuit, times: Times) -> WrittenCircuit | None:
        """Return the clusters of what is written between gates, if it pays to look for them in runs of some times."""
        microseconds = 1e6 * times.first * self._bound.count
        if not clusters_pay(self._gates, microseconds):
            return None
        self._clusters.wait()
        return written.again(Manner.CLUSTERS, WritingLimits(within=int(microseconds)))

    def _in_other_manners(
        self, found: tuple[WrittenCircuit, str], times: Times, best: Option | None, clusters: WrittenCircuit | None
    ) -> Option | None:
        """Return what is written in another manner if that pays within a first run and is faster, else the best so far.

        times: those of the circuit as it came, or of what is written of far fewer gates. clusters: see `_in_clusters`.
        """
        (written, fact), least = found, best.times.first if best else times.first
        most = fewest(
            most_rotations(self._structure),
            affordable(1e6 * least * self._bound.count),
            self._structure.num_qubits + int(_LATE * least / self._where.one_pass),
        )
        if fewest(most, self._more_than) == most and self._more_than:
            most = 0  # so few have been looked for
        limits = WritingLimits(most, int(1e6 * times.later), alone=True)
        for manner in Manner.CLUSTERS, Manner.GROWN:
            other = clusters if manner is Manner.CLUSTERS else written.again(manner, limits) if most else None
            if not other or other.num_gates >= self._gates or not self._pays(other, least):
                continue
            option = self._option(other, fact, least)
            if option and option.times.first < least and self._is_faster(option.times.first, times.first):
                return option
        return best

    def _pays(self, written: WrittenCircuit, seconds: float) -> bool:
        """Return whether what is written may run in less than some seconds, and planning it pays within these."""
        late = max(0, written.rotations - self._structure.num_qubits)  # no wire is 0 any more that such a one turns
        least = self._where.one_pass * late / _LATE if written.manner is Manner.GROWN else 0
        return pays(self._gates, written, 1e6 * (seconds - least) * self._bound.count)

    def _looks_on(self, times: Times) -> bool:
        """Return whether runs of these times are worth looking for others, now or when they come again."""
        self._tried.short = not self._is_long(times.first, thresholds.now.written_microseconds)
        return not self._tried.short or self._is_long(times.first)
