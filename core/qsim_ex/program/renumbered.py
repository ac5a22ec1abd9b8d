"""Instructions of a circuit in the numbers of one of its parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import Conditional, Instruction, Op, When, wires_of
from qsim_ex.program.gates import Gates, OnWires


class Renumbered:
    """Instructions with the wires and classical bits of a part, and with operands of its `own` or the circuit's.

    columns: the place of each operand of the part in the circuit's operands; 0 and 1 come first.
    """

    def __init__(self, wires: Sequence[int], clbits: Sequence[int], own: bool) -> None:
        self._wire = {wire: k for k, wire in enumerate(wires)}
        self._clbit = {clbit: k for k, clbit in enumerate(clbits)}
        self._own = own
        self._at: dict[tuple[int, ...], int] = {}
        self._found: dict[OnWires, OnWires] = {}  # wires of operations in the part's numbers, as long as these hold
        self._same = all(wire == k for k, wire in enumerate(wires))
        self.columns = [0, 1]

    def put(self, wire: int, place: int) -> None:
        """Put a wire at a place of the part from now on."""
        if self._wire.get(wire) != place:
            self._found.clear()
        self._wire[wire] = place
        self._same = self._same and place == wire

    def instruction(
        self, instruction: Instruction, entries: NDArray[np.int64] | None, bits: Mapping[int, int] | None = None
    ) -> Instruction:
        """Return an instruction in the part's numbers.

        entries: its operands, None if they stand together. bits: the part's bit of each classical bit that a condition
        reads; None for the part's own.
        """
        match instruction:
            case Op():
                return self._op(instruction, entries)
            case Conditional(operation, clbits, values):
                read = self._clbit if bits is None else bits
                return Conditional(self._op(operation, entries), tuple([read[clbit] for clbit in clbits]), values)
            case _:
                return instruction.renumbered(self)

    def gates(self, gates: Gates) -> Sequence[Op]:
        """Return gates in the part's numbers, each object once."""
        if self._same and not self._own:
            return gates.operations
        every = {id(op): op for op in gates.operations}
        made = {key: self._op(op, gates.entries.get(key)) for key, op in every.items()}
        return [made[id(op)] for op in gates.operations]

    def _op(self, op: Op, entries: NDArray[np.int64] | None) -> Op:
        operand = self.operand(op.operand, len(op.pattern), entries)
        if self._same:
            return op if operand == op.operand else op._replace(operand=operand)
        if (found := self._found.get(wires := op[:3])) is None:
            when = When(self._mask(op.when.mask), self._mask(op.when.value)) if op.when.mask else op.when
            found = self._found[wires] = self.wires(op.mixes), tuple([self._mask(read) for read in op.reads]), when
        return Op(*found, op.pattern, operand, op.name, op.unitary)

    def operand(self, at: int, size: int, entries: NDArray[np.int64] | None = None) -> int:
        """Return the place of operands in the part, where equal operands stand once."""
        if not self._own:
            return at
        key = (at, size) if entries is None else tuple(entries.tolist())
        if key not in self._at:
            self._at[key] = len(self.columns)
            self.columns += range(at, at + size) if entries is None else entries.tolist()
        return self._at[key]

    def wires(self, wires: Sequence[int]) -> tuple[int, ...]:
        """Return wires in the part's numbers."""
        return tuple([self._wire[wire] for wire in wires])

    def clbits(self, clbits: Sequence[int]) -> tuple[int, ...]:
        """Return classical bits in the part's numbers."""
        return tuple([self._clbit[clbit] for clbit in clbits])

    def _mask(self, mask: int) -> int:
        return sum([1 << self._wire[wire] for wire in wires_of(mask)])
