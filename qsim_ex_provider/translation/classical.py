"""Qiskit's classical expressions and run-time variables as expressions of the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

from qiskit.circuit import ClassicalRegister, Clbit, Duration
from qiskit.circuit.classical import expr, types

from qsim_ex import CircuitBuilder
from qsim_ex.errors import NotSupported
from qsim_ex.frameworks import FLOAT, Expression, Token

Read = Callable[[Any], Expression]
"""Returns the value of a classical bit or a register of the circuit that is being translated."""

_BINARY = {
    "BIT_AND": "and",
    "BIT_OR": "or",
    "BIT_XOR": "xor",
    "LOGIC_AND": "both",
    "LOGIC_OR": "either",
    "EQUAL": "equal",
    "NOT_EQUAL": "not_equal",
    "LESS": "less",
    "LESS_EQUAL": "less_equal",
    "GREATER": "greater",
    "GREATER_EQUAL": "greater_equal",
    "SHIFT_LEFT": "shift_left",
    "SHIFT_RIGHT": "shift_right",
    "ADD": "add",
    "SUB": "subtract",
    "MUL": "multiply",
    "DIV": "divide",
}
_UNARY = {"BIT_NOT": "invert", "LOGIC_NOT": "not", "NEGATE": "negate"}

# Older versions of Qiskit have fewer operations, so they are looked up by name.
BINARY = {op: _BINARY[op.name] for op in expr.Binary.Op if op.name in _BINARY}
"""The engine's name of each of Qiskit's binary operations."""

UNARY = {op: _UNARY[op.name] for op in expr.Unary.Op if op.name in _UNARY}
"""The engine's name of each of Qiskit's unary operations."""

_PICOSECONDS = {"s": 12, "ms": 9, "us": 6, "ns": 3, "ps": 0}
"""How many decimal places each unit of Qiskit's durations is from a picosecond."""


class RuntimeVariables:
    """The variables of a circuit and of its blocks, each made when it is first named, and expressions of them."""

    def __init__(self, builder: CircuitBuilder, read: Read) -> None:
        self._builder = builder
        self._read = read
        self._known: dict[Any, Expression] = {}
        self._unit: str | None = None

    def variable(self, var: expr.Var) -> Expression:
        """Return the engine's variable of a run-time variable."""
        if var not in self._known:
            self._known[var] = self._builder.variable(width_of(var.type))
        return self._known[var]

    def unknown(self, variables: Iterable[expr.Var]) -> int:
        """Return how many of some variables have not been named; the variable of a for loop has."""
        return sum(var not in self._known for var in variables)

    def unnamed(self, width: int) -> Expression:
        """Return a variable that no circuit names."""
        return self._builder.variable(width)

    def expression(self, node: object) -> Expression:
        """Return an expression, a bit or a register in the engine's words.

        Raises `NotSupported` for stretches, which only a compiler resolves.
        """
        if isinstance(node, Clbit | ClassicalRegister):
            return self._read(node)
        code: list[Token] = []  # operations first, and the last operand first: postfix order from behind
        waiting = [node]
        while waiting:
            waiting += self._append(waiting.pop(), code)
        code.reverse()
        return Expression(tuple(code))

    def _append(self, node: object, code: list[Token]) -> tuple[object, ...]:
        """Append the tokens of one node, and return its operands."""
        match node:
            case expr.Var():
                code += (self.variable(node) if node.standalone else self._read(node.var)).code
                return ()
            case expr.Value():
                width, value = width_of(node.type), node.value
                number = self._duration(value) if isinstance(value, Duration) else value
                code += Expression.constant(number, width).code
                return ()
            case expr.Cast():
                width = width_of(node.type)
                code.append(Token("truth" if isinstance(node.type, types.Bool) else "cast", width))
                return (node.operand,)
            case expr.Index():
                code += [Token("cast", 1), Token("shift_right", width_of(node.target.type))]
                return node.target, node.index
            case expr.Unary():
                code.append(Token(UNARY[node.op], width_of(node.type)))
                return (node.operand,)
            case expr.Binary():
                code.append(Token(BINARY[node.op], width_of(node.type)))
                return node.left, node.right
            case _:
                raise NotSupported(
                    f"expected an expression of bits, variables and constants, got {node}; resolve stretches first, "
                    "or leave them out."
                )

    def _duration(self, value: Duration) -> float:
        """Return a duration in picoseconds, or in units of dt; a circuit has either.

        It is scaled as the decimal that it was given as, so 1 µs is 1,000 ns, and ten times 100 ns.
        """
        unit = "dt" if value.unit() == "dt" else "s"
        if self._unit not in (None, unit):
            raise NotSupported(
                "expected durations in classical expressions all in dt or all in seconds, got both; convert them."
            )
        self._unit = unit
        return float(Decimal(repr(value.value())).scaleb(_PICOSECONDS.get(value.unit(), 0)))

    def store(self, target: object, value: Expression) -> None:
        """Append a store into a variable, a register, a bit, or a bit of one of these."""
        if not isinstance(target, expr.Index):
            self._builder.store(self.expression(target), value)
            return
        whole, index = self.expression(target.target), self.expression(target.index)
        width = whole.width
        mask = Expression.constant(1, width).binary("shift_left", index)
        moved = value.cast(width).binary("shift_left", index)
        self._builder.store(whole, whole.binary("and", mask.unary("invert")).binary("or", moved))


def width_of(kind: object) -> int:
    """Return the engine's width of a type; raises `NotSupported` for one that has none."""
    match kind:
        case types.Bool():
            return 1
        case types.Uint():
            return int(kind.width)
        case types.Float() | types.Duration():
            return FLOAT
        case _:
            raise NotSupported(
                f"expected variables of type Bool, Uint, Float or Duration, got {kind}; use one of them."
            )
