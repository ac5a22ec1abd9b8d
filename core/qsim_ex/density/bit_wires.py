"""Where measured bits are in a circuit on density matrices: on the wires that were measured, and on bit wires.

A measured bit is held by its wire as long as nothing mixes that wire, since row and column of a measured wire are
equal. Only then is it copied to a bit wire behind row and column wires, if something still reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.noise.readout import ReadoutErrors, matrix_of
from qsim_ex.circuit.ops import ALWAYS, Entry, Instruction, Op, When, pattern
from qsim_ex.circuit.structure import Structure
from qsim_ex.density.bit_life import BitLife
from qsim_ex.program.readings import ReadingTracker

Complex = NDArray[np.complex128]
Wires = tuple[int, ...]
Places = dict[int, int]
"""Classical bit -> the wire that holds its value; a bit that is 0 is missing."""

_FLIP = np.array([0, 1, 1, 0], dtype=np.complex128)
_SUM = np.array([1, 1, 0, 0], dtype=np.complex128)
_MEASURE = np.array([1, 0], dtype=np.complex128)  # by the parity of row and column


class BitWires:
    """The wires that hold the bits of one circuit, from instruction to instruction.

    places: of the bits now. count: the number of bit wires so far, which stand behind 2 · num_wires others.
    measured: mask of the row wires that were measured, and whose coherences are not zero yet.
    kept: the places at each save by classical memory, by its label.
    made: where operations are appended. literal: returns the place of operands that depend on no circuit.
    """

    def __init__(
        self,
        structure: Structure,
        num_wires: int,
        life: BitLife,
        readout: ReadoutErrors,
        made: list[Instruction],
        literal: Callable[[Complex], int],
    ) -> None:
        self.places: Places = {}
        self.count = 0
        self.measured = 0
        self.kept: dict[str, Places] = {}
        self._num_clbits = structure.num_clbits
        self._n = num_wires
        self._life = life
        self._readout = readout
        groups = tuple(sorted({error.clbits for error in readout}))
        self._reader = ReadingTracker(groups, structure.instructions, lambda bits: (0,) * bits)  # wires hold them
        self._made = made
        self._literal = literal
        self._flip, self._sum, self._parity = literal(_FLIP), literal(_SUM), literal(_MEASURE)

    @property
    def read(self) -> frozenset[Wires]:
        """The groups of bits whose readout error is applied already."""
        return frozenset(self._reader.current())

    def measure(self, wires: Wires, clbits: Wires, touched: int) -> None:
        """Measure wires into bits; touched: mask of the wires that may not be |0⟩."""
        self._reader.measured(clbits)
        for wire, clbit in zip(wires, clbits, strict=True):
            self.places.pop(clbit, None)
            if touched >> wire & 1:
                self.places[clbit] = wire
                self.measured |= 1 << wire

    def let_go(self, place: int, wire: int) -> None:
        """Copy the bits that a wire holds to a bit wire, before the instruction at a place."""
        if self.measured >> wire & 1:
            self.dephase((wire,))
        held = [clbit for clbit, at in self.places.items() if at == wire]
        if any(self._life.is_read(clbit, place) for clbit in held):
            made = self._copy(place, wire)
            self.places.update(dict.fromkeys(held, made))
        else:
            for clbit in held:
                del self.places[clbit]

    def keep(self, place: int, label: str) -> None:
        """Copy all bits, as they are read, to bit wires, and keep their places for a save by classical memory."""
        self.misread(place, range(self._num_clbits))
        for wire in sorted(at for at in {*self.places.values()} if at < self._n):
            self.let_go(place, wire)
        self.kept[label] = dict(self.places)

    def dephase(self, wires: Iterable[int]) -> None:
        """Set to zero what is neither at row 0 and column 0 nor at row 1 and column 1 of measured wires."""
        for wire in wires:
            read = 1 << wire | 1 << self._n + wire
            self._made.append(Op((), (read,), ALWAYS, pattern("1r"), self._parity, "measure", unitary=False))
            self.measured &= ~(1 << wire)

    def misread(self, place: int, clbits: Iterable[int]) -> None:
        """Apply the readout errors of bits that are read now."""
        for clbit in clbits:
            if not self._reader.misreads(clbit):
                continue
            reading, new = self._reader.reading(clbit, lambda _: None)
            matrix = matrix_of(self._readout, reading.clbits, reading.measurement) if new else None
            if matrix is None:
                continue
            wires: list[int] = []
            for one in reading.clbits:
                at = self.places.get(one)
                if at is not None and self.measured >> at & 1:
                    self.dephase((at,))
                wires.append(self._copy(place, at, [*wires, *self.places.values()]))
            self.places.update(zip(reading.clbits, wires, strict=True))
            of = bytes([Entry.REAL]) * matrix.size
            operand = self._literal(matrix.T.reshape(-1).astype(np.complex128))
            self._made.append(Op(tuple(wires), (), ALWAYS, of, operand, "readout", unitary=False))

    def _copy(self, place: int, wire: int | None, taken: Collection[int] = ()) -> int:
        """Return a bit wire with the value of a measured wire or of another bit wire; None: with 0."""
        made = self._free_bit(place, taken)
        if wire is not None:
            self._made.append(Op((made,), (), When(1 << wire, 1 << wire), pattern("0110"), self._flip, "measure"))
        return made

    def _free_bit(self, place: int, taken: Collection[int]) -> int:
        """Return a bit wire at 0: one whose bits nothing reads any more, or a new one."""
        read = {at for clbit, at in self.places.items() if self._life.is_read(clbit, place)} | {*taken}
        for wire in range(2 * self._n, 2 * self._n + self.count):
            if wire not in read:
                self.places = {clbit: at for clbit, at in self.places.items() if at != wire}
                of = pattern("rr00")
                self._made.append(Op((wire,), (), ALWAYS, of, self._sum, "forget", unitary=False))
                return wire
        self.count += 1
        return 2 * self._n + self.count - 1
