"""The circuit of a run with density matrices: what it is checked by, and what runs on twice as many wires."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.noise.readout import ReadoutErrors
from qsim_ex.circuit.parameters.bindings import Bindings
from qsim_ex.density.branching import doubled_in_branches
from qsim_ex.density.doubled import Doubled, doubled
from qsim_ex.density.superoperators import patterns_of, places_of
from qsim_ex.program.divide import program_of
from qsim_ex.program.program import Program

if TYPE_CHECKING:
    from qsim_ex.run.pipeline import BatchCall


def certain(call: BatchCall) -> Program:
    """Return the circuit's program for the checks of a request: nothing is random, and no trajectory is needed."""
    return replace(program_of(call.circuit.structure, bool(call.observables), 0, call.groups), branches=False)


def doubled_for(
    circuit: Circuit, bound: Bindings, *, observed: bool = False, sampled: bool = True, readout: ReadoutErrors = ()
) -> Doubled:
    """Return a circuit on density matrices for some bindings; other arguments as of `density.doubled`.

    They mean nothing for a circuit with control flow, whose measured bits are branches (`density.branching`).
    """
    patterns = patterns_of(places_of(circuit.structure), bound)
    if circuit.structure.has_control_flow:
        return doubled_in_branches(circuit.structure, circuit.operands.shape[1], patterns)
    how: dict[str, Any] = {"observed": observed, "sampled": sampled, "readout": readout}
    return doubled(circuit.structure, circuit.operands.shape[1], patterns, **how)
