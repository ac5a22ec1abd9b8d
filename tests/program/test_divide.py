"""A circuit is divided where states are saved or measured, and what is left to chance is named."""

from __future__ import annotations

import numpy as np
import pytest

from qsim_ex import Simulator, reference
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.noise import channels as noise
from qsim_ex.circuit.noise.readout import ReadoutError, confusion
from qsim_ex.circuit.ops import Save
from qsim_ex.errors import NotSupported
from qsim_ex.program.choices import Conditioned
from qsim_ex.program.divide import groups_of, program_of
from qsim_ex.program.one_state import unitary_program
from qsim_ex.program.program import BranchPoint, Segment


def test_segments_saves_and_measurements() -> None:
    """Work stands in the segment before its save, and each classical bit has the wire measured into it last."""
    builder = CircuitBuilder(3, 4).gate("h", [0]).save("a").save("b").gate("cx", [0, 1]).measure([0, 1], [3, 0])
    program = program_of(builder.gate("x", [2]).measure([2], [0]).build().structure)
    kinds = [
        (type(node), len(node.work.instructions) if isinstance(node, Segment) else node.label) for node in program.nodes
    ]
    assert kinds == [(Segment, 1), (Save, "a"), (Segment, 0), (Save, "b"), (Segment, 2)]
    assert program.measured == {3: 0, 0: 2}
    assert program.labels == ("a", "b")
    assert program.touched() == 0b111
    assert [len(program.whole.work.instructions), program.branches] == [3, False]


def test_no_segment_for_nothing() -> None:
    """A circuit that ends in a save has no further segment, and an empty one has one segment."""
    assert len(program_of(CircuitBuilder(1).gate("h", [0]).save().build().structure).segments) == 1
    assert len(program_of(CircuitBuilder(1).build().structure).segments) == 1
    assert not program_of(CircuitBuilder(1).build().structure).has_measurement


@pytest.mark.parametrize("after", [False, True])
def test_a_state_that_is_set_is_what_counts(after: bool) -> None:
    """A state that is set discards the one before, whether or not a gate follows."""
    builder = CircuitBuilder(2).gate("h", [0]).set_statevector([0, 0.6, 0.8, 0])
    circuit = (builder.gate("ry", [1], 0.3) if after else builder).build()
    with Simulator(device="cpu", precision="double").state(circuit) as state:
        np.testing.assert_allclose(np.asarray(state), reference.simulate(circuit), atol=1e-12)


@pytest.mark.parametrize("gate", [("cz", [0, 1]), ("rz", [1], 0.3), ("cx", [1, 2]), ("x", [1])])
def test_nothing_may_follow_a_measurement_of_a_state(gate: tuple) -> None:
    """A state is refused where a gate mixes, reads or is controlled by a measured wire; gate and wire are named."""
    name, wires, *parameters = gate
    builder = CircuitBuilder(3, 1).gate("h", [1]).measure([1], [0]).gate(name, wires, *parameters)
    with pytest.raises(NotSupported, match=rf"measurement in the middle of a circuit.*\({name}\) acts on wire 1"):
        unitary_program(builder.build().structure)


def test_other_wires_may_go_on() -> None:
    """Gates on wires that nobody has measured are part of the state."""
    builder = CircuitBuilder(3, 1).measure([1], [0]).gate("cx", [0, 2]).global_phase(0.3)
    assert len(unitary_program(builder.build().structure).whole.work.instructions) == 2


def test_what_was_used_is_known() -> None:
    """A reset of wires that may not be |0⟩ is refused, and one of wires that are |0⟩ does nothing."""
    circuit = CircuitBuilder(2).reset([1]).gate("h", [0]).build()
    assert unitary_program(circuit.structure).first_random is None
    with pytest.raises(NotSupported, match=r"reset of wires that were used before.*\(reset\) acts on wire 1"):
        unitary_program(circuit.structure, 0b10)


@pytest.mark.parametrize("observed", [False, True])
def test_what_leaves_nothing_to_chance_has_no_branch_points(observed: bool) -> None:
    """An idle reset changes nothing of a program: not its work, and not its measurements."""

    def made(*, idle_reset: bool) -> CircuitBuilder:
        builder = CircuitBuilder(3, 3)
        if idle_reset:
            builder.reset([2])
        builder.gate("h", [0]).gate("cx", [0, 1]).permutation([1, 0], [1]).gate("x", [2])
        return builder.measure([0, 1], [2, 0]).measure([], []).measure([2], [0])

    plain, reset = (program_of(made(idle_reset=idle).build().structure, observed) for idle in (False, True))
    assert plain.segments[0].work is reset.segments[0].work
    assert plain.measured == reset.measured == {2: 0, 0: 2}
    assert (plain.nodes[1:], plain.choices, plain.recorded) == ((), (), {})


