"""`Simulator.run_batch`: every element is what a run of its own gives, wherever and in whatever pieces it runs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.deployments import ON_CPU, DeploymentRow
from support.noisy_circuits import random_noisy
from support.strategies import circuits

from qsim_ex import Bindings, CircuitBuilder, Options, PauliString, PauliSum, Simulator, errors
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.noise import channels as noise
from qsim_ex.execution.prepare import plan_of


def layered(angles: np.ndarray) -> Circuit:
    """A circuit whose structure is the same for all angles [layers, wires]."""
    wires = angles.shape[1]
    builder = CircuitBuilder(wires, wires)
    for layer in angles:
        for wire, angle in enumerate(layer):
            builder.gate("ry", [wire], angle).gate("rz", [wire], angle / 2)
        for wire in range(wires - 1):
            builder.gate("cx", [wire, wire + 1])
    return builder.save().measure(range(wires), range(wires)).build()


def many(count: int, wires: int = 5, layers: int = 3, seed: int = 0) -> list[Circuit]:
    """Circuits of one structure."""
    rng = np.random.default_rng(seed)
    return [layered(rng.uniform(0, 6, (layers, wires))) for _ in range(count)]


def operands_of(some: list[Circuit]) -> np.ndarray:
    """The operands of each, [bindings, total]."""
    return np.concatenate([circuit.operands for circuit in some])


SUMS = [PauliSum.from_labels({"ZZIII": 1.0, "XXIIX": 0.5, "IIIII": 2.0}), PauliSum((PauliString(3, 1, 1.0 + 0.5j),))]


@pytest.mark.parametrize("rows", [1, 3, 64])
def test_every_element_is_a_run_of_its_own(rows: int, options: Options, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each element has the amplitudes, shots and expectation values of its own run, in chunks of any size."""
    some = many(7)
    simulator = Simulator(options)
    monkeypatch.setattr("qsim_ex.run.machine.Machine._rows", lambda *_: rows)
    found = simulator.run_batch(some[0], operands_of(some), shots=200, seeds=range(7), observables=SUMS)
    tolerance = 1e-5 if options.precision == "single" else 1e-12
    for k, circuit in enumerate(some):
        one = simulator.run(circuit, 200, seed=k)
        np.testing.assert_allclose(found.saved["statevector"][k], one.saved["statevector"], atol=tolerance)
        differ = (found.packed[k] != one.packed).any(axis=1).sum()
        assert differ == 0 if options.precision == "double" else differ <= 2
        with simulator.state(circuit) as state:
            np.testing.assert_allclose(found.values[k], state.expectation(SUMS), atol=10 * tolerance)
        assert (found[k].seed, found[k].shots, sum(found[k].counts().values())) == (one.seed, one.shots, 200)
        assert options.precision == "single" or found[k].counts() == one.counts()
    assert not found.errors.any()
    assert found.trajectories is None


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(circuit=circuits(), rows=st.integers(1, 5))
def test_any_circuit(circuit: Circuit, rows: int) -> None:
    """Any circuit in a batch gives the state that a single run gives."""
    wires = tuple(range(circuit.num_qubits))
    builder = CircuitBuilder(circuit.num_qubits).save().build()
    whole = Circuit(circuit.num_qubits, 0, (*circuit.instructions, *builder.instructions), circuit.operands)
    simulator = Simulator(device="cpu")
    found = simulator.run_batch(whole, np.repeat(whole.operands, rows, axis=0))
    wanted = simulator.run(whole).saved["statevector"]
    assert found.saved["statevector"].shape == (rows, 1 << len(wires))
    np.testing.assert_allclose(found.saved["statevector"], np.repeat(wanted[None], rows, axis=0), atol=1e-12)


@pytest.mark.parametrize("row", [row for row in ON_CPU.values() if row.kind != "single"], ids=str)
def test_divided_states(row: DeploymentRow) -> None:
    """In every placement that divides the state, bindings and trajectories have the results of one device."""
    some = many(3, max(row.wires, 5))
    whole, divided = Simulator(device="cpu"), Simulator(device="cpu", **row.options)
    wanted = whole.run_batch(some[0], operands_of(some), shots=50, seeds=1, observables=SUMS)
    found = divided.run_batch(some[0], operands_of(some), shots=50, seeds=1, observables=SUMS)
    assert found.placement == row.kind
    assert (found.packed == wanted.packed).all()
    np.testing.assert_allclose(found.values, wanted.values, atol=1e-12)
    noisy = random_noisy(max(row.wires, 5), 25, 3, ("pauli", "damping", "measure", "reset", "kraus pair"))
    assert (divided.run(noisy, 40, seed=2).packed == whole.run(noisy, 40, seed=2).packed).all()


