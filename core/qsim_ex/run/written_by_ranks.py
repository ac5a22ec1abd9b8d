"""What ranks that share a state run in place of a circuit: what rank 0 has chosen, if all have written the same.

Each rank writes for itself, since what is written may be millions of gates. What a rank writes depends on the bindings
that it has seen, and in the last digit on its processor; so a digest of gates and numbers is compared, and where it
differs the circuit runs as it came.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from qsim_ex.circuit.observables import PauliSum
from qsim_ex.circuit.parameters.bindings import Bindings
from qsim_ex.circuit.structure import Structure
from qsim_ex.comm.agreed import digest
from qsim_ex.comm.protocol import Communicator
from qsim_ex.errors import NotSupported
from qsim_ex.planning.written.out import Manner, WritingLimits, WrittenCircuit
from qsim_ex.run.candidates import AS_ONE, candidates, circuit_of, most_rotations
from qsim_ex.run.looks import Planned
from qsim_ex.run.written_out import Written, completed
from qsim_ex.steps.plan import Plan


def written_alike(
    ranks: Communicator,
    structure: Structure,
    bound: Bindings,
    chosen: Callable[[], Written | None],
    plans: Callable[[], Sequence[Plan]],
    planned: Planned,
    values: tuple[PauliSum, ...],
) -> Written | None:
    """Return what all ranks run in place of some bindings of a structure; None for the circuit as it came.

    chosen: returns what is faster; it is called on rank 0 alone. plans: makes those of the circuit as it came, which
    the others do meanwhile. planned, values: as `written_out` takes them.
    """
    found: Written | None = None
    with suppress(NotSupported):  # of the circuit as it came; if it is to run, all ranks plan it again, and say so
        if ranks.rank:
            plans()
        else:
            found = chosen()
    told = ranks.broadcast(found and (int(found.manner), found.fact))
    if told is None:
        return None
    if ranks.rank:
        manner, fact = told
        if (other := _in_manner(structure, bound, Manner(manner), fact)) is not None:
            circuit = circuit_of(other, bound, only_values=bool(values))
            found = completed(other, fact, circuit, planned(circuit.structure)[0], bound, values)
    everyone = ranks.allgather("" if found is None else _digest(found))
    return found if len(set(everyone)) == 1 and everyone[0] else None


def _in_manner(structure: Structure, bound: Bindings, manner: Manner, fact: str) -> WrittenCircuit | None:
    """Return what is written in a manner; None if it cannot be."""
    for written, how in candidates(structure, bound, alone=fact == AS_ONE):
        if how == fact:
            limits = WritingLimits(most_rotations(structure), alone=True)
            return written if written.manner is manner else written.again(manner, limits)
    return None


def _digest(found: Written) -> str:
    """Return what tells gates and numbers from others."""
    return digest([found.circuit.structure.key.encode(), *found.bound.told_apart()])
