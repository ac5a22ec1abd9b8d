"""The values of a circuit's parameters in many bindings, and those of a framework's expressions of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from qsim_ex.circuit.parameters.sweep import Values, real_values

if TYPE_CHECKING:
    from sympy import Expr, Symbol


Sympify = Callable[[Hashable], object]
"""Makes a formula of SymPy of a framework's expression."""


class NeedsNumbers(Exception):
    """A parameter stands where the structure of a circuit depends on the number that will replace it.

    A translator raises it for a circuit that must be translated separately for each binding.
    """


@dataclass(frozen=True, eq=False, slots=True)
class ParameterColumns:
    """The values of parameters in each of `count` bindings.

    columns: name -> float64 [count]; empty for a circuit without parameters. probed: whether these are no values, but
    probes that tell of what formulas a circuit's numbers are made, so that a formula that is not linear is one whole.
    """

    probed: ClassVar[bool] = False

    columns: Mapping[str, Values]
    count: int

    def __getitem__(self, name: str) -> Values:
        return self.columns[name]

    def evaluate(self, expression: Hashable, sympify: Sympify) -> Values:
        """Return the values of an expression of the parameters, float64 [count].

        sympify: makes a formula of SymPy of the expression; a function that lives as long as the program, since the
        compiled formula is remembered under both. Values that are not finite are left to the builder, which refuses
        them and names the gate. Raises `ParameterError` where a value is not real, and `NeedsNumbers` for a formula
        that NumPy cannot compute.
        """
        try:
            function, names = _array_function(expression, sympify)
        except OverflowError:  # of Qiskit's hash, where parameters cancel and leave a negative number, as in v - v - 4
            function, names = _array_function.__wrapped__(expression, sympify)
        arrays = [self.columns[name] for name in names]
        try:
            with np.errstate(all="ignore"):
                found = function(*arrays)
        except (TypeError, NameError, AttributeError) as error:  # raised for functions that NumPy does not have
            raise NeedsNumbers(f"{expression} is no function of arrays") from error
        return real_values(found, self.count, expression)


class _ArrayFunction(NamedTuple):
    """A formula as a function of arrays, and the names of the parameters that it takes, in their order."""

    function: Callable[..., Values]
    names: tuple[str, ...]


@lru_cache(maxsize=4096)
def _array_function(expression: Hashable, sympify: Sympify) -> _ArrayFunction:
    formula, symbols = formula_of(expression, sympify)
    return _ArrayFunction(numpy_function(formula, symbols), tuple(str(symbol) for symbol in symbols))


def formula_of(expression: Hashable, sympify: Sympify) -> tuple[Expr, list[Symbol]]:
    """Return a framework's expression as a formula of SymPy, and its symbols in the order of their names."""
    import sympy  # takes a while to load, and most circuits have no expressions

    formula = sympy.sympify(sympify(expression))  # Qiskit 2.0 returns objects of symengine
    return formula, sorted(formula.free_symbols, key=str)


def numpy_function(formula: Expr, symbols: Sequence[Symbol]) -> Callable[..., Values]:
    """Return a formula of SymPy as a function of arrays."""
    import sympy

    function: Callable[..., Values] = sympy.lambdify(symbols, formula, modules="numpy", printer=_all_digits())
    return function


def _all_digits() -> Any:
    """Return what writes a formula for NumPy with its numbers as they are; SymPy's own writes 15 digits of them."""
    from sympy.printing.numpy import NumPyPrinter

    class AllDigits(NumPyPrinter):  # type: ignore[misc]  # SymPy has no types
        def _print_Float(self, number: Any) -> str:  # which SymPy finds by its class
            return repr(float(number))

    return AllDigits({"fully_qualified_modules": False, "inline": True, "allow_unknown_functions": True})
