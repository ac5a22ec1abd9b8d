"""What is known of a structure's written form in a place, and what it may cost to look for more.

Writing a form and planning what is written takes the host long, and a circuit that runs once may never earn it. A first
run looks at what is written soon, as far as that pays within it (`pays`); all else is looked at when the circuit comes
again, once all runs so far have taken as long.
"""

from __future__ import annotations

import ctypes
from collections.abc import Hashable
from enum import Enum, auto
from functools import lru_cache
from typing import NamedTuple

from qsim_ex import thresholds
from qsim_ex.circuit.ops import Op
from qsim_ex.circuit.phases import counted
from qsim_ex.circuit.structure import Structure
from qsim_ex.native.library import function
from qsim_ex.planning.form import UNBOUNDED
from qsim_ex.planning.written.out import Manner, WrittenCircuit

LAST = 2
"""How often all manners are compared at most; the last time by compiled kernels alone."""

_BEYOND, _RUNS = 8, 6
"""For how many gates beyond `compared_gates` comparing takes as long as for one before, and after how many runs at
least manners are compared sooner for that: of 73 circuits and bases none takes 1.06 times as long as without after 5,
20 or 60 runs."""

_CLUSTERED_PERCENT = 40
"""What looking for clusters takes for each gate that is read, of what writing and planning one takes: 8 µs in the mean
of 89 circuits, up to 40."""

_MANY = 64
"""As what so many gates a gate counts that is many rotations: twice what looking for clusters took in 28 circuits of
such gates, of which one in three gained."""

_SEEN, _TURNS_PERCENT, _ON_A_PAIR_PERCENT, _DENSE_PERCENT = 256, 145, 225, 85
"""The gates of a sample with the phases that they leave (`circuit.phases`), and from how many gates a turn, up to
how many on one pair of wires, and up to how many of 100 that are part of any matrix on three wires they look taken
apart. Turns have 2.6 to 5 gates in rz, sx, x, cz, 1.5 to 2 in r, cz, and 1 to 1.3 as most are written. Pairs of dense
circuits have three or more, 2.3 as a sample cuts them, and others up to 2.1. Of gates on two wires 0.9 of dense
circuits are of any matrix on three, of others up to 0.7."""

_TRIPLES_SHARE = 4
"""Of how many gates one is looked at for matrices on three wires, of which each has hundreds."""


class Chosen(NamedTuple):
    """What runs in place of a structure: another one, and in which manner it is written."""

    structure: Structure
    manner: Manner


class Tried:
    """What is known of a structure in a place.

    slower: whether nothing faster is to be written out of it there. short: whether only many runs are worth a look.
    alone: whether what is written for all bindings is slower. chosen: what is known to be faster. looked: whether a
    first look is done. compared: how often all manners have been compared, or are being compared in the background.
    gates: those that were written at first. read: those of the circuit. many: whether each is many rotations.
    run: the predicted microseconds of a binding's first run, as it came or as it was written then.
    spent: those of all runs so far, the one that is planned included.
    """

    slower = short = alone = looked = many = False
    chosen: Chosen | None = None
    compared = gates = read = run = spent = 0

    def is_time(self, interprets: bool) -> int:
        """Return whether it is time to compare all manners, which is counted, up to `LAST`.

        interprets: whether sweeps are interpreted until their kernels are there. Then that is done in the background
        when the circuit comes again, and once more when new kernels pay, too; else, and for short runs, when all so far
        have taken as long as it takes.
        """
        most = self.comparing() if interprets else min(self.comparing(), self._comparing_between())
        if interprets:
            most = thresholds.now.settled_microseconds if self.compared else self.short * most
        if self.compared > interprets or self.spent < most:
            return 0
        self.compared += 1
        return self.compared

    def comparing(self) -> int:
        """Return how many microseconds it takes to compare all manners, about.

        Each is what was written at first, about, and clusters are looked for among all gates that are read.
        """
        written = 100 * self.gates * (len(Manner) - 1)
        read = self.read * (_MANY if self.many else 1)
        return thresholds.now.planned_microseconds * (written + _CLUSTERED_PERCENT * read) // 100

    def _comparing_between(self) -> int:
        """Return after how many microseconds it surely pays where what stands between gates was found at first.

        No clusters have been looked for then, which may take a tenth of the time.
        """
        if not self.chosen or self.chosen.manner is not Manner.BETWEEN:
            return self.comparing()
        share = min(1.0, thresholds.now.compared_gates / max(1, self.gates))
        return max(int(self.comparing() * (share + (1 - share) / _BEYOND)), _RUNS * self.run)

    def took(self, seconds: float, count: int) -> None:
        """Keep what the first run takes, of so many bindings, in seconds of each."""
        self.looked, self.run = True, int(1e6 * seconds)
        self.spent += self.run * count


