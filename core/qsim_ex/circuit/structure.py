"""`Structure`: what circuits that differ in numbers alone have in common, kept once.

Whatever is worked out about a structure (its program, its plans) is looked up by the object's identity. So the
instructions of a circuit are hashed and compared once, when the circuit is made, and never again.
"""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Any
from weakref import WeakValueDictionary

from qsim_ex.circuit.ops import Instruction


class Structure:
    """Everything of a circuit but its numbers; made by `structure_of`, which gives equal ones as one object."""

    def __init__(self, num_qubits: int, num_clbits: int, instructions: tuple[Instruction, ...]) -> None:
        self.num_qubits = num_qubits
        self.num_clbits = num_clbits
        self.instructions = instructions

    @cached_property
    def key(self) -> str:
        """A short digest that is the same in every process."""
        parts = (self.num_qubits, self.num_clbits, self.instructions)
        return hashlib.blake2b(repr(parts).encode(), digest_size=8).hexdigest()

    def __reduce__(self) -> tuple[Any, ...]:
        # What arrives in another process, or is copied, is the one object of that process.
        return structure_of, (self.num_qubits, self.num_clbits, self.instructions)


_known: WeakValueDictionary[tuple[int, int, tuple[Instruction, ...]], Structure] = WeakValueDictionary()


def structure_of(num_qubits: int, num_clbits: int, instructions: tuple[Instruction, ...]) -> Structure:
    """The structure of a circuit: the same object for as long as anybody holds one that is equal."""
    parts = (num_qubits, num_clbits, instructions)
    return _known.get(parts) or _known.setdefault(parts, Structure(*parts))
