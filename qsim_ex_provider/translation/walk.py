"""The columns of one circuit of Qiskit, and the walk along them, which appends instructions, many at once if it can.

Columns are read in Python here; `native_columns` reads them faster.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from qiskit.circuit import (
    Barrier,
    CircuitInstruction,
    Clbit,
    ControlFlowOp,
    Measure,
    Operation,
    QuantumCircuit,
    Qubit,
    Reset,
    Store,
)
from qiskit.circuit.library import Initialize, UnitaryGate

from qsim_ex import CircuitBuilder
from qsim_ex.errors import InvalidInput, NotSupported
from qsim_ex.frameworks import GATES, Measured, NeedsNumbers, UnitaryMatrix, later, unitary_matrices
from qsim_ex_provider.translation.native_columns import NativeColumns
from qsim_ex_provider.translation.place import Controls, Place, Row, ToNumber, Wires

if TYPE_CHECKING:
    from qsim_ex_provider.translation import noisy_gates
    from qsim_ex_provider.translation.translator import Translator
else:
    noisy_gates = later("qsim_ex_provider.translation.noisy_gates")

Inner = Generator[tuple[QuantumCircuit, Place], None, None]
"""The circuits inside control flow, and where each is to be appended."""

ROWS = {row.qiskit: (row.name, bool(row.parameters)) for row in GATES.values() if row.qiskit}
"""Rows of the gate table by Qiskit's name, and whether they take parameters."""

_NO_PARAMETERS: Sequence[Any] = ()
_name, _qubits, _label = attrgetter("name"), attrgetter("qubits"), attrgetter("label")


class Columns:
    """The instructions of a circuit, column by column.

    names: Qiskit's. wires: of each instruction. rows: of each standard gate its row in the gate table and whether it
    takes parameters; None for every other instruction. parameters: of each standard gate, as Qiskit has them.
    others: the places of the instructions that are no standard gates. measured: nothing, since measurements are among
    these. count: of all instructions. operations: those of instructions that were asked for. contents: what is equal
    for two circuits with equal gates.
    """

    def __init__(self, circuit: QuantumCircuit, wire_of: Mapping[Qubit, int]) -> None:
        self.instructions: list[CircuitInstruction] = circuit.data[:]
        self.names = list(map(_name, self.instructions))
        # A gate of a user's own may bear a standard gate's name, hence the second question.
        self.rows: list[Row | None] = [
            row if row is not None and one.is_standard_gate() else None
            for row, one in zip(map(ROWS.get, self.names), self.instructions, strict=True)
        ]
        at = wire_of.__getitem__
        self.wires: list[Wires] = [  # most gates have one or two wires, for which no loop is needed
            (at(on[0]),) if len(on) == 1 else (at(on[0]), at(on[1])) if len(on) == 2 else tuple(map(at, on))
            for on in map(_qubits, self.instructions)
        ]
        self.parameters: list[Sequence[Any]] = [
            one.params if row is not None and row[1] else _NO_PARAMETERS
            for row, one in zip(self.rows, self.instructions, strict=True)
        ]
        self.others = [place for place, row in enumerate(self.rows) if row is None]
        self.count = len(self.instructions)
        self.measured: dict[int, Measured] = {}
        self.operations: dict[int, Any] = {}
        self.contents = self.rows, self.wires, self.parameters

    @cached_property
    def labels(self) -> list[str | None]:
        """The label of each instruction, by which noise is found."""
        return list(map(_label, self.instructions))

    def gates(
        self, begin: int, end: int, number: ToNumber | None
    ) -> tuple[list[str], list[Wires], list[Sequence[Any]]]:
        """Return rows, wires and parameters of some standard gates that follow one another, as the builder takes them.

        number: makes of a parameter what the builder takes; None where all are numbers.
        """
        parameters = self.parameters[begin:end]
        if number is not None:
            parameters = [list(map(number, given)) if given else given for given in parameters]
        return [row[0] for row in self.rows[begin:end] if row is not None], self.wires[begin:end], parameters

    def append(self, builder: CircuitBuilder, begin: int, end: int, number: ToNumber | None) -> set[int]:
        """Append some standard gates that follow one another, and return their wires; number: see `gates`."""
        names, wires, parameters = self.gates(begin, end, number)
        builder.gates(names, wires, parameters)
        return set(chain.from_iterable(wires))


def columns_of(circuit: QuantumCircuit, wires: Sequence[int] | None = None) -> Columns:
    """Return the instructions of a circuit; wires: of its qubits, their numbers if None."""
    numbers = range(circuit.num_qubits) if wires is None else wires
    return Columns(circuit, dict(zip(circuit.qubits, numbers, strict=True)))


def _matrices_of(columns: Columns | NativeColumns) -> dict[int, UnitaryMatrix]:
    """Return the matrices of unitary gates, by their places among the instructions, as the builder takes them fastest.

    Those that are left out are looked at one by one.
    """
    matrices: dict[int, Any] = {}
    for place in columns.others:
        if columns.names[place] == "unitary":
            operation = columns.operations.get(place) or columns.instructions[place].operation
            if type(operation) is UnitaryGate:
                matrices[place] = operation.params[0]
    found = unitary_matrices(list(matrices.values())) if len(matrices) > 1 else []
    return {place: matrix for place, matrix in zip(matrices, found, strict=False) if matrix is not None}


_UNCONTROLLED = (Measure, Reset, Initialize, Store, ControlFlowOp)
"""What has no controls: it measures, resets, or depends on classical bits."""


def only_gates(operation: Operation) -> None:
    """Raise `NotSupported` for an operation that cannot be controlled."""
    if isinstance(operation, _UNCONTROLLED):
        raise NotSupported(
            f"expected gates alone in a controlled operation, got {operation.name!r}; append it beside the controlled "
            "operation."
        )


