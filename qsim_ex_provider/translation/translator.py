"""The translator of a circuit of Qiskit: gate by gate, definition by definition, with controls handed down.

Standard gates go straight to the gate table by name, many at a time: reading a column of all instructions takes half as
long as reading one instruction after the other. Every other operation is given to a function of `library`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from qiskit.circuit import (
    CircuitInstruction,
    ClassicalRegister,
    Clbit,
    ControlledGate,
    Parameter,
    ParameterExpression,
    QuantumCircuit,
)
from qiskit.circuit.library import XGate, get_standard_gate_name_mapping

from qsim_ex import CircuitBuilder, frameworks
from qsim_ex.errors import InvalidInput, NotSupported
from qsim_ex.frameworks import (
    NeedsNumbers,
    ParameterColumns,
    ReadoutErrors,
    ReadoutNotes,
    Values,
    later,
)
from qsim_ex_provider.translation.native_columns import NativeColumns
from qsim_ex_provider.translation.place import NO_CONTROLS, Controls, Place, ToNumber, Wires
from qsim_ex_provider.translation.walk import ROWS, Columns, Inner, Walk, columns_of

if TYPE_CHECKING:
    from qsim_ex.frameworks import Expression, Noise
    from qsim_ex_provider.translation import classical, expressions
else:
    classical = later("qsim_ex_provider.translation.classical")
    expressions = later("qsim_ex_provider.translation.expressions")

Misreading = NDArray[np.float64] | None
"""P(read | true) of a measurement, float64 [2, 2]; None if it is read right."""

Saving = dict[int, tuple[QuantumCircuit, bool]]
"""Whether something in a block saves a value, by the identity of the block, which is kept with it."""


@cache
def class_rows() -> dict[type, tuple[str, bool]]:
    """Return rows of the gate table by the class of Qiskit's standard gate."""
    mapping = get_standard_gate_name_mapping()
    return {mapping[name].base_class: row for name, row in ROWS.items() if name in mapping}


