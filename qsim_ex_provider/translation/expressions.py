"""The values of Qiskit's expressions of parameters, without SymPy where that is possible: importing it takes seconds.

A few bindings are bound by Qiskit itself, one after the other. For many, an expression that is linear in its
parameters, as most are, is a sum over arrays; SymPy compiles the others.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from qiskit.circuit import ParameterExpression
from qiskit.circuit.exceptions import CircuitError

from qsim_ex.frameworks import ParameterColumns, Values, real_values

_FEW = 16
"""The most bindings that Qiskit binds one by one, at a few microseconds each."""


def values_of(expression: ParameterExpression, columns: ParameterColumns) -> Values:
    """Return the values of an expression in all bindings, float64 [bindings].

    Raises `ParameterError` where a value is not real, and `NeedsNumbers` for a formula that NumPy cannot compute.
    """
    if columns.count <= _FEW and not columns.probed and (bound := _bound(expression, columns)) is not None:
        return bound
    try:
        linear = linear_form(expression)
    except OverflowError:  # of Qiskit's hash, where parameters cancel and leave a negative number, as in v - v - 4
        linear = linear_form.__wrapped__(expression)
    if linear is not None:
        terms = [factor * columns[name] for name, factor in linear.factors]
        return sum(terms, np.full(columns.count, linear.constant))
    return columns.evaluate(expression, ParameterExpression.sympify)


def _bound(expression: ParameterExpression, columns: ParameterColumns) -> Values | None:
    """Return the values as Qiskit binds them; None where it refuses one, such as NaN."""
    given = [(parameter, columns[parameter.name].tolist()) for parameter in expression.parameters]
    try:
        found = [
            expression.bind({parameter: values[k] for parameter, values in given}).numeric()
            for k in range(columns.count)
        ]
    except (CircuitError, RuntimeError, TypeError, ZeroDivisionError):
        return None
    return real_values(np.array(found), columns.count, expression)


class Linear(NamedTuple):
    """An expression that is a constant plus factors times parameters, by name."""

    constant: float
    factors: tuple[tuple[str, float], ...]


@lru_cache(maxsize=4096)
def linear_form(expression: ParameterExpression) -> Linear | None:
    """Return an expression as a linear one; None if it is not. Raises `OverflowError` where Qiskit cannot hash it."""
    try:
        factors = {parameter: expression.gradient(parameter) for parameter in expression.parameters}
    except (CircuitError, RuntimeError):  # of a function without a derivative, such as the sign
        return None
    if any(not isinstance(factor, int | float) for factor in factors.values()):
        return None
    constant = expression.bind(dict.fromkeys(factors, 0.0)).numeric()
    if not isinstance(constant, int | float):
        return None
    named = sorted((parameter.name, float(factor)) for parameter, factor in factors.items())
    return Linear(float(constant), tuple(named))
