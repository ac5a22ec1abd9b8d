"""Classical expressions: every operation has its value in all branches at once, at any width."""

from __future__ import annotations

import numpy as np
import pytest

from qsim_ex.circuit import ways
from qsim_ex.circuit.classical import BINARY, FLOAT, UNARY, Expression, Token, as_bits, evaluate, size_of
from qsim_ex.errors import CircuitError

WIDTHS = (1, 7, 64, 65, 130)


def columns(first: int, width: int) -> Expression:
    """A value of a width in columns that follow one another."""
    return Expression((Token("columns", width, tuple(range(first, first + width))),))


def values_of(bits: np.ndarray, expression: Expression) -> list[int]:
    """The values of an expression by its definition: columns are the bits of `circuit.ways`."""
    code = tuple([token._replace(op="bits") if token.op == "columns" else token for token in expression.code])
    packed = [sum(int(bit) << k for k, bit in enumerate(row)) for row in bits]
    return [int(ways.value_of(Expression(code), ways.BitsAndVariables(one, ()))) for one in packed]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("op", sorted(BINARY))
def test_binary_operations(op: str, width: int) -> None:
    """An operation on two values has the value of its definition in every branch, cut to its width."""
    bits = np.random.default_rng(width).integers(0, 2, (40, 2 * width), dtype=np.uint8)
    bits[:10, width + 4 :] = 0  # small ones, by which a shift leaves something
    bits[:2, width:] = 0  # and zeros, by which a quotient is 0
    expression = columns(0, width).binary(op, columns(width, width))
    assert evaluate(expression, bits).tolist() == values_of(bits, expression)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("op", sorted(UNARY))
def test_unary_operations(op: str, width: int) -> None:
    """An operation on one value has the value of its definition in every branch."""
    bits = np.random.default_rng(width).integers(0, 2, (40, width), dtype=np.uint8)
    expression = columns(0, width)
    some = values_of(bits[:4], expression)
    expression = expression.among([0, 1, *some]) if op == "among" else expression.unary(op)
    assert evaluate(expression, bits).tolist() == values_of(bits, expression)


@pytest.mark.parametrize("width", WIDTHS)
def test_values_are_stored_bit_by_bit(width: int) -> None:
    """The bits of a value, read again, are the value."""
    bits = np.random.default_rng(width).integers(0, 2, (40, width), dtype=np.uint8)
    assert np.array_equal(as_bits(evaluate(columns(0, width), bits), width), bits)


def test_floats_are_stored_bit_by_bit() -> None:
    """A real number is 64 columns, and read again the same number."""
    stored = as_bits(np.array([0.1, -2.5e300]), FLOAT)
    found = evaluate(Expression((Token("columns", FLOAT, tuple(range(size_of(FLOAT)))),)), stored)
    assert found.tolist() == [0.1, -2.5e300]


def test_floats_become_integers_towards_zero() -> None:
    """A cast to an integer cuts what is behind the point; a comparison with one compares real numbers."""
    number = Expression.constant(2.9, FLOAT)
    nothing = np.zeros((1, 0), dtype=np.uint8)
    assert evaluate(number.cast(8), nothing).tolist() == [2]
    assert evaluate(number.binary("less", Expression.constant(3, 8)), nothing).tolist() == [1]


def test_operations_that_do_not_exist_are_named() -> None:
    """An unknown operation is refused with the names of all."""
    with pytest.raises(CircuitError, match=r"expected an operation among .*subtract.*got 'minus'"):
        Expression.constant(1, 2).binary("minus", Expression.constant(1, 2))


@pytest.mark.parametrize("columns", [(1, 2, 3), (3, 1, 2), (-3, -2, -1), (-1, -2), (-1, 0), (None, 2, 3), (None, None)])
def test_columns_may_follow_one_another_and_count_from_the_end(columns: tuple[int | None, ...]) -> None:
    """The value of some columns has their bits in order, and 0 where there is none."""
    outcomes = np.random.default_rng(1).integers(2, size=(9, 5), dtype=np.uint8)
    found = evaluate(Expression((Token("columns", len(columns), columns),)), outcomes)
    bits = [0 if column is None else outcomes[:, column].astype(int) << k for k, column in enumerate(columns)]
    np.testing.assert_array_equal(found, sum(bits) + np.zeros(9))
