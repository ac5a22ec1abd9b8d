"""The coefficient program of a plan, differentiated: which numbers depend on some operands, and how values follow."""

from __future__ import annotations

from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from qsim_ex.native.library import address, function
from qsim_ex.planning.coefficients.binding import program_arrays
from qsim_ex.steps.coefficients import Coefficients, Euler, Fold, Product

Complex = NDArray[np.complex128]
Flags = NDArray[np.bool_]

LEFT_OUT = ("rotate", "rotate_pairs")
"""Rules without which no matrix is written by its Euler angles, which have no derivative where an entry is 0.

On a CPU a complex matrix costs about as much as a rotation between phases.
"""


def depending(coefficients: Coefficients, operands: Flags) -> Flags:
    """Return which numbers of the coefficient buffer depend on some of the operands, bool [size]."""
    found = np.zeros(coefficients.size(), dtype=np.bool_)
    found[: coefficients.num_operands] = operands[: coefficients.num_operands]
    for instruction, at in coefficients.placed():
        made = found[at : at + instruction.size]
        match instruction:
            case Product(left, right):
                rows: Flags = np.asarray(found.take(left).any(axis=-1))  # [count, blocks, d]
                columns: Flags = np.asarray(found.take(right).any(axis=-2))  # [count, blocks, columns]
                made[:] = np.logical_or(rows[..., :, None], columns[..., None, :]).reshape(-1)
            case Fold(incidence, factors):
                made[:] = np.einsum("cef,cf->ce", incidence, found.take(factors)).reshape(-1) > 0
            case Euler():
                made[:] = np.repeat(found.take(instruction.places).any(axis=-1), 7)
            case _:
                assert_never(instruction)
    return found


def pull_back(coefficients: Coefficients, numbers: Complex, cotangents: Complex) -> Complex:
    """Return cotangents of a plan's operands for those of all its numbers, which are changed.

    numbers: the whole coefficient buffers, [rows or 1, size]. cotangents: [rows, values, size]; a cotangent w of a
    number z says that a value changes by Re(w·dz). The plan must be one without Euler angles (`LEFT_OUT`).
    """
    rows, places, incidence, _ = program_arrays(coefficients)
    given = address(rows), len(rows), address(places), address(incidence), coefficients.num_operands
    for row, some in enumerate(cotangents):
        buffer = np.ascontiguousarray(numbers[row if len(numbers) > 1 else 0])
        for one in some:
            function("plan_adjoint")(*given, address(buffer), address(one))
    return cotangents[:, :, : coefficients.num_operands]
