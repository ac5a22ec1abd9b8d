"""Circuits: structure and numbers kept apart.

Every adapter translates into a `Circuit`. Its instructions hold no numbers: the entries of all matrices are stored in
one flat array, `operands`, and an `Op` holds the offset of its own. Two circuits that differ in angles alone have equal
instructions, so they share one plan and one set of compiled kernels. `builder.CircuitBuilder` makes them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from qsim_ex import moved
from qsim_ex.circuit.ops import Instruction, Op, Permutation, Structure, structure_of

__getattr__ = moved.names_of(__name__)

ZERO_AT, ONE_AT = 0, 1
"""The places of the constants 0 and 1 in every operand array."""


@dataclass(frozen=True, eq=False)
class Circuit:
    """Instructions on `num_qubits` wires and `num_clbits` classical bits, and the numbers that they refer to.

    operands: complex128 [batch or 1, total], read only; entries 0 and 1 are the constants 0 and 1.
    structure: everything except the numbers; the same object for circuits that differ in numbers alone.
    """

    num_qubits: int
    num_clbits: int
    instructions: tuple[Instruction, ...]
    operands: NDArray[np.complex128]
    structure: Structure = field(init=False, repr=False)

    def __post_init__(self) -> None:
        structure = structure_of(self.num_qubits, self.num_clbits, self.instructions)
        object.__setattr__(self, "structure", structure)
        object.__setattr__(self, "instructions", structure.instructions)  # one tuple for all of them

    @classmethod
    def of_structure(cls, structure: Structure, operands: NDArray[np.complex128]) -> Circuit:
        """Return the circuit of a known structure, without hashing its instructions again."""
        made = cls.__new__(cls)
        num_qubits, num_clbits = structure.num_qubits, structure.num_clbits
        known = {"num_qubits": num_qubits, "num_clbits": num_clbits, "instructions": structure.instructions}
        made.__dict__.update(known, operands=operands, structure=structure)
        return made

    def __repr__(self) -> str:
        return (
            f"Circuit({self.num_qubits} wires, {self.num_clbits} classical bits, {len(self.instructions)} instructions)"
        )

    @property
    def key(self) -> str:
        """A short digest of the structure that is the same in every process."""
        return self.structure.key

    @property
    def num_gates(self) -> int:
        """The number of operations and permutations."""
        return sum(isinstance(i, Op | Permutation) for i in self.instructions)
