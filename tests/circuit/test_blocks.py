"""Blocks of a circuit builder: what becomes gates under a condition, what stays a block, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from qsim_ex import CircuitBuilder
from qsim_ex.circuit.classical import Expression
from qsim_ex.circuit.control import Else, End, If, Leave, NextRound, Once, Store, While
from qsim_ex.circuit.ops import Conditional, Measure, Op, Reset
from qsim_ex.errors import CircuitError


def test_gates_under_a_narrow_condition_need_no_block() -> None:
    """Both parts of a block of gates become gates under a condition; conditions in one another become one."""
    builder = CircuitBuilder(1, 2)
    with builder.branch(builder.bits([0, 1]).binary("equal", Expression.constant(2, 2))):
        with builder.condition([0], [0]):
            builder.gate("x", [0])
        builder.otherwise()
        builder.gate("z", [0])
    first, second = builder.build().instructions
    assert isinstance(first, Conditional)
    assert isinstance(second, Conditional)
    assert (first.operation.name, first.clbits, first.values) == ("x", (0, 1), (2,))
    assert (second.operation.name, second.clbits, second.values) == ("z", (0, 1), (0, 1, 3))


def test_a_condition_on_no_bit_leaves_a_gate_or_nothing() -> None:
    """A gate under a constant condition is a gate without a condition if that is not 0, and is left out if it is."""
    builder = CircuitBuilder(1)
    with builder.branch(Expression.constant(1, 1)):
        builder.gate("x", [0])
    with builder.branch(Expression.constant(0, 1)):
        builder.gate("z", [0])
        builder.otherwise()
        builder.gate("h", [0])
    first, second = builder.build().instructions
    assert isinstance(first, Op)
    assert isinstance(second, Op)
    assert (first.name, second.name) == ("x", "h")


@pytest.mark.parametrize(
    ("bits", "values", "listed"),
    [(12, range(1, 1 << 12), True), (16, (5, 40_000), True), (13, range(1, 1 << 13), False), (17, (5,), False)],
)
def test_wide_conditions_are_listed_where_their_values_are_few(bits: int, values: Sequence[int], listed: bool) -> None:
    """Up to 12 bits all conditions are, up to 16 bits those that hold for at most 4,096 values."""
    builder = CircuitBuilder(1, bits)
    with builder.condition(range(bits), values):
        builder.gate("x", [0])
    (first, *rest) = builder.build().instructions
    if listed:
        assert isinstance(first, Conditional)
        assert (first.clbits, first.values, rest) == (tuple(range(bits)), tuple(values), [])
    else:
        assert isinstance(first, If)


def test_a_condition_in_a_condition_is_listed_where_both_together_are_few() -> None:
    """Eight bits in eight others are 16 bits; 15 · 255 values are few, 255 · 255 are not."""
    for outer, listed in ((range(15), True), (range(255), False)):
        builder = CircuitBuilder(1, 16)
        with builder.condition(range(8), outer), builder.condition(range(8, 16), range(255)):
            builder.gate("x", [0])
        kinds = {*map(type, builder.build().instructions)}
        assert kinds == ({Conditional} if listed else {If, Conditional, End})


def test_all_else_stays_a_block() -> None:
    """Measurements and resets under a condition, and gates under a wide one, stand between markers."""
    builder = CircuitBuilder(1, 20)
    with builder.condition([0], [1]):
        builder.measure([0], [1])
        builder.otherwise()
        builder.reset([0])
    with builder.condition(range(20), [5]):
        builder.gate("x", [0])
    kinds = [type(one).__name__ for one in builder.build().instructions]
    assert kinds == [*[k.__name__ for k in (If, Measure, Else, Reset, End)], "If", "Op", "End"]


def test_loops_and_what_leaves_them() -> None:
    """A loop, a block that is done once, and what leaves them are markers of one flat row."""
    builder = CircuitBuilder(1, 1)
    count = builder.variable(8)
    with builder.loop(count.binary("less", Expression.constant(3, 8))):
        builder.store(count, count.binary("add", Expression.constant(1, 8)))
        builder.next_round()
        with builder.once():
            builder.leave(1)
    found = [*map(type, builder.build().instructions)]
    assert found == [While, Store, NextRound, Once, Leave, End, End]


WRONG: dict[str, tuple[Callable[[CircuitBuilder], object], str]] = {
    "leave": (lambda b: b.leave(), "expected 1 loops around `leave`, got 0"),
    "next": (lambda b: b.next_round(), "expected a loop around `next_round`"),
    "otherwise": (lambda b: b.otherwise(), "expected `otherwise` in the block of a condition"),
    "close": (lambda b: b.close(), "expected an open block"),
    "bits": (lambda b: b.bits([7]), "got bit 7, which is out of range"),
    "target": (lambda b: b.store(Expression.constant(1, 2), Expression.constant(1, 2)), "as the target of a store"),
    "width": (lambda b: b.store(b.variable(3), Expression.constant(1, 2)), "value of 3 bits for the target, got one"),
    "variable": (lambda b: b.store(CircuitBuilder(1).variable(2), Expression.constant(1, 2)), "of this circuit"),
    "record": (
        lambda b: b.record("a", b.bits([0])).record("a", b.bits([0, 1])),
        "integer of 1 bits for the record 'a', got a value of 2 bits",
    ),
    "float record": (lambda b: b.record("a", Expression.constant(1.5, 0)), "got a value of float bits"),
    "open": (lambda b: (b.open(Once()), b.build()), "expected all blocks to be closed, got 1 open"),
}


@pytest.mark.parametrize("name", sorted(WRONG))
def test_what_is_refused(name: str) -> None:
    """A marker out of place, a bit or variable that does not exist, and a wrong width are refused in words."""
    wrong, words = WRONG[name]
    with pytest.raises(CircuitError, match=words):
        wrong(CircuitBuilder(1, 2))
