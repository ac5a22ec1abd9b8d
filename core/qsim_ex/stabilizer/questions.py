"""What is asked of a circuit before it is translated: what is random, whether gates are Clifford and noise Pauli."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import Begin, Channel, Conditional, Initialize, Measure, Op, Permutation, Save, SetState
from qsim_ex.circuit.structure import Structure
from qsim_ex.program.division import moved_to_the_end
from qsim_ex.stabilizer.operations import Recogniser
from qsim_ex.stabilizer.values import KEPT


def at_the_end(structure: Structure) -> dict[int, int]:
    """Return for the places of measurements the mask of wires whose measurement can be moved to the circuit's end."""
    instructions, end = structure.instructions, structure.gates_end
    if structure.has_control_flow:
        return dict.fromkeys(range(end, len(instructions)), -1)
    masks = moved_to_the_end(instructions, structure.acted, observed=True, group_of={})
    return {place: mask for place, mask in enumerate(masks) if isinstance(instructions[place], Measure) and mask}


@lru_cache(maxsize=256)
def is_random(structure: Structure) -> bool:
    """Return whether something is random before the measurements at the end."""
    if structure.kinds <= {Op, Permutation, Initialize, SetState, Measure, Save, Begin}:
        middle = structure.instructions[: structure.gates_end]
        if not any(type(one) is Measure for one in middle):
            return False
        waits = at_the_end(structure)
        measures = ((place, one) for place, one in enumerate(middle) if isinstance(one, Measure))
        return any(not waits.get(place, 0) >> wire & 1 for place, one in measures for wire in one.wires)
    return True


REMEMBERED = 1 << 16
"""The bytes of numbers up to which it is remembered whether a circuit fits, since circuits come again."""


def fits(structure: Structure, operands: NDArray[np.complex128]) -> bool:
    """Return whether gates are Clifford and channels Pauli, and nothing else is sure to be refused; without Stim."""
    if operands.nbytes > REMEMBERED:
        return _fits(structure, operands)
    return _fitted(structure, operands.tobytes())


@lru_cache(maxsize=64)
def _fitted(structure: Structure, operands: bytes) -> bool:
    return _fits(structure, np.frombuffer(operands, dtype=np.complex128))


def _fits(structure: Structure, operands: NDArray[np.complex128]) -> bool:
    recogniser = Recogniser(operands)
    for instruction in structure.instructions:
        match instruction:
            case Op() | Conditional():
                op = instruction if isinstance(instruction, Op) else instruction.operation
                if recogniser.operation(op).images is None:
                    return False
            case Channel():
                if recogniser.channel(instruction) is None:
                    return False
            case Save(_, what):
                if what not in KEPT:
                    return False
            case _:
                pass
    return True
