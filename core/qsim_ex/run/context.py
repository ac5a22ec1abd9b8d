"""What all traversals of a program on one machine have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qsim_ex.circuit.ops import Save
from qsim_ex.circuit.saves import SaveValues
from qsim_ex.execution.progress import Ticker
from qsim_ex.placement.base import States
from qsim_ex.program.program import Program
from qsim_ex.run.branches import Branches
from qsim_ex.run.machine import Machine
from qsim_ex.run.request import BatchInputs, WorkUnit

if TYPE_CHECKING:
    from qsim_ex.run.state_in_progress import StateInProgress


@dataclass(frozen=True, eq=False, slots=True)
class ExecutionContext:
    """The common context of all traversals of a program on a machine.

    states: the number of all states, each trajectory counted as one.
    ahead: called before the host waits for states at the end. finish: called at the end with states and their branches,
        branch b in row b; the states are released after it.
    save: called at a save with the unit, the save, its values [branches, …], value b that of branch b, the branches,
        and in loops the present rounds. read: returns the values of saves for states (see `observe.saved`).
    in_progress: writes checkpoints of states that are simulated one by one; None without checkpoints.
    """

    machine: Machine
    program: Program
    ticker: Ticker
    states: int
    ahead: Callable[[States], None]
    finish: Callable[[WorkUnit, BatchInputs, States, Branches], None]
    save: Callable[..., None]
    read: Callable[[States, Sequence[Save]], list[SaveValues]]
    in_progress: StateInProgress | None
