"""The look of a first run at what is written out of its circuit, beside which the circuit as it came is planned."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from qsim_ex import thresholds
from qsim_ex.kernels.giving_way import FIRST_RUNS
from qsim_ex.planning.written.out import Manner, WritingLimits, WrittenCircuit
from qsim_ex.run.beside import Begun, SideThreads
from qsim_ex.run.candidates import most_rotations
from qsim_ex.run.looks import Look, Option
from qsim_ex.run.tried import (
    FEWER,
    affordable,
    clusters_pay,
    is_sooner,
    is_taken_apart,
    pays,
    planning_of,
    worth,
)
from qsim_ex.run.where import Times

_SWEEP = 20
"""Gates of a sweep, of which most have more: how long a run may take before it is planned."""


class _Begun(NamedTuple):
    """Something that is written, and how it is, and what may run of it.

    ahead: writes it, and plans what may run of it if that surely pays and enough threads work.
    """

    ahead: Begun[None]
    found: Begun[tuple[WrittenCircuit, str] | None]
    option: Begun[Option | None]


class FirstLook(Look):
    """A look within a first run; see `written_out`."""

    def first(self) -> Option | None:
        """Return what a first run takes, if that is not the circuit as it came.

        Far fewer gates are taken at once; else the circuit is planned as it came, too, by another thread if it can be.
        """
        now, tried, count, planning = thresholds.now, self._tried, self._bound.count, planning_of(self._gates)
        most = self._where.one_pass * count * self._gates / _SWEEP
        short = worth(most, self._gates) < 100 * now.short_runs or int(1e6 * most) < now.written_microseconds
        long = planning >= now.sooner_microseconds * (1 + short)
        takes_long = planning >= now.beside_microseconds
        apart = takes_long and not short and is_taken_apart(self._structure, self._gates)
        promises = apart or (takes_long and not short and self._promises())
        threads = self._threads if promises or (takes_long and long) else 1
        with FIRST_RUNS, SideThreads(threads) as beside:
            if threads == 1 and not long and not promises:  # for most of these nothing else is made
                if not self._looks_on(self._came()):
                    return self._stays()
                tried.gates = self._gates
                if not self._promises(self._came()):
                    tried.took(self._came().first, count)
                    return None
            few = self._begun(beside, few=True)
            between = self._begun(beside, few=False, after=few)
            came = beside.begin(self._came, now=long)
            if apart and long:
                beside.start(between.found)  # while few rotations are looked for here
            found = few.found.result() if long else None
            if found and is_sooner(found[0], planning):
                soon = few.option.result()
                if soon and 1e6 * soon.times.first * count <= planning:
                    return self._taken(soon, first=True)  # it ends before the circuit as it came is planned
            read = [one for one, is_read in ((between, apart), (few, found and not short)) if is_read]
            if shorter := self._of_far_fewer(read):
                return self._taken(shorter, first=True)
            clusters = beside.begin(partial(self._clusters, between, planning), now=False)
            if not long:
                beside.start(few.ahead, between.ahead)
            elif threads > 1 and promises and not found:
                between.found.result()  # while another thread plans the circuit
                beside.start(between.ahead)
                beside.start(clusters)
            times = came.result()
            if not self._looks_on(times):
                return self._stays()
            tried.gates = self._gates
            if not tried.short and worth(times.first * count, self._gates) >= now.worth_percent:
                begun = few if few.found.result() else between
                if begun is few or self._promises(times):
                    if (found := begun.found.result()) is None:
                        return self._stays()
                    tried.gates = found[0].num_gates
                    clusters.wait()
                    if best := self._fastest_at_first(begun, times):
                        return self._taken(best, first=True)
            tried.took(times.first, count)
        return None

    def _promises(self, came: Times | None = None) -> bool:
        """Return whether something faster is likely to be found within this run, or is looked for since it is long."""
        long = came and worth(came.first * self._bound.count, self._gates) >= thresholds.now.whole_percent
        return bool(long) or not self._where.interprets or is_taken_apart(self._structure, self._gates)

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
                return self._in_other_manners(found, option.times, option) if between else option
        return None

    def _clusters(self, between: _Begun, planning: int) -> None:
        """Look for clusters within some microseconds, and plan what is found, which is kept for who asks for it."""
        if self._where.interprets and (found := between.found.result()):
            clusters = found[0].again(Manner.CLUSTERS, WritingLimits(within=planning))
            if clusters and self._is_far_fewer(clusters):
                self._option(clusters, found[1])

    def _is_far_fewer(self, written: WrittenCircuit) -> bool:
        return written.num_gates * FEWER <= self._gates

    def _begun(self, beside: SideThreads, *, few: bool, after: _Begun | None = None) -> _Begun:
        """Return what may be begun of one of `KINDS`; after: what comes before it, if that can be written."""
        found = beside.begin(lambda: next(self._candidates((few,)), None), now=False)
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
        """Return the fastest of what is written and planned within a first run; None for the circuit as it came."""
        found, count, best = begun.found.result(), self._bound.count, None
        assert found is not None
        written, _ = found
        if not pays(self._gates, written, 1e6 * times.first * count):
            begun.ahead.drop()
        elif other := begun.option.result():
            best = other if self._is_faster(other.times.first, times.first) else None
        return self._in_other_manners(found, times, best) if written.manner is Manner.BETWEEN else best

    def _in_other_manners(self, found: tuple[WrittenCircuit, str], times: Times, best: Option | None) -> Option | None:
        """Return what is written in another manner if that pays within a first run and is faster, else the best so far.

        times: those of the circuit as it came, or of what is written of far fewer gates.
        """
        (written, fact), count = found, self._bound.count
        least = best.times.first if best else times.first
        most = affordable(microseconds := 1e6 * least * count, most_rotations(self._structure))
        limits = WritingLimits(most, int(1e6 * times.later), within=int(microseconds))
        manners = [Manner.CLUSTERS] if clusters_pay(self._gates, microseconds) else []
        manners += [Manner.GROWN] if limits.rotations else []
        for manner in manners:
            shorter = written.again(manner, limits)
            if shorter and shorter.num_gates < self._gates and pays(self._gates, shorter, microseconds):
                other = self._option(shorter, fact)
                if other and other.times.first < least and self._is_faster(other.times.first, times.first):
                    return other
        return best

    def _looks_on(self, times: Times) -> bool:
        """Return whether runs of these times are worth looking for others, now or when they come again."""
        self._tried.short = not self._is_long(times.first, thresholds.now.written_microseconds)
        return not self._tried.short or self._is_long(times.first)
