"""A run that is planned: what `pipeline` made of a call before states pass through it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qsim_ex.circuit.circuit import Circuit
    from qsim_ex.circuit.parameters.bindings import Bindings
    from qsim_ex.options import Options
    from qsim_ex.program.program import Program
    from qsim_ex.program.separation import Separation
    from qsim_ex.run.methods.method import ProgramWay, SimulatesStates
    from qsim_ex.run.request import Request


@dataclass(frozen=True, eq=False, slots=True)
class PlannedRun:
    """A checked and planned run: its program and numbers, its request, and its machines, all of one way.

    separation: what was left out of the user's circuit, if anything. method, facts: what results call it, and tell.
    """

    separation: Separation | None
    circuit: Circuit
    program: Program
    bound: Bindings
    request: Request
    way: ProgramWay
    machines: Sequence[SimulatesStates]
    options: Options
    method: str = "statevector"
    facts: Mapping[str, str] = field(default_factory=dict)
