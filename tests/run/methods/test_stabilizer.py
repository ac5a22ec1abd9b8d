"""Stabilizer states: shots, values and tableaus are those of definitions, and what Stim does not do is refused."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from support.chi_square import probability
from support.clifford_circuits import clifford_circuit
from support.held import Hold
from support.saves_by_definition import saved_value, ways_to

from qsim_ex import Circuit, CircuitBuilder, PauliString, PauliSum, Simulator, errors, reference
from qsim_ex.circuit.noise import channels as noise
from qsim_ex.circuit.noise.readout import ReadoutError, confusion
from qsim_ex.circuit.saves import Save
from qsim_ex.options import Progress
from qsim_ex.stabilizer import gates
from qsim_ex.stabilizer.translation import translated

pytest.importorskip("stim")

DRAWN = int(os.environ.get("QSIM_EX_CLIFFORDS", "60"))
"""How many circuits are drawn."""

SHOTS = 2000
STABILIZER = Simulator(method="stabilizer")


def drawn(seed: int, **how: Any) -> Circuit:
    """Return a drawn circuit of one to three wires."""
    rng = np.random.default_rng([seed, 7])
    return clifford_circuit(int(rng.integers(1, 4)), int(rng.integers(8, 40)), seed, **how)


def ghz(wires: int) -> CircuitBuilder:
    """Return a GHZ state, with a classical bit for each wire."""
    builder = CircuitBuilder(wires, wires).gate("h", [0])
    for pair in pairwise(range(wires)):
        builder.gate("cx", pair)
    return builder


# --- answers are those of definitions -------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(DRAWN))
def test_shots_of_drawn_circuits_have_the_distribution_of_the_definition(seed: int) -> None:
    """Bits of gates, noise, measurements, resets, conditions, stores and blocks have the definition's distribution."""
    circuit = drawn(seed)
    exact = {bits: float(np.trace(rho).real) for bits, rho in reference.by_bits(circuit).items()}
    assert probability(STABILIZER.run(circuit, SHOTS, seed=seed).counts(), exact) > 1e-6


def test_the_last_wire_may_have_gates_of_some_shots_alone() -> None:
    """A Pauli gate under a condition on several bits may be all that happens on the highest wires."""
    builder = CircuitBuilder(4, 3).gate("h", [0]).gate("cx", [0, 1]).measure([0, 1], [0, 1])
    with builder.condition([0, 1, 2], [0, 1, 3, 5, 6]):
        builder.gate("x", [3])
    one = PauliSum.from_labels({"IIZZ": 1.0})
    assert STABILIZER.run_batch(builder.build(), observables=[one]).values == pytest.approx(1)