def test_bindings_are_made_when_they_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Operands are made for no more bindings than are worked on at once."""
    some = many(9)
    operands, asked = operands_of(some), []

    def made(begin: int, end: int) -> np.ndarray:
        asked.append(end - begin)
        return operands[begin:end]

    monkeypatch.setattr("qsim_ex.run.machine.Machine._rows", lambda *_: 2)
    found = Simulator(device="cpu").run_batch(some[0], Bindings(9, made), shots=5, seeds=1)
    assert max(asked) <= 2
    assert len(found) == 9


def test_the_second_batch_plans_nothing() -> None:
    """New numbers of a known structure are not planned again."""
    simulator = Simulator(device="cpu")
    some = many(3, seed=5)
    simulator.run_batch(some[0], operands_of(some), shots=5)
    before = plan_of.cache_info().misses
    simulator.run_batch(some[0], operands_of(many(4, seed=6)), shots=5)
    assert plan_of.cache_info().misses == before


def test_seeds() -> None:
    """Bindings have seeds of their own, and one seed makes all of them again."""
    some = many(1) * 3
    simulator = Simulator(device="cpu", seed=4)
    found = simulator.run_batch(some[0], operands_of(some), shots=50)
    assert len(set(found.seeds)) == 3
    assert (found.packed[0] != found.packed[1]).any()
    again = simulator.run_batch(some[0], operands_of(some), shots=50)
    assert (found.packed == again.packed).all()
    assert simulator.run_batch(some[0], shots=5).seeds == (4,)


def test_one_branch_for_each_choice() -> None:
    """Shots whose channels all chose alike share one state."""
    builder = CircuitBuilder(2, 2).gate("h", [0])
    for _ in range(3):
        builder.channel([[[0.999**0.5, 0], [0, 0.999**0.5]], [[0, 0.001**0.5], [0.001**0.5, 0]]], [0])
    circuit = builder.measure([0, 1], [0, 1]).build()
    result = Simulator(device="cpu").run_batch(circuit, shots=5000, seeds=1, trajectories=5000)
    assert result.facts["trajectories"] == 5000
    assert result.facts["states"] <= 8


def test_cancel(options: Options) -> None:
    """A cancelled batch raises `Cancelled`."""
    cancel = threading.Event()
    cancel.set()
    some = many(3)
    with pytest.raises(errors.Cancelled):
        Simulator(options).run_batch(some[0], operands_of(some), shots=5, cancel=cancel)


BAD: dict[str, tuple[Callable[[Simulator, Circuit], Any], type[Exception], str]] = {
    "no bindings": (lambda s, c: s.run_batch(c, c.operands[:0]), errors.CircuitError, "at least one binding"),
    "shape": (lambda s, c: s.run_batch(c, c.operands[0]), errors.CircuitError, r"\[bindings, total\].*\(\d+,\)"),
    "too few operands": (lambda s, c: s.run_batch(c, c.operands[:, :-3]), errors.CircuitError, "operands"),
    "seeds": (lambda s, c: s.run_batch(c, seeds=[1, 2]), errors.OptionError, r"each of 1 .*, got 2 seeds"),
    "seed": (lambda s, c: s.run_batch(c, seeds=[-1]), errors.OptionError, "seed=-1"),
    "shots": (lambda s, c: s.run_batch(c, shots=0), errors.ShotsError, "shots"),
    "wide observable": (
        lambda s, c: s.run_batch(c, observables=[PauliSum((PauliString(0, 128),))]), errors.WireError,
        "< 5, got one on wire 7",
    ),
    "no trajectories": (lambda s, c: s.run_batch(c, trajectories=0), errors.OptionError, "trajectories >= 1, got 0"),
    "both": (lambda s, c: s.run_batch(c, shots=5, trajectories=6), errors.OptionError, "trajectories=6 with shots=5"),
    "memory": (
        lambda _, c: Simulator(device="cpu", max_memory=100).run_batch(c), errors.OutOfMemory, "512 bytes",
    ),
    "more shots than memory": (
        lambda s, c: s.run_batch(c, shots=10**15), errors.OutOfMemory, "sample of 10{15} shots.*fewer at a time",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(BAD))
def test_bad_input(name: str) -> None:
    """Bad input is refused before anything runs, and the error says what was given."""
    act, error, message = BAD[name]
    with pytest.raises(error, match=message):
        act(Simulator(device="cpu"), many(1)[0])


def test_a_saved_state_after_chance_is_that_of_the_first_shot() -> None:
    """A state saved after a measurement is normalised, and that of the first shot however many shots there are."""
    circuit = CircuitBuilder(1, 1).gate("h", [0]).measure([0], [0]).gate("h", [0]).save().measure([0], [0]).build()
    simulator = Simulator(device="cpu")
    for seed in range(6):
        one = simulator.run(circuit, 1, seed=seed).saved["statevector"]
        assert np.linalg.norm(one) == pytest.approx(1, abs=1e-12)
        assert np.array_equal(simulator.run(circuit, 10, seed=seed).saved["statevector"], one)


def test_a_saved_state_of_a_trajectory_is_normalised() -> None:
    """The saved state of a trajectory has norm 1."""
    builder = CircuitBuilder(2).gate("ry", [0], 1.0).gate("cx", [0, 1])
    builder.channel(noise.amplitude_damping(0.3), [0]).channel(noise.amplitude_damping(0.3), [1])
    found = Simulator(device="cpu").run_batch(
        builder.gate("h", [0]).save().build(), np.repeat(builder.build().operands, 30, 0)
    )
    np.testing.assert_allclose(np.linalg.norm(found.saved["statevector"], axis=1), 1, atol=1e-12)


@pytest.mark.parametrize("name", ["control", "diagonal", "fresh"])
def test_a_run_goes_on_after_a_measurement(name: str) -> None:
    """Gates on a measured wire run and are explained where they leave nothing more to chance."""
    builder = CircuitBuilder(2, 2)
    if name != "fresh":
        builder.gate("h", [0])
    builder.measure([0], [0])
    match name:
        case "control":
            builder.gate("cx", [0, 1])
        case "diagonal":
            builder.gate("rz", [0], 0.4).gate("rzz", [0, 1], 0.3)
        case _:
            builder.gate("x", [0])
    circuit = builder.measure([1], [1]).build()
    simulator = Simulator(device="cpu")
    wanted = {"control": {0b00, 0b11}, "diagonal": {0b00, 0b01}, "fresh": {0b00}}[name]
    assert set(simulator.run(circuit, 100, seed=1).counts()) == wanted
    assert simulator.explain(circuit)
    assert simulator.plans(circuit)


def test_several_devices_share_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Devices that each hold whole states work at the same time, and find all that one device finds."""
    from qsim_ex.deployment import assign
    from qsim_ex.deployment.assignment import on
    from qsim_ex.devices.cpu.device import CpuDevice

    machines = [CpuDevice(1), CpuDevice(1)]
    used: list[int] = []
    together = threading.Barrier(2, timeout=20)  # both must be at work at the same time

    def assigned(num_wires: int, options: Options, states: int = 1, _ask: Any = None) -> Any:
        assert states == 9
        return on(machines[options.device_id], num_wires, options, "asked for", 1 << 30, 1 << 30)

    first = [machine.run_batch for machine in machines]

    def working(number: int) -> Callable[..., None]:
        def run_batch(*arguments: Any) -> None:
            if number not in used:
                used.append(number)
                together.wait()
            first[number](*arguments)

        return run_batch

    for number, machine in enumerate(machines):
        monkeypatch.setattr(machine, "run_batch", working(number))
    monkeypatch.setattr(assign, "assign", assigned)
    some = many(9)
    found = Simulator(devices=(0, 1)).run_batch(some[0], operands_of(some), shots=20, seeds=1, observables=SUMS)
    monkeypatch.undo()
    wanted = Simulator(device="cpu").run_batch(some[0], operands_of(some), shots=20, seeds=1, observables=SUMS)
    assert sorted(used) == [0, 1]
    assert len(found.facts["devices"]) == 2
    assert (found.packed == wanted.packed).all()
    np.testing.assert_allclose(found.values, wanted.values, atol=1e-12)


