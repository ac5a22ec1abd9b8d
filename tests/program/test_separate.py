"""Circuits are divided into the parts that nothing joins, and wires that stay |0⟩ are left out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from support.measured_often import measured_often, parting_everything, teleportations
from support.noisy_circuits import random_noisy

from qsim_ex import thresholds
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.noise import channels as noise
from qsim_ex.circuit.noise.readout import ReadoutError
from qsim_ex.circuit.observables import PauliString, PauliSum
from qsim_ex.circuit.ops import Begin, Conditional, Instruction, Measure, Op, Reset, Save
from qsim_ex.program.divide import groups_of
from qsim_ex.program.separate import _Separator, separation_of
from qsim_ex.program.separation import Separation


def separated(builder: CircuitBuilder, **asked: Any) -> Separation:
    """Return the parts of a circuit that has some."""
    found = separation_of(builder.build().structure, **asked)
    assert found is not None
    return found


def wires_of_parts(builder: CircuitBuilder, **asked: Any) -> list[tuple[int, ...]]:
    """Return the wires of each part."""
    return [part.wires for part in separated(builder, **asked).parts]


def instructions(found: Separation, part: int = 0) -> tuple[Instruction, ...]:
    """Return the instructions of a part."""
    return found.parts[part].structure.instructions


def misread(builder: CircuitBuilder, *groups: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Return the groups of misread bits that conditions of a circuit read."""
    errors = tuple(ReadoutError(bits, np.full((1 << len(bits),) * 2, 0.5 ** len(bits))) for bits in groups)
    return groups_of(builder.build().structure, errors)


# --- which wires are idle ---------------------------------------------------------------------------------------------


def test_a_circuit_of_one_part_with_all_wires_is_not_separated() -> None:
    """Nothing is renumbered where nothing is left out."""
    assert separation_of(CircuitBuilder(2).gate("h", [0]).gate("cx", [0, 1]).build().structure) is None
    assert separation_of(CircuitBuilder(0).build().structure) is None


def _kinds(seed: int) -> tuple[str, ...]:
    """Channels, and each of measurement, condition and reset for some seeds; resets for few."""
    more = [name for k, name in enumerate(("measure", "condition")) if seed >> k & 1]
    return ("kraus", "kraus pair", *more, *(["reset"] if not seed % 5 else []))


