"""How instructions of Qiskit that are not standard gates are appended: one function for each class.

Standard gates are rows of the gate table, whose column `qiskit` names them, and have no function here.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from qiskit.circuit import (
    AnnotatedOperation,
    Barrier,
    BoxOp,
    BreakLoopOp,
    ContinueLoopOp,
    ControlledGate,
    ControlModifier,
    Delay,
    ForLoopOp,
    Gate,
    IfElseOp,
    InverseModifier,
    Measure,
    PowerModifier,
    Reset,
    Store,
    SwitchCaseOp,
    WhileLoopOp,
)
from qiskit.circuit import library as qiskit_library
from qiskit.circuit.library import (
    DiagonalGate,
    IGate,
    Initialize,
    PauliEvolutionGate,
    PauliGate,
    PermutationGate,
    StatePreparation,
    UCGate,
    UGate,
    UnitaryGate,
)
from qiskit.circuit.library.generalized_gates.uc_pauli_rot import UCPauliRotGate
from qiskit.quantum_info import Clifford

from qsim_ex.errors import NotSupported, UnknownInstruction
from qsim_ex.frameworks import simplified
from qsim_ex_provider.saves.instructions import SaveInstruction, SetStatevector
from qsim_ex_provider.saves.kinds import emit_known, is_known
from qsim_ex_provider.translation import control_flow, matrices, paulis
from qsim_ex_provider.translation.noise import lindblad_of, of_operation
from qsim_ex_provider.translation.place import Place
from qsim_ex_provider.translation.powers import power_of
from qsim_ex_provider.translation.translator import Translator, class_rows
from qsim_ex_provider.translation.walk import only_gates

CHANNELS = ("kraus", "superop", "quantum_channel")
"""Names of instructions that are channels: two of Qiskit's, and one for Aer's errors."""

READOUT = ("roerror", "qerror_loc")
"""Names of instructions that Aer adds for its own use."""


@singledispatch
def emit(operation: Any, place: Place, to: Translator) -> Any:
    """Append an operation: a standard gate as its row, any other operation by its definition or its matrix.

    Return the circuits inside control flow, each to be appended before the next one is asked for; None for others.
    """
    if to.standard(operation, place):
        return
    if operation.name in CHANNELS and not isinstance(operation, Gate):
        _channel(operation, place, to)
        return
    if operation.name in READOUT:
        raise NotSupported(
            f"expected readout errors in a noise model, got {operation.name!r} in a circuit; give the backend a noise "
            "model with this readout error."
        )
    if str(type(operation).__module__).startswith("qiskit_aer."):
        _from_aer(operation, place, to)
        return
    if getattr(operation, "definition", None) is not None:
        to.circuit(operation.definition, place.wires, place.clbits, place.controls)
    elif hasattr(operation, "__array__"):
        matrices.matrix(operation, place, to)
    else:
        raise UnknownInstruction(
            f"{operation.name!r} has neither a definition nor a matrix; set its definition, or give it __array__."
        )
    to.used.update(place.wires)


def _from_aer(instruction: Any, place: Place, to: Translator) -> None:
    """Append an instruction of Aer's; it is recognised by its module, and Aer need not be installed."""
    if not is_known(instruction.name):
        raise NotSupported(
            f"expected an instruction of Qiskit, or one of Aer's that save or set the state, got Aer's "
            f"{instruction.name!r}; use Qiskit's instructions instead."
        )
    emit_known(instruction, place, to)


# --- what does nothing, measures, resets or saves -------------------------------------------------------------------


@emit.register(Barrier)
@emit.register(Delay)
@emit.register(IGate)
def _nothing(operation: object, place: Place, to: Translator) -> None:
    """Append nothing: barriers, delays and identities do not change an ideal state."""


@emit.register(Measure)
def _measure(operation: Measure, place: Place, to: Translator) -> None:  # noqa: ARG001
    to.measure(place.wires, place.clbits)


@emit.register(Reset)
def _reset(operation: Reset, place: Place, to: Translator) -> None:  # noqa: ARG001
    to.builder.reset(place.wires)


emit.register(SaveInstruction, emit_known)
emit.register(SetStatevector, emit_known)


# --- control flow ----------------------------------------------------------------------------------------------------

emit.register(IfElseOp, control_flow.if_else)
emit.register(SwitchCaseOp, control_flow.switch_case)
emit.register(ForLoopOp, control_flow.for_loop)
emit.register(WhileLoopOp, control_flow.while_loop)
emit.register(BoxOp, control_flow.box)
emit.register(BreakLoopOp, control_flow.break_loop)
emit.register(ContinueLoopOp, control_flow.continue_loop)
emit.register(Store, control_flow.store)


# --- channels -------------------------------------------------------------------------------------------------------


def _channel(operation: Any, place: Place, to: Translator) -> None:
    """Append a channel of the circuit, with few Kraus matrices or as a mixture of unitary matrices."""
    if place.controls.wires:
        raise NotSupported(
            f"expected a channel outside of controlled gates, got {operation.name!r} under controls; append it beside "
            "the controlled gate."
        )
    name = operation.label or operation.name
    parts = lindblad_of(operation)
    if parts is None:
        parts = [(tuple(range(operation.num_qubits)), simplified(np.array(of_operation(operation))))]
    for on, kraus in parts:
        to.builder.channel(kraus, [place.wires[k] for k in on], name=name)
    to.used.update(place.wires)