@pytest.mark.parametrize("seed", range(DRAWN // 3))
def test_values_of_gates_are_those_of_the_definition(seed: int) -> None:
    """Means and variances of drawn sums of strings after drawn gates, at a save and at the end, and probabilities."""
    rng = np.random.default_rng([seed, 8])
    circuit = drawn(seed, noisy=False, midway=False)
    n = circuit.num_qubits
    masks = rng.integers(1 << n, size=(6, 2)).tolist()
    observable = PauliSum(tuple(PauliString(x, z, float(rng.normal())) for x, z in masks))
    saves = [
        Save("mean", "expectation_value", tuple(rng.permutation(n).tolist()), "average", observable),
        Save("both", "expectation_value_variance", None, "average", observable),
        Save("some", "probabilities", tuple(rng.permutation(n)[: seed % n + 1].tolist()), "average"),
        Save("all", "probabilities", None, "average"),
    ]
    gates_alone = circuit.instructions[: circuit.structure.gates_end]
    made = Circuit(n, circuit.num_clbits, (*gates_alone, *saves), circuit.operands)
    found = STABILIZER.run_batch(made, observables=[observable])
    psi = reference.simulate(circuit)
    for save in saves:
        np.testing.assert_allclose(found.saved[save.label][0], saved_value(save, psi), atol=1e-9)
    whole = Save("end", "expectation_value", None, "average", observable)
    np.testing.assert_allclose(found.values[0, 0], saved_value(whole, psi), atol=1e-9)
    assert found.errors[0, 0] == 0
    assert found.trajectories is None


@pytest.mark.parametrize("seed", range(DRAWN // 3))
def test_every_shot_has_a_value_and_a_tableau_of_a_way_with_its_bits(seed: int) -> None:
    """After noise and measurements each shot's value and tableau belong to a state that its bits can have."""
    rng = np.random.default_rng([seed, 9])
    n = 3
    builder = CircuitBuilder(n, n)
    for wire in range(n):
        builder.gate("h", [wire]).gate("cx", [wire, (wire + 1) % n]).gate("s", [wire])
    builder.channel(noise.depolarizing(0.5), [0]).measure([1], [1]).gate("h", [1]).reset([2]).gate("cx", [0, 2])
    masks = rng.integers(1 << n, size=(4, 2)).tolist()
    observable = PauliSum(tuple(PauliString(x, z, float(k + 1)) for k, (x, z) in enumerate(masks)))
    builder.save("value", "expectation_value", how="list", observable=observable)
    builder.save("chances", "probabilities", wires=[2, 0], how="list").save("state", "stabilizer", how="list")
    circuit = builder.measure([0, 2], [0, 2]).build()
    result = STABILIZER.run(circuit, 40, seed=seed)
    ways = ways_to(circuit, "value")
    saves = [one for one in circuit.instructions if isinstance(one, Save) and one.what != "stabilizer"]
    for shot, (bits, tableau) in enumerate(zip(result.bits(), result.saved["state"], strict=True)):
        mine = [way for way in ways if way.bits >> 1 & 1 == bits[1] and is_kept(way.psi, tableau)]
        assert mine
        for save in saves:
            value = result.saved[save.label][shot]
            assert min(np.abs(saved_value(save, way.psi) - value).max() for way in mine) < 1e-9


def is_kept(psi: np.ndarray, tableau: np.ndarray) -> bool:
    """Whether each string of the lower half of a tableau, with its sign, takes a state to itself."""
    n = len(tableau) // 2
    index = np.arange(psi.size)
    for row in tableau[n:]:
        x, z = (sum(int(bit) << wire for wire, bit in enumerate(half)) for half in (row[:n], row[n : 2 * n]))
        sign = (-1) ** int(row[-1]) * 1j ** (x & z).bit_count() * (-1.0) ** np.bitwise_count(index & z)
        moved = np.zeros_like(psi)
        moved[index ^ x] = sign * psi
        if not np.allclose(moved, psi, atol=1e-9):
            return False
    return True


def test_means_over_trajectories_come_near_the_definition() -> None:
    """Means of observables of a noisy circuit with feedback lie within five standard errors of the definition's."""
    builder = CircuitBuilder(3, 3).gate("h", [0]).gate("cx", [0, 1]).channel(noise.depolarizing(0.2, 2), [0, 1])
    builder.measure([0], [0])
    with builder.condition([0], [1]):
        builder.gate("x", [2])
    circuit = builder.gate("s", [2]).build()
    observables = [PauliSum((PauliString(0, mask),)) for mask in range(1, 8)]
    found = Simulator(method="stabilizer", seed=4).run_batch(circuit, observables=observables, trajectories=20_000)
    rho = reference.density_matrix(circuit)
    signs = np.array([(-1.0) ** np.bitwise_count(np.arange(8) & mask) for mask in range(1, 8)])
    expected = signs @ rho.diagonal().real
    assert (np.abs(found.values[0] - expected) <= 5 * found.errors[0] + 1e-9).all()
    assert found.trajectories == 20_000


def test_readout_errors_are_those_of_state_vectors() -> None:
    """Flips that a condition reads, other errors of a bit, and errors of two bits together have their distribution."""
    builder = CircuitBuilder(3, 4).gate("h", [0]).measure([0], [0])
    with builder.condition([0], [1]):
        builder.gate("x", [1])
    circuit = builder.measure([1, 2, 0], [1, 2, 3]).build()
    flip, other = confusion([[0.8, 0.2], [0.2, 0.8]], 1), confusion([[0.9, 0.1], [0.3, 0.7]], 1)
    pair = confusion(np.full((4, 4), 0.1) + 0.6 * np.eye(4), 2)
    for readout in (
        (ReadoutError((0,), flip), ReadoutError((1,), other), ReadoutError((2, 3), pair)),
        (ReadoutError((0,), flip), ReadoutError((3,), flip)),
    ):
        exact = Simulator(method="density_matrix").run(circuit, 400_000, seed=1, readout=readout).counts()
        found = STABILIZER.run(circuit, 4000, seed=2, readout=readout).counts()
        assert probability(found, {bits: count / 400_000 for bits, count in exact.items()}) > 1e-5


def test_misreadings_at_the_end_leave_the_true_bits() -> None:
    """A seed finds the same true bits with a readout error that nothing reads before the end, and without."""
    circuit = drawn(5, midway=False)
    error = ReadoutError((0,), confusion([[0.8, 0.2], [0.2, 0.8]], 1))
    plain, read = (STABILIZER.run(circuit, 500, seed=9, readout=of).bits() for of in ((), (error,)))
    np.testing.assert_array_equal(plain[:, 1:], read[:, 1:])
    assert 0.1 < (plain[:, 0] != read[:, 0]).mean() < 0.3


def test_observables_are_those_before_the_measurements_at_the_end() -> None:
    """Measurements at the end change no value, though their bits are drawn in the same run."""
    circuit = ghz(3).measure([0, 1, 2], [0, 1, 2]).build()
    found = STABILIZER.run_batch(circuit, shots=200, seeds=3, observables=[PauliSum.from_labels({"XXX": 1.0})])
    assert found.values[0, 0] == 1
    assert set(found[0].counts()) == {0, 7}


def test_what_shots_record_is_in_their_result() -> None:
    """A record for each time that a shot comes there, in order, with the bits that it had."""
    builder = CircuitBuilder(2, 1)
    for _ in range(3):
        builder.gate("h", [0]).measure([0], [0]).record("key", builder.bits([0]))
    result = STABILIZER.run(builder.measure([0], [0]).build(), 50, seed=1)
    values = result.records["key"].padded()
    assert values.shape == (50, 3, 1)
    np.testing.assert_array_equal(values[:, 2, 0], result.bits()[:, 0])
    assert 0 < values[:, 0].mean() < 1


# --- size -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wires", [100, 10_000])
def test_wide_circuits(wires: int) -> None:
    """A GHZ state of thousands of wires has equal bits in each shot, both ways."""
    counts = STABILIZER.run(ghz(wires).measure(range(wires), range(wires)).build(), 64, seed=1).counts()
    assert sorted(counts) == [0, (1 << wires) - 1]
    assert sum(counts.values()) == 64


def test_operations_on_a_parity_of_many_wires() -> None:
    """A rotation about a string of 40 letters is done by a chain of CX, and undone by its inverse."""
    letters, wires = "XYZZ" * 9 + "XYZX", list(range(40))  # which takes X on all wires to minus itself
    builder = ghz(40).pauli_rotation(np.pi / 2, letters, wires).pauli_rotation(-np.pi / 2, letters, wires)
    observable = PauliSum((PauliString((1 << 40) - 1, 0),))
    assert STABILIZER.run_batch(builder.build(), observables=[observable]).values[0, 0] == 1
    once = ghz(40).pauli_rotation(np.pi / 2, letters, wires).build()
    assert STABILIZER.run_batch(once, observables=[observable]).values[0, 0] == 0


def test_probabilities_of_some_of_many_wires() -> None:
    """Ten wires of a GHZ state of 200 have two values, in the mean over shots and in each shot behind a measurement."""
    builder = ghz(200).save("before", "probabilities", wires=range(0, 200, 20))
    builder.measure([7], [0]).save("behind", "probabilities", wires=[0, 199], how="list")
    result = Simulator().run(builder.build(), shots=20, seed=1)
    assert result.facts["method"] == "stabilizer"
    np.testing.assert_allclose(result.saved["before"], [0.5, *[0] * 1022, 0.5], atol=1e-12)
    np.testing.assert_allclose(result.saved["behind"][:, 3], result.bits()[:, 0])
    np.testing.assert_allclose(result.saved["behind"].sum(axis=1), 1)


# --- what is refused ------------------------------------------------------------------------------------------------


def refused() -> dict[str, tuple[Circuit, str]]:
    """Circuits that Stim does not run, and what is said of them."""
    under = ghz(2).measure([0], [0])
    with under.condition([0], [1]):
        under.gate("h", [1])
    measured = ghz(2).measure([0], [0])
    with measured.branch(measured.bits([0])):
        measured.measure([1], [1])
    looped = ghz(2).measure([0], [0])
    with looped.loop(looped.bits([0])):
        looped.gate("h", [0]).measure([0], [0])
    stored = ghz(2).measure([0, 1], [0, 1])
    stored.store(stored.bits([0]), stored.bits([0]).binary("and", stored.bits([1])))
    return {
        "t": (ghz(2).gate("t", [1]).build(), "instruction 2, Op 't' on wires 1: it is no Clifford gate"),
        "nearly": (ghz(2).gate("rz", [0], np.pi / 2 + 1e-6).build(), "'rz' on wires 0: it is no Clifford gate"),
        "damping": (ghz(2).channel(noise.amplitude_damping(0.1), [0]).build(), "Channel .*it is no Pauli channel"),
        "unitary noise": (
            ghz(2).channel(noise.mixed_unitary([0.5, 0.5], [np.eye(2), np.diag([1, 1j])]), [0]).build(),
            "it is no Pauli channel",
        ),
        "condition": (under.build(), "Op 'h' on wires 1: it stands under a condition"),
        "measurement": (measured.build(), "Measure on wires 1: it stands under a condition"),
        "loop": (looped.build(), "While: it is a loop whose rounds"),
        "store": (stored.build(), "Store: its value is no parity of measured bits"),
        "state": (ghz(2).save("psi").build(), "Save 'psi': stabilizer states have no statevector"),
        "probabilities": (ghz(11).save("p", "probabilities").build(), "at most 10 wires, got 11; save those of fewer"),
        "amplitudes": (CircuitBuilder(1).initialize([0.6, 0.8], [0]).build(), "no stabilizer state"),
        "permutation": (CircuitBuilder(3).permutation([0, 1, 2, 3, 4, 5, 7, 6], [0, 1, 2]).build(), "Permutation"),
    }


@pytest.mark.parametrize("name", refused())
def test_what_is_refused_is_named(name: str) -> None:
    """The error names the instruction, its place and its wires, why it is refused, and what to do."""
    circuit, words = refused()[name]
    with pytest.raises(errors.NotSupported, match=words) as caught:
        STABILIZER.run(circuit)
    assert "use method='statevector'" in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [
        {"device": "gpu"},
        {"virtual_peers": 2},
        {"device_wires": 3},
        {"checkpoint": "x"},
        {"processes": 2},
        {"host_memory": "spread"},
    ],
    ids=str,
)
def test_options_about_amplitudes_are_refused(options: dict[str, Any]) -> None:
    """An option that says where amplitudes lie is refused by its name."""
    with pytest.raises(errors.OptionError, match=next(iter(options))):
        Simulator(method="stabilizer", **options).run(ghz(2).build())


def test_a_channel_whose_first_error_is_certain() -> None:
    """What rounding leaves of a second error behind a certain one is no probability of its own."""
    matrix = np.array([[1, 1e-10], [1e-10, -1]])
    builder = CircuitBuilder(1, 1).gate("h", [0]).channel([0.6 * matrix, 0.8 * matrix], [0]).gate("h", [0])
    assert STABILIZER.run(builder.measure([0], [0]).build(), 100).counts() == {1: 100}


def test_misread_bits_that_are_read_early_must_be_flips() -> None:
    """An error of a bit that a condition reads is refused unless it is a flip."""
    builder = ghz(2).measure([0], [0])
    with builder.condition([0], [1]):
        builder.gate("x", [1])
    readout = (ReadoutError((0,), confusion([[0.9, 0.1], [0.3, 0.7]], 1)),)
    with pytest.raises(errors.NotSupported, match="misread otherwise than as a flip"):
        STABILIZER.run(builder.measure([1], [1]).build(), 5, readout=readout)


def test_other_methods_do_not_keep_tableaus() -> None:
    """A tableau is asked of state vectors and density matrices in vain; `automatic` takes the method that keeps it."""
    circuit = ghz(2).save("state", "stabilizer").build()
    for method in ("statevector", "density_matrix"):
        with pytest.raises(errors.NotSupported, match="method='stabilizer' alone"):
            Simulator(method=method).run(circuit)
    assert Simulator().run(circuit).facts["method"] == "stabilizer"


def test_states_are_refused() -> None:
    """There is no state vector, no placement of amplitudes, and no plan."""
    for ask in (lambda: STABILIZER.state(ghz(2).build()), lambda: STABILIZER.placement(3)):
        with pytest.raises(errors.OptionError, match="method='stabilizer'"):
            ask()
    assert STABILIZER.plans(ghz(2).build()) == []
    assert STABILIZER.summary(ghz(2).build()).sweeps == 0


# --- how it is chosen ------------------------------------------------------------------------------------------------


def test_automatic_chooses_it_where_a_state_vector_costs_much() -> None:
    """A wide circuit of Clifford gates runs on Stim, and the result says so and why; a narrow one does not."""
    wide = Simulator().run(ghz(60).measure([0, 59], [0, 1]).build(), 20, seed=1)
    assert wide.facts["method"] == "stabilizer"
    assert "60 wires" in wide.metadata()["method_reason"]
    narrow = Simulator().run(ghz(4).measure([0], [0]).build(), 20, seed=1)
    assert narrow.facts["method"] == "statevector"
    assert "method_reason" not in narrow.facts


def test_the_choice_depends_on_the_circuit(hold: Hold) -> None:
    """A gate that is not Clifford, small parts, or options about amplitudes leave the state vector."""
    hold(stabilizer_work=1 << 20)
    assert chosen(ghz(18)) == "stabilizer"
    assert chosen(ghz(18).gate("t", [3])) == "statevector"
    assert chosen(ghz(18), device_wires=17, device="cpu") == "statevector"
    apart = CircuitBuilder(18, 18)
    for wire in range(0, 18, 2):
        apart.gate("h", [wire]).gate("cx", [wire, wire + 1])
    assert chosen(apart) == "statevector"


def chosen(builder: CircuitBuilder, **options: Any) -> str:
    """Return the method of a run of a circuit."""
    method: str = Simulator(**options).run(builder.measure([0], [0]).build(), 3).facts["method"]
    return method


def test_without_stim_an_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many wires of Clifford gates ask for the extra, other circuits do not; so does the method itself."""
    monkeypatch.setitem(sys.modules, "stim", None)
    monkeypatch.setattr(gates, "find_spec", lambda _: None)
    gates.is_installed.cache_clear()
    try:
        with pytest.raises(errors.OutOfMemory, match=r"pip install 'qsim-ex\[stim\]'"):
            Simulator().run(ghz(100).measure([0], [0]).build(), 5)
        with pytest.raises(errors.OutOfMemory) as caught:
            Simulator().run(ghz(100).gate("t", [1]).measure([0], [0]).build(), 5)
        assert "stim" not in str(caught.value)
        with pytest.raises(errors.MissingPackage, match=r"pip install 'qsim-ex\[stim\]'"):
            STABILIZER.run(ghz(2).measure([0], [0]).build(), 5)
    finally:
        gates.is_installed.cache_clear()


@pytest.mark.parametrize("in_some_shots", [False, True])
def test_a_seed_gives_the_same_again(in_some_shots: bool) -> None:
    """Bits and readout errors repeat with their seed, also with Pauli gates in some shots."""
    readout = (ReadoutError((1,), confusion([[0.9, 0.1], [0.1, 0.9]], 1)),)
    made = [drawn(number) for number in range(20)]
    circuit = next(one for one in made if bool(translated(one.structure, one.operands[0]).between) == in_some_shots)
    first, again, other = (STABILIZER.run(circuit, 500, seed=number, readout=readout).packed for number in (5, 5, 6))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


# --- a run in its course ---------------------------------------------------------------------------------------------


def test_progress_and_cancellation() -> None:
    """Shots are counted, a run that was cancelled before it began ends at once, and a watcher sees the end."""
    told: list[tuple[int, int]] = []
    seen: list[Progress] = []
    circuit = ghz(3).measure([0, 1, 2], [0, 1, 2]).build()
    Simulator(method="stabilizer", progress=lambda *one: told.append(one), watch=seen.append).run(circuit, 100)
    assert told[-1] == (100, 100)
    assert seen[-1].steps == seen[-1].all_steps == 100
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(errors.Cancelled):
        STABILIZER.run(circuit, 100, cancel=cancel)


def test_memory_of_tableaus_is_bounded() -> None:
    """A tableau beyond `max_memory` is refused with its size; so is a list of tableaus that the host cannot hold."""
    with pytest.raises(errors.OutOfMemory, match="the tableau of 1000 wires needs"):
        Simulator(method="stabilizer", max_memory=1000).run(ghz(1000).measure([0], [0]).build(), 5)
    builder = ghz(2000).measure([0], [0]).save("all", "stabilizer", how="list").measure([1], [1])
    with pytest.raises(errors.OutOfMemory, match="what is saved"):
        STABILIZER.run(builder.build(), 10_000_000)


def test_many_shots_are_sampled_in_pieces(hold: Hold) -> None:
    """Pieces of some hundred shots keep the distribution, and every shot is written."""
    hold(stim_records=1)
    both = [drawn(seed) for seed in range(20)]
    numbers = [bool(translated(one.structure, one.operands[0]).between) for one in both]
    for seed in (numbers.index(False), numbers.index(True)):  # samples, and frames with Pauli gates in some shots
        circuit = both[seed]
        exact = {bits: float(np.trace(rho).real) for bits, rho in reference.by_bits(circuit).items()}
        counts = STABILIZER.run(circuit, 3001, seed=seed).counts()
        assert sum(counts.values()) == 3001
        assert probability(counts, exact) > 1e-4


def test_bindings_have_numbers_of_their_own() -> None:
    """Bindings whose angles are quarter turns run each with its own gates; one that is no quarter turn is refused."""
    builder = CircuitBuilder(1, 1).gate("rx", [0], 0.0).measure([0], [0])
    circuits = [CircuitBuilder(1, 1).gate("rx", [0], turn).measure([0], [0]).build() for turn in (0.0, np.pi, 0.3)]
    operands = np.concatenate([one.operands for one in circuits])
    found = STABILIZER.run_batch(builder.build(), operands[:2], shots=20, seeds=[1, 2])
    assert [found[k].counts() for k in range(2)] == [{0: 20}, {1: 20}]
    with pytest.raises(errors.NotSupported, match="'rx' on wires 0"):
        STABILIZER.run_batch(builder.build(), operands, shots=20, seeds=1)


@pytest.mark.parametrize("how", ["single", "list", "c_single"])
def test_values_are_put_in_some_at_a_time(how: str, hold: Hold) -> None:
    """However few tableaus are made at a time, each shot has its own, and a single one is the first shot's."""
    builder = CircuitBuilder(2, 1).gate("h", [0]).gate("cx", [0, 1]).measure([0], [0])
    circuit = builder.save("state", "stabilizer", how=how).build()
    usual = STABILIZER.run(circuit, 30, seed=4)
    hold(values_at_once=60)  # three tableaus
    result = STABILIZER.run(circuit, 30, seed=4)
    bits = result.bits()[:, 0]
    each = {"single": [(bits[0], result.saved["state"])], "list": zip(bits, result.saved["state"], strict=True)}
    for bit, tableau in each.get(how, result.saved["state"].items() if how == "c_single" else []):
        assert is_kept(np.eye(4, dtype=np.complex128)[3 * bit], tableau)
    np.testing.assert_equal(result.saved["state"], usual.saved["state"])


FIRST = """
import threading
from qsim_ex import CircuitBuilder, Simulator
circuit = CircuitBuilder(2, 2).gate("h", [0]).gate("cx", [0, 1]).measure([0, 1], [0, 1]).build()
together = threading.Barrier(4)
def run():
    together.wait()
    Simulator(device="cpu", method="stabilizer").run(circuit, 5)
threads = [threading.Thread(target=run) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def test_threads_whose_first_jobs_are_of_stabilizer_states() -> None:
    """The first jobs of a new process end in whatever threads they are; Stim's own first samplers may wait forever."""
    for _ in range(4):
        subprocess.run([sys.executable, "-c", FIRST], check=True, timeout=60)
