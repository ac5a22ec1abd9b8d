"""What may run in place of bindings of a structure: what is written out of the gates that it begins with.

One circuit is written for all bindings (`planning.written.bindings`); where there is none, that of one binding is
written for it alone. First comes what is written soon: the form, if it has so few rotations that these are planned
sooner than the gates are, else what stands between the gates. Other manners are written when they are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum, auto
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.parameters.bindings import Bindings
from qsim_ex.circuit.phases import counted
from qsim_ex.circuit.saves import SAVE_KINDS
from qsim_ex.circuit.structure import Structure, structure_of
from qsim_ex.planning.form import UNBOUNDED
from qsim_ex.planning.planner import MOST_WIRES
from qsim_ex.planning.written.bindings import WrittenBindings
from qsim_ex.planning.written.out import Manner, WritingLimits, WrittenCircuit
from qsim_ex.planning.written.out import written_out as write
from qsim_ex.planning.written.writer import WrittenParts
from qsim_ex.run.tried import TakenApart, few_rotations, fewest, taken_apart

AS = "as Pauli rotations"
AS_ONE = f"{AS}, for this binding alone"


class Kind(Enum):
    """What is written first, before other manners are asked for.

    FEW: the form, if it has so few rotations that it is planned sooner than its circuit. BETWEEN: what stands between
    gates that are not many rotations. MANY: the same of gates that are, once all runs have taken as long as that may.
    """

    FEW = auto()
    BETWEEN = auto()
    MANY = auto()


SOON = (Kind.FEW, Kind.BETWEEN)
"""What a first run looks at, each kept by itself, so that a later one finds what the first one asked for."""

_READ = 3
"""The most rotations that a gate is in the mean, if what stands between gates is written soon. A turn is three, CX is
three, and a dense matrix on two wires is 15."""

_MANY_READ = 32
"""The same for later runs: with phases under controls and small multipliers as gates a circuit has up to 24."""


def candidates(
    structure: Structure, bound: Bindings, *, alone: bool, kinds: tuple[Kind, ...] = tuple(Kind)
) -> Iterator[tuple[WrittenCircuit, str]]:
    """Yield what may run in place of some bindings, and how it is written: for all bindings, or for this one alone.

    alone: leave out what is written for all. kinds: what is asked for, the first that there is.
    """
    gates = gates_of(structure)
    known = [written_bindings(structure, gates, kind) for kind in kinds]
    if not alone and (written := _for_all(known, bound)):
        yield written, AS
    if bound.count > 1 or all(one.compares_nothing for one in known):
        return
    operands = bound.operands(0, 1).tobytes()
    if written := next(filter(None, (_alone(structure, gates, operands, kind) for kind in kinds)), None):
        yield written, AS_ONE


def _for_all(known: Sequence[WrittenBindings], bound: Bindings) -> WrittenCircuit | None:
    """Return the first of what is written for all bindings."""
    for number, one in enumerate(known):
        if number:
            one.after(known[number - 1])
        if written := one.of(bound):
            return written
    return None


def circuit_of(written: WrittenCircuit, bound: Bindings, *, only_values: bool) -> Circuit:
    """Return the circuit that is written for the first binding; only_values: without the operator at its end."""
    return Circuit.of_structure(in_place(written, only_values=only_values), numbers_of(written, bound, 0, 1))


def in_place(written: WrittenCircuit, *, only_values: bool) -> Structure:
    """Return the structure that runs of something that is written; only_values: see `circuit_of`."""
    return written.without_last() if only_values else written.structure


def numbers_of(written: WrittenCircuit, bound: Bindings, begin: int, end: int) -> NDArray[np.complex128]:
    """Return the operands of what is written, for a range of bindings."""
    return written.numbers(bound.operands(begin, end))


def most_rotations(structure: Structure) -> int:
    """Return the most rotations of a form that is written at all."""
    now = thresholds.now
    if not now.rotations_of_a_gate:
        return UNBOUNDED
    return min((counted_gates(structure) + 2 * structure.num_qubits) * now.rotations_of_a_gate, now.written_rotations)


def gates_of(structure: Structure) -> int:
    """Return how many gates a circuit begins with, if measurements and saves are all that follows; else 0."""
    return 0 if structure.num_qubits > MOST_WIRES else structure.gates_before


def counted_gates(structure: Structure) -> int:
    """Return how many these gates are, by which it is decided what to look for."""
    return counted(structure) if gates_of(structure) else 0


@lru_cache(maxsize=64)  # each with numbers of a few of its bindings
def written_bindings(structure: Structure, gates: int, kind: Kind) -> WrittenBindings:
    """Return what is written out of the gates that a structure begins with."""
    return WrittenBindings(beginning_of(structure, gates), partial(_written, structure, gates, kind))


@lru_cache(maxsize=16)  # each with all numbers of its circuit
def _alone(structure: Structure, gates: int, operands: bytes, kind: Kind) -> WrittenCircuit | None:
    """Return what is written for one binding alone."""
    numbers: NDArray[np.complex128] = np.frombuffer(operands, dtype=np.complex128)[None]
    return _written(structure, gates, kind, Circuit.of_structure(beginning_of(structure, gates), numbers))


def beginning_of(structure: Structure, gates: int) -> Structure:
    """Return the gates that a structure begins with; not as the one object of these, since nobody else asks for it."""
    whole = gates == len(structure.instructions) and not structure.num_clbits
    return structure if whole else Structure(structure.num_qubits, 0, structure.instructions[:gates])


def _written(structure: Structure, gates: int, kind: Kind, given: Circuit) -> WrittenCircuit | None:
    """Return what is written soon of gates, with all that stands behind them; None if it cannot be."""
    usual, found = most_rotations(structure), None
    zeros = not any(SAVE_KINDS[save.what].gates_only for save in structure.saves)  # a unitary is for all states
    if kind is not Kind.FEW:
        found = written_between(structure, given, zeros=zeros, of_a_gate=_READ if kind is Kind.BETWEEN else _MANY_READ)
    elif most := fewest(usual, few_rotations(counted_gates(structure), structure.num_qubits)):
        found = write(given, limits=WritingLimits(most), manner=Manner.GROWN if zeros else Manner.LOCAL, zeros=zeros)
    return found and _WithEnd(structure, gates)(found)


def written_between(
    structure: Structure, given: Circuit, *, zeros: bool, of_a_gate: int = _READ
) -> WrittenCircuit | None:
    """Return what stands between the gates that a structure begins with; None if these are too many rotations.

    If those look like matrices on three wires that were taken apart, these are what is returned.
    """
    read = of_a_gate * counted_gates(structure) if thresholds.now.rotations_of_a_gate else UNBOUNDED
    limits = WritingLimits(most_rotations(structure), read=read)
    of_matrices = taken_apart(structure, gates_of(structure)) is TakenApart.MATRICES
    clusters = partial(write, given, limits=limits, manner=Manner.CLUSTERS, zeros=zeros)
    found = clusters() if of_matrices else None
    found = found or write(given, limits=limits, manner=Manner.BETWEEN, zeros=zeros)
    return found if found or of_matrices or of_a_gate == _READ else clusters()


class _WithEnd:
    """Puts what stands behind the gates of a structure behind what is written of them, in each manner."""

    def __init__(self, structure: Structure, gates: int) -> None:
        self._num_wires, self._num_clbits = structure.num_qubits, structure.num_clbits
        self._behind = structure.instructions[gates:]

    def __call__(self, gates: WrittenCircuit) -> WrittenCircuit:
        """Return what is written of gates, with the end behind it. What is written in other manners is kept with it."""
        known: dict[Manner, WrittenCircuit] = {}

        def again(manner: Manner, limits: WritingLimits) -> WrittenCircuit | None:
            if manner not in known and (other := gates.again(manner, limits)):
                known[manner] = self(other)
            return known.get(manner)

        def keep(manner: Manner) -> None:
            for other in [one for one in known if one is not manner]:
                known.pop(other, None)
            gates.keep(manner)

        return WrittenCircuit(gates.count, gates.rotations, gates.manner, again, partial(self._parts, gates), keep)

    def _parts(self, gates: WrittenCircuit) -> WrittenParts:
        structure, numbers, last = gates.parts
        whole = structure_of(self._num_wires, self._num_clbits, (*structure.instructions, *self._behind))
        return WrittenParts(whole, numbers, last)


thresholds.depends(written_bindings)
thresholds.depends(_alone)
