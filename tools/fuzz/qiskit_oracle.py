"""The oracle for circuits of Qiskit: a walk over the circuit with the matrices of `qiskit.quantum_info`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from qiskit.circuit import (
    AnnotatedOperation,
    Barrier,
    ClassicalRegister,
    Clbit,
    ControlledGate,
    Delay,
    ForLoopOp,
    IfElseOp,
    Measure,
    QuantumCircuit,
    Reset,
    Store,
    SwitchCaseOp,
)
from qiskit.circuit.classical import expr
from qiskit.circuit.controlflow import CASE_DEFAULT
from qiskit.circuit.library import DiagonalGate, Initialize, PauliEvolutionGate, UnitaryGate
from qiskit.quantum_info import Kraus, Operator

from tools.fuzz.numbers import Matrix
from tools.fuzz.oracle import Oracle

CHANNELS = ("kraus", "superop", "quantum_channel")

Error = Callable[[str, tuple[int, ...]], Any]
"""The Kraus matrices of a noisy machine's error, by an instruction's name and wires; None if there is none."""


def matrix_of(operation: Any) -> Matrix:
    """The matrix of a gate, with and without controls.

    That of a diagonal, and of a matrix with controls, is not Qiskit's: sequences of gates that it makes of them, and
    multiplies, drop angles below 1e-10 or so. An evolution is what its formula is, and its inverse that of this.
    """
    if isinstance(operation, PauliEvolutionGate):
        return Operator(operation.definition).data
    if isinstance(operation, AnnotatedOperation):
        return Operator(AnnotatedOperation(UnitaryGate(matrix_of(operation.base_op)), operation.modifiers)).data
    if isinstance(operation, DiagonalGate):
        return np.diag(operation.params).astype(np.complex128)
    if not (isinstance(operation, ControlledGate) and isinstance(operation.base_gate, UnitaryGate | DiagonalGate)):
        return Operator(operation).data
    inner, controls = matrix_of(operation.base_gate), operation.num_ctrl_qubits
    matrix = np.eye(len(inner) << controls, dtype=np.complex128)
    rows = (np.arange(len(inner)) << controls) + operation.ctrl_state
    matrix[np.ix_(rows, rows)] = inner
    return matrix


def walk(
    circuit: QuantumCircuit, oracle: Oracle, wires: Sequence[int], clbits: Sequence[int], error: Error | None = None
) -> Oracle:
    """Apply a circuit to the oracle: qubit k is ``wires[k]``, classical bit k is ``clbits[k]``."""
    bit_of = dict(zip(circuit.clbits, clbits, strict=True))
    oracle.global_phase(float(circuit.global_phase))
    for item in circuit.data:
        on = [wires[circuit.find_bit(qubit).index] for qubit in item.qubits]
        bits = [bit_of[bit] for bit in item.clbits]
        _step(item.operation, on, bits, bit_of, oracle, error)
    return oracle


def _step(
    operation: Any, on: list[int], bits: list[int], bit_of: Mapping[Clbit, int], oracle: Oracle, error: Error | None
) -> None:
    match operation:
        case Barrier() | Delay():
            return
        case IfElseOp():
            read, function = _condition(operation.condition)
            numbers = [bit_of[bit] for bit in read]
            found = [bool(function(values)) for values in _all_values(read)]
            for wanted, block in zip((True, False), operation.blocks, strict=False):
                with oracle.condition(numbers, [value for value, holds in enumerate(found) if holds == wanted]):
                    walk(block, oracle, on, bits, error)
        case SwitchCaseOp():
            read, function = _condition(operation.target)
            numbers, values = [bit_of[bit] for bit in read], [int(function(one)) for one in _all_values(read)]
            taken: list[set[int]] = [set() for _ in operation.blocks]
            cases = list(operation.cases_specifier())
            for value, target in enumerate(values):
                for number, (labels, _) in enumerate(cases):
                    if CASE_DEFAULT in labels or target in labels:
                        taken[number].add(value)
                        break
            for held, block in zip(taken, operation.blocks, strict=True):
                with oracle.condition(numbers, held):
                    walk(block, oracle, on, bits, error)
        case ForLoopOp():
            indices, parameter, body = operation.params
            for index in indices:
                once = body if parameter is None else body.assign_parameters({parameter: index})
                walk(once, oracle, on, bits, error)
        case Measure():
            _noise(operation, on, oracle, error)
            oracle.measure(on, bits)
        case Store():
            target = operation.lvalue.var
            read, function = _condition(operation.rvalue)
            places = [bit_of[bit] for bit in ([target] if isinstance(target, Clbit) else target)]
            oracle.store(places, lambda held: function({bit: held >> bit_of[bit] & 1 for bit in read}))
        case Reset():
            oracle.reset(on)
            _noise(operation, on, oracle, error)
        case Initialize():
            oracle.reset(on)
            oracle.unitary(Operator(operation.definition.data[-1].operation).data, on)
        case _ if operation.name in CHANNELS:
            oracle.channel(np.array(Kraus(operation).data), on)
        case _ if operation.name == "save_statevector":
            oracle.save(operation.label)
        case _:
            oracle.unitary(matrix_of(operation), on)
            _noise(operation, on, oracle, error)


def _noise(operation: Any, on: list[int], oracle: Oracle, error: Error | None) -> None:
    kraus = None if error is None else error(operation.name, tuple(on))
    if kraus is not None:
        oracle.channel(kraus, on)


def _all_values(read: Sequence[Clbit]) -> list[dict[Clbit, int]]:
    return [{bit: value >> k & 1 for k, bit in enumerate(read)} for value in range(1 << len(read))]


def _condition(condition: Any) -> tuple[list[Clbit], Callable[[Mapping[Clbit, int]], int]]:
    """The classical bits that a condition or a target reads, and its value."""
    if isinstance(condition, tuple):
        read, wanted = condition
        own = [read] if isinstance(read, Clbit) else list(read)
        return own, lambda values: int(_number(own, values) == int(wanted))
    if isinstance(condition, Clbit | ClassicalRegister):
        own = [condition] if isinstance(condition, Clbit) else list(condition)
        return own, lambda values: _number(own, values)
    own = []
    for variable in expr.iter_vars(condition):
        own += [variable.var] if isinstance(variable.var, Clbit) else list(variable.var)
    return list(dict.fromkeys(own)), lambda values: _evaluate(condition, values)


def _number(bits: Sequence[Clbit], values: Mapping[Clbit, int]) -> int:
    return sum(values[bit] << k for k, bit in enumerate(bits))


def _evaluate(node: Any, values: Mapping[Clbit, int]) -> int:
    """The value of a classical expression by its documentation."""
    match node:
        case expr.Var():
            return _number([node.var] if isinstance(node.var, Clbit) else list(node.var), values)
        case expr.Value():
            return int(node.value)
        case expr.Cast():
            inner = _evaluate(node.operand, values)
            return int(bool(inner)) if node.type.__class__.__name__ == "Bool" else inner
        case expr.Unary():
            inner = _evaluate(node.operand, values)
            if node.op == expr.Unary.Op.LOGIC_NOT:
                return int(not inner)
            width = getattr(node.type, "width", 1)
            return ~inner & (1 << width) - 1
        case expr.Binary():
            left, right = _evaluate(node.left, values), _evaluate(node.right, values)
            return int(BINARY[node.op.name](left, right))
    raise TypeError(f"an expression of a kind that is not drawn: {node!r}")


BINARY: dict[str, Callable[[int, int], int]] = {
    "BIT_AND": lambda a, b: a & b,
    "BIT_OR": lambda a, b: a | b,
    "BIT_XOR": lambda a, b: a ^ b,
    "LOGIC_AND": lambda a, b: bool(a and b),
    "LOGIC_OR": lambda a, b: bool(a or b),
    "EQUAL": lambda a, b: a == b,
    "NOT_EQUAL": lambda a, b: a != b,
    "LESS": lambda a, b: a < b,
    "LESS_EQUAL": lambda a, b: a <= b,
    "GREATER": lambda a, b: a > b,
    "GREATER_EQUAL": lambda a, b: a >= b,
    "SHIFT_LEFT": lambda a, b: a << b,
    "SHIFT_RIGHT": lambda a, b: a >> b,
    "ADD": lambda a, b: a + b,
    "SUB": lambda a, b: a - b,
    "MUL": lambda a, b: a * b,
}
"""What Qiskit's operators on two values do, before the result has the width of its type."""
