"""How many wires of the engine the qids of a circuit take; all that is known of levels where each qid has two."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import cirq

from qsim_ex.errors import OutOfMemory
from qsim_ex.frameworks import later

if TYPE_CHECKING:
    from qsim_ex_cirq.qudits import levels
else:
    levels = later("qsim_ex_cirq.qudits.levels")


def levels_of(qubits: Sequence[cirq.Qid]) -> levels.Levels | None:
    """Return the levels of some qids; None if each has two."""
    for qubit in qubits:
        if qubit.dimension != 2:
            return levels.known(tuple([one.dimension for one in qubits]))
    return None


def levels_of_shape(shape: tuple[int, ...]) -> levels.Levels | None:
    """Return the levels of qids that have so many; None if each has two."""
    return None if {*shape} <= {2} else levels.known(shape)


def qids_of(shape: tuple[int, ...]) -> tuple[cirq.Qid, ...]:
    """Return a line of qids with so many levels."""
    if {*shape} <= {2}:
        return tuple(cirq.LineQubit.range(len(shape)))
    return tuple(cirq.LineQid.for_qid_shape(shape))


def wires_of_qubits(qids: Sequence[cirq.Qid]) -> dict[cirq.Qid, int]:
    """Return the wire of each qid that has two levels; the last qid is the lowest wire."""
    levels = levels_of(qids)
    if levels is None:
        return {qubit: len(qids) - 1 - k for k, qubit in enumerate(qids)}
    return {qid: wires[0] for qid, wires in zip(qids, levels.wires, strict=True) if qid.dimension == 2}


def in_words(qids: Collection[cirq.Qid]) -> str:
    """Return how many qubits there are, or qids with how many levels."""
    return shape_in_words([qid.dimension for qid in qids])


def shape_in_words(shape: Sequence[int]) -> str:
    """Return how many qubits have so many levels each, or qids."""
    if {*shape} <= {2}:
        return "one qubit" if len(shape) == 1 else f"{len(shape)} qubits"
    levels = str(shape[0]) if len({*shape}) == 1 else ", ".join(map(str, shape))
    return f"{'one qid' if len(shape) == 1 else f'{len(shape)} qids'} of {levels} level{'s' * (levels != '1')}"


def say_in_qids(error: OutOfMemory, qids: Collection[cirq.Qid]) -> None:
    """Raise an error of memory again with how many wires the qids take; do nothing where each has two levels."""
    taken = levels_of([*qids])
    if taken is not None:
        wires = f"{in_words(qids)} are {taken.num_wires} wires, ⌈log₂ d⌉ for each of d levels"
        raise OutOfMemory(f"{error} Here {wires}.") from error
