"""What is written out of a circuit's form in its place, where that is predicted to be faster.

A circuit has nearly the same form in every basis (`planning.form`), so what is written out of it does not take longer
where a transpiler wrote the circuit in the gates of a machine. Where it is not faster than the circuit as it came, that
is run, and its structure is not tried again there.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.ops import Measure, Op, Permutation, Save
from qsim_ex.circuit.structure import Structure, structure_of
from qsim_ex.devices.hypothetical import HypotheticalDevice
from qsim_ex.devices.memory import state_bytes
from qsim_ex.execution.costs import total_of
from qsim_ex.options import Options
from qsim_ex.placement.deployment import Deployment
from qsim_ex.planning.compiled import MOST_WIRES
from qsim_ex.planning.cost.rates import Rates
from qsim_ex.planning.form import written_out as form_written_out
from qsim_ex.program.program import Program
from qsim_ex.steps.compiled import arrays_of
from qsim_ex.steps.plan import Plan

FACT = "written"
"""The fact of a result that says in which words its circuit was run."""

AS = "as Pauli rotations"


class _Tried:
    """What is known of a structure in a place.

    slower: whether nothing faster is to be written out of it there. postponed: whether what is written was not planned
    when the structure first came, since that takes longer than the run.
    """

    slower = postponed = False


@lru_cache(maxsize=1024)
def _tried(*_key: Hashable) -> _Tried:
    return _Tried()


class Where(NamedTuple):
    """Where a circuit is to run."""

    device: HypotheticalDevice
    deployment: Deployment
    options: Options

    @property
    def rates(self) -> Rates:
        """How fast it is there, as nearly as two ways to run one circuit are compared by it."""
        return self.device.rates(self.options.dtype, self.options.threads).shared(self.options.virtual_peers)

    def seconds(self, plans: Sequence[Plan]) -> float:
        """Return how long some plans take there."""
        native = [arrays_of(plan.steps) for plan in plans if plan.steps]
        if None in native:
            return total_of(plans, self.options.dtype, self.deployment, self.rates).seconds
        one = 2 * state_bytes(self.deployment.num_wires, self.options.dtype) / self.rates.memory
        return one * sum(arrays.passes for arrays in native if arrays)


def written_out(
    circuit: Circuit,
    plans: Callable[[], Sequence[Plan]],
    where: Where,
    planned: Callable[[Circuit], tuple[Program, Sequence[Plan]]],
    *,
    again: bool = False,
) -> tuple[Circuit, Program] | None:
    """Return the circuit that runs in place of another one, with its program; None if that is not faster.

    circuit: with one binding. plans: returns those of its segments. planned: makes the program of what is written, and
    its plans. again: whether the circuit comes again, so that planning need not pay within this run.
    """
    if not thresholds.now.written_percent:
        return None
    tried = _tried(circuit.structure, where.deployment, where.options.dtype, where.options.threads)
    if tried.slower:
        return None
    seconds = where.seconds(plans())
    written = _promising(circuit, seconds)
    if written is not None and not (again or tried.postponed):
        tried.postponed = 1e6 * seconds < thresholds.now.planned_microseconds * len(written.instructions)
        if tried.postponed:
            return None
    found = None
    if written is not None:
        program, others = planned(written)
        limit = thresholds.now.written_percent * where.rates.surely * seconds
        found = (written, program) if 100 * where.seconds(others) < limit else None
    tried.slower = found is None
    return found


def _promising(circuit: Circuit, seconds: float) -> Circuit | None:
    """Return what is written out of a circuit whose run takes some seconds; None if it promises nothing."""
    structure, now = circuit.structure, thresholds.now
    gates = _gates_of(structure)
    if gates == 0 or 1e6 * seconds < max(now.written_microseconds, 1e-3 * now.written_nanoseconds * gates):
        return None
    changes = int(1e6 * seconds) // now.change_microseconds if now.change_microseconds else -1
    return _written(structure, gates, changes, circuit.operands.tobytes())


def _gates_of(structure: Structure) -> int:
    """Return how many gates a circuit begins with, if measurements and saves are all that follows; else 0."""
    if not structure.kinds <= {Op, Permutation, Measure, Save}:
        return 0
    kinds = list(map(type, structure.instructions))
    gates = next((k for k, kind in enumerate(kinds) if kind in (Measure, Save)), len(kinds))
    return gates if {Op, Permutation}.isdisjoint(kinds[gates:]) else 0


@lru_cache(maxsize=8)  # each with all numbers of its circuit
def _written(structure: Structure, gates: int, changes: int, operands: bytes) -> Circuit | None:
    """Return a circuit as it is written out; None if that cannot be, or promises nothing."""
    numbers: NDArray[np.complex128] = np.frombuffer(operands, dtype=np.complex128)[None]
    instructions, wires = structure.instructions, structure.num_qubits
    if wires > MOST_WIRES:
        return None
    given = Circuit.of_structure(structure_of(wires, 0, instructions[:gates]), numbers)
    now = thresholds.now
    most = min(gates // now.gates_of_a_rotation, now.written_rotations) if now.gates_of_a_rotation else -1
    written = form_written_out(given, most_rotations=most, most_changes=changes)
    if written is None:
        return None
    whole = structure_of(wires, structure.num_clbits, (*written.instructions, *instructions[gates:]))
    return Circuit.of_structure(whole, written.operands)


thresholds.depends(_tried)
thresholds.depends(_written)
