"""The translator of a Cirq circuit: each operation becomes instructions of the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import cirq

from qsim_ex import CircuitBuilder
from qsim_ex.errors import InvalidInput, NotSupported, WireError
from qsim_ex.frameworks import ParameterSweep, later
from qsim_ex_cirq.translation.ancillas import AncillaWires
from qsim_ex_cirq.translation.conditions import WHILE, Conjunction, append_conditional, conjunctions
from qsim_ex_cirq.translation.gates import Columns, Place, Power, rule_of
from qsim_ex_cirq.translation.gates import number as number_of
from qsim_ex_cirq.translation.matrices import MatrixGates
from qsim_ex_cirq.translation.measurements import PendingMeasurements
from qsim_ex_cirq.translation.native_columns import NativeColumns
from qsim_ex_cirq.translation.noise import MomentOperation
from qsim_ex_cirq.translation.place import ToNumber, require_numbers
from qsim_ex_cirq.translation.translation import Translation

if TYPE_CHECKING:
    from qsim_ex_cirq.qudits.levels import Levels
    from qsim_ex_cirq.translation import pauli_products, subcircuits, without_rule
else:
    pauli_products = later("qsim_ex_cirq.translation.pauli_products")
    subcircuits = later("qsim_ex_cirq.translation.subcircuits")
    without_rule = later("qsim_ex_cirq.translation.without_rule")


class _BasisChange(NamedTuple):
    """The operations that undo a change to the basis of a measured Pauli product, once its wires have been read."""

    wires: frozenset[int]
    back: tuple[cirq.Operation, ...]


class Translator:
    """Appends operations to a builder of the engine, and knows what has happened to each wire.

    kind: of the builder, which gets as many wires and classical bits as the qubits take. number: makes of a gate's
    parameter what the builder takes, if parameters may be symbols.
    """

    levels: Levels | None = None
    """The levels of the qubits; None if each has two."""

    def __init__(
        self,
        qubits: tuple[cirq.Qid, ...],
        from_zero: bool,
        kind: type[CircuitBuilder] = CircuitBuilder,
        number: ToNumber | None = None,
    ) -> None:
        self.qubits = qubits
        self.wire_of: dict[cirq.Qid, int] = {}  # of qubits, which have one each
        n = self.lay_out()
        self.num_wires = n
        self.builder = kind(n, n)
        self.symbols = number is not None
        self.number = number or number_of
        self.pending = PendingMeasurements(self.builder)
        self.ancillas = AncillaWires(self.builder)
        self.basis_changes: list[_BasisChange] = []
        self.acted = set() if from_zero else set(range(n))  # wires that may be anything but |0>
        self.gates: Sequence[cirq.Gate | None] = ()  # of the operations that were appended last
        self.matrix_gates = MatrixGates({})  # those among them
        self.held: set[int] = set()  # wires that wait to be measured, or to be turned back

    def lay_out(self) -> int:
        """Give each qubit its wire, the last one wire 0, and return how many wires there are."""
        n = len(self.qubits)
        self.wire_of = {qubit: n - 1 - k for k, qubit in enumerate(self.qubits)}
        return n

    def begin(self, initial: int) -> None:
        """Prepare a basis value, bit w of which is wire w."""
        for wire in range(initial.bit_length()):
            if initial >> wire & 1:
                self.builder.gate("x", [wire])
                self.acted.add(wire)

    def translation(self, sampled: bool) -> Translation:
        """Return what was built; sampled: only the measurements are asked for, so the state need not be turned back."""
        if not sampled:
            self.turn_back(range(self.num_wires))
        at_end = self.pending.end()
        readout = self.pending.readout_errors()
        sweep, measured = ParameterSweep(self.builder.build()), self.pending.measurements()
        return Translation(self.qubits, sweep, measured, at_end, readout, self.pending.looped, self.levels)

    def operations(self, numbered: Sequence[MomentOperation], literal: Callable[[cirq.Operation], bool]) -> None:
        """Append operations, each with its moment's number; literal: whether one was written without a symbol.

        Errors name the moment. Raises `NeedsNumbers` where symbols may stay and the structure depends on one.
        """
        self.columns(Columns(numbered, self.wire_of, literal, self.number))

    def columns(self, columns: Columns | NativeColumns) -> None:
        """Append operations that were read column by column; see `operations`."""
        self.gates, self.matrix_gates = columns.gates, columns.matrix_gates
        begin = at = 0
        while at < len(columns.others):
            place = columns.others[at]
            if begin < place:
                self._gates(columns, begin, place)
            run = 0
            while place + run in columns.matrices and not self.held:
                run += 1
            if run > 1:
                wires = [columns.wires[k] for k in range(place, place + run)]
                matrices = [columns.matrices[k] for k in range(place, place + run)]
                self.builder.unitaries(matrices, [on[::-1] for on in wires], name="MatrixGate")
                self.acted.update(chain.from_iterable(wires))
            else:
                self._one(columns, place)
            at, begin = at + max(run, 1), place + max(run, 1)
        if begin < columns.count:
            self._gates(columns, begin, columns.count)

    def _gates(self, columns: Columns | NativeColumns, begin: int, end: int) -> None:
        """Append gates that follow one another and have rows: all at once, if nothing waits for one of them."""
        found: InvalidInput | None = None
        if not self.held:
            try:
                self.acted.update(columns.append(self.builder, begin, end))
            except InvalidInput as error:
                found = error  # the gate that is wrong raises it again, with its place
            else:
                return
        for place in range(begin, end):
            self._one(columns, place)
        if found is not None:
            raise found

    def _one(self, columns: Columns | NativeColumns, place: int) -> None:
        """Append one operation of a moment."""
        number, op = columns.operation(place)
        matrix = columns.matrices.get(place)
        try:
            if matrix is None:
                self.operation(op, columns.is_literal(place))
            else:
                wires = self.wires(op.qubits)
                self.release(wires)
                self.acted.update(wires)
                Place(self.builder, wires).matrix(matrix, "MatrixGate")
        except (InvalidInput, NotSupported) as error:
            error.add_note(f"in moment {number} of the circuit, at {op!r}")
            raise

    def wires(self, qubits: Sequence[cirq.Qid]) -> tuple[int, ...]:
        """Return the wires of some qubits; raises `WireError` for one that the circuit has not."""
        wire_of = self.wire_of
        try:
            return tuple([wire_of[qubit] for qubit in qubits])
        except KeyError as error:
            raise WireError(f"the noise model adds {error.args[0]!r}, which is no qubit of the circuit.") from None

    def knows(self, qubits: Iterable[cirq.Qid]) -> bool:
        """Return whether the circuit has all of some qubits."""
        return all(qubit in self.wire_of for qubit in qubits)

    def lend(self, qubits: Sequence[cirq.Qid]) -> list[int]:
        """Give qubits that a decomposition brings with it wires in |0⟩, and return these."""
        wires = self.ancillas.take(len(qubits))
        self.wire_of.update(zip(qubits, wires, strict=True))
        return wires

    def take_back(self, qubits: Sequence[cirq.Qid], wires: Sequence[int]) -> None:
        """Forget such qubits, whose wires are |0⟩ again."""
        for qubit in qubits:
            del self.wire_of[qubit]
        self.ancillas.give_back(wires)

    def levels_of(self, op: cirq.Operation) -> Levels | None:  # noqa: ARG002
        """Return the levels of an operation's qids; None if each has two."""
        return None

    def operation(self, op: cirq.Operation, literal: bool) -> None:
        """Append one operation."""
        place = Place(self.builder, self.wires(op.qubits), (), 0, literal, self.number)
        # A controlled operation makes a gate each time that it is asked for one, which takes long.
        gate = None if type(op) is cirq.ControlledOperation else op.gate
        rule = rule_of(gate)
        if not isinstance(rule, Power) and not self.symbols:  # a power reads all numbers that its gates have
            require_numbers(op)
        if rule is not None:
            self.release(place.wires)
            self.acted.update(place.wires)
            rule(gate, place)
        else:
            self.general(op, place)

    def general(self, op: cirq.Operation, place: Place) -> None:
        """Append an operation that has no rule, or that is a part of another."""
        if isinstance(op, cirq.TaggedOperation):
            self.general(op.untagged, place)
            return
        if isinstance(op, cirq.CircuitOperation):
            subcircuits.unroll(self, op, place)
            return
        if isinstance(op, WHILE):
            subcircuits.while_they_hold(self, op, place)
            return
        gate = None if isinstance(op, cirq.ControlledOperation) else op.gate
        if isinstance(gate, cirq.IdentityGate | cirq.WaitGate):
            return
        if isinstance(gate, cirq.MeasurementGate):
            self.measurement(gate, place.wires, self.levels_of(op))
            return
        self.release(place.wires)
        match gate:
            case cirq.PauliMeasurementGate():
                pauli_products.measure(self, op, place)
            case cirq.ResetChannel():
                self.reset(place.wires)
            case cirq.StatePreparationChannel():
                self.reset(place.wires)
                self.acted.update(place.wires)
                self.builder.initialize(gate.state, place.wires[::-1])
            case _:
                self.acted.update(place.wires)
                self.unitary(op, place)

    def release(self, wires: Sequence[int]) -> None:
        """Do all that waits on some wires, before something acts on them."""
        if not self.held.isdisjoint(wires):
            self.turn_back(wires)
            self.pending.measure(wires)
            self.held.difference_update(wires)

    def turn_back(self, wires: Sequence[int]) -> None:
        """Undo the basis changes of Pauli products that were measured on any of some wires."""
        for change in [change for change in self.basis_changes if not change.wires.isdisjoint(wires)]:
            self.basis_changes.remove(change)
            self.pending.measure(change.wires)
            self.held.difference_update(change.wires)
            for op in change.back:
                self.unitary(op, Place(self.builder, self.wires(op.qubits)))

    def turn_back_later(self, wires: Sequence[int], back: Sequence[cirq.Operation]) -> None:
        """Note what turns wires back once they have been read."""
        self.basis_changes.append(_BasisChange(frozenset(wires), tuple(back)))
        self.acted.update(wires)
        self.held.update(wires)

    def unitary(self, op: cirq.Operation, place: Place) -> None:
        """Append a unitary operation by its rule, its parts, or its matrix."""
        match op:
            case cirq.TaggedOperation():
                self.unitary(op.untagged, place)
            case cirq.ControlledOperation():
                self.controlled(op, place)
            case cirq.CircuitOperation():
                subcircuits.unroll(self, op, place)
            case cirq.ClassicallyControlledOperation():
                append_conditional(self, op, place)
            case _:
                gate = op.gate
                rule = rule_of(gate)
                if rule is not None:
                    rule(gate, place)
                else:
                    without_rule.append_without_rule(self, op, place)

    def controlled(self, op: cirq.ControlledOperation, place: Place) -> None:
        """Append an operation under controls, once for each combination of control values."""
        held = self.wires(op.controls)
        within = place._replace(wires=place.wires[len(held) :])
        for controls, values in self.conjunctions(op, held):
            self.unitary(op.sub_operation, within.controlled(controls, values))

    def conjunctions(self, op: cirq.ControlledOperation, wires: tuple[int, ...]) -> Iterator[Conjunction]:
        """Yield the controls and control values under which an operation acts, one after another."""
        return conjunctions(wires, op.control_values)

    def parts(self, parts: list[cirq.Operation], place: Place) -> None:
        """Append the parts of an operation under its controls."""
        for part in parts:
            self.general(part, place._replace(wires=self.wires(part.qubits)))

    def measurement(self, gate: cirq.MeasurementGate, wires: tuple[int, ...], levels: Levels | None = None) -> None:
        """Append a measurement; a qubit may be measured again and again."""
        self.turn_back(wires)
        self.pending.read(gate, wires, levels)
        self.held.update(wires)

    def reset(self, wires: tuple[int, ...]) -> None:
        """Reset qubits, which does nothing where they are |0>."""
        if not self.acted.isdisjoint(wires):
            self.builder.reset(wires)
            self.acted.difference_update(wires)
