"""A state over ranks that talk over a communicator alone does all that others do; here the ranks are threads."""

from __future__ import annotations

import gc
import threading
import weakref
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.ranks_in_threads import NAME, ROW, threads_of_ranks
from support.states import random_state
from support.strategies import circuits
from support.tiny_machine import TinyMachine

from qsim_ex import CircuitBuilder, Simulator, StateVector, reference
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.noise.channels import depolarizing
from qsim_ex.circuit.observables import PauliString, PauliSum
from qsim_ex.circuit.ops import Measure, Save
from qsim_ex.devices import discover
from qsim_ex.errors import Cancelled, DeviceError, OutOfMemory, StateVectorClosed
from qsim_ex.placement import kinds

WIRES = 8
RANKS: dict[str, Any] = {"device": "cpu", "virtual_peers": 2}

few = settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


class Machine(TinyMachine):
    """A machine that keeps track of its buffers, and fails on demand.

    fails: the call of `run` on the second half that raises. full: how many buffers there is room for.
    """

    def __init__(self) -> None:
        super().__init__()
        self.buffers: weakref.WeakSet[Any] = weakref.WeakSet()
        self.bytes = 0
        self.calls: Counter[int] = Counter()
        self.fails: int | None = None
        self.full: int | None = None
        self._lock = threading.Lock()

    def allocate(self, num_amplitudes: int, dtype: Any) -> Any:
        """A buffer, if there is room."""
        with self._lock:
            if self.full is not None and self.full <= 0:
                raise OutOfMemory("no more.")
            self.full = None if self.full is None else self.full - 1
            self.bytes += num_amplitudes * np.dtype(dtype).itemsize
            made = np.full(num_amplitudes, np.nan, dtype=dtype).view(Held)
            self.buffers.add(made)
            return made

    def run(self, buffer: Any, num_bits: int, step: Any, numbers: Any, prepared: Any = None, high: int = 0) -> None:
        """A step, unless it fails."""
        self.calls[high] += 1
        if high == 1 and self.calls[1] == self.fails:
            raise DeviceError("the second rank has failed.")
        super().run(buffer, num_bits, step, numbers, prepared, high)


class Held(np.ndarray):  # type: ignore[type-arg]
    """An array that can be looked for by identity in a set."""

    __hash__ = object.__hash__