class Translator:
    """Appends circuits of Qiskit to a builder of the engine.

    emit: appends an operation that is not a standard gate, and returns the circuits inside control flow.
    columns: values of parameters, if the builder takes arrays; without them every parameter must be a number.
    noise: the channels around an instruction, found by its label or name. An instruction that it does not name is
    ideal, but where that is replaced by its definition, the noise of the instructions in there is found. An instruction
    under controls is a part of a gate and has no noise of its own.
    without_phase: leave out the global phase of the circuit itself, which no sample and no expectation value shows.
    used: the wires that are no longer known to be |0>. saved: how what is saved under a label is presented (see
    `saves.kinds.SavedForm`). top: the circuit that all others are a part of. bits: the number of each classical bit of
    the circuit that is being translated, for conditions. loops: how each loop around
    the present instruction is appended: 'loop', or 'written out'. saving: of blocks that were asked, whether they save.
    """

    def __init__(
        self,
        builder: CircuitBuilder,
        emit: Callable[[Any, Place, Translator], Any],
        columns: ParameterColumns | None = None,
        noise: Noise | None = None,
        *,
        without_phase: bool = False,
    ) -> None:
        self.builder = builder
        self.emit = emit
        self.number: ToNumber = float if columns is None else partial(self._number, columns)
        self.formulas: dict[int, tuple[Values, ParameterExpression]] = {}  # of values that it made, by their identity
        self.noise = noise
        self.without_phase = without_phase
        self.takes_columns = columns is not None
        self.used: set[int] = set()
        self.saved: dict[str, Any] = {}
        self.top: QuantumCircuit | None = None
        self.bits: Mapping[Clbit, int] = {}
        self.loops: list[str] = []
        self.saving: Saving = {}
        self._read: list[tuple[int, Misreading]] = []  # the bit of each measurement, and how it is misread

    @cached_property
    def variables(self) -> classical.RuntimeVariables:
        """The run-time variables of the circuit."""
        return classical.RuntimeVariables(self.builder, self.read)

    def read(self, of: Clbit | ClassicalRegister) -> Expression:
        """Return the value of a classical bit or a register of the circuit that is being translated."""
        return frameworks.Expression.of_bits([self.bits[bit] for bit in ([of] if isinstance(of, Clbit) else of)])

    @property
    def readout_errors(self) -> ReadoutErrors:
        """The readout errors of the classical bits that were measured so far."""
        if all(misreading is None for _, misreading in self._read):
            return ()
        notes = ReadoutNotes()
        for bit, misreading in self._read:
            notes.measured(bit, misreading)
        return notes.errors()

    def whole(self, circuit: QuantumCircuit, columns: Columns | NativeColumns | None = None) -> None:
        """Append a whole circuit, whose qubit k is wire k; columns: its instructions, if they were read already."""
        wires, clbits = tuple(range(circuit.num_qubits)), tuple(range(circuit.num_clbits))
        self.circuit(circuit, wires, clbits, NO_CONTROLS, columns)

    def circuit(
        self,
        circuit: QuantumCircuit,
        wires: Wires,
        clbits: Wires,
        controls: Controls,
        columns: Columns | NativeColumns | None = None,
    ) -> None:
        """Append a circuit, whose qubit k is ``wires[k]``; columns: its instructions, if they were read already.

        Circuits inside control flow are appended one by one from a stack, so that no depth is too deep.
        """
        stack: list[Inner] = [self._pieces(circuit, wires, clbits, controls, columns)]
        error: Exception | None = None
        while stack:
            try:
                inner, place = next(stack[-1]) if error is None else stack[-1].throw(error)
            except StopIteration:
                stack.pop()
            except Exception as raised:  # noqa: BLE001  (each circuit around it adds its place)
                stack.pop()
                error = raised
            else:
                stack.append(self._pieces(inner, place.wires, place.clbits, place.controls))
        if error is not None:
            raise error

    def _pieces(
        self,
        circuit: QuantumCircuit,
        wires: Wires,
        clbits: Wires,
        controls: Controls,
        columns: Columns | NativeColumns | None = None,
    ) -> Inner:
        """Append a circuit but for what is inside its control flow, which is yielded where it is to be appended."""
        self.top = circuit if self.top is None else self.top
        columns = columns or columns_of(circuit, wires)
        clbit_of = dict(zip(circuit.clbits, clbits, strict=True)) if columns.others else {}
        walk = Walk(self, columns, clbit_of, controls)
        outer, self.bits = self.bits, clbit_of
        try:
            if circuit.num_input_vars and (given := self.variables.unknown(circuit.iter_input_vars())):
                raise NotSupported(
                    f"expected a circuit without inputs, got {given} input variables; declare them with a value."
                )
            if circuit.global_phase and not (self.without_phase and circuit is self.top):
                phase = self.number(circuit.global_phase)
                self.builder.gate("global_phase", (), phase, controls=controls.wires, control_values=controls.values)
            yield from walk.all()
        except (InvalidInput, NotSupported) as error:
            position, name, qubits = max(walk.at, 0), "", []
            if walk.at >= 0:
                name = circuit.data[position].name
                qubits = [circuit.find_bit(qubit).index for qubit in circuit.data[position].qubits]
            where = f"instruction {position} of circuit {circuit.name!r}, {name!r} on qubits {qubits}"
            raise type(error)(f"{error} [{where}]") from error
        except TypeError as error:  # Qiskit and NumPy raise it where they expect a number and find a parameter
            if not (self.takes_columns and walk.at >= 0 and has_parameters(circuit.data[walk.at])):
                raise
            name = circuit.data[walk.at].name
            raise NeedsNumbers(f"{name!r} depends on the number that a parameter stands for") from error
        finally:
            self.bits = outer

    def noisy(self, operation: Any, place: Place, noise: Noise) -> None:
        """Append an operation and the noise around it; what is inside an operation that has noise is ideal."""
        if getattr(operation, "_directive", False):  # a barrier, a state to be saved
            self.emit(operation, place, self)
            return
        measures = operation.name == "measure"
        name = operation.name if measures else getattr(operation, "label", None) or operation.name
        named = noise.before(name, place.wires) is not None or noise.after(name, place.wires) is not None
        if not named and isinstance(operation, ControlledGate) and not all_ones(operation):
            self._closed(operation, place, noise)
            return
        frameworks.surround(self.builder, noise, name, place.wires, before=True)
        self.noise = None if named else noise
        try:
            self.emit(operation, place, self)
        finally:
            self.noise = noise
        frameworks.surround(self.builder, noise, name, place.wires, before=False)
        if named:  # noise may leave its wires in any state, though the instruction does nothing
            self.used.update(place.wires)
        if measures:
            self._read += [(bit, noise.misreading(wire)) for wire, bit in zip(place.wires, place.clbits, strict=True)]

    def _closed(self, gate: ControlledGate, place: Place, noise: Noise) -> None:
        """Append a gate with open controls as Aer does: between X on wires that must be 0, each with its noise."""
        open_wires = [
            wire for k, wire in enumerate(place.wires[: gate.num_ctrl_qubits]) if not gate.ctrl_state >> k & 1
        ]
        closed = gate.to_mutable()
        closed.ctrl_state = None
        inverted = [(XGate(), Place((wire,))) for wire in open_wires]
        for operation, at in (*inverted, (closed, place), *inverted):
            self.noisy(operation, at, noise)

    def standard(self, operation: Any, place: Place) -> bool:
        """Append a standard gate by its class and return whether it was one; open controls are not standard."""
        row = class_rows().get(getattr(operation, "base_class", object))
        if row is None or (isinstance(operation, ControlledGate) and not all_ones(operation)):
            return False
        self.gate(row[0], place.wires, place.controls, *(map(self.number, operation.params) if row[1] else ()))
        return True

    def measure(self, wires: Wires, clbits: Wires) -> None:
        """Append a measurement of some wires into some classical bits."""
        self.builder.measure(wires, clbits)
        self.used.update(wires)

    def only_misread(self, on: Wires, bit: int, noise: Noise) -> bool:
        """Note how a measurement is misread that has no other noise, and return whether it has none."""
        if noise.before("measure", on) is not None or noise.after("measure", on) is not None:
            return False
        self._read.append((bit, noise.misreading(on[0])))
        return True

    def _number(self, columns: ParameterColumns, parameter: object) -> Any:
        found = number_or_column(columns, parameter)
        if type(parameter) is ParameterExpression:
            self.formulas[id(found)] = found, parameter
        return found

    def gate(self, name: str, wires: Sequence[int], controls: Controls, *parameters: float) -> None:
        """Append a gate of the gate table."""
        self.builder.gate(name, wires, *parameters, controls=controls.wires, control_values=controls.values)
        self.used.update(wires)


def number_or_column(columns: ParameterColumns, parameter: Any) -> Any:
    """Return a gate's parameter as the builder takes it: a number, or float64 [bindings].

    Raises `ParameterError` where a value is not real, and `NeedsNumbers` for a formula that NumPy cannot compute.
    """
    if isinstance(parameter, Parameter):
        return columns[parameter.name]
    if not isinstance(parameter, ParameterExpression) or not parameter.parameters:
        return float(parameter)
    return expressions.values_of(parameter, columns)


def has_parameters(instruction: CircuitInstruction) -> bool:
    """Return whether an instruction has a parameter that is no number yet."""
    return any(getattr(parameter, "parameters", None) for parameter in instruction.operation.params)


def all_ones(gate: ControlledGate) -> bool:
    """Return whether every control of a gate is closed."""
    return bool(gate.ctrl_state == (1 << gate.num_ctrl_qubits) - 1)
