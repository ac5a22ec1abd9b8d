"""The way through one circuit of Qiskit: standard gates many at a time, all other instructions one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from qiskit.circuit import Barrier, Clbit, Measure

from qsim_ex.errors import InvalidInput, NotSupported
from qsim_ex.frameworks import Instruction, NeedsNumbers, Noise, add_error
from qsim_ex_provider.translation.columns import Columns, matrices_of
from qsim_ex_provider.translation.place import Controls, Place, Wires

if TYPE_CHECKING:
    from qsim_ex_provider.translation.translator import Translator


class Walk:
    """Appends the instructions of one circuit to a translator's builder.

    at: the place of the present instruction, for errors; −1 before the first one.
    """

    def __init__(self, to: Translator, columns: Columns, clbit_of: Mapping[Clbit, int], controls: Controls) -> None:
        self.at = -1
        self._to = to
        self._columns = columns
        self._clbit_of = clbit_of
        self._controls = controls
        self._noise = None if controls.wires else to.noise
        self._matrices = {} if self._noise is not None else matrices_of(columns)
        self._measured: dict[int, int] = {}  # wire -> classical bit of measurements that follow one another
        self._written: set[int] = set()  # these bits
        self._errors: dict[tuple[str, str, Wires], _Repeated] = {}  # by row, label or name, and wires

    def all(self) -> None:
        """Append all instructions."""
        begin = 0
        for place in self._columns.others:
            if begin < place:
                self._gates(begin, place)
            self.at = place
            self._other(place)
            begin = place + 1
        if begin < len(self._columns.names):
            self._gates(begin, len(self._columns.names))
        self._measure()

    def _gates(self, begin: int, end: int) -> None:
        """Append standard gates that follow one another."""
        self._measure()
        to, columns = self._to, self._columns
        if self._noise is None and not self._controls.wires:
            self.at = begin
            try:
                names, wires, parameters = columns.gates(begin, end, to.number if to.takes_columns else None)
                to.builder.gates(names, wires, parameters)
            except (InvalidInput, NotSupported, NeedsNumbers, TypeError):
                self._one_by_one(begin, end)  # which finds the gate that is wrong
                raise
            to.used.update(chain.from_iterable(wires))
        else:
            self._one_by_one(begin, end)

    def _one_by_one(self, begin: int, end: int) -> None:
        for place in range(begin, end):
            self.at = place
            (row,), (on,), (given,) = self._columns.gates(place, place + 1, self._to.number)
            if self._noise is not None:
                self._noisy_gate(row, on, given, self._noise)
            else:
                self._to.gate(row, on, self._controls, *given)

    def _noisy_gate(self, row: str, on: Wires, given: Sequence[Any], noise: Noise) -> None:
        """Append a standard gate and the noise around it; what comes again is appended as it was the first time."""
        builder = self._to.builder
        label = self._columns.instructions[self.at].label or self._columns.names[self.at]
        known = self._errors.get((row, label, on))
        if known is not None:
            builder.again(known[0])
            if given:
                builder.gate(row, on, *given)
                builder.again(known[1])
            return
        before, after = noise.before(label, on), noise.after(label, on)
        begin = builder.num_instructions
        if before is not None:
            add_error(builder, before, label, on)
        first = builder.since(begin)
        builder.gate(row, on, *given)
        self._to.used.update(on)
        end = builder.num_instructions
        if after is not None:
            add_error(builder, after, label, on)
        self._errors[row, label, on] = (first, builder.since(end)) if given else (builder.since(begin), ())

    def _other(self, place: int) -> None:
        """Append an instruction that is no standard gate."""
        instruction, on = self._columns.instructions[place], self._columns.wires[place]
        matrix = self._matrices.get(place)
        if matrix is not None:
            self._measure()
            self._to.builder.unitary(
                matrix, on, controls=self._controls.wires, control_values=self._controls.values, name="unitary"
            )
            self._to.used.update(on)
            return
        operation = instruction.operation
        bits = tuple([self._clbit_of[bit] for bit in instruction.clbits])
        if self._noise is None and isinstance(operation, Measure):
            wire, bit = on[0], bits[0]
            if wire in self._measured or bit in self._written:
                self._measure()
            self._measured[wire] = bit
            self._written.add(bit)
            return
        self._measure()
        if self._noise is not None:
            self._to.noisy(operation, Place(on, bits), self._noise)
        elif not isinstance(operation, Barrier):  # which orders, and the state does not see it
            self._to.emit(operation, Place(on, bits, self._controls), self._to)

    def _measure(self) -> None:
        """Append the measurements that follow one another as one instruction."""
        if self._measured:
            self._to.measure(tuple(self._measured), tuple(self._measured.values()))
            self._measured.clear()
            self._written.clear()


_Repeated = tuple[tuple[Instruction, ...], tuple[Instruction, ...]]
"""The instructions before a gate with parameters and those after it; of a gate without any, all of them."""
