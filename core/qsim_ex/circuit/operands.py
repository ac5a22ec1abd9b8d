"""The numbers of a circuit that is being built: where each operation has its operands, and what they are.

Gates of one row of the gate table are computed together, when the circuit is complete.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.circuit import ONE_AT
from qsim_ex.circuit.gates import GATES
from qsim_ex.circuit.placed import PlacedGate

Complex = NDArray[np.complex128]
Floats = NDArray[np.float64]


@dataclass(eq=False, slots=True)
class Alike:
    """Gates of one row: the place of each one's first operand, and its parameters."""

    offsets: list[int] = field(default_factory=list)
    parameters: list[Sequence[Any]] = field(default_factory=list)


class OperandBuilder:
    """Gives operations their places in the array of operands, and fills it. Attributes:

    size: how many operands there are so far, with the constants 0 and 1. shared: the place of the operands of each row
    whose gates have them in common. whole, factored: by the row of the gate table, the gates with operands of their
    own; they are one operation each, or one for each of the row's factors.
    """

    def __init__(self) -> None:
        self.size = 2
        self.shared: dict[str, int] = {}
        self._literal: list[tuple[int, Complex]] = []
        self._alike: dict[int, tuple[Complex, list[int], list[int]]] = {}  # by the identity of the array
        self.whole: defaultdict[str, Alike] = defaultdict(Alike)
        self.factored: defaultdict[str, Alike] = defaultdict(Alike)

    def literal(self, entries: Complex) -> int:
        """Take a place for some entries, and return it."""
        offset = self.size
        self.size += entries.size
        self._literal.append((offset, entries))
        return offset

    def row_of(self, entries: Complex, row: int) -> int:
        """Take a place for one row of an array [count, size], and return it; rows of one array are written together."""
        offset = self.size
        self.size += entries.shape[1]
        known = self._alike.get(id(entries))
        if known is None:
            known = self._alike[id(entries)] = (entries, [], [])
        known[1].append(offset)
        known[2].append(row)
        return offset

    def constant(self, gate: PlacedGate) -> int:
        """Return the place of the operands of a gate without parameters."""
        found = self.shared.get(gate.row)
        if found is None:
            rows = operations_of(gate.row, np.empty((1, 0)), gate.of_factors)
            entries = [GATES[row].entries(given)[0] if given.size else GATES[row].constants for row, given in rows]
            found = self.shared[gate.row] = self.literal(np.concatenate(entries))
        return found

    def operands(self) -> Complex:
        """Return all operands so far, complex128 [1, size], read only."""
        operands = np.zeros((1, self.size), dtype=np.complex128)
        operands[0, ONE_AT] = 1
        for offset, entries in self._literal:
            operands[0, offset : offset + entries.size] = entries.reshape(-1)
        for array, offsets, numbers in self._alike.values():
            operands[0, np.add.outer(offsets, np.arange(array.shape[1]))] = array[numbers]
        for name, (places, parameters) in self._by_row().items():
            entries = GATES[name].entries(parameters)
            operands[0, np.add.outer(places, np.arange(entries.shape[1]))] = entries
        operands.setflags(write=False)
        return operands

    def _by_row(self) -> dict[str, tuple[NDArray[np.intp], Floats]]:
        """Return places and parameters [count, parameters] by the row that computes the entries.

        Gates that are factors of others are computed together with those that are not.
        """
        found: dict[str, list[tuple[NDArray[np.intp], Floats]]] = {}
        for of, of_factors in ((self.whole, False), (self.factored, True)):
            for name, alike in of.items():
                place = np.array(alike.offsets, dtype=np.intp)
                for row, given in operations_of(name, self._given(alike.parameters), of_factors):
                    found.setdefault(row, []).append((place, given))
                    place = place + len(GATES[row].pattern)
        return {
            name: (np.concatenate([p for p, _ in of]), np.concatenate([g for _, g in of])) for name, of in found.items()
        }

    def _given(self, rows: list[Sequence[Any]]) -> Floats:
        """Return the parameters of some gates, float64 [count, parameters]."""
        return np.fromiter(chain.from_iterable(rows), dtype=np.float64).reshape(len(rows), -1)


def operations_of(name: str, parameters: Floats, of_factors: bool) -> Iterator[tuple[str, Floats]]:
    """Yield the rows whose entries gates have one after the other, and their parameters [count, parameters]."""
    factors = GATES[name].factors
    if not of_factors or factors is None:
        yield name, parameters
        return
    for factor in factors(*parameters.T):
        columns = [np.broadcast_to(column, len(parameters)) for column in factor.parameters]
        yield factor.name, np.stack(columns, axis=1)