def least_microseconds() -> int:
    """Return how many microseconds a run takes at least of which others are looked for at all."""
    return min(thresholds.now.compared_microseconds, thresholds.now.written_microseconds, key=int)


def planning_of(gates: int) -> int:
    """Return in how many microseconds a circuit of so many gates is planned, about."""
    return thresholds.now.gate_nanoseconds * gates // 1000


def worth(seconds: float, gates: int) -> int:
    """Return how much of the time of planning so many gates some seconds are, in hundredths."""
    planning = planning_of(gates)
    return int(1e8 * seconds / planning) if planning else 1 << 62


def is_sooner(written: WrittenCircuit, planning: int) -> bool:
    """Return whether what is written of few rotations is planned in less time than its circuit: microseconds."""
    both = thresholds.now.planned_microseconds * written.num_gates  # writing is the other half
    return written.manner is not Manner.BETWEEN and both <= 2 * planning


def pays(gates: int, written: WrittenCircuit, microseconds: float) -> bool:
    """Return whether it pays within a run of some length to plan what is written of a circuit of so many gates.

    What is written between gates is planned beside these, so that only counts by what it takes longer, and as many
    gates as before promise nothing.
    """
    now = thresholds.now
    if written.manner is not Manner.BETWEEN:
        return now.planned_microseconds * written.num_gates <= microseconds
    longer = now.between_microseconds * written.num_gates - planning_of(gates)
    return written.num_gates < gates and 2 * longer <= microseconds


def clusters_pay(gates: int, microseconds: float) -> bool:
    """Return whether it pays within a run of some length to look for clusters among so many gates.

    That takes up to an eighth of what writing and planning as many gates takes. In a short run most of it is a
    beginning, and there is little to gain.
    """
    now = thresholds.now
    return microseconds >= now.clustered_microseconds and now.planned_microseconds * gates <= 8 * microseconds


def few_rotations(gates: int, wires: int) -> int:
    """Return the most rotations of a form that, each as two gates, is planned sooner than the gates of a circuit.

    One for each wire is always few: with so many a state is made of zeros.
    """
    now = thresholds.now
    if not now.planned_microseconds:
        return UNBOUNDED
    return int(max(wires, planning_of(gates) // (2 * now.planned_microseconds)))


class TakenApart(Enum):
    """What a transpiler seems to have taken apart into gates: nothing, gates, or matrices on three wires."""

    NOTHING = auto()
    GATES = auto()
    MATRICES = auto()


@lru_cache(maxsize=256)
def taken_apart(structure: Structure, gates: int) -> TakenApart:
    """Return what the gates that a structure begins with look like.

    A transpiler writes each turn of a wire as two gates or more. Three gates or more on one pair of wires, one behind
    another, are any matrix on these: nothing is found in it, and the planner makes blocks of it as it came. So are 14
    on three wires, which are found as blocks. A sample is seen. A turn counts once where it is translated to several
    operations, as a `u` is to two phases and what is between them.
    """
    seen = -(-_SEEN * gates // max(counted(structure), 1))
    begin, counts = max(0, gates - seen) // 2, (ctypes.c_int64 * 6)()
    end, few = min(begin + seen, gates), max(0, gates // _TRIPLES_SHARE - seen) // 2
    instructions = structure.instructions
    function("structure_taken_apart")(instructions, Op, begin, end, few, ctypes.addressof(counts))
    turns, runs, together, groups, pairs, dense = counts
    if dense * 100 > _DENSE_PERCENT * pairs:
        return TakenApart.MATRICES
    apart = turns * 100 >= _TURNS_PERCENT * runs > 0 and together * 100 < _ON_A_PAIR_PERCENT * groups
    return TakenApart.GATES if apart else TakenApart.NOTHING


def fewest(*limits: int) -> int:
    """Return the least of some limits, of which some may be UNBOUNDED."""
    return min((limit for limit in limits if limit != UNBOUNDED), default=UNBOUNDED)


def affordable(microseconds: float) -> int:
    """Return the most rotations of a form that is written and planned in half of a run, each as two gates."""
    gate = thresholds.now.planned_microseconds
    return int(microseconds // (4 * gate)) if gate else UNBOUNDED


@thresholds.depends
@lru_cache(maxsize=1024)
def tried(*_key: Hashable) -> Tried:
    """Return what is known of a structure in a place, which the key names."""
    return Tried()
