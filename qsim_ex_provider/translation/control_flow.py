"""Qiskit's control flow: conditions on classical bits as the values at which they hold, and loops that are unrolled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from qiskit.circuit import ClassicalRegister, Clbit, ForLoopOp, IfElseOp, SwitchCaseOp
from qiskit.circuit.classical import expr
from qiskit.circuit.controlflow import CASE_DEFAULT

from qsim_ex.errors import NotSupported
from qsim_ex.frameworks import check
from qsim_ex_provider.translation.translator import Place, Translator

ClbitNumbers = Mapping[Clbit, int]
"""The engine's number of each classical bit of a circuit."""


def if_else(operation: IfElseOp, place: Place, to: Translator) -> None:
    """Append both branches, each under its condition."""
    clbits, results = results_of(operation.condition, to.bits)
    for holds, block in zip((True, False), operation.blocks, strict=False):
        _under(block, clbits, [value for value, found in enumerate(results) if bool(found) == holds], place, to)


def switch_case(operation: SwitchCaseOp, place: Place, to: Translator) -> None:
    """Append all cases, each under its condition; the default stands for every value that no other case has."""
    clbits, results = results_of(operation.target, to.bits)
    named: set[int] = set()
    for labels, block in operation.cases_specifier():
        default = CASE_DEFAULT in labels
        own = {int(label) for label in labels if label is not CASE_DEFAULT}
        holds = [v for v, found in enumerate(results) if found in own or (default and int(found) not in named)]
        named |= own
        _under(block, clbits, holds, place, to)


def for_loop(operation: ForLoopOp, place: Place, to: Translator) -> None:
    """Append the body once for every index."""
    indices, parameter, body = operation.params
    for index in indices:
        once = body if parameter is None else body.assign_parameters({parameter: index})
        to.circuit(once, place.wires, place.clbits, place.controls)


def _under(block: Any, clbits: tuple[int, ...], values: Sequence[int], place: Place, to: Translator) -> None:
    if values:
        with to.builder.condition(clbits, values):
            to.circuit(block, place.wires, place.clbits, place.controls)


def results_of(condition: Any, bits: ClbitNumbers) -> tuple[tuple[int, ...], list[int]]:
    """Return the classical bits that a condition or target reads, and its value for each value of these.

    Bit k of a value is the k-th classical bit. Raises `NotSupported` for run-time variables and for too many bits.
    """
    if isinstance(condition, tuple):
        read, number = condition
        clbits = _clbits(read)
        return _numbers(clbits, bits), [int(value == int(number)) for value in range(1 << len(clbits))]
    if isinstance(condition, Clbit | ClassicalRegister):
        clbits = _clbits(condition)
        return _numbers(clbits, bits), list(range(1 << len(clbits)))
    clbits = list(dict.fromkeys(bit for var in expr.iter_vars(condition) for bit in _clbits(var.var)))
    numbers = _numbers(clbits, bits)
    held = ({bit: value >> k & 1 for k, bit in enumerate(clbits)} for value in range(1 << len(clbits)))
    return numbers, [int(evaluate(condition, values)) for values in held]


def _clbits(read: Any) -> list[Clbit]:
    if isinstance(read, Clbit):
        return [read]
    if isinstance(read, ClassicalRegister):
        return list(read)
    raise NotSupported("run-time variables are not supported; conditions may read classical bits and registers.")


def _numbers(clbits: Sequence[Clbit], bits: ClbitNumbers) -> tuple[int, ...]:
    if len(clbits) > check.CONDITION_BITS:
        most = check.CONDITION_BITS
        raise NotSupported(f"expected a condition on at most {most} classical bits, got one on {len(clbits)}.")
    return tuple(bits[bit] for bit in clbits)


_Op = expr.Binary.Op
BINARY: dict[Any, Callable[[int, int], int]] = {
    _Op.BIT_AND: lambda a, b: a & b,
    _Op.BIT_OR: lambda a, b: a | b,
    _Op.BIT_XOR: lambda a, b: a ^ b,
    _Op.LOGIC_AND: lambda a, b: int(bool(a) and bool(b)),
    _Op.LOGIC_OR: lambda a, b: int(bool(a) or bool(b)),
    _Op.EQUAL: lambda a, b: int(a == b),
    _Op.NOT_EQUAL: lambda a, b: int(a != b),
    _Op.LESS: lambda a, b: int(a < b),
    _Op.LESS_EQUAL: lambda a, b: int(a <= b),
    _Op.GREATER: lambda a, b: int(a > b),
    _Op.GREATER_EQUAL: lambda a, b: int(a >= b),
    _Op.SHIFT_LEFT: lambda a, b: a << b,
    _Op.SHIFT_RIGHT: lambda a, b: a >> b,
}
"""Qiskit's binary operations on unsigned integers, before the result is cut to its width."""


def evaluate(node: Any, held: Mapping[Clbit, int]) -> int:
    """Return the value of a classical expression as an unsigned integer; raises `NotSupported` for other kinds."""
    match node:
        case expr.Var():
            found = sum(held[bit] << k for k, bit in enumerate(_clbits(node.var)))
        case expr.Value():
            found = int(node.value)
        case expr.Cast():
            found = evaluate(node.operand, held)
            found = int(bool(found)) if _width(node) == 1 else found
        case expr.Index():
            found = evaluate(node.target, held) >> evaluate(node.index, held) & 1
        case expr.Unary():
            operand = evaluate(node.operand, held)
            found = int(not operand) if node.op == expr.Unary.Op.LOGIC_NOT else ~operand
        case expr.Binary() if node.op in BINARY:
            found = BINARY[node.op](evaluate(node.left, held), evaluate(node.right, held))
        case _:
            raise NotSupported(f"the classical expression {node} is not supported in a condition.")
    return found & (1 << _width(node)) - 1


def _width(node: Any) -> int:
    return int(getattr(node.type, "width", 1))
