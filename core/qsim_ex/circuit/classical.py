"""Classical expressions on the bits and variables of a circuit, and their values in many branches at once.

An expression is a row of tokens in postfix order, as on a pocket calculator: operands first, then what is done with
them. So an expression of any depth is hashed, compared and evaluated without recursion. `evaluate` computes its value
in all branches of a run with one NumPy call for each token.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex.errors import CircuitError

WORD = 64
"""The widest unsigned integer that one machine word holds; wider ones are Python's integers in an array of objects."""

FLOAT = 0
"""The width that stands for a number in float64."""


class Token(NamedTuple):
    """One operand or operation of an expression.

    op: 'bits' (classical bits, the first least significant), 'variable' (its number), 'columns' (of a run's outcomes;
        None for a bit that is 0), 'constant', or a name of `UNARY` or `BINARY`.
    width: of its result in bits, from 1; `FLOAT` for a number in float64.
    value: the bits, the number of the variable, the columns, or the constant; of 'among' the values.
    """

    op: str
    width: int
    value: Any = None


@dataclass(frozen=True, slots=True)
class Expression:
    """A classical expression in postfix order.

    Unsigned integers are cut to their width after each operation. x / 0 is 0 for integers.
    """

    code: tuple[Token, ...]

    @classmethod
    def constant(cls, value: float, width: int) -> Expression:
        """Return a constant of a width in bits, or of `FLOAT`."""
        return cls((Token("constant", width, float(value) if width == FLOAT else int(value)),))

    @classmethod
    def of_bits(cls, clbits: Sequence[int]) -> Expression:
        """Return the value of classical bits, ``clbits[0]`` the least significant."""
        return cls((Token("bits", len(clbits), tuple(clbits)),))

    @property
    def width(self) -> int:
        """The width of the value in bits; `FLOAT` for a number in float64."""
        return self.code[-1].width

    def unary(self, op: str, width: int | None = None, value: object = None) -> Expression:
        """Return an operation of `UNARY` on this expression; width: of its result, by default that of this."""
        if op not in UNARY:
            raise CircuitError(f"expected an operation among {', '.join(UNARY)}, got {op!r}; use one of them.")
        made = self.width if width is None else width
        return Expression((*self.code, Token(op, made, value)))

    def binary(self, op: str, other: Expression, width: int | None = None) -> Expression:
        """Return an operation of `BINARY` on two expressions; width: of its result, see `_RESULTS`."""
        if op not in BINARY:
            raise CircuitError(f"expected an operation among {', '.join(BINARY)}, got {op!r}; use one of them.")
        made = (1 if op in _COMPARISONS else self.width) if width is None else width
        return Expression((*self.code, *other.code, Token(op, made)))

    def among(self, values: Sequence[int]) -> Expression:
        """Return whether the value is one of some values."""
        return self.unary("among", 1, tuple(sorted(set(values))))

    def invert(self) -> Expression:
        """Return whether the value is 0."""
        return self.unary("not", 1)

    def cast(self, width: int) -> Expression:
        """Return the value in another width: a float is cut towards zero, and of an integer the lowest bits stay."""
        return self.unary("cast", width)

    @property
    def clbits(self) -> tuple[int, ...]:
        """The classical bits that are read, each once."""
        return tuple(dict.fromkeys(bit for token in self.code if token.op == "bits" for bit in token.value))

    @property
    def variables(self) -> tuple[Token, ...]:
        """The variables that are read, each once."""
        return tuple(dict.fromkeys(token for token in self.code if token.op == "variable"))

    def lowered(self, columns: Callable[[Token], tuple[int | None, ...]]) -> Expression:
        """Return the same expression on columns; columns: returns those of bits or of a variable."""
        if not any(token.op in ("bits", "variable") for token in self.code):
            return self
        made = [
            Token("columns", token.width, columns(token)) if token.op in ("bits", "variable") else token
            for token in self.code
        ]
        return Expression(tuple(made))

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns that are read."""
        found = (column for token in self.code if token.op == "columns" for column in token.value)
        return tuple([column for column in found if column is not None])


Values = NDArray[Any]
"""A value for each branch: uint64, float64, or Python's integers for more than 64 bits."""


def evaluate(expression: Expression, outcomes: NDArray[np.uint8]) -> Values:
    """Return the value of an expression on columns in each branch, for outcomes [branches, columns]."""
    stack: list[Values] = []
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        for token in expression.code:
            if token.op == "columns":
                stack.append(_read(token, outcomes))
            elif token.op == "constant":
                stack.append(_constant(token))
            elif token.op in UNARY:
                stack.append(_cut(UNARY[token.op](stack.pop(), token), token.width))
            else:
                right, left = stack.pop(), stack.pop()
                stack.append(_cut(BINARY[token.op](*_alike(left, right)), token.width))
    (found,) = stack
    return found if len(found) == len(outcomes) else np.broadcast_to(found, len(outcomes))


def as_bits(values: Values, width: int) -> NDArray[np.uint8]:
    """Return the bits of values, uint8 [branches, bits], the least significant first; a float has 64."""
    if width == 1:
        return values.astype(np.uint8)[:, None]
    if values.dtype == object:
        every = [as_bits((values >> at & _ONES).astype(np.uint64), min(WORD, width - at)) for at in range(0, width, 64)]
        return np.concatenate(every, axis=1)
    words = np.ascontiguousarray(values.astype(np.float64 if width == FLOAT else np.uint64)).view(np.uint8)
    return np.unpackbits(words.reshape(-1, 8), axis=1, bitorder="little", count=width or WORD)


