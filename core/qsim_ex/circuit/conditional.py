"""Instructions under a condition on classical bits."""

from __future__ import annotations

from qsim_ex.circuit import check
from qsim_ex.circuit.ops import Conditional, Instruction, Op
from qsim_ex.errors import NotSupported


def under(instruction: Instruction, clbits: tuple[int, ...], values: tuple[int, ...]) -> Conditional:
    """Return an instruction under a condition; an instruction that has a condition is under both then."""
    match instruction:
        case Op():
            return Conditional(instruction, clbits, values)
        case Conditional(operation, inner, wanted):
            check.condition(clbits + inner, (0,), max(clbits + inner) + 1)
            both = [value | other << len(clbits) for other in wanted for value in values]
            return Conditional(operation, clbits + inner, tuple(sorted(both)))
        case _:
            raise NotSupported(
                f"expected gates and matrices under a classical condition, got {type(instruction).__name__.lower()}, "
                "which is not supported there; append it outside of the condition."
            )