@pytest.mark.parametrize("narrow", [0, 4])
@pytest.mark.parametrize("observed", [False, True])
def test_what_joins_all_wires_is_not_separated_the_long_way_either(narrow: int, observed: bool) -> None:
    """Where one look says that there is one part, following every live range of every wire says so too."""
    seen = 0
    with thresholds.instead(narrow=narrow, gain=1):
        for seed in range(120):
            circuit = random_noisy(3 + seed % 3, 4 + seed // 4, seed, _kinds(seed))
            found = separation_of(circuit.structure, observed)
            separate = _Separator(circuit.structure, observed, ())
            assert (found is None) == (separate.separation() is None)
            seen += found is None
    assert 10 < seen < 110


def test_wires_that_nothing_mixes_are_idle() -> None:
    """Diagonals, controls, resets, measurements and phases of |0⟩ make no wire live."""
    builder = CircuitBuilder(6, 2).gate("rzz", [0, 1], 0.3).gate("cx", [1, 2]).reset([3]).measure([4], [0])
    builder.gate("h", [5]).gate("cz", [5, 3]).global_phase(0.4).gate("h", [4], controls=[0])
    found = separated(builder)
    assert [part.wires for part in found.parts] == [(5,)]
    assert (found.idle, found.place, found.measures) == (5, {5: (0, 0)}, True)
    assert instructions(found)[0].name == "h"  # type: ignore[union-attr]


def test_nothing_is_left_of_a_circuit_of_idle_wires() -> None:
    """One part without wires says that there is nothing to simulate; a measurement is remembered."""
    found = separated(CircuitBuilder(3, 2).gate("t", [0]).measure([1], [1]))
    (part,) = found.parts
    assert (part.wires, part.clbits, part.final, found.idle, found.measures) == ((), (0, 1), (), 3, True)
    assert separated(CircuitBuilder(3).gate("t", [0])).measures is False


@pytest.mark.parametrize("how", ["apart", "together", "whole"])
def test_the_same_instructions_are_left_however_it_is_divided(how: Any) -> None:
    """The three ways differ in wires and parts, and not in what is applied."""
    builder = CircuitBuilder(5).gate("h", [1]).gate("x", [3]).gate("cx", [0, 2]).gate("rzz", [1, 4], 0.3)
    found = separated(builder, how=how)
    wires = {"apart": [(1,), (3,)], "together": [(1, 3)], "whole": [(0, 1, 2, 3, 4)]}[how]
    assert [part.wires for part in found.parts] == wires
    assert found.alone is (None if how == "apart" else found.parts[0])
    names = [one.name for part in range(len(wires)) for one in instructions(found, part)]  # type: ignore[union-attr]
    assert sorted(names) == ["h", "rzz", "x"]


# --- operations on wires that are |0⟩ ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("value", "left"), [(0, 2), (1, 1)])
def test_a_control_of_an_idle_wire_is_decided(value: int, left: int) -> None:
    """An open control holds and is left out, and of a closed one nothing is left."""
    builder = CircuitBuilder(2).gate("h", [1]).gate("x", [1], controls=[0], control_values=value)
    found = separated(builder)
    assert len(instructions(found)) == left
    assert all(isinstance(one, Op) and one.when.mask == 0 for one in instructions(found))


def test_controls_of_live_wires_are_kept_beside_idle_ones() -> None:
    """Of two open controls the one on the live wire is left, with its value."""
    builder = CircuitBuilder(3).gate("h", [2]).gate("ry", [1], 0.5, controls=[0, 2], control_values=0)
    found = separated(builder)
    (_, operation) = instructions(found)
    assert isinstance(operation, Op)
    assert (found.parts[0].wires, operation.mixes, operation.when) == ((1, 2), (0,), (0b10, 0))


@pytest.mark.parametrize("idle", [0, 1])
def test_reads_of_idle_wires_are_folded(idle: int) -> None:
    """Of a diagonal on two wires the entries are left at which the idle wire is 0."""
    entries = np.exp(1j * np.arange(1, 5))
    live = 1 - idle
    circuit = CircuitBuilder(2).gate("h", [live]).diagonal(entries, [0, 1]).build()
    found = separation_of(circuit.structure)
    assert found is not None
    (part,) = found.parts
    _, diagonal = part.structure.instructions
    assert isinstance(diagonal, Op)
    assert (diagonal.reads, len(diagonal.pattern)) == ((1,), 2)
    operands = circuit.operands[0] if part.columns is None else circuit.operands[0, part.columns]
    kept = operands[diagonal.operand : diagonal.operand + 2]
    np.testing.assert_array_equal(kept, [entries[0], entries[1 << live]])


def test_a_parity_with_an_idle_wire_is_that_of_the_others() -> None:
    """The parity of three wires of which one is |0⟩ is that of two, with the circuit's own operands."""
    builder = CircuitBuilder(3).gate("h", [0]).gate("h", [2]).pauli_rotation(0.3, "ZZZ", [0, 1, 2])
    found = separated(builder)
    rotation = instructions(found)[-1]
    assert isinstance(rotation, Op)
    assert (found.parts[0].wires, rotation.reads, found.parts[0].columns) == ((0, 2), (0b11,), None)


def test_equal_operands_stand_once() -> None:
    """Two gates without parameters share their operands in a part, as they do in the circuit."""
    builder = CircuitBuilder(4).gate("ry", [1], 0.3).gate("h", [0]).gate("h", [0]).gate("ry", [0], 0.4)
    part = separated(builder).parts[0]
    operands = [one.operand for one in part.structure.instructions if isinstance(one, Op)]
    assert operands[0] == operands[1] != operands[2]
    assert part.columns is not None
    assert len(set(part.columns.tolist())) == len(part.columns)


# --- what joins wires -------------------------------------------------------------------------------------------------


def test_operations_and_channels_join_their_wires() -> None:
    """Parts are in the order of their lowest wires, whatever the order of the instructions."""
    builder = CircuitBuilder(8).gate("h", [5]).gate("h", [1]).gate("cx", [5, 0]).gate("h", [7]).gate("rzz", [1, 7], 0.2)
    builder.channel(noise.depolarizing(0.1, 2), [2, 6])
    assert wires_of_parts(builder) == [(0, 5), (1, 7), (2, 6)]


def test_a_condition_joins_what_it_acts_on_with_what_it_reads() -> None:
    """The operation's part has the measurements of the bits that the condition reads, and its clbits in their order."""
    builder = CircuitBuilder(5, 3).gate("h", [4]).gate("h", [2]).gate("h", [0]).measure([4, 2], [2, 0])
    with builder.condition([2], [1]):
        builder.gate("x", [0])
    found = separated(builder)
    assert [(part.wires, part.clbits, part.final) for part in found.parts] == [((0, 4), (2,), (0,)), ((2,), (0,), (0,))]
    conditional = instructions(found)[-1]
    assert isinstance(conditional, Conditional)
    assert (conditional.clbits, conditional.operation.mixes) == ((0,), (0,))


def test_a_condition_on_twelve_bits_leaves_parts_apart() -> None:
    """A correction that reads twelve syndromes is a part with given bits, and 40 wires are simulated in pairs."""
    builder = CircuitBuilder(40, 13)
    for wire in range(0, 40, 2):
        builder.gate("ry", [wire], 0.1 + wire).gate("cx", [wire, wire + 1])
    builder.measure(range(0, 24, 2), range(12))
    with builder.condition(range(12), [0b10, 0b1001]):
        builder.gate("h", [31])
    builder.measure([31], [12])
    assert {len(wires) for wires in wires_of_parts(builder)} == {2}


def test_bits_that_are_surely_0_are_left_out_of_conditions() -> None:
    """A condition that needs a bit of an idle wire to be 1 never holds; without such bits it is none."""
    builder = CircuitBuilder(3, 3).measure([0], [0]).gate("h", [1]).measure([1], [1])
    with builder.condition([0, 2], [1]):
        builder.gate("x", [2])
    with builder.condition([0, 1], [0b10, 0b01]):
        builder.gate("y", [1])
    with builder.condition([0, 2], [0]):
        builder.gate("z", [1])
    found = separated(builder)
    (_, measure, conditional, plain) = instructions(found)
    assert [part.wires for part in found.parts] == [(1,)]
    assert isinstance(measure, Measure)
    assert isinstance(conditional, Conditional)
    assert (conditional.clbits, conditional.values) == ((1,), (1,))
    assert isinstance(plain, Op)


def test_a_bit_belongs_to_the_part_that_wrote_it_last() -> None:
    """Of two parts that measure into one bit, the second has its final value and both measure it."""
    builder = CircuitBuilder(3, 1).gate("h", [0]).gate("h", [1]).measure([0], [0]).measure([1], [0])
    found = separated(builder)
    assert [part.final for part in found.parts] == [(), (0,)]
    assert all(isinstance(instructions(found, k)[-1], Measure) for k in (0, 1))


def test_an_idle_wire_is_measured_where_the_bit_held_another_value() -> None:
    """A bit that was random before is 0 afterwards, so the idle wire writes it; a fresh bit needs no measurement."""
    found = separated(CircuitBuilder(3, 2).gate("h", [0]).measure([0], [0]).measure([1], [0]).measure([2], [1]))
    assert [(part.wires, part.final) for part in found.parts] == [((0,), ()), ((1,), (0,))]


def test_misread_bits_are_measured_and_joined_by_group() -> None:
    """An idle wire whose bit is misread is measured; bits that are misread together are in one part."""
    builder = CircuitBuilder(5, 4).gate("h", [1]).measure([0, 1, 3], [0, 1, 3])
    with builder.condition([0], [1]):
        builder.gate("h", [4])
    alone, together = misread(builder, (0,)), misread(builder, (0, 1))
    assert wires_of_parts(builder, groups=alone) == [(0, 4), (1,)]
    assert wires_of_parts(builder, groups=together) == [(0, 1, 4)]
    assert separated(builder, groups=together).parts[0].groups == ((0, 1),)
    assert wires_of_parts(builder) == [(1,)]


def test_a_condition_on_a_misread_bit_keeps_its_measurement_in_the_part() -> None:
    """A bit that a condition reads parts two registers, unless it is misread: then it is read once, for both."""
    builder = CircuitBuilder(4, 1).gate("h", [0]).gate("cx", [0, 1]).gate("h", [2]).gate("cx", [2, 3]).measure([0], [0])
    with builder.condition([0], [1]):
        builder.gate("x", [2])
    with parting_everything():
        assert [part.members for part in separated(builder).parts] == [(0, 1), (2, 3)]
        (part,) = separated(builder, groups=misread(builder, (0,))).parts
    assert part.members == (0, 1, 2, 3)


# --- live ranges of wires ---------------------------------------------------------------------------------------------


def test_a_reset_wire_may_join_another_part() -> None:
    """The wire is in both parts, and its last state in the second."""
    builder = CircuitBuilder(4).gate("h", [0]).gate("cx", [0, 1]).reset([1]).gate("h", [2]).gate("cx", [2, 1])
    found = separated(builder)
    assert [part.wires for part in found.parts] == [(0, 1), (1, 2)]
    assert found.place == {0: (0, 0), 1: (1, 0), 2: (1, 1)}
    assert isinstance(instructions(found, 0)[-1], Reset)


def test_a_wire_that_was_only_measured_begins_anew_after_a_reset() -> None:
    """Its first outcome is misread together with that of another register, which its later gates do not join."""
    builder = CircuitBuilder(5, 2).measure([0], [0]).reset([0]).gate("h", [0]).gate("cx", [0, 2])
    builder.gate("h", [1]).gate("cx", [1, 3]).measure([1], [1])
    with builder.condition([0], [1]):
        builder.gate("h", [4])
    assert wires_of_parts(builder, groups=misread(builder, (0, 1))) == [(0, 1, 3, 4), (0, 2)]


def test_a_wire_that_is_reset_for_good_is_0_at_the_end() -> None:
    """It has no place, since its last state is |0⟩; another reset of it does nothing."""
    found = separated(CircuitBuilder(3).gate("h", [0]).gate("cx", [0, 1]).reset([1]).reset([1]))
    assert found.place == {0: (0, 0)}
    assert sum(isinstance(one, Reset) for one in instructions(found)) == 1


def test_a_wire_that_begins_anew_in_another_part_has_a_level() -> None:
    """The second live range begins after the branch point at which the whole circuit resets the wire."""
    builder = CircuitBuilder(4, 1).gate("h", [0]).gate("cx", [0, 1]).measure([0], [0]).reset([1])
    builder.gate("h", [2]).gate("cx", [2, 1])
    second = instructions(separated(builder), 1)
    levels = [one.level for one in second if isinstance(one, Begin)]
    assert len(levels) == 1
    assert levels[0] > 0


def test_an_initialized_wire_begins_a_life() -> None:
    """A preparation after a reset belongs to the new part alone, and joins the wires that it prepares."""
    builder = CircuitBuilder(4).gate("h", [0]).gate("cx", [0, 1]).reset([1])
    assert wires_of_parts(builder.initialize([0.6, 0, 0, 0.8], [1, 3])) == [(0, 1), (1, 3)]


# --- measurements that part -------------------------------------------------------------------------------------------


@pytest.fixture
def parted() -> Iterator[None]:
    """Narrow parts are parted too."""
    with parting_everything():
        yield


@pytest.mark.usefixtures("parted")
def test_a_wire_takes_the_place_of_one_that_was_measured() -> None:
    """The wire that a condition acts on takes the slot of the measured one, whose outcome is kept for its value."""
    builder = CircuitBuilder(3, 2).gate("h", [0]).gate("cx", [0, 1]).measure([0], [0])
    with builder.condition([0], [1]):
        builder.gate("x", [2])
    found = separated(builder.gate("cx", [1, 2]))
    (part,) = found.parts
    assert (part.wires, part.members) == ((1, 2), (0, 1, 2))
    assert found.known == {0: (0, 2)}
    assert found.place == {1: (0, 0), 2: (0, 1)}
    assert any(isinstance(one, Measure) and one.kept == (2,) for one in instructions(found))
    assert found.idle == 0


@pytest.mark.usefixtures("parted")
@pytest.mark.parametrize("before", ["measured", "reset"])
def test_a_wire_begins_again_as_it_ended(before: str) -> None:
    """A wire that gave up its slot is flipped if it was measured as 1, and |0⟩ after a reset."""
    builder = CircuitBuilder(3, 3).gate("h", [0]).gate("cx", [0, 1])
    builder = builder.measure([0], [0]) if before == "measured" else builder.reset([0])
    builder.gate("h", [2]).gate("cx", [1, 2]).measure([1], [1])
    with builder.condition([1], [1]):
        builder.gate("h", [0])
    builder.gate("cx", [2, 0])
    (part,) = separated(builder).parts
    flips = [one for one in part.structure.instructions if isinstance(one, Conditional) and one.operation.name == "x"]
    assert len(part.wires) == 2
    assert len(flips) == (before == "measured")


@pytest.mark.usefixtures("parted")
def test_a_part_is_given_the_bits_of_another() -> None:
    """A condition leaves two registers apart: the one that it acts on is given the outcome, at its branch point."""
    builder = CircuitBuilder(4, 4).gate("h", [0]).gate("cx", [0, 1]).gate("h", [2]).gate("cx", [2, 3])
    builder.measure([0], [0]).gate("h", [1])
    with builder.condition([0], [1]):
        builder.gate("x", [2])
    first, second = separated(builder.measure([1, 2, 3], [1, 2, 3])).parts
    assert (first.members, second.members) == ((0, 1), (2, 3))
    assert not first.given
    (given,) = second.given
    assert (given.part, given.level) == (0, 0)
    assert first.program(False).recorded[given.kept] == 0


@pytest.mark.usefixtures("parted")
def test_parts_that_need_bits_of_each_other_are_one() -> None:
    """Two registers that tell each other outcomes in turn, on wires that live on, cannot run one after the other."""
    builder = CircuitBuilder(6, 2).gate("h", [0]).gate("h", [3])
    for one, other in ((0, 3), (3, 0)):
        builder.gate("cx", [one, one + 1]).gate("cx", [one, one + 2]).measure([one + 1], [one // 3])
        with builder.condition([one // 3], [1]):
            builder.gate("ry", [other], 0.3)
    builder.gate("cx", [0, 1])
    found = separation_of(builder.build().structure)
    assert found is None or not any(part.given for part in found.parts)


@pytest.mark.usefixtures("parted")
def test_a_second_measurement_at_the_end_is_a_copy() -> None:
    """A wire that was measured and is measured again at the end needs no slot until then."""
    builder = CircuitBuilder(3, 6).gate("h", [0]).gate("cx", [0, 1]).measure([0], [0])
    with builder.condition([0], [1]):
        builder.gate("x", [2])
    builder.gate("cx", [1, 2]).measure([0, 1, 2], [3, 4, 5])
    (part,) = separated(builder).parts
    assert part.copied == ((3, 6),)
    assert [part.clbits[bit] for bit in part.final] == [0, 4, 5]


def test_small_parts_stay_as_they_are() -> None:
    """Up to eight wires nothing takes turns, since that would be no faster; a chain of nine wires needs three."""
    assert separation_of(teleportations(7).build().structure) is None
    (part,) = separated(teleportations(9)).parts
    assert (len(part.wires), part.members) == (3, tuple(range(9)))


def test_lives_begin_as_late_as_possible() -> None:
    """A chain takes three wires however early its pairs are prepared."""
    (part,) = separated(teleportations(31, pairs_first=True)).parts
    assert len(part.wires) == 3


# --- random numbers ---------------------------------------------------------------------------------------------------


def test_each_part_has_the_streams_of_the_circuit() -> None:
    """A choice has the same random numbers as in the whole circuit, also where idle wires have streams between them."""
    builder = CircuitBuilder(4, 4).gate("h", [0]).gate("h", [2]).measure([1, 0], [1, 0]).reset([3])
    builder.channel(noise.bit_flip(0.1), [2]).measure([2], [2])
    found = separated(builder)
    assert [part.streams for part in found.parts] == [(1,), (3, 4)]


# --- saves ------------------------------------------------------------------------------------------------------------


def test_a_save_of_some_wires_keeps_all_parts_together() -> None:
    """It is read from one state, which idle wires are left out of unless they are saved."""
    builder = CircuitBuilder(5).gate("h", [1]).gate("h", [3])
    builder.save("z", "expectation_value", wires=[3, 4], observable=PauliSum((PauliString.parse("ZZ", [0, 1]),)))
    found = separated(builder)
    assert [part.wires for part in found.parts] == [(1, 3, 4)]
    save = instructions(found)[-1]
    assert isinstance(save, Save)
    assert save.wires == (1, 2)


def test_a_state_of_all_wires_needs_them_all() -> None:
    """Nothing is left out where the whole state is saved or set."""
    assert separation_of(CircuitBuilder(3).gate("h", [1]).save().build().structure) is None
    assert separation_of(CircuitBuilder(2).set_statevector([1, 0, 0, 0]).gate("h", [1]).build().structure) is None


# --- words ------------------------------------------------------------------------------------------------------------


def test_what_is_said_of_a_separation() -> None:
    """The numbers of parts and idle wires are named, and of many parts the largest ones."""
    builder = CircuitBuilder(12).gate("cx", [0, 1])
    for wire in range(1, 11):
        builder.gate("h", [wire])
    builder.gate("cx", [1, 2])
    found = separated(builder)
    assert found.describe() == (
        "9 separate parts of 2, 1, 1, 1, 1, 1, 1, 1, … wires are simulated one after another; "
        "idle wires, which take no memory: 2 of 12"
    )
    assert found.facts()["idle_wires"] == 2
    assert separated(CircuitBuilder(3).gate("h", [0])).describe() == (
        "idle wires, which take no memory: 2 of 3; simulated: 1"
    )


@pytest.mark.parametrize("seed", [0, 7, 9])
def test_a_live_range_begins_in_its_part(seed: int) -> None:
    """Where wires take turns, the beginning of a live range counts for the part of the first work on its wire."""
    with parting_everything():
        separator = _Separator(measured_often(np.random.default_rng(seed)).structure, False, ())
        sequence, numbers = separator._sequence, separator._numbers
    begun = [place for place, one in enumerate(sequence) if isinstance(one, Begin)]
    assert begun
    for place in begun:
        wire = separator._instruction(sequence[place]).acted
        works = (k for k in range(place + 1, len(sequence)) if separator._instruction(sequence[k]).acted & wire)
        assert numbers[place] == numbers[next(works)]