def test_no_device_goes_on_when_another_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    """When a batch has failed on one device, the other stops early."""
    from qsim_ex.deployment import assign
    from qsim_ex.deployment.assignment import on
    from qsim_ex.devices.cpu.device import CpuDevice

    machines = [CpuDevice(1), CpuDevice(1)]
    failed, runs = threading.Event(), []
    first = machines[0].run_batch

    def slow(*arguments: Any) -> None:
        assert failed.wait(20)
        runs.append(1)
        first(*arguments)

    def broken(*_: Any) -> None:
        failed.set()
        raise errors.DeviceError("lost")

    def assigned(num_wires: int, options: Options, states: int = 1, _ask: Any = None) -> Any:  # noqa: ARG001
        return on(machines[options.device_id], num_wires, options, "asked for", 1 << 30, 1 << 30)

    monkeypatch.setattr(machines[0], "run_batch", slow)
    monkeypatch.setattr(machines[1], "run_batch", broken)
    monkeypatch.setattr(assign, "assign", assigned)
    monkeypatch.setattr("qsim_ex.run.machine.Machine._rows", lambda *_: 2)
    some = many(1)[0]
    with pytest.raises(errors.DeviceError, match="lost"):
        Simulator(devices=(0, 1)).run_batch(some, np.repeat(some.operands, 400, axis=0), seeds=1)
    assert len(runs) < 100
