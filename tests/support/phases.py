"""Circuits compared but for where their global phases stand."""

from __future__ import annotations

import numpy as np

from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.ops import Op


def alike(one: Circuit, other: Circuit) -> bool:
    """Return whether circuits of gates have the same operations with the same numbers, and in all the same phase."""
    (ops, phase), (others, other_phase) = apart(one), apart(other)
    return ops == others and bool(abs(phase - other_phase) < 1e-12)


def apart(circuit: Circuit) -> tuple[list[tuple[Op, bytes]], complex]:
    """Return the operations of a circuit on wires, in order, with their numbers, and the product of all others."""
    ops, phase = list[tuple[Op, bytes]](), complex(1)
    for one in circuit.instructions:
        assert isinstance(one, Op)
        numbers = circuit.operands[0, one.operand : one.operand + len(one.pattern)]
        if one.acts_on:
            ops.append((one._replace(operand=0), numbers.tobytes()))
        else:
            phase *= complex(np.prod(numbers))
    return ops, phase
