"""Loops and blocks with density matrices: every branch is followed, and what comes out is that of the definition."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from support.held import Hold

from qsim_ex import Circuit, CircuitBuilder, Options, PauliSum, ReadoutError, Simulator, reference
from qsim_ex.circuit.classical import Expression
from qsim_ex.circuit.noise import channels as noise
from qsim_ex.errors import LoopError, NotSupported, OutOfMemory


def simulator(**options: object) -> Simulator:
    """A simulator of density matrices on the CPU."""
    return Simulator(Options(device="cpu", method="density_matrix", **options))  # type: ignore[arg-type]


def until_success(ends: float = 1.1) -> CircuitBuilder:
    """A coin that is thrown until it shows 1, with noise and a second wire that turns in every round."""
    builder = CircuitBuilder(2, 2)
    with builder.loop(builder.bits([0]).invert()):
        builder.gate("ry", [0], ends).gate("rx", [1], 0.7).gate("cx", [0, 1])
        builder.channel(noise.amplitude_damping(0.1), [0]).channel(noise.depolarizing(0.05, 2), [1, 0])
        builder.measure([0], [0])
    return builder


def loops_in_loops() -> CircuitBuilder:
    """Two loops in one another that are left and gone on with early, and a variable that counts."""
    builder = CircuitBuilder(3, 3)
    rounds = builder.variable(3)
    with builder.loop(rounds.binary("less", Expression.constant(3, 3))):
        builder.store(rounds, rounds.binary("add", Expression.constant(1, 3)))
        builder.gate("ry", [0], 0.9).channel(noise.bit_flip(0.1), [0]).measure([0], [0])
        with builder.branch(builder.bits([0])):
            builder.next_round()
        with builder.loop():
            builder.gate("rx", [1], 0.8).gate("cx", [1, 2]).measure([1], [1])
            with builder.branch(builder.bits([1])):
                builder.reset([1]).gate("h", [2])
                builder.otherwise()
                builder.gate("rz", [2], 0.3).leave(0)
            builder.channel(noise.phase_damping(0.2), [2]).measure([2], [2])
            with builder.branch(builder.bits([1, 2]).binary("equal", Expression.constant(3, 2))):
                builder.leave(1)
    return builder


def stored_bits() -> CircuitBuilder:
    """Outcomes in a variable, from which the bits are written again, with gates under conditions on them."""
    builder = CircuitBuilder(2, 3)
    total = builder.variable(4)
    for wire in (0, 1, 0):
        builder.gate("ry", [wire], 0.8).measure([wire], [wire])
        builder.store(total, total.binary("add", builder.bits([wire]).cast(4)))
    builder.store(builder.bits([0, 1, 2]), total.cast(3))
    with builder.branch(total.binary("greater", Expression.constant(1, 4))):
        builder.gate("h", [0]).channel(noise.depolarizing(0.3), [1])
    with builder.once():
        with builder.condition([1], [1]):
            builder.gate("x", [1])
        builder.reset([0]).initialize([0.6, 0.8j], [0])
    return builder


CIRCUITS: dict[str, Callable[[], CircuitBuilder]] = {
    "until success": until_success,
    "loops in loops": loops_in_loops,
    "stored bits": stored_bits,
}


@pytest.mark.parametrize("name", CIRCUITS)
@pytest.mark.parametrize(("precision", "within"), [("double", 1e-11), ("single", 3e-6)])
def test_a_density_matrix_is_that_of_the_definition(name: str, precision: str, within: float) -> None:
    """For each value of the classical bits at the end, and its probability."""
    plain = CIRCUITS[name]().build()
    builder = CIRCUITS[name]().save("all", "density_matrix").save("each", "density_matrix", how="c_average")
    result = simulator(precision=precision).run(builder.build())
    expected = {bits: rho for bits, rho in reference.by_bits(plain).items() if np.trace(rho).real > 1e-5}
    assert np.abs(result.saved["all"] - sum(expected.values())).max() < within
    assert expected.keys() <= result.saved["each"].keys()
    for bits, rho in expected.items():
        weight = np.trace(rho).real
        assert np.abs(result.saved["each"][bits] - rho / weight).max() < within / weight


@pytest.mark.parametrize("name", CIRCUITS)
def test_shots_follow_the_definition(name: str) -> None:
    """20,000 shots are distributed as the branches are."""
    builder = CIRCUITS[name]()
    circuit, shots = builder.measure([1], [1]).build(), 20_000
    counts = simulator().run(circuit, shots, seed=5).counts()
    expected = {bits: np.trace(rho).real for bits, rho in reference.by_bits(circuit).items()}
    assert set(counts) <= {bits for bits, p in expected.items() if p > 1e-12}
    for bits, p in expected.items():
        assert abs(counts.get(bits, 0) - shots * p) < 5 * np.sqrt(shots * p) + 1e-6


def test_expectation_values_are_exact() -> None:
    """They have no standard errors, and are traces with the density matrix of the definition."""
    builder = until_success()
    result = simulator().run_batch(builder.build(), observables=[PauliSum.from_labels({"ZI": 0.5, "XI": 2.0})])
    rho = reference.density_matrix(builder.build())
    matrix = np.kron(0.5 * np.diag([1, -1]) + 2 * np.array([[0, 1], [1, 0]]), np.eye(2))
    assert abs(result.values[0, 0] - np.trace(matrix @ rho)) < 1e-11
    assert not result.errors.any()


def test_a_loop_has_as_many_branches_as_its_memory_has_values() -> None:
    """However many rounds it has: what agrees in all that is read later is one density matrix."""
    result = simulator().run(until_success(0.2).measure([1], [1]).build(), 10, seed=1)
    assert result.provenance.facts["branches"] <= 4
    assert result.provenance.facts["dropped"] < 1e-13


def test_many_numbers_leave_room_for_two_branches(hold: Hold) -> None:
    """However many numbers a plan has, branches are followed two at a time at least."""
    expected = simulator().run(until_success().build(), 10, seed=1).counts()
    hold(number_bytes=1)
    assert simulator().run(until_success().build(), 10, seed=1).counts() == expected


def test_branches_that_nobody_reads_are_one() -> None:
    """Forty measurements into one bit leave two branches; each outcome kept for the end leaves all."""
    builder = CircuitBuilder(1, 1)
    with builder.once():
        for _ in range(40):
            builder.gate("h", [0]).measure([0], [0])
            with builder.branch(builder.bits([0])):
                builder.reset([0])
    result = simulator().run(builder.build(), 10, seed=1)
    assert result.provenance.facts["branches"] <= 4


def test_too_many_branches_are_counted() -> None:
    """The error says how many branches there are, and how many fit."""
    builder = CircuitBuilder(2, 12)
    with builder.once():
        for bit in range(12):
            builder.gate("h", [0]).measure([0], [bit])
    with pytest.raises(OutOfMemory, match=r"at most \d+ branches of classical bits at a time, got \d+"):
        simulator(max_memory=1 << 16).run(builder.build(), 10)


def test_conditions_on_many_bits_are_branches() -> None:
    """Eleven bits that are nearly always 0 are a few branches, where bit wires would be 2,048 density matrices."""
    builder = CircuitBuilder(3, 12)
    for clbit in range(11):
        builder.gate("ry", [0], 0.9 if clbit in (2, 5) else 0.0).measure([0], [clbit]).reset([0])
    with builder.condition(range(11), [0b100, 0b100100]):
        builder.gate("h", [1]).gate("cx", [1, 2])
    circuit = builder.measure([2], [11]).build()
    asked = [PauliSum.from_labels({"ZII": 1.0})]
    found = simulator(precision="double").run_batch(circuit, shots=400, seeds=1, observables=asked)
    assert found.provenance.facts["branches"] <= 8
    one = np.sin(0.45) ** 2
    assert abs(found.values[0, 0] - (1 - one)) < 1e-12


def test_a_loop_that_does_not_end_says_how_probable_that_is() -> None:
    """After max_loop_rounds rounds an error has the probability of a further one."""
    builder = until_success(np.pi / 2)
    with pytest.raises(LoopError, match=r"max_loop_rounds=3 rounds, got a probability of 0\.\d+"):
        simulator(max_loop_rounds=3).run(builder.build(), 10)


def test_a_loop_ends_where_no_random_number_can_fall() -> None:
    """Its last rounds have a probability below 2^-53, in single precision too."""
    for precision in ("double", "single"):
        result = simulator(precision=precision).run(until_success().build(), 5, seed=2)
        assert 0 < result.provenance.facts["dropped"] < (1e-14 if precision == "double" else 1e-5)


def test_a_loop_with_misread_bits_ends_there_too() -> None:
    """Where all branches of a loop have become too improbable, nothing is left to be misread."""
    builder = CircuitBuilder(1, 1).record("before", Expression.of_bits((0,))).gate("h", [0]).measure([0], [0])
    with builder.loop():
        builder.gate("h", [0]).measure([0], [0])
        with builder.branch(builder.bits([0])):
            builder.leave()
    misread = (ReadoutError((0,), np.array([[0.9, 0.1], [0.05, 0.95]])),)
    result = simulator().run(builder.build(), 20, seed=2, readout=misread)
    assert dict(result.counts()) == {1: 20}
    assert 0 < result.provenance.facts["dropped"] < 1e-14


@pytest.mark.parametrize("memory", [None, 6000])
def test_many_bindings_have_the_values_of_each(memory: int | None) -> None:
    """Also where only a few of them have room at a time."""
    angles = np.linspace(0.5, 2.5, 9)
    circuits = [until_success(angle).build() for angle in angles]
    bindings = np.concatenate([one.operands for one in circuits])
    observables = [PauliSum.from_labels({"ZI": 1.0})]
    asked = {"observables": observables, "shots": 50, "seeds": [*range(9)]}
    found = simulator(max_memory=memory).run_batch(circuits[0], bindings, **asked)
    for place, one in enumerate(circuits):
        alone = simulator().run_batch(one, observables=observables, shots=50, seeds=[place])
        assert abs(found.values[place, 0] - alone.values[0, 0]) < 1e-13
        assert np.array_equal(found.packed[place], alone.packed[0])


def test_conditions_read_misread_bits() -> None:
    """A loop that goes on while a bit is read as 0 ends by its readout errors alone."""
    builder = CircuitBuilder(2, 1)
    with builder.loop(builder.bits([0]).invert()):
        builder.gate("ry", [1], 0.6).measure([0], [0])
    circuit = builder.save("rho", "density_matrix", wires=[1]).measure([0], [0]).build()
    read = ReadoutError((0,), np.array([[0.75, 0.25], [0.0, 1.0]]))
    result = simulator().run(circuit, 4000, seed=1, readout=(read,))
    turned, left = np.zeros((2, 2)), 1.0
    for number in range(1, 200):
        half = 0.3 * number
        state = np.array([np.cos(half), np.sin(half)])
        turned, left = turned + 0.25 * left * np.outer(state, state), 0.75 * left
    assert np.abs(result.saved["rho"] - turned).max() < 1e-13
    assert abs(result.counts()[1] - 1000) < 150  # the last measurement is of |0⟩ again


def test_a_save_in_a_block_is_of_the_branches_in_it() -> None:
    """Its mean is over the branches that pass it, and its variance that of all of them together."""
    builder = CircuitBuilder(2, 1).gate("ry", [0], 1.0).gate("cx", [0, 1]).measure([0], [0])
    with builder.branch(builder.bits([0])):
        builder.gate("ry", [1], 0.4).measure([1], [0])
        builder.save("here", "probabilities", wires=[1])
        z = PauliSum.from_labels({"Z": 1.0})
        builder.save("spread", "expectation_value_variance", wires=[1], observable=z)
    found = simulator().run(builder.build()).saved
    one = np.cos(0.2) ** 2
    assert np.abs(found["here"] - [1 - one, one]).max() < 1e-14
    assert np.abs(found["spread"] - [1 - 2 * one, 1 - (1 - 2 * one) ** 2]).max() < 1e-14


@pytest.mark.parametrize("options", [{"virtual_peers": 2}, {"device_wires": 4}, {"checkpoint": "here.npz"}], ids=str)
def test_divided_states_and_checkpoints_are_refused(options: dict[str, object]) -> None:
    """The error says which options to leave out."""
    with pytest.raises(NotSupported, match="density matrices in one piece and no checkpoint"):
        simulator(**options).run(until_success().build(), 10)


def test_what_acts_behind_a_measurement_acts_behind_it_on_both_sides() -> None:
    """An operation on a measured wire is not moved before the measurement on one side of the density matrix."""
    builder = CircuitBuilder(1, 2)
    with builder.once():
        builder.gate("ry", [0], 0.7).measure([0], [0]).gate("x", [0]).gate("s", [0]).measure([0], [1]).gate("h", [0])
    counts = simulator().run(builder.build(), 1000, seed=1).counts()
    assert set(counts) == {0b01, 0b10}


def test_a_wire_that_is_0_is_measured_before_what_follows() -> None:
    """A wire that only phases have acted on is measured as 0, and then turned on both sides."""
    builder = CircuitBuilder(1, 2).gate("rz", [0], 0.3).measure([0], [0]).gate("x", [0])
    with builder.branch(builder.bits([0]).invert()):
        builder.measure([0], [1])
    assert simulator().run(builder.build(), 100, seed=1).counts() == {0b10: 100}


def test_a_circuit_of_the_same_structure_is_doubled_once() -> None:
    """New angles need no new program."""
    from qsim_ex.density.branching import doubled_in_branches

    one, other = until_success(0.4).build(), until_success(0.9).build()
    assert isinstance(one, Circuit)
    assert one.structure is other.structure
    patterns = [bytes([3]) * 16, bytes([3]) * 256]
    total = one.operands.shape[1]
    assert doubled_in_branches(one.structure, total, patterns) is doubled_in_branches(other.structure, total, patterns)


def test_a_plan_is_explained_without_a_run() -> None:
    """`explain` shows the loop and says that it works on a density matrix."""
    text = str(simulator().explain(until_success().build()))
    assert "a density matrix as a state of 4 wires" in text
    assert "loop" in text


def test_a_save_in_a_loop_needs_no_classical_bits() -> None:
    """A circuit without bits, whose loop a variable counts, saves the mean over its rounds."""
    builder = CircuitBuilder(1, 0)
    rounds = builder.variable(2)
    with builder.loop(rounds.binary("less", Expression.constant(2, 2))):
        builder.store(rounds, rounds.binary("add", Expression.constant(1, 2)))
        builder.gate("rx", [0], 0.3)
        builder.save("z", "expectation_value", observable=PauliSum.from_labels({"Z": 1.0}))
    found = simulator().run(builder.build()).saved["z"]
    np.testing.assert_allclose(found, (np.cos(0.3) + np.cos(0.6)) / 2, atol=1e-6)
