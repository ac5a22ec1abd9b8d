"""Runs with density matrices: every number is that of the definition, in every placement and both precisions."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest
from support.deployments import ON_CPU
from support.noisy_circuits import KINDS, random_kraus, random_noisy

from qsim_ex import BatchResult, CircuitBuilder, PauliString, PauliSum, ReadoutError, Simulator, reference
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.noise import channels as noise
from qsim_ex.errors import OptionError, OutOfMemory
from qsim_ex.options.methods import Method

ALL = (*KINDS, "reset", "measure", "condition")
WIDE = [name for name, row in ON_CPU.items() if row.options.get("device_wires", 4) >= 4]
"""Placements in which the four wires of a channel on a pair are near a device together."""


def saved(circuit: Circuit, **options: object) -> np.ndarray:
    """The density matrix at the end of a circuit."""
    made = Circuit(
        circuit.num_qubits,
        circuit.num_clbits,
        (*circuit.instructions, *CircuitBuilder(circuit.num_qubits).save("end", "density_matrix").build().instructions),
        circuit.operands,
    )
    result = Simulator(device="cpu", method="density_matrix", **options).run(made)
    return np.asarray(result.saved["end"])


@pytest.mark.parametrize("seed", range(6))
def test_a_density_matrix_is_that_of_the_definition(seed: int) -> None:
    """Gates, channels of every kind, resets, measurements and conditions: within 1e-12 of the sum over all outcomes."""
    circuit = random_noisy(4, 30, seed, ALL)
    assert np.abs(saved(circuit) - reference.density_matrix(circuit)).max() < 1e-12


@pytest.mark.parametrize("deployment", WIDE)
def test_every_placement_has_the_same_density_matrix(deployment: str) -> None:
    """Divided over devices, in host memory with windows, or both."""
    circuit = random_noisy(4, 30, 11, ALL)
    found = saved(circuit, **ON_CPU[deployment].options)
    assert np.abs(found - reference.density_matrix(circuit)).max() < 1e-12


def test_single_precision_is_as_exact_as_it_says() -> None:
    """After 40 instructions an entry is wrong by less than 2e-6."""
    circuit = random_noisy(4, 40, 3, ALL)
    assert np.abs(saved(circuit, precision="single") - reference.density_matrix(circuit)).max() < 2e-6


def test_wide_channels() -> None:
    """Channels on three and four wires are matrices on six and eight."""
    rng = np.random.default_rng(2)
    builder = CircuitBuilder(4)
    for wire in range(4):
        builder.gate("ry", [wire], 0.3 + wire)
    builder.channel(random_kraus(3, 2, rng), [3, 0, 2]).channel(random_kraus(4, 3, rng), [1, 3, 0, 2])
    circuit = builder.build()
    assert np.abs(saved(circuit) - reference.density_matrix(circuit)).max() < 1e-12


def teleportation() -> CircuitBuilder:
    """A state that is moved to wire 2 by two measurements and two corrections."""
    builder = CircuitBuilder(3, 3).gate("ry", [0], 1.1).gate("h", [1]).gate("cx", [1, 2])
    builder.gate("cx", [0, 1]).gate("h", [0]).measure([0, 1], [0, 1])
    builder.gate("h", [0]).gate("h", [1])  # so that the wires no longer hold the bits
    with builder.condition([1], [1]):
        builder.gate("x", [2])
    with builder.condition([0], [1]):
        builder.gate("z", [2])
    return builder


def test_conditions_read_every_outcome() -> None:
    """A teleported state is pure, although the outcomes on the way are random."""
    builder = teleportation().save("moved", "density_matrix", wires=[2])
    found = Simulator(device="cpu", method="density_matrix").run(builder.build()).saved["moved"]
    state = np.array([np.cos(0.55), np.sin(0.55)])
    assert np.abs(found - np.outer(state, state)).max() < 1e-14


def test_saves_for_each_value_of_the_bits() -> None:
    """Before the corrections each pair of outcomes has its own state, which is one of Bell's four turns of it."""
    builder = CircuitBuilder(3, 2).gate("ry", [0], 1.1).gate("h", [1]).gate("cx", [1, 2])
    builder.gate("cx", [0, 1]).gate("h", [0]).measure([0, 1], [0, 1])
    builder.save("each", "density_matrix", wires=[2], how="c_average")
    found = Simulator(device="cpu", method="density_matrix").run(builder.build()).saved["each"]
    state, x, z = np.array([np.cos(0.55), np.sin(0.55)]), np.array([[0, 1], [1, 0]]), np.diag([1, -1])
    assert sorted(found) == [0, 1, 2, 3]
    for bits, rho in found.items():
        turned = np.linalg.matrix_power(x, bits >> 1) @ np.linalg.matrix_power(z, bits & 1) @ state
        assert np.abs(rho - np.outer(turned, turned)).max() < 1e-14