@pytest.fixture(scope="module", autouse=True)
def _little_to_collect() -> None:
    """Let collections look at what these tests make, and not at all that was there before, which takes a second."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    """A machine on which states of two peers go over two threads; no thread of theirs is left in the end."""
    device = Machine()
    monkeypatch.setattr(discover, "cpu", lambda _threads=None: device)
    with kinds.registered(ROW):
        yield device
    gc.collect()
    for thread in threads_of_ranks():
        thread.join(60)
    assert not threads_of_ranks()


def layers(num_qubits: int = WIRES, count: int = 3) -> Circuit:
    """Gates that mix every wire and join them all."""
    builder = CircuitBuilder(num_qubits)
    for layer in range(count):
        for wire in range(num_qubits):
            builder.gate("ry", [wire], 0.3 + wire + layer).gate("cx", [wire, (wire + 1 + layer) % num_qubits])
    return builder.build()


def gone(device: Machine) -> bool:
    """Whether no thread and no buffer of any state is left."""
    gc.collect()
    return not threads_of_ranks() and not device.buffers


def narrow(circuit: Circuit) -> bool:
    """Whether a half has as many wires as the widest operation."""
    return all(len(getattr(one, "mixes", getattr(one, "wires", ()))) < WIRES for one in circuit.instructions)


# --- through the simulator -------------------------------------------------------------------------------------------


@few
@given(circuit=circuits(min_qubits=3, max_qubits=WIRES).filter(narrow))
def test_the_same_amplitudes_and_shots(circuit: Circuit) -> None:
    """Saved states are those of the definition, and shots those of one device; the result names the placement."""
    n = WIRES
    every = tuple(range(n))
    measured = Circuit(n, n, (*circuit.instructions, Save("end"), Measure(every, every)), circuit.operands)
    result = Simulator(**RANKS).run(measured, shots=40, seed=3)
    wanted = reference.simulate(Circuit(n, 0, circuit.instructions, circuit.operands))
    assert np.linalg.norm(result.saved["end"] - wanted) < 1e-10
    assert np.array_equal(result.packed, Simulator(device="cpu").run(measured, shots=40, seed=3).packed)
    assert (result.placement, result.deployment.kind) == (NAME, NAME)
    assert set(result.facts["bytes_sent"]) <= {"0>1", "1>0"}


def chancy() -> Circuit:
    """Noise, a measurement in the middle, a reset, and a gate that depends on what was measured."""
    builder = CircuitBuilder(WIRES, WIRES)
    for wire in range(WIRES):
        builder.gate("ry", [wire], 0.4 + wire).gate("cx", [wire, (wire + 3) % WIRES])
    builder.channel(depolarizing(0.2), [WIRES - 1])
    builder.measure([WIRES - 1], [0])
    builder.gate("h", [WIRES - 1])
    builder.reset([2])
    builder.gate("ry", [2], 0.7)
    builder.measure(range(1, WIRES), range(1, WIRES))
    return builder.build()


def test_noise_and_measurements_in_the_middle() -> None:
    """Noise and measurements fall as on one device: branches are copied, projected and sampled in two threads."""
    ranks = Simulator(**RANKS).run(chancy(), shots=30, seed=5)
    assert np.array_equal(ranks.packed, Simulator(device="cpu").run(chancy(), shots=30, seed=5).packed)
    assert ranks.placement == NAME


def test_a_sweep_with_expectation_values() -> None:
    """Many bindings with observables give the values that one device gives."""
    builder = CircuitBuilder(WIRES)
    for wire in range(WIRES):
        builder.gate("h", [wire]).gate("cx", [wire, (wire + 1) % WIRES])
    sums = [PauliSum((PauliString(1 << WIRES - 1, 3),)), PauliSum((PauliString(0, 1 << WIRES - 1),))]
    ranks, one = (
        Simulator(**options).run_batch(builder.build(), observables=sums).values
        for options in (RANKS, {"device": "cpu"})
    )
    assert np.allclose(ranks, one, rtol=0, atol=1e-12)


def test_it_is_explained() -> None:
    """`explain` and `placement` name it, with its sub state vectors and memory, and start no thread."""
    simulator = Simulator(**RANKS)
    assert "ranks in threads: 2 sub state vectors of 7 wires, 2 KiB on each device" in simulator.explain(layers())
    assert simulator.placement(WIRES).deployment.to_json()["kind"] == NAME
    assert not threads_of_ranks()


def test_what_was_summed_is_allocated(machine: Machine) -> None:
    """The bytes of the deployment are those that both ranks ask the device for."""
    with StateVector(WIRES, **RANKS) as state:
        assert machine.bytes == 2 * state.where.deployment.device_bytes
    assert gone(machine)


# --- a state in hand -------------------------------------------------------------------------------------------------


def test_questions(machine: Machine) -> None:
    """Sums, values and samples are those of the amplitudes."""
    psi = random_state(WIRES)
    with StateVector(WIRES, initial=psi, **RANKS) as state:
        assert state.placement == NAME
        assert not state.in_one_piece
        top = PauliSum((PauliString(1 << WIRES - 1, 1),))
        index = np.arange(1 << WIRES)
        value = np.sum(psi[index ^ 1 << WIRES - 1].conj() * (-1.0) ** (index & 1) * psi)
        assert state.expectation(top) == pytest.approx(value.real)
        assert state.probabilities([WIRES - 1]) == pytest.approx((np.abs(psi) ** 2).reshape(2, -1).sum(axis=1))
        with StateVector(WIRES, device="cpu", initial=psi) as one:
            assert np.array_equal(state.sample(50, seed=1), one.sample(50, seed=1))
            assert state.fidelity(one) == pytest.approx(1)
    assert gone(machine)


def test_files(tmp_path: Path) -> None:
    """A file that one placement has saved is read into the other, either way."""
    psi = random_state(WIRES)
    with StateVector(WIRES, initial=psi, **RANKS) as state:
        state.gate("h", [WIRES - 1]).gate("h", [WIRES - 1]).save(tmp_path / "ranks")
    with StateVector.load(tmp_path / "ranks", device="cpu") as state:
        assert np.allclose(state.to_numpy(), psi)
        state.save(tmp_path / "one")
    with StateVector.load(tmp_path / "one", **RANKS) as state:
        assert state.placement == NAME
        assert np.allclose(state.to_numpy(), psi)


def test_clones_and_wires(machine: Machine) -> None:
    """A clone is another state; wires are added in |0> and taken away where they are at one value."""
    psi = random_state(WIRES)
    with StateVector(WIRES, initial=psi, **RANKS) as state, state.clone() as other:
        other.gate("x", [0])
        assert np.allclose(state.to_numpy(), psi)
        state.add_wires(2)
        assert np.allclose(state.to_numpy(), np.kron([1, 0, 0, 0], psi))
        state.gate("x", [WIRES]).remove_wires([WIRES, WIRES + 1])
        assert np.allclose(state.to_numpy(), psi)
        assert state.where.deployment.num_wires == WIRES
    assert gone(machine)


def test_sub_state_vectors() -> None:
    """Each half may be worked on by hand where it is stored."""
    psi = random_state(WIRES)
    with StateVector(WIRES, initial=psi, **RANKS) as state:
        for index in state.sub_state_vectors:
            state.stage(index)
            state.sub_state_vector(index)[:] *= 1j if index else 1
        assert np.allclose(state.to_numpy(), psi * np.repeat([1, 1j], 1 << WIRES - 1))


# --- progress and ends -----------------------------------------------------------------------------------------------


def test_progress_counts_every_step_once() -> None:
    """Progress and watch count each step of the plan once, not once for each half, up to the end."""
    seen: list[tuple[int, int]] = []
    stages: list[Any] = []
    simulator = Simulator(progress=lambda done, total: seen.append((done, total)), watch=stages.append, **RANKS)
    steps = sum(len(plan.steps) for plan in simulator.plans(layers()))
    simulator.run(layers())
    assert seen[-1] == (steps, steps)
    assert stages


def test_a_cancelled_run_ends_both(machine: Machine) -> None:
    """A run that is cancelled after its first step raises once, closes the state, and leaves no thread or memory."""
    cancel = threading.Event()
    state = StateVector(WIRES, progress=lambda *_: cancel.set(), **RANKS)
    with pytest.raises(Cancelled) as told:
        state.apply(layers(), cancel)
    assert "cancelled after 1 of" in str(told.value)
    assert state.closed
    del told
    assert gone(machine)
    assert Simulator(**RANKS).run(layers()).placement == NAME


@pytest.mark.parametrize("call", [1, 2, 3])
def test_an_error_in_one_half_surfaces_once(machine: Machine, call: int) -> None:
    """An error in one thread comes from the call that met it, as it is; the other thread is woken, both are over."""
    machine.fails = call
    state = StateVector(WIRES, **RANKS)
    with pytest.raises(DeviceError, match="the second rank has failed") as told:
        state.apply(layers(count=6))
    assert machine.calls[1] == call
    assert state.closed
    with pytest.raises(StateVectorClosed):
        state.norm()
    del told
    assert gone(machine)


@pytest.mark.parametrize("room", range(2))
def test_memory_that_fails_halfway_is_given_back(machine: Machine, room: int) -> None:
    """Where one rank has no room there is no state, and nothing is kept."""
    machine.full = room
    with pytest.raises(OutOfMemory, match="no more") as told:
        StateVector(WIRES, **RANKS)
    del told
    assert gone(machine)


def test_no_memory_for_more(machine: Machine) -> None:
    """A state that cannot be cloned, for want of memory, is what it was."""
    psi = random_state(WIRES)
    with StateVector(WIRES, initial=psi, **RANKS) as state:
        machine.full = 1
        with pytest.raises(OutOfMemory):
            state.clone()
        assert np.allclose(state.to_numpy(), psi)


def test_a_forgotten_state_leaves_no_threads(machine: Machine) -> None:
    """A state that nobody closed ends its threads when it is collected."""
    state = StateVector(WIRES, **RANKS)
    threads = threads_of_ranks()
    assert len(threads) == 2
    del state
    gc.collect()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert gone(machine)


@few
@given(numbers=st.lists(st.integers(0, 3), min_size=1, max_size=4))
def test_several_states_at_once(numbers: list[int]) -> None:
    """The threads of several states do not disturb one another."""
    states = [StateVector(WIRES, initial=number, **RANKS) for number in numbers]
    for state in states:
        state.gate("x", [WIRES - 1])
    found = [int(np.flatnonzero(state.to_numpy())[0]) for state in reversed(states)]
    assert found == [number | 1 << WIRES - 1 for number in reversed(numbers)]
    for state in states:
        state.close()
