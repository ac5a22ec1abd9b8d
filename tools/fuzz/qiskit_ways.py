"""The oracle of Qiskit's circuits with loops, variables and blocks of any kind: every way through one is followed.

A way is the values of all classical bits and variables, with the unnormalised mixed state that belongs to them (see
`oracle`). Blocks, loops and expressions are done by their definitions; no code is shared with the product.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from qiskit.circuit import (
    Barrier,
    BoxOp,
    BreakLoopOp,
    Clbit,
    ContinueLoopOp,
    Delay,
    ForLoopOp,
    IfElseOp,
    Measure,
    QuantumCircuit,
    Reset,
    Store,
    SwitchCaseOp,
    WhileLoopOp,
)
from qiskit.circuit.classical import expr, types
from qiskit.circuit.controlflow import CASE_DEFAULT
from qiskit.circuit.library import Initialize

from qsim_ex.errors import NotSupported
from tools.fuzz.numbers import Matrix
from tools.fuzz.oracle import apply, narrow
from tools.fuzz.qiskit_oracle import BINARY, matrix_of

MOST_ROUNDS = 200
MOST_WAYS = 400
"""Loops with more rounds, and circuits with more ways, are not followed."""

LEFT = 1e-9
"""The probability of a loop's next round that is left out."""

_HALVES = tuple(np.diag([1.0 - bit, bit]) for bit in (0, 1))
_TO_ZERO = tuple(np.array([[1.0 - bit, bit], [0.0, 0.0]]) for bit in (0, 1))


class Memory(NamedTuple):
    """The classical bits, and the values of the variables that have one."""

    bits: int
    variables: frozenset[tuple[str, Any]]

    def with_variable(self, name: str, value: Any) -> Memory:
        """The same with another value of a variable."""
        return self._replace(variables=frozenset((dict(self.variables) | {name: value}).items()))


Ways = dict[Memory, Matrix]
BitOf = Mapping[Clbit, int]


class Ends(NamedTuple):
    """The ways at the end of a block: those that came to its end, and those that left the loop, or its round."""

    through: Ways
    left: Ways
    next_round: Ways


def distribution_of(circuit: QuantumCircuit) -> dict[int, float]:
    """The probability of each value of the classical bits at the end of a circuit."""
    start = np.zeros((1 << circuit.num_qubits, 1), dtype=np.complex128)
    start[0] = 1
    ways = {Memory(0, frozenset()): start}
    ends = _block(circuit, range(circuit.num_qubits), range(circuit.num_clbits), ways)
    found: dict[int, float] = {}
    for memory, state in ends.through.items():
        found[memory.bits] = found.get(memory.bits, 0.0) + _weight({memory: state})
    return found


def _weight(ways: Ways) -> float:
    return sum(float(np.linalg.norm(state) ** 2) for state in ways.values())


def _joined(*several: Ways) -> Ways:
    found: Ways = {}
    for ways in several:
        for memory, state in ways.items():
            if np.linalg.norm(state) > 1e-14:
                found[memory] = narrow(np.hstack([found[memory], state])) if memory in found else state
    if len(found) > MOST_WAYS:
        raise NotSupported(f"expected at most {MOST_WAYS} ways through a drawn circuit, got {len(found)}.")
    return found


def _block(circuit: QuantumCircuit, wires: Sequence[int], clbits: Sequence[int], ways: Ways) -> Ends:
    bit_of = dict(zip(circuit.clbits, clbits, strict=True))
    left: Ways = {}
    next_round: Ways = {}
    for item in circuit.data:
        on = [wires[circuit.find_bit(qubit).index] for qubit in item.qubits]
        ends = _step(item.operation, on, [bit_of[bit] for bit in item.clbits], bit_of, ways)
        ways, left, next_round = ends.through, _joined(left, ends.left), _joined(next_round, ends.next_round)
    return Ends(ways, left, next_round)


def _step(operation: Any, on: list[int], bits: list[int], bit_of: BitOf, ways: Ways) -> Ends:
    def chosen(choice: Callable[[Memory], int | None], blocks: Sequence[QuantumCircuit]) -> Ends:
        ends = [Ends({m: s for m, s in ways.items() if choice(m) is None}, {}, {})]
        for number, block in enumerate(blocks):
            ends.append(_block(block, on, bits, {m: s for m, s in ways.items() if choice(m) == number}))
        return Ends(*(_joined(*several) for several in zip(*ends, strict=True)))

    match operation:
        case Barrier() | Delay():
            pass
        case BoxOp():
            return _block(operation.blocks[0], on, bits, ways)
        case BreakLoopOp():
            return Ends({}, ways, {})
        case ContinueLoopOp():
            return Ends({}, {}, ways)
        case IfElseOp():
            count = len(operation.blocks)
            otherwise = 1 if count > 1 else None
            return chosen(lambda m: 0 if _holds(operation.condition, bit_of, m) else otherwise, operation.blocks)
        case SwitchCaseOp():
            cases = [labels for labels, _ in operation.cases_specifier()]
            return chosen(lambda m: _case(cases, int(value(operation.target, bit_of, m))), operation.blocks)
        case ForLoopOp():
            return Ends(_for(operation, on, bits, ways), {}, {})
        case WhileLoopOp():
            return Ends(_while(operation, on, bits, bit_of, ways), {}, {})
        case Measure():
            ways = _measured(ways, on[0], bits[0])
        case Reset():
            ways = _reset(ways, on)
        case Initialize():
            matrix = matrix_of(operation.definition.data[-1].operation)
            ways = {memory: apply(state, matrix, on) for memory, state in _reset(ways, on).items()}
        case Store():
            ways = _joined(*({_stored(operation, bit_of, memory): state} for memory, state in ways.items()))
        case _:
            matrix = matrix_of(operation)
            ways = {memory: apply(state, matrix, on) for memory, state in ways.items()}
    return Ends(ways, {}, {})


