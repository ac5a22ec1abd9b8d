"""What is known of a structure's written form in a place, and whether it is time to look for more.

Writing a form and planning what is written takes the host long, and a circuit that runs once may never earn it. So a
look may take as long as all runs so far, this one included, and after a look that was given up the next one waits until
that time has doubled: all looks together cost no more than a few times what all runs do.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache

from qsim_ex import thresholds
from qsim_ex.circuit.structure import Structure
from qsim_ex.planning.form import UNBOUNDED
from qsim_ex.planning.written import Manner


class Tried:
    """What is known of a structure in a place.

    slower: whether nothing faster is to be written out of it there. alone: whether what is written for all bindings is
    slower. faster: the structure that is known to be faster. manner: the manner in which it is written. compared: in
    how many manners it has been written.
    spent: the predicted microseconds of all runs so far, the one that is planned included. looked: what they were when
    writing took longer than that, so that it was postponed. rotations: the most that a form may have that is written.
    """

    slower = alone = False
    faster: Structure | None = None
    manner = Manner.LOCAL
    compared = spent = looked = 0
    rotations: int | None = None

    def waits(self) -> bool:
        """Return whether it is too early to look again: each look costs, so there are few of them."""
        return self.faster is None and self.spent < 2 * self.looked

    def allows(self, gates: int) -> bool:
        """Return whether as many gates are written and planned in less time than all runs so far have taken."""
        return self.spent >= thresholds.now.planned_microseconds * gates

    def pays(self, gates: int) -> bool:
        """Return whether as many gates, which are written, are planned in less time: writing is half of it."""
        return 2 * self.spent >= thresholds.now.planned_microseconds * gates

    def affordable(self, usual: int) -> int:
        """Return the most rotations of a form that is written in such a time, each as two gates at least.

        usual: the most that are written at all; UNBOUNDED for any number.
        """
        if self.rotations is not None:
            return self.rotations
        if not (gate := thresholds.now.planned_microseconds):
            return usual
        most = self.spent // (2 * gate)
        return most if usual == UNBOUNDED else min(usual, most)

    def manners(self, gates: int, again: bool) -> tuple[Manner, ...]:
        """Return in which manners a form is to be written: the best one so far, and those that are to be compared.

        gates: those of one manner. again: whether the circuit comes again, so that all are.
        """
        others = tuple(Manner)[self.compared :]
        if not again and not ((self.looked or self.compared) and self.allows(gates * len(others))):
            others = ()
        return self.manner, *(manner for manner in others if manner != self.manner)


@thresholds.depends
@lru_cache(maxsize=1024)
def tried(*_key: Hashable) -> Tried:
    """Return what is known of a structure in a place, which the key names."""
    return Tried()
