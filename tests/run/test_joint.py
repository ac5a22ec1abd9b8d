"""Circuits in separate parts: the same answers as of all wires together, with memory for the largest part alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.measured_often import measured_often, parting_everything, teleportations
from support.noisy_circuits import KINDS

from qsim_ex import CircuitBuilder, PauliString, PauliSum, ReadoutError, Simulator, bit_flip, thresholds
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.errors import MeasurementError, NotSupported, OutOfMemory
from qsim_ex.observe.joint import ProbabilityTable
from qsim_ex.run import joint

WIRES = 7


@pytest.fixture(autouse=True, scope="module")
def parts_of_any_size() -> Iterator[None]:
    """Let the smallest circuits run in parts."""
    with thresholds.instead(parts_work=0):
        yield


def in_parts(seed: int, *, noise: bool, midway: bool, length: int = 40, wires: int = WIRES) -> Circuit:
    """Wires in random groups, some of them idle; operations join wires of a group only, or read idle wires."""
    rng = np.random.default_rng(seed)
    builder = CircuitBuilder(wires, wires)
    group = rng.integers(0, 4, wires)  # wires of group 0 are never mixed
    live = np.flatnonzero(group)
    for _ in range(length):
        one = int(rng.integers(wires))
        near = [int(w) for w in np.flatnonzero(group == group[one]) if w != one]
        other = int(rng.choice(near)) if near else None
        idle = [int(w) for w in np.flatnonzero(group == 0) if w != one]
        match rng.integers(9):
            case 0 if group[one]:
                builder.gate("u", [one], *rng.uniform(0, 6, 3))
            case 1 if group[one] and other is not None:
                builder.gate("cx", [other, one])
            case 2 if other is not None:
                builder.gate("rzz", [one, other], rng.uniform(0, 6))
            case 3 if idle and group[one]:
                builder.gate("ry", [one], 1.1, controls=[int(rng.choice(idle))], control_values=int(rng.integers(2)))
            case 4 if idle:
                builder.gate("rzz", [one, int(rng.choice(idle))], rng.uniform(0, 6))
            case 5 if midway:
                builder.measure([one], [int(rng.integers(wires))])
            case 6 if midway:
                builder.reset([one])
            case 7 if midway and len(live) and rng.integers(3) == 0:
                with builder.condition(rng.permutation(wires)[:2].tolist(), rng.permutation(4)[:2].tolist()):
                    builder.gate("x", [int(rng.choice(live))])
            case 8 if noise and group[one]:
                count, make = KINDS[list(KINDS)[int(rng.integers(len(KINDS)))]]
                if count == 1 or other is not None:
                    builder.channel(make(rng), [one] if count == 1 else [one, other])
    measured = rng.permutation(wires)[: int(rng.integers(1, wires + 1))].tolist()
    return builder.measure(measured, measured).build()


def strings(seed: int, wires: int = WIRES) -> list[PauliSum]:
    """Two sums of random Pauli strings."""
    rng = np.random.default_rng(seed)
    masks = rng.integers(0, 1 << wires, (2, 3, 2)).tolist()
    return [PauliSum(tuple(PauliString(x, z, 0.5 + k) for k, (x, z) in enumerate(one))) for one in masks]


SEPARATE = Simulator(device="cpu")
TOGETHER = Simulator(device="cpu", separate=False)


WAYS = {
    "one by one": {"prefixes_one_by_one": 1 << 20},
    "from amplitudes": {"prefixes_one_by_one": 0, "shared_marginal_wires": 0},
    "from a marginal of all": {"prefixes_one_by_one": 0},
    "few wires at a time": {"prefixes_one_by_one": 0, "sums_at_once": 40, "shared_marginal_wires": 4},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("options", [{}, {"device_wires": 4}, {"virtual_peers": 2}], ids=["one", "host", "peers"])
def test_shots_of_parts_that_take_turns(way: str, options: dict[str, int]) -> None:
    """Wires of two large parts in turns have the shots of one state, whichever marginals are asked for."""
    builder = CircuitBuilder(14, 14)
    for k in range(12):
        builder.gate("u", [k], 0.3 + k, 0.1 * k, 1.0).gate("u", [k + 2], 1.3 + k, 0.2, 0.1 * k).gate("cx", [k, k + 2])
    circuit = builder.measure(range(14), range(14)).build()
    with thresholds.instead(table_wires=2, **WAYS[way]):
        one = Simulator(device="cpu", **options).run(circuit, shots=500, seed=5)
    assert "2 separate parts" in str(one.provenance.facts["separation"])
    assert np.array_equal(one.bits(), TOGETHER.run(circuit, shots=500, seed=5).bits())


@pytest.mark.parametrize("noise", [False, True])
@pytest.mark.parametrize("midway", [False, True])
@given(seed=st.integers(0, 1 << 30))
@settings(max_examples=40, deadline=None)
def test_shots(noise: bool, midway: bool, seed: int) -> None:
    """A seed gives the same shots with and without the division."""
    circuit = in_parts(seed, noise=noise, midway=midway)
    one, other = (simulator.run(circuit, shots=60, seed=seed) for simulator in (SEPARATE, TOGETHER))
    assert np.array_equal(one.bits(), other.bits())


@given(seed=st.integers(0, 1 << 30))
@settings(max_examples=40, deadline=None)
def test_shots_of_large_parts(seed: int) -> None:
    """Parts without a table are drawn from their states, with the same shots."""
    with thresholds.instead(table_wires=seed % 3):
        circuit = in_parts(seed, noise=seed % 2 == 0, midway=seed % 5 < 3)
        one, other = (simulator.run(circuit, shots=60, seed=seed) for simulator in (SEPARATE, TOGETHER))
    assert np.array_equal(one.bits(), other.bits())


@given(seed=st.integers(0, 1 << 30))
@settings(max_examples=40, deadline=None)
def test_readout_errors(seed: int) -> None:
    """Bits are misread alike with and without the division, also where conditions read them."""
    circuit = in_parts(seed, noise=False, midway=True)
    groups = ((0,), (1, 2), (3,)) if seed % 2 else ((0,), (1,), (5,))
    rng = np.random.default_rng(seed)
    readout = tuple(ReadoutError(bits, rng.dirichlet(np.ones(1 << len(bits)), 1 << len(bits))) for bits in groups)
    found = []
    for simulator in (SEPARATE, TOGETHER):
        try:
            found.append(simulator.run(circuit, shots=60, seed=seed, readout=readout).bits().tolist())
        except Exception as error:  # noqa: BLE001 - a condition on a group that was not measured as a whole
            found.append(type(error))
    assert found[0] == found[1]


@pytest.mark.parametrize("noise", [False, True])
@given(seed=st.integers(0, 1 << 30))
@settings(max_examples=40, deadline=None)
def test_expectation_values(noise: bool, seed: int) -> None:
    """Expectation values, and their errors over trajectories, are products over the parts."""
    circuit = in_parts(seed, noise=noise, midway=noise)
    asked = {"observables": strings(seed), "trajectories": 30, "seeds": seed}
    one, other = (simulator.run_batch(circuit, **asked) for simulator in (SEPARATE, TOGETHER))
    assert np.allclose(one.values, other.values, rtol=0, atol=1e-10)
    assert np.allclose(one.errors, other.errors, rtol=0, atol=1e-7)


@given(seed=st.integers(0, 1 << 30))
@settings(max_examples=20, deadline=None)
def test_batches(seed: int) -> None:
    """Each binding of a batch in parts has the shots and values of all wires together."""
    circuit = in_parts(seed, noise=seed % 2 == 0, midway=True)
    bindings = np.repeat(circuit.operands, 3, axis=0)
    asked = {"shots": 20, "seeds": [seed, 1, 2], "observables": strings(seed)}
    one, other = (simulator.run_batch(circuit, bindings, **asked) for simulator in (SEPARATE, TOGETHER))
    assert one.packed is not None
    assert other.packed is not None
    assert np.array_equal(one.packed, other.packed)
    assert np.allclose(one.values, other.values, rtol=0, atol=1e-10)


# --- measurements that part -------------------------------------------------------------------------------------------


@given(seed=st.integers(0, 1 << 30))
@settings(max_examples=60, deadline=None)
def test_measurements_that_part(seed: int) -> None:
    """A seed gives the same shots and values where lives of wires take turns, and parts get bits of other parts."""
    rng = np.random.default_rng(seed)
    circuit = measured_often(rng, noise=seed % 2 == 0)
    bindings = np.repeat(circuit.operands, 2, axis=0)
    observables = strings(seed, circuit.num_qubits) if seed % 5 == 0 else []
    groups = ((0,), (1,)) if seed % 4 == 0 else ((0, 1),)
    readout = tuple(ReadoutError(bits, rng.dirichlet(np.ones(1 << len(bits)), 1 << len(bits))) for bits in groups)
    asked = {"shots": 30, "seeds": [seed, 7], "observables": observables, "readout": readout if seed % 3 == 0 else ()}
    with parting_everything(), thresholds.instead(**({"table_wires": 1} if seed % 7 == 0 else {})):
        try:
            one = SEPARATE.run_batch(circuit, bindings, **asked)
        except NotSupported:  # a condition on a group that was not measured as a whole
            with pytest.raises(NotSupported):
                TOGETHER.run_batch(circuit, bindings, **asked)
            return
        other = TOGETHER.run_batch(circuit, bindings, **asked)
    assert np.array_equal(one.packed, other.packed)  # type: ignore[arg-type]
    assert np.allclose(one.values, other.values, rtol=0, atol=1e-9)


@pytest.mark.parametrize("options", [{"max_memory": 1 << 14}, {"virtual_peers": 2}, {"device_wires": 5}])
def test_measurements_part_states_in_pieces(options: dict[str, int]) -> None:
    """Two registers of ten wires, of which one reads the bits of the other, have the shots of one state."""
    builder = CircuitBuilder(20, 20)
    for first in (0, 10):
        for k in range(first, first + 9):
            builder.gate("ry", [k], 0.3 + k).gate("cx", [k, k + 1])
        if not first:
            builder.measure([2, 5], [2, 5])
            with builder.condition([2, 5], [1, 2]):
                builder.gate("x", [13])
    circuit = builder.measure(range(20), range(20)).build()
    one = Simulator(device="cpu", **options).run(circuit, shots=50, seed=3)
    assert one.facts["separation"].startswith("2 separate parts of 10, 8 wires")
    assert np.array_equal(one.bits(), TOGETHER.run(circuit, shots=50, seed=3).bits())


@pytest.mark.parametrize("pairs_first", [False, True])
def test_a_chain_of_teleportations_takes_three_wires(pairs_first: bool) -> None:
    """A state that is teleported over 61 wires arrives, and the outcomes on the way are even and independent."""
    circuit = teleportations(61, pairs_first=pairs_first).measure(range(61), range(61)).build()
    result = SEPARATE.run(circuit, shots=4000, seed=5)
    assert "simulated: 3, on which others take turns" in result.facts["separation"]
    assert result.peak_bytes <= (16 << 3) * 4000
    bits = result.bits()
    assert abs(bits[:, 60].mean() - np.sin(0.55) ** 2) < 5 * np.sqrt(0.2 / 4000)
    assert abs(bits[:, :60].mean() - 0.5) < 5 * np.sqrt(0.25 / 240_000)


def test_the_expectation_value_after_a_chain_of_teleportations() -> None:
    """Z of the last wire is that of the state, whatever came out on the way; Z of a measured wire is its outcome."""
    letters = (("Z", [60]), ("X", [60]), ("ZZ", [0, 60]), ("X", [0]))
    observables = [PauliSum((PauliString.parse(text, wires),)) for text, wires in letters]
    found = SEPARATE.run_batch(teleportations(61).build(), observables=observables, trajectories=400, seeds=1).values[0]
    assert np.allclose(found[:2], [np.cos(1.1), np.sin(1.1)], rtol=0, atol=1e-9)
    assert abs(found[2]) < 5 / np.sqrt(400)
    assert found[3] == 0


def test_a_short_chain_has_the_shots_of_all_wires_together() -> None:
    """Eleven wires on three give the shots of eleven."""
    circuit = teleportations(11, pairs_first=True).measure(range(11), range(11)).build()
    one, other = (simulator.run(circuit, shots=500, seed=9) for simulator in (SEPARATE, TOGETHER))
    assert "simulated: 3" in one.facts["separation"]
    assert np.array_equal(one.bits(), other.bits())


def test_wires_are_reused_after_a_measurement() -> None:
    """Each of 40 wires is measured, and reused as it is in a second round, on two wires of memory."""
    builder = CircuitBuilder(40, 80)
    for turn in range(2):
        for k in range(39):
            builder.gate("ry", [k], 0.4 + k).gate("cx", [k, k + 1]).measure([k], [40 * turn + k])
            with builder.condition([40 * turn + k], [1]):
                builder.gate("x", [k + 1])
        builder.measure([39], [40 * turn + 39]).gate("h", [39])
    circuit = builder.build()
    result = SEPARATE.run(circuit, shots=200, seed=2)
    assert "simulated: 2, on which others take turns" in result.facts["separation"]
    assert result.peak_bytes <= (16 << 2) * 200


def bell_pairs(pairs: int) -> Circuit:
    """Pairs of wires k and k + pairs."""
    builder = CircuitBuilder(2 * pairs, 2 * pairs)
    for k in range(pairs):
        builder.gate("h", [k]).gate("cx", [k, k + pairs])
    return builder.measure(range(2 * pairs), range(2 * pairs)).build()


def test_many_pairs_that_interleave() -> None:
    """A hundred Bell pairs give equal bits in each pair, and independent ones between pairs."""
    bits = SEPARATE.run(bell_pairs(100), shots=4000, seed=1).bits()
    assert np.array_equal(bits[:, :100], bits[:, 100:])
    spread = np.corrcoef(bits[:, :100].T) - np.eye(100)
    assert abs(bits.mean() - 0.5) < 0.02
    assert abs(spread).max() < 6 / np.sqrt(4000)


def test_memory_is_that_of_the_largest_part() -> None:
    """Two states of ten wires fit where one of twenty does not; a saved state of all wires says what it would need."""
    builder = CircuitBuilder(20, 20)
    for k in (*range(9), *range(10, 19)):
        builder.gate("h", [k]).gate("cx", [k, k + 1])
    small = Simulator(device="cpu", max_memory=16 << 10)
    result = small.run(builder.measure(range(20), range(20)).build(), shots=10, seed=1)
    assert [len(part) for part in result.facts["parts"]] == [10, 10]
    assert result.peak_bytes == 16 << 10
    with pytest.raises(OutOfMemory, match="20 wires"):
        small.run(builder.save().build())


def test_progress_is_that_of_the_largest_part() -> None:
    """A run in parts reports its progress, from its largest part, until all of it is done."""
    told: list[tuple[int, int]] = []
    separate = Simulator(device="cpu", separate=True, progress=lambda *steps: told.append(steps))
    separate.run(bell_pairs(2), shots=10, seed=1)
    assert told
    assert told[-1][0] == told[-1][1] > 0


def test_the_result_says_how_the_circuit_was_divided() -> None:
    """The wires of each part and the number of idle wires are in the metadata."""
    metadata = SEPARATE.run(bell_pairs(2), shots=10, seed=1).metadata()
    assert metadata["parts"] == [[0, 2], [1, 3]]
    assert metadata["idle_wires"] == 0
    assert "2 separate parts" in metadata["separation"]


@pytest.mark.parametrize("joins", [False, True])
def test_shots_need_a_measurement(joins: bool) -> None:
    """A circuit that measures nothing has values and no shots, with idle wires or without; an idle wire's bit is 0."""
    builder = CircuitBuilder(2, 1).gate("h", [0])
    if joins:
        builder.gate("cx", [0, 1])
    circuit = builder.channel(bit_flip(0.1), [0]).build()
    found = SEPARATE.run_batch(circuit, observables=[PauliSum.from_labels({"II": 1.0})])
    assert found.values == pytest.approx(1, abs=1e-15)
    with pytest.raises(MeasurementError, match="a circuit that measures nothing"):
        SEPARATE.run(circuit, shots=5)
    if not joins:
        assert SEPARATE.run(builder.measure([1], [0]).build(), shots=5).counts() == {0: 5}


