"""Segments have operands of their own, which are gathered from those of the circuit."""

from __future__ import annotations

from qsim_ex.circuit.ops import ALWAYS, Initialize, Op, pattern
from qsim_ex.program.gathered import segment_from


def test_a_segment_takes_what_its_work_reads() -> None:
    """The operands of an initial state and of a gate follow 0 and 1, each group once, and no others."""
    state, gate = Initialize((0, 1), 5), Op((0,), (), ALWAYS, pattern("cccc"), 20, "u")
    segment = segment_from([state, gate, state, gate])
    assert segment.operands is not None
    assert segment.operands.taken.tolist() == [5, 6, 7, 8, 20, 21, 22, 23]
    assert segment.operands.total == 2 + 8
    assert [one.operand for one in segment.work.instructions if isinstance(one, Op | Initialize)] == [2, 6, 2, 6]