def _case(cases: Sequence[Sequence[Any]], target: int) -> int | None:
    for number, labels in enumerate(cases):
        if any(label is CASE_DEFAULT or int(label) == target for label in labels):
            return number
    return None


def _for(operation: ForLoopOp, on: list[int], bits: list[int], ways: Ways) -> Ways:
    indices, parameter, body = operation.params
    done: Ways = {}
    for index in indices:
        once = body
        if isinstance(parameter, expr.Var):
            number = index & (1 << parameter.type.width) - 1
            ways = {memory.with_variable(parameter.name, number): state for memory, state in ways.items()}
        elif parameter in body.parameters:
            once = body.assign_parameters({parameter: index})
        ends = _block(once, on, bits, ways)
        ways, done = _joined(ends.through, ends.next_round), _joined(done, ends.left)
    return _joined(ways, done)


def _while(operation: WhileLoopOp, on: list[int], bits: list[int], bit_of: BitOf, ways: Ways) -> Ways:
    done: Ways = {}
    for _ in range(MOST_ROUNDS):
        inside = {m: state for m, state in ways.items() if _holds(operation.condition, bit_of, m)}
        done = _joined(done, {m: state for m, state in ways.items() if m not in inside})
        if _weight(inside) < LEFT:
            return done
        ends = _block(operation.blocks[0], on, bits, inside)
        ways, done = _joined(ends.through, ends.next_round), _joined(done, ends.left)
    raise NotSupported(f"expected a loop of at most {MOST_ROUNDS} rounds.")


def _measured(ways: Ways, wire: int, bit: int) -> Ways:
    found: list[Ways] = []
    for memory, state in ways.items():
        for outcome in (0, 1):
            written = memory._replace(bits=memory.bits & ~(1 << bit) | outcome << bit)
            found.append({written: apply(state, _HALVES[outcome], [wire])})
    return _joined(*found)


def _reset(ways: Ways, on: Sequence[int]) -> Ways:
    for wire in on:
        parts = [{m: apply(state, half, [wire]) for m, state in ways.items()} for half in _TO_ZERO]
        ways = _joined(*parts)
    return ways


# --- classical values -------------------------------------------------------------------------------------------------


def _stored(operation: Store, bit_of: BitOf, memory: Memory) -> Memory:
    target, stored = operation.lvalue, int(value(operation.rvalue, bit_of, memory))
    if isinstance(target, expr.Index):
        at = int(value(target.index, bit_of, memory))
        target = target.target
        stored = int(value(target, bit_of, memory)) & ~(1 << at) | stored << at
    if target.standalone:
        return memory.with_variable(target.name, stored)
    bits = memory.bits
    for k, clbit in enumerate([target.var] if isinstance(target.var, Clbit) else target.var):
        bits = bits & ~(1 << bit_of[clbit]) | (stored >> k & 1) << bit_of[clbit]
    return memory._replace(bits=bits)


def _holds(condition: Any, bit_of: BitOf, memory: Memory) -> bool:
    if isinstance(condition, tuple):
        return int(value(condition[0], bit_of, memory)) == int(condition[1])
    return bool(value(condition, bit_of, memory))


def value(node: Any, bit_of: BitOf, memory: Memory) -> int:
    """The value of a bit, a register or an expression, by Qiskit's documentation."""
    match node:
        case expr.Var() if node.standalone:
            return int(dict(memory.variables)[node.name])
        case expr.Var():
            return value(node.var, bit_of, memory)
        case expr.Value():
            return int(node.value)
        case expr.Cast():
            return _cut(value(node.operand, bit_of, memory), node.type)
        case expr.Index():
            return value(node.target, bit_of, memory) >> value(node.index, bit_of, memory) & 1
        case expr.Unary():
            inner = value(node.operand, bit_of, memory)
            return int(not inner) if node.op.name == "LOGIC_NOT" else _cut(~inner, node.type, negated=True)
        case expr.Binary():
            sides = value(node.left, bit_of, memory), value(node.right, bit_of, memory)
            return _cut(BINARY[node.op.name](*sides), node.type)
        case Clbit():
            return memory.bits >> bit_of[node] & 1
    return sum((memory.bits >> bit_of[clbit] & 1) << k for k, clbit in enumerate(node))


def _cut(number: int, kind: types.Type, *, negated: bool = False) -> int:
    """A number in the width of a type; Bool is whether it is not 0, and its negation has one bit."""
    if isinstance(kind, types.Bool):
        return number & 1 if negated else int(bool(number))
    return number & (1 << kind.width) - 1