def size_of(width: int) -> int:
    """Return in how many bits a value of some width is stored."""
    return width or WORD


_ONES = (1 << WORD) - 1


def _read(token: Token, outcomes: NDArray[np.uint8]) -> Values:
    """Return the value in some columns."""
    columns, count = token.value, len(outcomes)
    if len(columns) == 1:
        return np.zeros(count, dtype=np.uint64) if columns[0] is None else outcomes[:, columns[0]].astype(np.uint64)
    bits = np.zeros((count, -(-len(columns) // WORD) * WORD), dtype=np.uint8)
    held, taken = _places(columns)
    bits[:, held] = outcomes[:, taken]
    words = np.packbits(bits, axis=1, bitorder="little").view(np.uint64)
    if token.width == FLOAT:
        return words[:, 0].view(np.float64)
    if words.shape[1] == 1:
        return words[:, 0]
    found = np.zeros(count, dtype=object)
    for k in range(words.shape[1]):
        found += words[:, k].astype(object) << WORD * k
    return found


@lru_cache(maxsize=1024)
def _places(columns: tuple[int | None, ...]) -> tuple[slice | list[int], slice | list[int]]:
    """Return which bits of a value are held in columns, and in which ones."""
    held = [k for k, column in enumerate(columns) if column is not None]
    return _run(held), _run([column for column in columns if column is not None])


def _run(places: list[int]) -> slice | list[int]:
    """Return places as a slice where they follow one another, which NumPy copies faster; some count from the end."""
    if not places or places[0] < 0 or places != list(range(places[0], places[0] + len(places))):
        return places
    return slice(places[0], places[0] + len(places))


def _constant(token: Token) -> Values:
    if token.width == FLOAT:
        return np.array([token.value], dtype=np.float64)
    return np.array([token.value & (1 << token.width) - 1], dtype=np.uint64 if token.width <= WORD else object)


def _alike(left: Values, right: Values) -> tuple[Values, Values]:
    """Return two values of one dtype."""
    if left.dtype == right.dtype:
        return left, right
    kind: Any = np.float64 if "f" in (left.dtype.kind, right.dtype.kind) else object
    return left.astype(kind), right.astype(kind)


def _cut(values: Values, width: int) -> Values:
    """Return values cut to a width."""
    if width == FLOAT:
        return values.astype(np.float64, copy=False)
    if width > WORD:
        return values.astype(object, copy=False) & ((1 << width) - 1)
    if values.dtype == object:
        values = values & _ONES
    values = values.astype(np.uint64, copy=False)
    return values if width == WORD else values & np.uint64((1 << width) - 1)


def _cast(values: Values, token: Token) -> Values:
    if values.dtype.kind != "f" or token.width == FLOAT:
        return values.astype(object) if token.width > WORD else values
    return np.array([int(value) if np.isfinite(value) else 0 for value in values], dtype=object)


def _among(values: Values, token: Token) -> Values:
    if values.dtype == object:
        found: Values = np.zeros(len(values), dtype=np.bool_)
        for one in token.value:
            found |= np.equal(values, one).astype(np.bool_)
        return found
    return np.isin(values, np.array([one for one in token.value if 0 <= one <= _ONES], dtype=np.uint64))


UNARY: Mapping[str, Callable[[Values, Token], Values]] = {
    "not": lambda x, _: x == 0,
    "invert": lambda x, token: x ^ (x.dtype.type(_ONES) if x.dtype != object else (1 << token.width) - 1),
    "negate": lambda x, _: -x,
    "cast": _cast,
    "truth": lambda x, _: x != 0,
    "among": _among,
}
"""Operations on one value. 'truth' is whether it is not 0, 'among' whether it is among the token's values."""


_FARTHEST = 1 << 16
"""The most places by which wide integers are shifted; no expression is wider."""


def _shift_left(x: Values, by: Values) -> Values:
    if x.dtype == object:
        return x << np.minimum(by, _FARTHEST)
    return np.where(by < WORD, x << np.minimum(by, np.uint64(WORD - 1)), np.uint64(0))


def _shift_right(x: Values, by: Values) -> Values:
    if x.dtype == object:
        return x >> np.minimum(by, _FARTHEST)
    return np.where(by < WORD, x >> np.minimum(by, np.uint64(WORD - 1)), np.uint64(0))


def _divide(x: Values, y: Values) -> Values:
    if x.dtype.kind == "f":
        return x / y
    zero = np.equal(y, 0).astype(bool)
    one = 1 if y.dtype == object else np.uint64(1)
    return np.where(zero, x - x, x // np.where(zero, one, y))


BINARY: Mapping[str, Callable[[Values, Values], Values]] = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "both": lambda a, b: (a != 0) & (b != 0),
    "either": lambda a, b: (a != 0) | (b != 0),
    "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b,
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    "greater": lambda a, b: a > b,
    "greater_equal": lambda a, b: a >= b,
    "shift_left": _shift_left,
    "shift_right": _shift_right,
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": _divide,
}
"""Operations on two values; 'both' and 'either' take whatever is not 0 for true."""

_COMPARISONS = frozenset({"both", "either", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal"})
"""Operations whose result is true or false."""
