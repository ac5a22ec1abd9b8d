"""The values of parameters and of expressions of them, in many bindings."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import sympy

from qsim_ex.errors import ParameterError
from qsim_ex.frameworks import NeedsNumbers, ParameterColumns

A, B = sympy.symbols("a b")
COLUMNS = ParameterColumns({"a": np.array([0.3, -1.0, 2.0]), "b": np.array([1.0, 0.5, -0.25])}, 3)


def evaluated(formula: Any) -> np.ndarray:
    """The values of a formula of SymPy."""
    return COLUMNS.evaluate(formula, sympy.sympify)


@pytest.mark.parametrize("formula", [A + B, B - A, sympy.sin(A) * B**2, A / 3, sympy.exp(-B) + 1, sympy.Abs(A)])
def test_an_expression_has_the_value_of_its_formula(formula: Any) -> None:
    """Value k is what SymPy computes for the numbers of binding k."""
    exact = [float(formula.subs({A: a, B: b})) for a, b in zip(COLUMNS["a"], COLUMNS["b"], strict=True)]
    np.testing.assert_allclose(evaluated(formula), exact, rtol=1e-14)


@pytest.mark.parametrize("number", [4 * np.pi, np.pi / 4, 1234567890.1234567, 1 / 3, 5e-324])
def test_the_numbers_of_an_expression_keep_all_digits(number: float) -> None:
    """A number inside an expression is the double that it was, of which 15 digits are not enough."""
    assert evaluated(0.0 * A + number).tolist() == [number] * 3
    assert evaluated(number * B).tolist() == (number * COLUMNS["b"]).tolist()


def test_a_constant_formula_has_a_value_for_each_binding() -> None:
    """A formula whose parameters cancel has as many values as any other."""
    assert evaluated(sympy.Integer(2)).tolist() == [2, 2, 2]


def test_a_value_that_is_not_real_is_refused() -> None:
    """One binding with an imaginary part is enough."""
    with pytest.raises(ParameterError, match="not real for all of them"):
        evaluated(sympy.exp(sympy.I * A))


def test_a_value_that_is_not_finite_is_left_to_the_builder() -> None:
    """A formula without a real value in NumPy gives what is not finite, and no warning."""
    assert np.isnan(evaluated(sympy.sqrt(A))).tolist() == [False, True, False]


@pytest.mark.parametrize("formula", [sympy.Function("f")(A), sympy.Symbol("sin") * 0 + sympy.zeta(A)])
def test_a_formula_that_numpy_does_not_know_needs_numbers(formula: Any) -> None:
    """A function that NumPy does not have is for a translation with numbers."""
    with pytest.raises(NeedsNumbers):
        evaluated(formula)


def test_a_parameter_named_like_a_function_needs_numbers() -> None:
    """Inside sin(sin) the function is hidden by the parameter, which the caller must replace by a number."""
    columns = ParameterColumns({"sin": np.array([0.3, 1.0])}, 2)
    with pytest.raises(NeedsNumbers):
        columns.evaluate(sympy.sin(sympy.Symbol("sin")), sympy.sympify)


def test_a_name_is_never_code() -> None:
    """A parameter whose name is an expression of Python is a name like any other."""
    name = "__import__('os').abort()"
    columns = ParameterColumns({name: np.array([0.5, 1.0])}, 2)
    assert columns.evaluate(2 * sympy.Symbol(name), sympy.sympify).tolist() == [1.0, 2.0]


def test_a_formula_is_compiled_once() -> None:
    """The second evaluation of an equal expression does not ask for its formula again."""
    asked = []

    def sympify(expression: str) -> Any:
        asked.append(expression)
        return sympy.sympify(expression)

    for _ in range(3):
        assert COLUMNS.evaluate("a * 2 + b", sympify).tolist() == [1.6, -1.5, 3.75]
    assert asked == ["a * 2 + b"]


def test_sympy_is_loaded_when_a_formula_is() -> None:
    """Whoever has no expressions does not wait for SymPy."""
    code = "import sys; from qsim_ex.frameworks import ParameterColumns; print('sympy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "False\n"