class Walk:
    """Appends the instructions of one circuit to a translator's builder.

    at: the place of the present instruction, for errors; −1 before the first one.
    """

    def __init__(
        self, to: Translator, columns: Columns | NativeColumns, clbit_of: Mapping[Clbit, int], controls: Controls
    ) -> None:
        self.at = -1
        self._to = to
        self._columns = columns
        self._clbit_of = clbit_of
        self._controls = controls
        self._noise = None if controls.wires else to.noise
        self._matrices = {} if self._noise is not None else _matrices_of(columns)
        self._measured: dict[int, int] = {}  # wire -> classical bit of measurements that follow one another
        self._written: set[int] = set()  # these bits
        # Where there is noise, identities are gates; circuits that measure relaxation have hundreds of them.
        self._identities: set[int] = set()
        if self._noise is not None:
            assert isinstance(columns, Columns)  # circuits with noise are read in Python
            self._noisy = noisy_gates.NoisyGates(
                to.builder, to.used, to.number if to.takes_columns else None, columns, self._noise
            )
            self._identities = self._noisy.identities()
        self._others = [place for place in columns.others if place not in self._identities]
        if columns.measured:
            self._others = sorted([*self._others, *columns.measured])

    def all(self) -> Inner:
        """Append all instructions, and yield the circuits inside control flow."""
        begin, at, others = 0, 0, self._others
        while at < len(others):
            place = others[at]
            if begin < place:
                self._gates(begin, place)
            self.at = place
            measured = self._columns.measured.get(place)
            if measured is not None:
                self._read_measurements(measured)
                at, begin = at + 1, place + max(len(measured.wires), 1)
                continue
            run = self._run_of_matrices(at)
            if run > 1:
                self._unitaries(others[at : at + run])
            else:
                inner = self._other(place)
                if inner is not None:
                    yield from inner
            at += max(run, 1)
            begin = others[at - 1] + 1
        if begin < self._columns.count:
            self._gates(begin, self._columns.count)
        self._measure()

    def _run_of_matrices(self, at: int) -> int:
        """Return how many checked matrices without controls follow one another from ``others[at]`` on."""
        others, run = self._others, 0
        if not self._controls.wires:
            place = others[at]
            while at + run < len(others) and others[at + run] == place + run and place + run in self._matrices:
                run += 1
        return run

    def _unitaries(self, places: Sequence[int]) -> None:
        """Append checked matrices that follow one another."""
        self._measure()
        wires = [self._columns.wires[place] for place in places]
        self._to.builder.unitaries([self._matrices[place] for place in places], wires)
        self._to.used.update(chain.from_iterable(wires))

    def _gates(self, begin: int, end: int) -> None:
        """Append standard gates that follow one another; where there is noise, identities are among them."""
        self._measure()
        to, columns = self._to, self._columns
        if self._controls.wires:
            self._one_by_one(begin, end)
            return
        self.at = begin
        try:
            if self._noise is not None:
                for place in self._noisy.append(begin, end):
                    self.at = place
            else:
                to.used.update(columns.append(to.builder, begin, end, to.number if to.takes_columns else None))
        except (InvalidInput, NotSupported, NeedsNumbers, TypeError):
            at = self.at
            self._one_by_one(begin, end)  # which finds the gate that is wrong, unless it is the noise of one
            self.at = at
            raise

    def _one_by_one(self, begin: int, end: int) -> None:
        columns = self._columns
        for place in range(begin, end):
            self.at = place
            if place not in self._identities:
                (row,), (on,), (given,) = columns.gates(place, place + 1, self._to.number)
                self._to.gate(row, on, self._controls, *given)

    def _other(self, place: int) -> Inner | None:
        """Append an instruction that is no standard gate; return the circuits inside it, if it is control flow."""
        instruction, on = self._columns.instructions[place], self._columns.wires[place]
        matrix = self._matrices.get(place)
        if matrix is not None:
            self._measure()
            self._to.builder.unitary(
                matrix, on, controls=self._controls.wires, control_values=self._controls.values, name="unitary"
            )
            self._to.used.update(on)
            return None
        operation = instruction.operation
        bits = tuple([self._clbit_of[bit] for bit in instruction.clbits])
        if self._controls.wires:
            only_gates(operation)
        if isinstance(operation, Measure) and (self._noise is None or self._to.only_misread(on, bits[0], self._noise)):
            self._measured_into(on[0], bits[0])
            return None
        self._measure()
        if isinstance(operation, ControlFlowOp):
            found: Inner | None = self._to.emit(operation, Place(on, bits, self._controls), self._to)
            return found
        if isinstance(operation, Barrier):  # which orders, and the state does not see it
            return None
        if self._noise is not None:
            self._to.noisy(operation, Place(on, bits), self._noise)
        else:
            self._to.emit(operation, Place(on, bits, self._controls), self._to)
        return None

    def _read_measurements(self, measured: Measured) -> None:
        """Append measurements that native code has read."""
        self._measure()
        wires, clbits = measured
        if len(set(wires)) == len(wires) == len(set(clbits)):
            if wires:
                self._to.measure(wires, clbits)
            return
        for wire, clbit in zip(wires, clbits, strict=True):  # a wire or a bit comes again
            self._measured_into(wire, clbit)

    def _measured_into(self, wire: int, bit: int) -> None:
        """Take a measurement, which is appended together with those that follow."""
        if wire in self._measured or bit in self._written:
            self._measure()
        self._measured[wire] = bit
        self._written.add(bit)

    def _measure(self) -> None:
        """Append the measurements that follow one another as one instruction."""
        if self._measured:
            self._to.measure(tuple(self._measured), tuple(self._measured.values()))
            self._measured.clear()
            self._written.clear()
