"""Whether a plan is right: it keeps its rules, and by the definition of its steps does what its circuit says."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np
from support import literal_executor
from support.literal_executor import in_order, stored
from support.promises import verify
from support.states import random_state

from qsim_ex import reference
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.ops import Initialize
from qsim_ex.errors import PlanError
from qsim_ex.planning.coefficients.binding import bind
from qsim_ex.steps import Layout, Plan

MOST_WIRES = 10
"""The most wires of a state that is computed by definitions; of larger ones only the rules are checked."""

NEAR = 1e-11
"""How far amplitudes may be off, as a share of the norm."""


def fault_of(plan: Plan, circuit: Circuit, given: dict[str, Any], numbers: Iterable[Any] | None = None) -> str:
    """What is wrong with the plan of a case of `drawn_plans`; "" if nothing is.

    numbers: the packed numbers of all steps; those of the circuit if they are not given.
    """
    try:
        verify(plan)
    except PlanError as error:
        return str(error)
    if plan.num_wires > MOST_WIRES:
        return ""
    psi, expected = _by_definition(circuit, given["start"], given["fresh"])
    try:
        found = literal_executor.run(plan, numbers or bind(plan, circuit.operands), stored(psi, plan.start))
    except (AssertionError, IndexError, ValueError) as error:  # an executor that has to read or write nowhere
        return f"it cannot be executed: {error!r}"
    off = np.linalg.norm(in_order(found, plan.end) - expected)
    return "" if off <= NEAR * max(1.0, float(np.linalg.norm(expected))) else f"amplitudes are off by {off}"


@lru_cache(maxsize=64)  # a circuit is planned with and without each rule
def _by_definition(circuit: Circuit, start: Layout, fresh: int) -> tuple[np.ndarray, np.ndarray]:
    """A drawn state in wire order, 0 at fresh index bits and at wires that are initialised; and the circuit's on it."""
    psi = random_state(circuit.num_qubits)
    values = np.arange(psi.size)
    zero = sum(1 << wire for i in circuit.instructions if isinstance(i, Initialize) for wire in i.wires)
    psi[(_places(start, psi.size) & fresh != 0) | (values & zero != 0)] = 0
    psi /= np.linalg.norm(psi)
    return psi, reference.simulate(circuit, psi)


def _places(layout: Layout, size: int) -> np.ndarray:
    """The index of the amplitude of each value, bit by bit."""
    values = np.arange(size)
    out = np.full(size, layout.flip)
    for wire, bit in enumerate(layout.address):
        out ^= (values >> wire & 1) << bit
    return out
