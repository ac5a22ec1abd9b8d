"""What is asked of a circuit before it is translated: what is random, whether gates are Clifford and noise Pauli."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.kept import Kept
from qsim_ex.circuit.ops import Begin, Initialize, Measure, Op, Permutation, Save, SetState
from qsim_ex.circuit.structure import Structure
from qsim_ex.program.division import moved_to_the_end
from qsim_ex.stabilizer.operations import Recogniser
from qsim_ex.stabilizer.values import refusal


def at_the_end(structure: Structure) -> dict[int, int]:
    """Return for the places of measurements the mask of wires whose measurement can be moved to the circuit's end."""
    instructions, end = structure.instructions, structure.gates_end
    if structure.has_control_flow:
        return dict.fromkeys(range(end, len(instructions)), -1)
    masks = moved_to_the_end(instructions, structure.acted, observed=True, group_of={})
    return {place: mask for place, mask in enumerate(masks) if instructions[place].written_bits and mask}


@Kept
def is_random(structure: Structure) -> bool:
    """Return whether something is random before the measurements at the end."""
    if structure.kinds <= {Op, Permutation, Initialize, SetState, Measure, Save, Begin}:
        begin = structure.gates_before
        middle = structure.instructions[begin : structure.gates_end]
        measures = [(place, one.acts_on) for place, one in enumerate(middle, begin) if one.written_bits]
        waits = at_the_end(structure) if measures else {}
        return any(measured & ~waits.get(place, 0) for place, measured in measures)
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
    if any(refusal(save, structure.num_qubits) for save in structure.saves):
        return False
    known = set[int]()  # each object once, and none behind the first that does not fit
    for instruction in structure.instructions:
        if id(instruction) not in known:
            known.add(id(instruction))
            operation = instruction.applies
            if operation is not None and recogniser.operation(operation).images is None:
                return False
    return all(recogniser.channel(channel) is not None for channel in structure.channels)