@pytest.mark.parametrize("in_a_loop", [False, True], ids=["behind", "in a loop"])
def test_lists_for_each_value_of_the_bits(in_a_loop: bool) -> None:
    """Every value that the bits can have has a list, of one value: that of its density matrix."""
    builder = CircuitBuilder(2, 1).gate("ry", [0], 1.1).gate("cx", [0, 1])
    with builder.loop() if in_a_loop else nullcontext():
        builder.measure([0], [0]).save("each", "probabilities", wires=[1], how="c_list")
        if in_a_loop:
            builder.leave()
    found = Simulator(device="cpu", method="density_matrix").run(builder.build()).saved["each"]
    assert sorted(found) == [0, 1]
    for bit, values in found.items():
        assert np.abs(values - [np.eye(2)[bit]]).max() < 1e-14


def test_a_condition_reads_a_misread_bit() -> None:
    """A bit that is always 0 and misread with probability 0.25 flips a wire with that probability, and says so."""
    builder = CircuitBuilder(2, 2).gate("x", [0]).gate("x", [0]).measure([0], [0])
    with builder.condition([0], [1]):
        builder.gate("x", [1])
    builder.measure([1], [1]).save("p", "probabilities", wires=[1])
    errors = (ReadoutError((0,), np.array([[0.75, 0.25], [0.5, 0.5]])),)
    result = Simulator(device="cpu", method="density_matrix").run(builder.build(), 4000, seed=1, readout=errors)
    assert np.abs(result.saved["p"] - [0.75, 0.25]).max() < 1e-14
    counts = result.counts()
    assert set(counts) == {0, 3}
    assert abs(counts[3] - 1000) < 150


def test_shots_are_the_same_wherever_the_matrix_is() -> None:
    """A seed has the same shots in every placement, and another seed has others."""
    circuit = random_noisy(4, 25, 5, (*KINDS, "reset"))
    runs = {
        name: Simulator(device="cpu", method="density_matrix", **ON_CPU[name].options).run(circuit, 500, seed=9).packed
        for name in WIDE
    }
    first = runs["single"]
    assert all(np.array_equal(first, other) for other in runs.values())
    again = Simulator(device="cpu", method="density_matrix").run(circuit, 500, seed=10).packed
    assert not np.array_equal(first, again)


OBSERVABLES = [
    PauliSum.from_labels({"XYZI": 0.5, "IIZZ": -1.25, "IIII": 0.125}),
    PauliSum((PauliString.parse("Y", [2]), PauliString.parse("X", [0], 1j))),
]


def estimated(circuit: Circuit, method: str, **given: object) -> BatchResult:
    """The observables at the end of a circuit."""
    return Simulator(device="cpu", method=method).run_batch(circuit, observables=OBSERVABLES, seeds=4, **given)


def test_expectation_values_are_exact() -> None:
    """They are traces with the density matrix of the definition; their standard errors are 0."""
    circuit = random_noisy(4, 30, 7, (*KINDS, "reset"))
    unmeasured = Circuit(4, 4, circuit.instructions[:-1], circuit.operands)
    found, rho = estimated(unmeasured, "density_matrix"), reference.density_matrix(unmeasured)
    pauli = {"I": np.eye(2), "X": np.array([[0, 1], [1, 0]]), "Y": np.array([[0, -1j], [1j, 0]]), "Z": np.diag([1, -1])}
    for value, labels in zip(
        found.values[0], ({"XYZI": 0.5, "IIZZ": -1.25, "IIII": 0.125}, {"IYII": 1.0, "IIIX": 1j}), strict=True
    ):
        matrix = sum(
            c * np.kron(np.kron(pauli[text[0]], pauli[text[1]]), np.kron(pauli[text[2]], pauli[text[3]]))
            for text, c in labels.items()
        )
        assert abs(value - np.trace(matrix @ rho)) < 1e-12
    assert not found.errors.any()
    assert found.trajectories is None