def test_choices_stand_at_as_few_branch_points_as_their_wires_allow() -> None:
    """Measurements of different wires share a branch point; one behind another on a wire needs the next."""
    builder = CircuitBuilder(3, 3).gate("h", [0]).gate("h", [1]).measure([0], [0]).gate("h", [0])
    builder.channel(noise.amplitude_damping(0.1), [1]).measure([0], [1]).gate("h", [0])
    program = program_of(builder.build().structure)
    points = [node for node in program.nodes if isinstance(node, BranchPoint)]
    assert [[choice.kind for choice in point.choices] for point in points] == [["measure", "channel"], ["measure"]]
    assert program.recorded == {0: 0, 1: 2}


def test_a_measurement_may_follow_a_save_at_once() -> None:
    """The outcomes after a save stand at the branch point behind it, whether or not a gate is between the two."""
    builder = CircuitBuilder(1, 1).gate("h", [0]).save("a").measure([0], [0]).gate("h", [0])
    save, *_, choice, gate = program_of(builder.build().structure).nodes[1:]
    assert isinstance(save, Save)
    assert isinstance(choice, BranchPoint)
    assert [one.kind for one in choice.choices] == ["measure"]
    assert isinstance(gate, Segment)


def test_measurements_before_a_block_of_gates_are_made_at_the_end() -> None:
    """A block that holds nothing but gates parts no shots, so that measurements before it are moved to the end."""
    builder = CircuitBuilder(3, 20).gate("h", [0]).measure([0], [0])
    with builder.condition(range(1, 20), [5]):
        builder.gate("x", [2])
    program = program_of(builder.measure([2], [1]).build().structure)
    assert (program.measured, program.choices) == ({0: 0, 1: 2}, ())


def _misread(*groups: tuple[int, ...]) -> tuple[ReadoutError, ...]:
    return tuple(
        ReadoutError(group, confusion(np.full((1 << len(group),) * 2, 0.5 ** len(group)), len(group)))
        for group in groups
    )


def test_a_condition_on_a_misread_bit_looks_at_a_reading() -> None:
    """The condition's source is the column of the reading, which stands where the bit was measured."""
    builder = CircuitBuilder(2, 2).gate("h", [0]).measure([0], [0])
    with builder.condition([0], [1]):
        builder.gate("x", [1])
    structure = builder.measure([1], [1]).build().structure
    program = program_of(structure, False, 0, groups_of(structure, _misread((0,), (1,))))
    (point,) = (node for node in program.nodes if isinstance(node, BranchPoint))
    ((reading,), (conditioned,)) = (
        point.readings,
        [
            piece
            for segment in program.segments
            if segment.operands is not None
            for piece in segment.operands.inserted
            if isinstance(piece, Conditioned)
        ],
    )
    assert (reading.clbits, reading.sources, reading.columns) == ((0,), (0,), (-1,))
    assert conditioned.sources == (-1,)
    assert program.recorded == {0: -1}
    assert (program.read, program.measured) == ({(0,)}, {1: 1})


def test_bits_that_are_misread_together_are_measured_before_a_condition() -> None:
    """A condition on one bit of a group of which another is not measured yet is refused, and both are named."""
    builder = CircuitBuilder(2, 2).gate("h", [0]).measure([0], [0])
    with builder.condition([0], [1]):
        builder.gate("x", [1])
    structure = builder.measure([1], [1]).build().structure
    with pytest.raises(
        NotSupported, match=r"condition on classical bit 0 after all bits .* bit 1 was measured 0 times"
    ):
        program_of(structure, False, 0, groups_of(structure, _misread((0, 1))))


def test_readout_errors_of_a_circuit_without_conditions_change_no_program() -> None:
    """Without conditions a circuit has one program, however its bits are misread."""
    structure = CircuitBuilder(1, 1).gate("h", [0]).measure([0], [0]).build().structure
    assert groups_of(structure, _misread((0,))) == ()