def test_an_explanation_lists_the_parts() -> None:
    """Parts with one structure are explained once, and the plans and their costs are those of all parts."""
    circuit = bell_pairs(3)
    told = SEPARATE.explain(circuit)
    assert "3 separate parts of 2, 2, 2 wires" in told
    assert "part 0, wires 0, 3; 2 other parts have the same plan" in told
    assert [plan.num_wires for plan in SEPARATE.plans(circuit)] == [2, 2, 2]
    assert [plan.num_wires for plan in TOGETHER.plans(circuit)] == [6]
    assert SEPARATE.summary(circuit).bytes_moved < TOGETHER.summary(circuit).bytes_moved
    assert SEPARATE.summary(circuit).gates == TOGETHER.summary(circuit).gates == 6


@pytest.mark.parametrize("values", [(0b1, 0b1100), range(1, 1 << 12)])
def test_a_correction_that_reads_twelve_bits(values: Sequence[int]) -> None:
    """It acts exactly where its bits have one of its values, and shots are those of all wires together."""
    builder = CircuitBuilder(6, 13)
    for clbit in range(0, 12, 4):
        for wire in range(0, 4, 2):
            builder.gate("ry", [wire], 0.5).gate("cx", [wire, wire + 1])
            builder.measure([wire, wire + 1], [clbit + wire, clbit + wire + 1]).reset([wire, wire + 1])
    builder.gate("ry", [0], 0.9).measure([0], [0])
    with builder.condition(range(12), values):
        builder.gate("x", [4]).gate("cx", [4, 5])
    circuit = builder.measure([5], [12]).build()
    apart, whole = (
        Simulator(device="cpu", separate=separate).run(circuit, shots=500, seed=3).bits() for separate in (True, False)
    )
    assert np.array_equal(apart, whole)
    read = apart[:, :12] @ (1 << np.arange(12))
    assert np.array_equal(apart[:, 12], np.isin(read, list(values)))
    assert 0 < apart[:, 12].sum() < 500


@pytest.mark.parametrize(("size", "tables"), [(4, 1), (3, 0)])
def test_small_parts_are_read_from_a_table(size: int, tables: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of two wires, which have 4 probabilities each, are read from one table if that may have so many."""
    made: list[ProbabilityTable] = []
    monkeypatch.setattr(joint, "ProbabilityTable", lambda: made.append(ProbabilityTable()) or made[-1])
    with thresholds.instead(table_size=size):
        Simulator(device="cpu").run(bell_pairs(2), shots=10, seed=1)
    assert len(made) == tables