def test_trajectories_agree() -> None:
    """The mean of 4,000 trajectories is within five standard errors of the exact value."""
    circuit = random_noisy(4, 20, 8, (*KINDS, "reset"))
    unmeasured = Circuit(4, 4, circuit.instructions[:-1], circuit.operands)
    exact = estimated(unmeasured, "density_matrix").values[0, 0]
    means = estimated(unmeasured, "statevector", trajectories=4000)
    assert abs(means.values[0, 0] - exact) < 5 * max(means.errors[0, 0].real, 1e-9)


def test_a_batch_is_its_circuits_one_by_one() -> None:
    """Bindings that differ in angles and in the strength of a channel have the values of runs of their own."""

    def built(angle: float) -> Circuit:
        builder = CircuitBuilder(3, 3).gate("ry", [0], angle).gate("cx", [0, 1]).gate("rx", [2], 2 * angle)
        builder.channel(noise.amplitude_damping(angle / 4), [0]).channel(noise.depolarizing(angle / 3, 2), [1, 2])
        return builder.measure(range(3), range(3)).save("rho", "density_matrix", wires=[2, 0]).build()

    circuits = [built(angle) for angle in (0.3, 0.9, 1.4)]
    simulator = Simulator(device="cpu", method="density_matrix")
    operands = np.concatenate([circuit.operands for circuit in circuits])
    together = simulator.run_batch(circuits[0], operands, shots=50, seeds=[1, 2, 3])
    for row, circuit in enumerate(circuits):
        alone = simulator.run(circuit, 50, seed=row + 1)
        assert np.array_equal(together[row].packed, alone.packed)
        assert np.abs(together[row].saved["rho"] - alone.saved["rho"]).max() < 1e-14


def test_a_state_is_set_on_the_way() -> None:
    """All wires get the given state, whatever they were, and classical bits keep their values."""
    amplitudes = np.array([0.6, 0, 0.48j, 0.64])
    builder = CircuitBuilder(2, 1).gate("h", [0]).gate("cx", [0, 1]).measure([1], [0])
    builder.set_statevector(amplitudes, [1, 0])
    with builder.condition([0], [1]):
        builder.gate("x", [0])
    circuit = builder.channel(noise.bit_flip(0.25), [1]).build()
    expected = reference.density_matrix(circuit)
    for deployment in ("single", "peers 2"):
        assert np.abs(saved(circuit, **ON_CPU[deployment].options) - expected).max() < 1e-14


def test_a_used_wire_is_initialised_again() -> None:
    """Wires that are entangled with others are reset first, and the others keep what is left to them."""

    def built(*, reset: bool) -> Circuit:
        builder = CircuitBuilder(3).gate("ry", [0], 1.0).gate("cx", [0, 1]).gate("cx", [1, 2])
        builder = builder.reset([0, 1]) if reset else builder
        return builder.initialize([0.6, 0, 0, 0.8j], [1, 0]).gate("rx", [1], 0.3).build()

    expected = reference.density_matrix(built(reset=True))
    for reset in (False, True):
        assert np.abs(saved(built(reset=reset)) - expected).max() < 1e-14


def test_idle_wires_take_no_memory() -> None:
    """A circuit of 40 wires of which two are used is simulated as four."""
    builder = CircuitBuilder(40, 2).gate("h", [7]).gate("cx", [7, 31]).channel(noise.bit_flip(0.25), [31])
    result = Simulator(device="cpu", method="density_matrix").run(builder.measure([7, 31], [0, 1]).build(), 100, seed=3)
    assert set(result.counts()) <= {0, 1, 2, 3}
    assert result.peak_bytes == 16 * 16


def in_parts(*, measured: bool) -> Circuit:
    """Two noisy pairs that interleave, and a wire alone; bits are in another order than wires."""
    builder = CircuitBuilder(6, 6).gate("ry", [0], 0.9).gate("cx", [0, 3]).channel(noise.amplitude_damping(0.3), [3])
    builder.gate("ry", [1], 1.4).gate("cx", [1, 4]).channel(noise.depolarizing(0.2, 2), [4, 1])
    builder.gate("h", [2]).channel(noise.bit_flip(0.2), [2])
    return (builder.measure(range(6), [3, 1, 0, 2, 4, 5]) if measured else builder).build()