# --- groups of operations -------------------------------------------------------------------------------------------


@emit.register(Clifford)
def _clifford(operation: Clifford, place: Place, to: Translator) -> None:
    to.circuit(operation.to_circuit(), place.wires, (), place.controls)


def is_its_base(gate: ControlledGate) -> bool:
    """Return whether a gate is its base gate under controls, by the base gate's definition if it has one.

    Some MCX have helper qubits at their end. What Qiskit assigns to parameters goes into the gate's definition, and
    into the parameters of its base gate, but not into a definition that this has already.
    """
    base = gate.base_gate
    if gate.num_qubits != gate.num_ctrl_qubits + base.num_qubits:
        return False
    definition = None if base.base_class in class_rows() else getattr(base, "_definition", None)
    return definition is None or not definition.num_parameters or [*definition.parameters] == [*base.params]


@emit.register(ControlledGate)
def _controlled(gate: ControlledGate, place: Place, to: Translator) -> None:
    """Append the base gate under the controls."""
    base, k = gate.base_gate, gate.num_ctrl_qubits
    controls, wires = place.controls.and_(place.wires[:k], gate.ctrl_state), place.wires[k:]
    if not is_its_base(gate):
        to.circuit(gate.definition, place.wires, (), place.controls)
    elif isinstance(base, UGate) and len(gate.params) == 4:  # CU has a phase that its base gate lacks
        *angles, phase = map(to.number, gate.params)
        to.gate("u", wires, controls, *angles)
        to.gate("global_phase", (), controls, phase)
    else:
        emit(base, Place(wires, (), controls), to)
    to.used.update(place.wires)


@emit.register(AnnotatedOperation)
def _annotated(operation: AnnotatedOperation, place: Place, to: Translator) -> None:
    """Apply the modifiers to the base operation, the first one first; the last controls own the first qubits."""
    base, controls, at = operation.base_op, place.controls, operation.base_op.num_qubits
    for modifier in operation.modifiers:
        match InverseModifier() if modifier is InverseModifier else modifier:  # the class itself is in some of Qiskit's
            case ControlModifier(num_ctrl_qubits=count, ctrl_state=state):
                at += count
                start = len(place.wires) - at
                controls = controls.and_(place.wires[start : start + count], state)
            case InverseModifier():
                base = power_of(base, -1)
            case PowerModifier(power=power):
                base = power_of(base, power)
            case _:
                raise UnknownInstruction(
                    f"expected a control, an inverse or a power as modifier, got {modifier!r}; append the operation "
                    "without it."
                )
    if controls.wires:
        only_gates(base)
    inner = place.wires[len(place.wires) - operation.base_op.num_qubits :]
    emit(base, Place(inner, place.clbits, controls), to)
    to.used.update(place.wires)


# --- states ---------------------------------------------------------------------------------------------------------


@emit.register(StatePreparation)
def _state_preparation(gate: StatePreparation, place: Place, to: Translator) -> None:
    """Write the state to wires that are still |0>; on other wires, append the gate's definition.

    So does a circuit whose unitary is saved, where the columns of other basis values count too.
    """
    fresh = to.used.isdisjoint(place.wires) and not place.controls.wires
    fresh = fresh and not (to.top is not None and "save_unitary" in to.top.count_ops())
    if fresh and _holds_amplitudes(gate) and gate.name == "state_preparation":
        to.builder.initialize(np.array(gate.params, dtype=np.complex128), place.wires)
    else:
        to.circuit(gate.definition, place.wires, (), place.controls)
    to.used.update(place.wires)


@emit.register(Initialize)
def _initialize(instruction: Initialize, place: Place, to: Translator) -> None:
    """Prepare a state on wires that are |0>, after a reset if they are not known to be."""
    if not to.used.isdisjoint(place.wires):
        to.builder.reset(place.wires)
        to.used.difference_update(place.wires)
    preparation = instruction.definition.data[-1].operation  # it follows the reset
    emit(preparation, place, to)


def _holds_amplitudes(operation: StatePreparation) -> bool:
    """Return whether the parameters are amplitudes, and not the letters of a label or one whole number."""
    parameters = operation.params
    return len(parameters) == 1 << operation.num_qubits and not isinstance(parameters[0], str)


# --- matrices and Pauli products ------------------------------------------------------------------------------------

emit.register(UnitaryGate, matrices.unitary)
emit.register(DiagonalGate, matrices.diagonal)
emit.register(UCGate, matrices.multiplexer)
emit.register(UCPauliRotGate, matrices.multiplexed_rotation)
emit.register(PermutationGate, matrices.permutation)
emit.register(PauliGate, paulis.pauli)
emit.register(PauliEvolutionGate, paulis.evolution)
if hasattr(qiskit_library, "PauliProductRotationGate"):  # Qiskit has it since 2.4
    emit.register(qiskit_library.PauliProductRotationGate, paulis.product_rotation)
if hasattr(qiskit_library, "WeightedSumGate"):  # Qiskit has it since 2.0
    emit.register(qiskit_library.WeightedSumGate, matrices.weighted_sum)
