"""Live columns: what is read at a node of a program or later, whatever way leads there."""

from __future__ import annotations

from qsim_ex import CircuitBuilder, Expression
from qsim_ex.program.choices import Conditioned
from qsim_ex.program.divide import program_of
from qsim_ex.program.live import live_columns
from qsim_ex.program.program import Fork, Join, RoundBegin


def test_a_bit_that_a_loop_reads_lives_in_all_of_it() -> None:
    """The bit of its condition is read in each round; behind the loop nothing is, unless bits are asked for."""
    builder = CircuitBuilder(2, 2)
    with builder.loop(builder.bits([0]).invert()):
        builder.gate("h", [0]).measure([0], [0])
        builder.gate("h", [1]).measure([1], [1])
    program = program_of(builder.build().structure)
    total = len(program.choices) + program.readings
    read, other = (program.recorded[clbit] % total for clbit in (0, 1))
    begin, fork, join = (
        next(place for place, node in enumerate(program.nodes) if isinstance(node, kind))
        for kind in (RoundBegin, Fork, Join)
    )
    unsampled, sampled = live_columns(program, False), live_columns(program, True)
    assert unsampled[begin] == unsampled[fork] == (read,)
    assert unsampled[join] == unsampled[-1] == ()
    assert {*sampled[begin]} == {*sampled[join]} == {read, other}


def test_what_is_overwritten_first_is_not_live() -> None:
    """A variable that a block writes before anybody reads it does not live at its begin."""
    builder = CircuitBuilder(1, 1)
    number = builder.variable(3)
    with builder.once():
        builder.store(number, Expression.constant(5, 3))
    with builder.branch(number.binary("less", Expression.constant(3, 3))):
        builder.gate("x", [0]).measure([0], [0])
    program = program_of(builder.build().structure)
    live = live_columns(program, False)
    fork = next(place for place, node in enumerate(program.nodes) if isinstance(node, Fork))
    assert len(live[fork]) == 3
    assert live[0] == ()


def test_a_bit_lives_until_the_last_gate_under_a_condition_on_it() -> None:
    """Branches that differ in it have different futures until then, and the same one afterwards."""
    builder = CircuitBuilder(2, 1)
    with builder.once():
        builder.gate("h", [0]).measure([0], [0])
    with builder.condition([0], [1]):
        builder.gate("x", [1])
    program = program_of(builder.build().structure)
    (conditioned,) = (
        place
        for place in program.segment_places
        if any(isinstance(one, Conditioned) for one in program.segment_at(place).operands.inserted)
    )
    (source,) = program.segment_at(conditioned).operands.inserted[0].sources
    live = live_columns(program, False)
    assert live[conditioned] == (source % (len(program.choices) + program.readings),)
    assert live[conditioned + 1] == ()
