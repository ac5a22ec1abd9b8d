"""What a circuit is for Stim: its text, and what is done between its pieces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from qsim_ex.stabilizer.blocks import Conditions
from qsim_ex.stabilizer.parities import Parity
from qsim_ex.stabilizer.values import SavedPoint

Wires = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ShotPaulis:
    """Pauli gates in the shots in which all conditions hold, or in some of these.

    chosen: products of Pauli gates, by their letters on `wires`, each with the probability with which it is chosen;
    what they leave of 1 is that of none.
    """

    conditions: Conditions
    wires: Wires
    chosen: tuple[tuple[str, float], ...]


@dataclass(eq=False, slots=True)
class LateMeasurement:
    """A measurement at the end that waits for the observables: its wire, and its bit unless that is written again."""

    wire: int
    clbit: int | None
    flips: float


@dataclass(frozen=True, eq=False, slots=True)
class Translation:
    """A circuit for Stim.

    texts: its instructions, in pieces. between: what is done between two pieces, in some shots. records: how many it
    makes. clbits: each classical bit at its end. saves: what is saved, and where. observables: the value of each
    observable at the end. recorded: for each label the bits of each value that every shot records. read: the groups of
    bits whose misreading Stim does.
    """

    texts: tuple[str, ...]
    between: tuple[ShotPaulis, ...]
    records: int
    clbits: tuple[Parity, ...]
    saves: tuple[SavedPoint, ...]
    observables: tuple[SavedPoint, ...]
    recorded: Mapping[str, list[list[Parity]]]
    read: frozenset[tuple[int, ...]]