def test_parts_are_computed_by_themselves() -> None:
    """Parts that nothing joins have matrices of their own, with the shots and the values of all wires together."""
    apart, together = (
        Simulator(device="cpu", method="density_matrix", separate=separate) for separate in (True, False)
    )
    errors = (ReadoutError((3,), np.array([[0.9, 0.1], [0.2, 0.8]])),)
    shots = [one.run(in_parts(measured=True), 2000, seed=5, readout=errors) for one in (apart, together)]
    assert np.array_equal(shots[0].packed, shots[1].packed)
    assert shots[0].peak_bytes == 16 * 4**2
    sums = [PauliSum.from_labels({"IZIIIZ": 1.0, "IXXYZI": 0.5}), PauliSum.from_labels({"IIXIXI": 1j, "ZIIIII": 1.0})]
    values = [one.run_batch(in_parts(measured=False), observables=sums).values for one in (apart, together)]
    assert np.abs(values[0] - values[1]).max() < 1e-14
    unmeasured = in_parts(measured=False)
    rho = reference.density_matrix(unmeasured)
    z = 1 - 2 * (np.arange(64) >> 5 & 1)
    assert values[0][0, 1].real == pytest.approx((rho.diagonal() @ z).real, abs=1e-14)


@pytest.mark.parametrize("separate", [False, True])
def test_values_are_real_where_all_coefficients_are(separate: bool) -> None:
    """Expectation values are real numbers, and complex ones if any observable has a complex coefficient."""
    simulator = Simulator(device="cpu", method="density_matrix", separate=separate)
    real, other = PauliSum.from_labels({"IZIIIZ": -1.0}), PauliSum.from_labels({"IIXIXI": 1 - 1j})
    kinds = [
        simulator.run_batch(in_parts(measured=False), observables=sums).values.dtype.kind
        for sums in ((real, real), (real, other))
    ]
    assert kinds == ["f", "c"]


def test_many_parts_take_the_memory_of_the_largest() -> None:
    """40 wires in pairs: every pair is correlated in every shot but for its noise."""
    builder = CircuitBuilder(40, 40)
    for wire in range(0, 40, 2):
        builder.gate("h", [wire]).gate("cx", [wire, wire + 1]).channel(noise.bit_flip(0.1), [wire])
    circuit = builder.measure(range(40), range(40)).build()
    result = Simulator(device="cpu", method="density_matrix").run(circuit, 500, seed=1)
    bits = np.unpackbits(result.packed, axis=1, bitorder="little")
    assert abs((bits[:, ::2] != bits[:, 1::2]).mean() - 0.1) < 0.02
    assert abs(bits.mean() - 0.5) < 0.02
    assert result.peak_bytes == 16 * 4**2


def test_too_many_outcomes_are_counted() -> None:
    """What does not fit is refused before any memory is taken, with the number of branches."""
    builder = CircuitBuilder(2, 60)
    for bit in range(60):
        builder.gate("h", [0]).gate("cx", [0, 1]).measure([0], [bit])
    with pytest.raises(OutOfMemory, match=f"density matrix of 2 wires and 59 classical bits .* {1 << 59} branches"):
        Simulator(device="cpu", method="density_matrix").run(builder.build(), 10)


def test_the_explanation_speaks_of_density_matrices() -> None:
    """A plan says that it is of a density matrix, and its sum of memory is that of twice as many wires."""
    circuit = random_noisy(4, 10, 1)
    simulator = Simulator(device="cpu", method="density_matrix")
    assert "a density matrix as a state of 8 wires" in simulator.explain(circuit)
    assert simulator.placement(4).needed == 16 * 4**4
    told = simulator.explain(in_parts(measured=True))
    assert "3 separate parts" in told
    assert "a density matrix as a state of 4 wires" in told


def test_a_method_that_does_not_exist_is_refused() -> None:
    """The message names the methods."""
    with pytest.raises(OptionError, match="'automatic', 'statevector', 'density_matrix', 'stabilizer', got 'tensor'"):
        Simulator(method="tensor")


@pytest.mark.parametrize("method", ["density_matrix", "statevector"])
@pytest.mark.parametrize("separate", [True, False])
def test_what_never_happens_makes_no_measurement_one_on_the_way(method: Method, separate: bool) -> None:
    """A measurement before an operation whose control is 0 leaves the values at the end, whether parts are apart."""
    builder = CircuitBuilder(3, 1).gate("ry", [0], 0.6).channel(noise.depolarizing(0.1), [1]).measure([0], [0])
    circuit = builder.gate("cx", [2, 0]).build()
    simulator = Simulator(device="cpu", method=method, separate=separate)
    found = simulator.run_batch(circuit, observables=[PauliSum((PauliString(1, 0),))], trajectories=10)
    assert found.values[0, 0] == pytest.approx(np.sin(0.6))
