"""Shots of narrow noisy circuits have the exact distribution, and depend on the circuit and the seed alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.noisy_circuits import KINDS, random_kraus, random_noisy
from support.strategies import random_unitary

from qsim_ex import CircuitBuilder, Options, Simulator, reference
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.noise import channels as noise
from qsim_ex.circuit.noise.readout import ReadoutError
from qsim_ex.kernels.cpu.narrow_density import pauli_transfer, probabilities
from qsim_ex.observe import sampling
from qsim_ex.run.density_table import table_of
from qsim_ex.run.pipeline import BatchCall

WAY = "exact density matrix"


def distribution(circuit: Circuit) -> np.ndarray:
    """Return the probabilities of all wires that are not idle."""
    table = table_of(circuit.structure)
    assert table is not None
    transfers, at = table.transfers(circuit.operands)
    return probabilities(
        len(table.wires), table.ops, table.steps, table.forms, circuit.operands, transfers, at
    )[0]  # fmt: skip


def by_definition(circuit: Circuit) -> np.ndarray:
    """Return the probabilities of all wires."""
    return reference.density_matrix(circuit).diagonal().real


def every_wire(circuit: Circuit, wires: tuple[int, ...]) -> np.ndarray:
    """Return probabilities [2^n] of all wires from those of some, the others being 0."""
    found, at = np.zeros(1 << circuit.num_qubits), np.arange(1 << len(wires))
    found[sum((at >> k & 1) << wire for k, wire in enumerate(wires))] = distribution(circuit)
    return found


@settings(max_examples=25)
@given(
    wires=st.integers(2, 5),
    length=st.integers(5, 40),
    seed=st.integers(0, 2**32),
    kinds=st.lists(st.sampled_from((*KINDS, "reset")), min_size=1, unique=True),
)
def test_probabilities_are_those_of_the_density_matrix(wires: int, length: int, seed: int, kinds: list[str]) -> None:
    """Gates, channels of every kind and resets have the probabilities of their definition."""
    circuit = random_noisy(wires, length, seed, tuple(kinds))
    table = table_of(circuit.structure)
    if table is not None:  # else no channel was drawn
        assert np.abs(every_wire(circuit, table.wires) - by_definition(circuit)).max() < 1e-13


@settings(max_examples=60)
@given(wires=st.integers(2, 8), length=st.integers(3, 60), seed=st.integers(0, 2**32))
def test_a_circuit_that_is_not_asked_for_has_no_table(wires: int, length: int, seed: int) -> None:
    """What joins all wires, and too many of them, is left out before anything is laid out, and has no table either."""
    circuit = random_noisy(wires, length, seed, (*KINDS, "reset"))
    asked = BatchCall.of_shots(circuit, Options()).draws_noise
    assert asked or table_of(circuit.structure) is None
    noisy, joined = circuit.structure.is_noisy, circuit.structure.joins_all
    assert asked == (noisy and (wires <= 5 or not joined))


@pytest.mark.parametrize("seed", range(5))
def test_all_forms_of_operations(seed: int) -> None:
    """Wires in any order, controls on 0, diagonals, permutations, initial states and multiplexers."""
    rng = np.random.default_rng(seed)
    n = 5
    builder = CircuitBuilder(n, n)
    order = rng.permutation(n).tolist()
    state = rng.normal(size=4) + 1j * rng.normal(size=4)
    builder.initialize(state / np.linalg.norm(state), order[:2])
    builder.unitary(random_unitary(8, seed), order[1:4]).channel(random_kraus(2, 3, rng), order[3:1:-1])
    builder.gate("ry", [order[0]], 0.4, controls=order[3:5], control_values=0)
    builder.permutation(rng.permutation(8).tolist(), order[2:5]).channel(random_kraus(3, 2, rng), order[1:4])
    builder.diagonal(np.exp(1j * rng.uniform(0, 6, 8)), order[:3], name="phases").gate("swap", order[1:3])
    builder.multiplexer([random_unitary(2, k) for k in range(4)], order[:2], [order[4]]).global_phase(0.3)
    builder.pauli_rotation(0.7, "XYZ", order[2:5]).gate("u", [order[0]], 0.1, 0.2, 0.3)
    circuit = builder.build()
    assert np.abs(distribution(circuit) - by_definition(circuit)).max() < 1e-13


def test_transfer_matrices() -> None:
    """R[i, j] is tr(P_i Σ K P_j K†) / 2^k, with the Paulis I, X, Z, Y as digits 0 to 3."""
    paulis = [np.eye(2), np.array([[0, 1], [1, 0]]), np.diag([1, -1]), np.array([[0, -1j], [1j, 0]])]
    strings = [np.kron(high, low) for high in paulis for low in paulis]
    kraus = random_kraus(2, 3, np.random.default_rng(1))
    wanted = [
        [sum(np.trace(p @ k @ q @ k.conj().T) for k in kraus).real / 4 for q in strings] for p in strings
    ]  # fmt: skip
    assert np.abs(pauli_transfer(kraus) - wanted).max() < 1e-14


def noisy(wires: int = 3, where: tuple[int, ...] = (0, 1, 2)) -> Circuit:
    """A noisy circuit on three of some wires, which measures them into bits in another order, one of them twice."""
    a, b, c = where
    builder = CircuitBuilder(wires, 5).gate("h", [a]).channel(noise.depolarizing(0.1), [a]).gate("cx", [a, b])
    builder.channel(noise.depolarizing(0.2, 2), [b, a]).gate("ry", [c], 0.8).channel(noise.amplitude_damping(0.3), [c])
    return builder.gate("cz", [c, a]).gate("h", [c]).measure([a, b, c], [4, 0, 2]).measure([a], [1]).build()


READOUT = (ReadoutError((4,), np.array([[0.9, 0.1], [0.2, 0.8]])), ReadoutError((2, 0), np.eye(4) * 0.6 + 0.1))


def test_a_shot_is_where_its_number_falls_on_the_distribution() -> None:
    """The shots of a seed are the basis values on whose probabilities their random numbers fall."""
    circuit = noisy()
    ends = np.cumsum(by_definition(circuit))
    values = np.searchsorted(ends, sampling.uniforms(5, 0, 300), side="right")
    wanted = [(v & 1) << 4 | (v >> 1 & 1) | (v >> 2 & 1) << 2 | (v & 1) << 1 for v in values.tolist()]
    result = Simulator(device="cpu").run(circuit, 300, seed=5)
    assert result.facts["way"] == WAY
    assert result.packed[:, 0].tolist() == wanted


@pytest.mark.parametrize(
    "options",
    [
        {"separate": False},
        {"virtual_peers": 2},
        {"device_wires": 2},
        {"precision": "single"},
        {"threads": 1},
        {"checkpoint": True},
    ],
    ids=lambda one: next(iter(one)),
)
def test_shots_do_not_depend_on_options(options: dict[str, Any], tmp_path: Path) -> None:
    """The shots of a seed are the same wherever and however a circuit runs."""
    if "checkpoint" in options:
        options = {"checkpoint": tmp_path / "run", "checkpoint_every": 0}
    asked: dict[str, Any] = {"shots": 200, "seeds": [1, 2, 3], "readout": READOUT}
    operands = np.repeat(noisy().operands, 3, axis=0)
    wanted = Simulator(device="cpu").run_batch(noisy(), operands, **asked)
    found = Simulator(device="cpu", **options).run_batch(noisy(), operands, **asked)
    assert found[0].facts["way"] == WAY
    assert (found.packed == wanted.packed).all()
    assert not list(tmp_path.iterdir())


def test_idle_wires_take_nothing() -> None:
    """Three wires of 100 that are not idle have the shots of three wires; gates that idle wires control do nothing."""
    wide = noisy(100, (7, 50, 93))
    found = Simulator(device="cpu").run(wide, 500, seed=1)
    assert found.packed.tolist() == Simulator(device="cpu").run(noisy(), 500, seed=1).packed.tolist()
    builder = CircuitBuilder(100, 2).gate("x", [99]).channel(noise.bit_flip(0.25), [99]).gate("cx", [3, 99])
    builder.gate("x", [99], controls=[3], control_values=0).gate("rzz", [3, 99], 0.3).measure([99, 3], [0, 1])
    assert distribution(builder.build()) == pytest.approx([0.75, 0.25])


def test_bindings_have_their_own_numbers() -> None:
    """Angles and channels differ between the bindings of a batch."""

    def of(angle: float, strength: float) -> Circuit:
        builder = CircuitBuilder(2, 2).gate("ry", [0], angle).gate("cx", [0, 1])
        return builder.channel(noise.amplitude_damping(strength), [1]).measure([0, 1], [0, 1]).build()

    some = [of(0.3, 0.1), of(1.3, 0.1), of(1.3, 0.6)]
    operands = np.concatenate([one.operands for one in some])
    batch = Simulator(device="cpu").run_batch(some[0], operands, shots=400, seeds=[4, 5, 6])
    for k, one in enumerate(some):
        assert (batch[k].packed == Simulator(device="cpu").run(one, 400, seed=4 + k).packed).all()


def test_which_circuits_are_run_so() -> None:
    """Circuits with trajectories on demand, measurements on the way, wide operations, or many wires are not."""
    simulator = Simulator(device="cpu")
    (asked,) = simulator.run_batch(noisy(), shots=50, seeds=1, trajectories=50)
    assert asked.facts["way"] == "compiled trajectories"
    midway = CircuitBuilder(1, 2).channel(noise.bit_flip(0.5), [0]).measure([0], [0]).gate("h", [0]).measure([0], [1])
    assert table_of(midway.build().structure) is None
    twice = CircuitBuilder(1, 2).channel(noise.bit_flip(0.5), [0]).measure([0], [0]).measure([0], [1])
    assert table_of(twice.build().structure) is not None
    wide = CircuitBuilder(6, 6)
    for wire in range(6):
        wide.gate("h", [wire]).channel(noise.bit_flip(0.1), [wire])
    assert table_of(wide.measure(range(6), range(6)).build().structure) is None
    dense = CircuitBuilder(4, 4).channel(noise.bit_flip(0.1), [0]).unitary(random_unitary(16, 1), range(4))
    assert table_of(dense.build().structure) is None
    assert table_of(CircuitBuilder(1, 1).gate("h", [0]).measure([0], [0]).build().structure) is None
    assert WAY.split()[1] in simulator.explain(noisy())


def test_a_run_can_be_cancelled_and_watched() -> None:
    """Each binding is one step of the progress, and a run ends when it is cancelled."""
    import threading

    from qsim_ex.errors import Cancelled

    told: list[tuple[int, int]] = []
    operands = np.repeat(noisy().operands, 3, axis=0)
    Simulator(device="cpu", progress=lambda done, total: told.append((done, total))).run_batch(
        noisy(), operands, shots=10, seeds=1
    )
    assert told[-1] == (3, 3)
    stop = threading.Event()
    stop.set()
    with pytest.raises(Cancelled):
        Simulator(device="cpu").run(noisy(), 10, cancel=stop)
