"""Blocks under conditions: which instructions all shots do, and which only the shots in which conditions hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from qsim_ex.circuit.classical import Token
from qsim_ex.circuit.control import ControlFlow, Else, End, If, Leave, NextRound, Once, While
from qsim_ex.stabilizer.parities import ONE, ZERO, Condition, Parity, condition_of

Conditions = tuple[Condition, ...]
"""Conditions that hold together; `NOWHERE` holds in no shot."""

NOWHERE: Conditions = (ZERO,)


def both(outside: Conditions, own: Condition) -> Conditions:
    """Return the conditions of what stands under a condition inside of others."""
    if own == ZERO or outside == NOWHERE:
        return NOWHERE
    return outside if own == ONE or own in outside else (*outside, own)


class Blocks:
    """The open blocks of a circuit. conditions: those of the present instruction. open: whether a block is open."""

    def __init__(self) -> None:
        self.conditions: Conditions = ()
        self.open = False
        self._around: list[tuple[Conditions, Condition]] = []  # of each open block: those outside, and its own

    def marker(self, marker: ControlFlow, known: Callable[[Token], Sequence[Parity]]) -> str | None:
        """Open or close a block; return why that cannot be done, None if it is. known: the bits of a token."""
        match marker:
            case If(condition):
                self._opened(condition_of(condition, known))
            case Else():
                self.conditions, own = self._around.pop()
                self._opened(own.plus_one())
            case Once():
                self._opened(ONE)
            case While(condition):
                found = ONE if condition is None else condition_of(condition, known)
                if both(self.conditions, found) != NOWHERE:
                    return "it is a loop whose rounds depend on what is measured"
                self._opened(ZERO)
            case End():
                self.conditions, _ = self._around.pop()
                self.open = bool(self._around)
            case Leave() | NextRound():
                return None if self.conditions == NOWHERE else "it leaves a loop"
            case _:
                raise AssertionError(f"expected a marker of a block, got {marker!r}")
        return None

    def _opened(self, own: Condition) -> None:
        self._around.append((self.conditions, own))
        self.conditions = both(self.conditions, own)
        self.open = True
