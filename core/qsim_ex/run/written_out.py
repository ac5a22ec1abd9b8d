"""What is written out of a circuit's form in its place, where that is predicted to be faster.

A circuit has nearly the same form in every basis (`planning.form`), so what is written out of it does not take longer
where a transpiler wrote the circuit in the gates of a machine. A first run takes what its own time says, in which
sweeps may be interpreted; when a circuit comes again, what is written in all manners is compared by the time of later
runs, and so it is at once where the first run waits for all kernels (`compile="always"`). Where nothing is faster than
the circuit as it came, that is run, and its structure is not tried again there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from qsim_ex import thresholds
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.observables import PauliSum
from qsim_ex.circuit.parameters.bindings import Bindings
from qsim_ex.circuit.structure import Structure
from qsim_ex.planning.behind import before
from qsim_ex.planning.written.out import Manner, WrittenCircuit
from qsim_ex.program.program import Program
from qsim_ex.run.candidates import circuit_of, gates_of, numbers_of
from qsim_ex.run.first_look import FirstLook
from qsim_ex.run.looks import Planned
from qsim_ex.run.tried import LAST
from qsim_ex.run.tried import tried as tried_of
from qsim_ex.run.where import Where
from qsim_ex.steps.plan import Plan

FACT = "written"
"""The fact of a result that says in which words its circuit was run."""


_OF_ITS_FORM = "those of its form, in a Clifford frame that changes"
_IN_WORDS = {
    Manner.LOCAL: _OF_ITS_FORM,
    Manner.MOVES: _OF_ITS_FORM,
    Manner.BACK: _OF_ITS_FORM,
    Manner.GROWN: "those of its form, as the state grows",
    Manner.BETWEEN: "those between its gates on several qubits, which stay",
    Manner.CLUSTERS: "gates on the same few qubits are one",
}


class Written(NamedTuple):
    """What runs in the place of a circuit: another one with its bindings, and its program.

    fact: how it was written. observables: those whose values are asked for behind it. manner: in which it was written.
    """

    circuit: Circuit
    program: Program
    bound: Bindings
    fact: str
    observables: tuple[PauliSum, ...]
    manner: Manner

    @property
    def in_words(self) -> str:
        """What `explain` says of it."""
        return f"{self.fact}: {_IN_WORDS[self.manner]}"


def written_out(
    structure: Structure,
    bound: Bindings,
    plans: Callable[[], Sequence[Plan]],
    where: Where,
    planned: Planned,
    *,
    again: bool = False,
    values: tuple[PauliSum, ...] = (),
) -> Written | None:
    """Return what runs in place of some bindings of a structure; None if that is not faster.

    plans: returns those of its segments. planned: makes the program of what is written, and its plans. again: whether
    the circuit comes again, so that planning need not pay within this run. values: the observables, if their values are
    all that is asked for; then the Clifford operator at the end is left out, and they are others.
    """
    if not thresholds.now.written_percent:
        return None
    tried = tried_of(
        structure, where.deployment, where.options.dtype, where.options.threads, bound.count > 1, bool(values)
    )
    tried.slower = tried.slower or not gates_of(structure)
    if tried.slower:
        return None
    look = FirstLook(structure, bound, plans, where, planned, tried, bool(values))
    at_once = where.compiles and tried.compared < LAST  # kernels of one manner alone are then compiled
    tried.compared = LAST if at_once else tried.compared
    found = look.in_all_manners() if again or at_once else look.again() if tried.looked else look.first()
    if found is None:
        return None
    circuit = circuit_of(found.written, bound, only_values=bool(values))
    return completed(found.written, found.fact, circuit, found.program, bound, values)


def completed(
    written: WrittenCircuit,
    fact: str,
    circuit: Circuit,
    program: Program,
    bound: Bindings,
    values: tuple[PauliSum, ...],
) -> Written:
    """Return what runs of something that is written: a circuit for the first binding, its program, all numbers."""
    numbers = partial(numbers_of, written, bound)
    other = Bindings.of(circuit.operands) if bound.count == 1 else Bindings(bound.count, numbers)
    behind = before(written.last_gates(), values) if values else ()
    return Written(circuit, program, other, fact, behind, written.manner)
