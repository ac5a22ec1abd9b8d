"""Circuits: structure and numbers kept apart.

Every adapter translates into a `Circuit`. Its instructions hold no numbers: the entries of all matrices are stored in
one flat array, `operands`, and an `Op` holds the offset of its own. Two circuits that differ in angles alone have equal
instructions, so they share one plan and one set of compiled kernels.

`builder.CircuitBuilder` makes them: it places rows of the gate table on wires (`placed_gate`) and collects their
numbers (`operands`). `Remembered` keeps circuits made of a framework's.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.circuit.kept import MOST
from qsim_ex.circuit.ops import Instruction
from qsim_ex.circuit.structure import Structure, structure_of

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
        return self.structure.num_gates


class _Entry(NamedTuple):
    """What was made of an object, what it was made from, and how many instructions that has."""

    of: weakref.ref[Any]
    made_from: Any
    made: Any
    size: int


class Remembered:
    """What was made of some objects, by their identity; an object that ends is forgotten, and none is kept alive.

    most: the most instructions of all objects together.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = self._room = most
        self._entries: dict[tuple[int, Hashable], _Entry] = {}  # in the order in which they were used
        thresholds.depends(self)

    def get(self, of: object, how: Hashable, made_from: object) -> Any:
        """Return what was made of an object from an equal reading of it; None if there is nothing.

        how: further arguments on which it depends.
        """
        return self.get_if(of, how, lambda known: known == made_from)

    def get_if(self, of: object, how: Hashable, is_equal: Callable[[Any], bool]) -> Any:
        """Return what `get` does; is_equal: whether a reading of the object would be equal to the one it is given."""
        key = id(of), how
        known = self._entries.get(key)
        if known is None or known.of() is not of or not is_equal(known.made_from):
            return None
        if self._entries.pop(key, None) is not None:  # another thread may have removed it
            self._entries[key] = known
        return known.made

    def put(self, of: object, how: Hashable, made_from: object, made: object, size: int) -> None:
        """Remember what was made of an object; what was used longest ago makes room."""
        key = id(of), how
        self._entries.pop(key, None)
        if size > self._most:
            return
        self._entries[key] = _Entry(weakref.ref(of, lambda _: self._entries.pop(key, None)), made_from, made, size)
        self._room -= size
        if self._room < 0:  # else there is room, however many objects have ended since all were counted
            while (total := sum(entry.size for entry in list(self._entries.values()))) > self._most:
                self._entries.pop(next(iter(list(self._entries)), key), None)
            self._room = self._most - total

    def cache_clear(self) -> None:
        """Forget everything."""
        self._entries.clear()
        self._room = self._most

    def __len__(self) -> int:
        """Return of how many objects something is remembered."""
        return len(self._entries)
