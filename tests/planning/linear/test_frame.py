"""What is known of parities where a run begins in |0…0⟩: conditions are decided, and CX is an X or nothing."""

from __future__ import annotations

from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.planning.linear.frame import Frame, Framed, framed
from qsim_ex.planning.rewrite.absorb import absorb
from qsim_ex.steps import Layout, Shape

TINY = Shape(tile=4, near=2, low=1, edge=0, phases=None, dense=2)


def of(builder: CircuitBuilder, *, grows: bool) -> tuple[list[Framed], Frame]:
    """The framed work of a circuit, of which absorbing knows nothing."""
    found = framed(absorb(builder.build().instructions, Layout.identity(4), TINY)[0], 4, grows=grows)
    assert found is not None
    return found


def test_a_cx_that_a_known_parity_controls() -> None:
    """It changes the frame where anything may be there, and no more than a flip in a state that begins in |0…0⟩."""
    builder = CircuitBuilder(4)
    builder.gate("h", [0])
    for wires in ([0, 1], [0, 2], [1, 2], [2, 3]):  # wire 2 is 0 behind the third
        builder.gate("cx", wires)
    known, every = of(builder, grows=True)[1], of(builder, grows=False)[1]
    assert known.parities[3] == 1 << 3
    assert every.parities[3] != 1 << 3
    builder.gate("x", [2])
    builder.gate("cx", [2, 3])
    assert of(builder, grows=True)[1].flip >> 3 & 1


def test_conditions_on_known_parities() -> None:
    """One that holds is left out, and then the work costs more; one that cannot hold leaves no work at all."""
    for flipped, left in ((False, 1), (True, 2)):
        builder = CircuitBuilder(4)
        builder.gate("ry", [0], 0.3)
        builder.gate("cx", [0, 1])
        builder.gate("cx", [0, 1])
        if flipped:
            builder.gate("x", [1])
        builder.gate("ch", [1, 2])
        work, _ = of(builder, grows=True)
        assert len(work) == left
        assert not any(piece.conditions for piece in work)
        assert len(of(builder, grows=False)[0]) == 2
    builder = CircuitBuilder(4)
    builder.gate("ccx", [0, 1, 2])
    assert of(builder, grows=True)[0] == []
