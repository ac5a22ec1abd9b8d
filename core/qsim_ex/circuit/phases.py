"""Global phases that gates leave where they are written as products of cheaper ones, as RZ and √X are.

Where many gates are appended at once, all of their phases are one operation (`many`); a gate that is appended by itself
has its own. What is decided by how many gates a circuit has is the same both ways (`counted`).
"""

from __future__ import annotations

import ctypes
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.gates import GATES
from qsim_ex.circuit.ops import Op
from qsim_ex.circuit.quarters import written
from qsim_ex.circuit.rotations import Angles
from qsim_ex.circuit.structure import Structure
from qsim_ex.native.library import address, function

PHASES = "global phases"
"""The name of the operation that many global phases are."""


def phase_of(row: str, parameters: NDArray[np.float64]) -> Angles:
    """Return the angles of the phases that gates of a row leave, whose parameters are [count, parameters].

    They are an array [count], or one number for a row without parameters.
    """
    factors = GATES[row].factors
    assert factors is not None
    angle: Angles = factors(*parameters.T)[-1].parameters[0]
    return angle


@lru_cache(maxsize=256)
def counted(structure: Structure) -> int:
    """Return how many operations the gates are that a circuit begins with, with the global phases that they leave.

    It is the same whether each phase stands behind its gate or all of them are one operation.
    """
    out, (names, by) = ctypes.c_double(), _counts()
    given = structure.instructions, structure.gates_before, Op, names, address(by)
    function("structure_counted")(*given, ctypes.addressof(out))
    return round(out.value)


@lru_cache(maxsize=1)
def _counts() -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """Return names of gates that leave phases, and how many operations each other one of such a gate is with its phase.

    None of the phases counts itself.
    """
    found = {PHASES: 0.0}
    for row in GATES.values():
        if row.factors is not None and not row.controls:
            names = [factor.name for factor in row.factors(*[0.0] * len(row.parameters))]
            if names[-1] == "global_phase":
                found[written(row.name)] = len(names) / (len(names) - 1)
    return tuple(found), np.array([*found.values()])
