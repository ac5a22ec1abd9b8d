"""Sympy's formulas on measured keys as classical expressions of the engine, exact for keys of any number of qubits.

The engine's integers are unsigned and cut to a width. Sums and products are right in any width that their value fits
into, also where parts of them are negative (two's complement). So the range of every value is computed first, and a
comparison takes the width of both sides, moved up where one may be negative.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from itertools import product
from typing import Any, NamedTuple

import sympy

from qsim_ex.frameworks import Expression
from qsim_ex_cirq.translation.measurements import MeasuredKey

Keys = Mapping[str, MeasuredKey]


class UnknownFormula(Exception):
    """A formula has a function that the engine has no expression for."""


class _Integer(NamedTuple):
    """An integer from `low` to `high`; make: returns it as an expression of a width, cut to it."""

    low: int
    high: int
    make: Callable[[int], Expression]


def formula(expr: object, keys: Keys) -> Expression:
    """Return an expression that is not 0 where a formula is true; raises `UnknownFormula`."""
    match expr:
        case sympy.logic.boolalg.BooleanAtom():
            return Expression.constant(bool(expr), 1)
        case sympy.Not():
            return formula(expr.args[0], keys).invert()
        case sympy.And():
            return _joined("both", expr.args, keys)
        case sympy.Or():
            return _joined("either", expr.args, keys)
        case sympy.Xor():
            return _joined("not_equal", expr.args, keys)
        case sympy.Implies():
            return formula(sympy.Or(sympy.Not(expr.args[0]), expr.args[1]), keys)
        case sympy.ITE():
            test, then, other = expr.args
            return formula(sympy.Or(sympy.And(test, then), sympy.And(sympy.Not(test), other)), keys)
        case sympy.core.relational.Relational():
            return _compared(expr, keys)
        case _:
            value = _integer(expr, keys)
            return value.make(_width(value)).unary("truth", 1)


def _joined(op: str, parts: Sequence[object], keys: Keys) -> Expression:
    """Return formulas that are joined by an operation on truths."""
    truths = [formula(part, keys).unary("truth", 1) for part in parts]
    return reduce(lambda one, other: one.binary(op, other, 1), truths)


_COMPARED = {
    sympy.Eq: "equal",
    sympy.Ne: "not_equal",
    sympy.StrictLessThan: "less",
    sympy.LessThan: "less_equal",
    sympy.StrictGreaterThan: "greater",
    sympy.GreaterThan: "greater_equal",
}


def _compared(expr: Any, keys: Keys) -> Expression:
    """Return whether one side of a relation is smaller than the other, or equal, or what else it says."""
    op = _COMPARED.get(type(expr))
    if op is None:
        raise UnknownFormula(type(expr).__name__)
    sides = expr.args
    if any(not number.is_Integer for number in expr.atoms(sympy.Number)):
        exact = {number: sympy.Rational(number) for number in expr.atoms(sympy.Float)}
        over, under = sympy.fraction(sympy.together(sides[0].xreplace(exact) - sides[1].xreplace(exact)))
        if not (under.is_Integer and under.is_positive):
            raise UnknownFormula(f"a division by {under}")
        sides = (sympy.expand(over), sympy.Integer(0))
    left, right = (_integer(side, keys) for side in sides)
    width = max(_width(left), _width(right))
    moved = 1 << width - 1 if min(left.low, right.low) < 0 else 0
    one, other = (
        side.make(width).binary("add", Expression.constant(moved, width)) if moved else side.make(width)
        for side in (left, right)
    )
    return one.binary(op, other, 1)


def _width(value: _Integer) -> int:
    """Return the width that all values of an integer fit into, in two's complement if some are negative."""
    size = max(value.high.bit_length(), (-1 - value.low).bit_length() if value.low < 0 else 0)
    return max(1, size + (value.low < 0))


# --- numbers ---------------------------------------------------------------------------------------------------------


def _integer(expr: object, keys: Keys) -> _Integer:
    """Return the value of a formula of integers; raises `UnknownFormula`."""
    match expr:
        case sympy.Integer():
            number = int(expr)
            return _Integer(number, number, lambda width: Expression.constant(number, width))
        case sympy.Symbol() if expr.name in keys:
            return _of_bits(keys[expr.name].number())
        case sympy.Indexed() if expr.base.name in keys and len(expr.indices) == 1 and expr.indices[0].is_Integer:
            return _of_bits(keys[expr.base.name].digit(int(expr.indices[0])))
        case sympy.Add():
            return reduce(_sum, [_integer(part, keys) for part in expr.args])
        case sympy.Mul():
            return reduce(_product, [_integer(part, keys) for part in expr.args])
        case sympy.Pow() if expr.exp.is_Integer and 0 < expr.exp <= _MOST_POWER:
            return reduce(_product, [_integer(expr.base, keys)] * int(expr.exp))
        case sympy.Mod() if expr.args[1].is_Integer and expr.args[1].is_positive:
            return _remainder(_integer(expr.args[0], keys), int(expr.args[1]))
        case sympy.logic.boolalg.Boolean():
            return _of_bits(formula(expr, keys).unary("truth", 1))
        case _:
            raise UnknownFormula(type(expr).__name__)


_MOST_POWER = 64
"""The highest power that is written as a product."""


def _of_bits(bits: Expression) -> _Integer:
    return _Integer(0, (1 << bits.width) - 1, bits.cast)


def _sum(one: _Integer, other: _Integer) -> _Integer:
    return _Integer(
        one.low + other.low, one.high + other.high, lambda width: one.make(width).binary("add", other.make(width))
    )


def _product(one: _Integer, other: _Integer) -> _Integer:
    ends = [a * b for a, b in product((one.low, one.high), (other.low, other.high))]
    return _Integer(min(ends), max(ends), lambda width: one.make(width).binary("multiply", other.make(width)))


def _remainder(value: _Integer, by: int) -> _Integer:
    """Return a remainder from 0 to `by` − 1, which a multiple of `by` does not change."""
    more = by * math.ceil(max(0, -value.low) / by)
    whole = max((value.high + more).bit_length(), by.bit_length())

    def make(width: int) -> Expression:
        moved = value.make(whole).binary("add", Expression.constant(more, whole))
        step = Expression.constant(by, whole)
        return moved.binary("subtract", moved.binary("divide", step).binary("multiply", step)).cast(width)

    return _Integer(0, by - 1, make)
