"""From a Cirq circuit to a circuit of the engine: one pure function, `translate`.

Qubit k of the order becomes wire n−1−k, so that the engine's little-endian state is Cirq's big-endian one without
any amplitude being moved. Measurements at the end become one `Measure` of all measured wires, wire w into
classical bit w, and a layout that says which bits make which key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import cirq
import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.circuit import Circuit, CircuitBuilder
from qsim_ex.circuit.ops import Channel, Reset
from qsim_ex.circuit.sweeping import Sweep
from qsim_ex.errors import InvalidInput, MeasurementError, NotSupported, ParameterError, UnknownInstruction, WireError
from qsim_ex_cirq.gates import Place, Power, rule_of
from qsim_ex_cirq.gates import number as number_of
from qsim_ex_cirq.noise import channel, noisy_operations

MATRIX_FIRST = 3
"""Up to how many qubits a gate without a rule is taken as its matrix before its decomposition is asked for."""

MATRIX_LAST = 10
"""Up to how many qubits a gate without a rule and without a decomposition is taken as its matrix."""


@dataclass(frozen=True, eq=False)
class Measurement:
    """One measurement: bit k of its record is the bit of ``wires[k]``, confused and then inverted where asked.

    confusion: for each tuple of positions k the matrix of probabilities [true value, read value], big endian.
    """

    key: str
    wires: tuple[int, ...]
    invert: tuple[bool, ...] = ()
    confusion: Mapping[tuple[int, ...], NDArray[np.float64]] | None = None


@dataclass(frozen=True, eq=False)
class Translation:
    """A circuit of the engine, or several that differ in numbers alone, and what Cirq's side must remember of them.

    qubits: the order; qubit k is wire n−1−k. measurements: in the order of the circuit. undo: what a measurement of
    a Pauli product still does to the state after its bit is known, or None.
    """

    qubits: tuple[cirq.Qid, ...]
    sweep: Sweep
    measurements: tuple[Measurement, ...]
    undo: Circuit | None

    @property
    def circuit(self) -> Circuit:
        """The circuit, where there is one."""
        return self.sweep.template

    @property
    def leaves_to_chance(self) -> bool:
        """Whether something happens at random on the way: noise, or a reset."""
        return any(isinstance(instruction, Channel | Reset) for instruction in self.circuit.instructions)

    @property
    def measured(self) -> tuple[int, ...]:
        """The wires that are measured, ascending."""
        return tuple(sorted({wire for m in self.measurements for wire in m.wires}))


def translate(
    circuit: cirq.AbstractCircuit,
    resolver: cirq.ParamResolverOrSimilarType = None,
    qubit_order: cirq.QubitOrderOrList = cirq.QubitOrder.DEFAULT,
    *,
    from_zero: bool = True,
    noise: cirq.NoiseModel = cirq.NO_NOISE,
    sampled: bool = False,
    initial: int = 0,
    label: str | None = None,
) -> Translation:
    """Translate a circuit, its symbols replaced by the resolver's numbers, with the noise of a model.

    from_zero: the state that the circuit will act on is |0…0>; then a state preparation of qubits that nothing has
    acted on is allowed. sampled: nothing but the measurements counts, so that noise after them may be left out.
    initial: a basis value, bit w of which is wire w, that is prepared first. label: the state before the measurements
    at the end is saved under it.

    Raises `ParameterError` for symbols without a number, `WireError` for qudits and for a bad order,
    `UnknownInstruction` for an operation with neither a matrix nor a decomposition, and `NotSupported` for measurement
    in the middle, classical control and repeat-until loops.
    """
    resolved = cirq.resolve_parameters(circuit, cirq.ParamResolver(resolver))
    pairs = zip(circuit.all_operations(), resolved.all_operations(), strict=True)
    symbolic = {id(op) for written, op in pairs if written is not op}  # these became numbers; noise has none
    walk = Walk(order_of(circuit, qubit_order), from_zero and not initial)
    walk.begin(initial)
    for number, op in noisy_operations(resolved, noise, sampled):
        try:
            walk.operation(op, literal=id(op) not in symbolic)
        except (InvalidInput, NotSupported) as error:
            _require_numbers(resolved)
            error.add_note(f"in moment {number} of the circuit, at {op!r}")
            raise
    return walk.translation(label)


def _require_numbers(resolved: Any) -> None:
    """Raise `ParameterError`, naming the symbols, if there are any in a circuit or an operation.

    Looking costs more than translating a gate whose numbers are read anyway; so it is done where that fails.
    """
    unbound = sorted(cirq.parameter_names(resolved)) if cirq.is_parameterized(resolved) else []
    if unbound:
        raise ParameterError(
            f"the values of these symbols were not specified: {', '.join(unbound)}. Give a resolver that has them."
        )


def order_of(circuit: cirq.AbstractCircuit, qubit_order: cirq.QubitOrderOrList) -> tuple[cirq.Qid, ...]:
    """Return all qubits in order; raises `WireError` for a qudit, a qubit given twice or one left out."""
    try:
        qubits = cirq.QubitOrder.as_qubit_order(qubit_order).order_for(circuit.all_qubits())
    except ValueError as error:
        raise WireError(f"this qubit order does not fit the circuit: {error}") from error
    for qubit in qubits:
        if qubit.dimension != 2:
            raise WireError(f"{qubit!r} has {qubit.dimension} levels; qsim-ex simulates qubits, which have two.")
    return tuple(qubits)


class Walk:
    """Goes through the operations once; owns the builder and knows what has happened to each wire.

    builder: an empty one for as many wires and classical bits as there are qubits. number: makes of a gate's parameter
    what the builder takes, if parameters may be symbols.
    """

    def __init__(
        self,
        qubits: tuple[cirq.Qid, ...],
        from_zero: bool,
        builder: CircuitBuilder | None = None,
        number: Callable[[Any], Any] | None = None,
    ) -> None:
        n = len(qubits)
        self.qubits = qubits
        self.wire_of = {qubit: n - 1 - k for k, qubit in enumerate(qubits)}
        self.builder = CircuitBuilder(n, n) if builder is None else builder
        self.symbols = number is not None
        self.number = number or number_of
        self.undo: CircuitBuilder | None = None
        self.measurements: list[Measurement] = []
        self.widths: dict[str, int] = {}  # key -> how many qubits it is measured on
        self.acted = set() if from_zero else set(range(n))  # wires that may be anything but |0>
        self.read: set[int] = set()  # wires that were measured
        self.closed: set[int] = set()  # wires that were measured in another basis than their own

    def begin(self, initial: int) -> None:
        """Prepare a basis value, bit w of which is wire w."""
        for wire in range(initial.bit_length()):
            if initial >> wire & 1:
                self.builder.gate("x", [wire])

    def translation(self, label: str | None = None) -> Translation:
        """Return what was built; under a label the state before the measurements at the end is saved."""
        if label is not None:
            self.builder.save(label)
        if self.read:
            wires = sorted(self.read)
            self.builder.measure(wires, wires)
        undo = None if self.undo is None else self.undo.build()
        return Translation(self.qubits, Sweep(self.builder.build()), tuple(self.measurements), undo)

    def operation(self, op: cirq.Operation, literal: bool) -> None:
        """Append one operation."""
        wire_of = self.wire_of
        try:
            place = Place(self.builder, tuple([wire_of[qubit] for qubit in op.qubits]), (), 0, literal, self.number)
        except KeyError as error:
            raise WireError(f"the noise model adds {error.args[0]!r}, which is no qubit of the circuit.") from None
        # A controlled operation makes a gate each time that it is asked for one, which takes long.
        gate = None if type(op) is cirq.ControlledOperation else op.gate
        rule = rule_of(gate)
        if not isinstance(rule, Power) and not self.symbols:  # a power reads all numbers that its gates have
            _require_numbers(op)
        if rule is not None and self.read.isdisjoint(place.wires):
            self.acted.update(place.wires)
            rule(gate, place)
        else:
            self.general(op, place)

    def general(self, op: cirq.Operation, place: Place) -> None:
        """Append an operation that has no rule, or that acts on a wire that was measured."""
        if isinstance(op, cirq.TaggedOperation):
            self.general(op.untagged, place)
            return
        if isinstance(op, cirq.CircuitOperation):
            self.unroll(op, place)
            return
        match None if isinstance(op, cirq.ControlledOperation) else op.gate:
            case cirq.IdentityGate() | cirq.WaitGate():
                pass
            case cirq.MeasurementGate() as gate:
                self.measurement(gate, place.wires)
            case _ if not self.read.isdisjoint(place.wires):
                raise _later("measurement in the middle of a circuit", "an operation follows on a measured qubit")
            case cirq.PauliMeasurementGate():
                self.pauli_measurement(op, place)
            case cirq.ResetChannel():
                self.reset(place.wires)
            case cirq.StatePreparationChannel() as gate:
                self.prepare(gate, place.wires)
            case _:
                self.acted.update(place.wires)
                self.unitary(op, place)

    def unitary(self, op: cirq.Operation, place: Place) -> None:
        """Append a unitary operation by its rule, its parts, or its matrix."""
        match op:
            case cirq.TaggedOperation():
                self.unitary(op.untagged, place)
            case cirq.ControlledOperation():
                self.controlled(op, place)
            case cirq.CircuitOperation():
                self.unroll(op, place)
            case cirq.ClassicallyControlledOperation():
                raise _later("classical control", "an operation depends on a measured key")
            case _:
                gate = op.gate
                rule = rule_of(gate)
                if rule is not None:
                    rule(gate, place)
                else:
                    self.unknown(op, place)

    def unroll(self, op: cirq.CircuitOperation, place: Place) -> None:
        """Append the operations of a subcircuit, as often as it is repeated."""
        if op.repeat_until is not None:
            raise _later("repeat_until", "a loop ends on a measured key")
        parts = list(op.mapped_circuit().all_operations())
        if place.literal:
            self.parts(parts, place)
            return
        # Numbers came from symbols, but not into every operation: those that have none of their own keep their rows.
        symbolic = op.replace(param_resolver=cirq.ParamResolver({})).mapped_circuit().all_operations()
        for part, written in zip(parts, symbolic, strict=True):
            self.parts([part], place._replace(literal=not cirq.is_parameterized(written)))

    def controlled(self, op: cirq.ControlledOperation, place: Place) -> None:
        """Append an operation under controls, once for each combination of control values."""
        count = len(op.controls)
        within = place._replace(wires=place.wires[count:])
        for controls, values in _conjunctions(place.wires[:count], op.control_values):
            self.unitary(op.sub_operation, within.controlled(controls, values))

    def unknown(self, op: cirq.Operation, place: Place) -> None:
        """Append an operation by its matrix if it is narrow, else by its parts, as a channel, or by its matrix."""
        size = len(place.wires)
        # With numbers from symbols the parts come first: zeros in a matrix would be accidents of the numbers.
        if size <= MATRIX_FIRST and place.literal and self.by_matrix(op, place):
            return
        parts = cirq.decompose_once(op, None)
        if parts is not None and all(q in self.wire_of for part in parts for q in part.qubits):
            self.parts(parts, place)
        elif not cirq.has_unitary(op) and channel(op, place):
            pass
        elif size > MATRIX_LAST or not self.by_matrix(op, place):
            raise _cannot(op, parts is not None)

    def by_matrix(self, op: cirq.Operation, place: Place) -> bool:
        """Append the operation's matrix, if it has one; says whether it had."""
        matrix = cirq.unitary(op, None)
        if matrix is None:
            return False
        place.matrix(matrix, str(op.gate or type(op).__name__))
        return True

    def parts(self, parts: list[cirq.Operation], place: Place) -> None:
        """Append the parts of an operation under its controls."""
        for part in parts:
            wires = tuple(self.wire_of[qubit] for qubit in part.qubits)
            self.general(part, place._replace(wires=wires))

    def measurement(self, gate: cirq.MeasurementGate, wires: tuple[int, ...]) -> None:
        """Note a measurement; a qubit may be read again and again, in its own basis."""
        if not self.closed.isdisjoint(wires):
            raise _later("measurement in the middle of a circuit", "a qubit is measured again in another basis")
        key = str(gate.mkey)
        width = self.widths.setdefault(key, len(wires))
        if width != len(wires):
            raise MeasurementError(f"the key {key!r} is measured on {width} qubits and again on {len(wires)}.")
        self.read.update(wires)
        self.measurements.append(Measurement(key, wires, gate.full_invert_mask(), gate.confusion_map or None))

    def pauli_measurement(self, op: cirq.Operation, place: Place) -> None:
        """Measure a product of Pauli operators: rotate it onto one qubit, read that one, and rotate back later."""
        if self.undo is None:
            self.undo = CircuitBuilder(len(self.qubits))
        builder = self.builder
        for part in cirq.decompose_once(op):
            wires = tuple(self.wire_of[qubit] for qubit in part.qubits)
            if isinstance(part.gate, cirq.MeasurementGate):
                self.measurement(part.gate, wires)
                builder = self.undo
            else:
                self.unitary(part, Place(builder, wires))
        self.acted.update(place.wires)
        self.read.update(place.wires)
        self.closed.update(place.wires)

    def reset(self, wires: tuple[int, ...]) -> None:
        """Reset qubits, which does nothing where they are |0>."""
        if not self.acted.isdisjoint(wires):
            self.builder.reset(wires)

    def prepare(self, gate: cirq.StatePreparationChannel, wires: tuple[int, ...]) -> None:
        """Put qubits that are |0> into a state."""
        if not self.acted.isdisjoint(wires):
            raise _later("state preparation in the middle of a circuit", "it would reset qubits that were acted on")
        self.acted.update(wires)
        self.builder.initialize(gate.state, wires[::-1])


def _conjunctions(
    wires: tuple[int, ...], values: cirq.ops.AbstractControlValues
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return the controls and wanted values of each term; the terms exclude each other, so they commute."""
    if isinstance(values, cirq.ProductOfSums):
        free = [k for k, allowed in enumerate(values) if len(allowed) == 2]
        terms: Any = [[min(allowed) for allowed in values]]
    else:
        free, terms = [], values.expand()
    kept = [k for k in range(len(wires)) if k not in free]
    for term in terms:
        yield tuple(wires[k] for k in kept), tuple(term[k] for k in kept)


def _later(feature: str, because: str) -> NotSupported:
    return NotSupported(f"{feature} is not supported yet: {because}.")


def _cannot(op: cirq.Operation, decomposes: bool) -> Exception:
    if decomposes:
        return _later("a decomposition with qubits of its own", f"{op!r} has one, and no matrix")
    if cirq.has_unitary(op):
        return _later(f"a matrix on more than {MATRIX_LAST} qubits", f"{op!r} has no decomposition")
    return UnknownInstruction(f"{op!r} has neither a matrix nor a decomposition.")
