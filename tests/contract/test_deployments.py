"""Whole runs in every deployment give the same amplitudes and shots and say where they ran, also after errors."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from support.deployments import ON_CPU, ON_GPUS
from support.gpus import gpu_missing
from support.strategies import circuits
from support.tiny_machine import TinyMachine

from qsim_ex import CircuitBuilder, Simulator, StateVector, reference
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.ops import Measure, Op, Save, wires_of
from qsim_ex.devices import discover
from qsim_ex.errors import DeviceError, NotSupported, OptionError, OutOfMemory

WIRES = 8

few = settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> TinyMachine:
    """A machine that leaves NaN where nothing was written."""
    device = TinyMachine()
    monkeypatch.setattr(discover, "cpu", lambda _threads=None: device)
    return device


def wide_as(circuit: Circuit, num_qubits: int) -> Circuit:
    """The same on more wires, with a state saved and all wires measured."""
    every = tuple(range(num_qubits))
    return Circuit(
        num_qubits, num_qubits, (*circuit.instructions, Save("end"), Measure(every, every)), circuit.operands
    )


def narrow(circuit: Circuit, most: int = 4) -> bool:
    """Whether no operation is wider than the smallest sub state vector."""
    wide = [
        len(wires_of(sum(1 << w for w in getattr(i, "mixes", getattr(i, "wires", ()))))) for i in circuit.instructions
    ]
    return max(wide, default=0) <= most


def layers(num_qubits: int, count: int = 4) -> Circuit:
    """Gates that mix every wire and join them all."""
    builder = CircuitBuilder(num_qubits)
    for layer in range(count):
        for wire in range(num_qubits):
            builder.gate("ry", [wire], 0.3 + wire + layer).gate("rz", [wire], 0.1 * layer)
            builder.gate("cx", [wire, (wire + 1 + layer) % num_qubits])
    return builder.build()


@few
@given(circuit=circuits(min_qubits=6, max_qubits=WIRES).filter(narrow))
@pytest.mark.parametrize("deployment", ON_CPU)
def test_the_same_amplitudes_and_shots(deployment: str, circuit: Circuit) -> None:
    """A deployment gives the amplitudes of the definition and the shots of one device."""
    measured = wide_as(circuit, WIRES)
    result = Simulator(device="cpu", **ON_CPU[deployment].options).run(measured, shots=40, seed=3)
    wanted = reference.simulate(Circuit(WIRES, 0, circuit.instructions, circuit.operands))
    assert np.linalg.norm(result.saved["end"] - wanted) < 1e-12
    alone = Simulator(device="cpu").run(measured, shots=40, seed=3)
    assert np.array_equal(result.packed, alone.packed)


@pytest.mark.parametrize("deployment", ON_CPU)
def test_a_result_says_how_it_was_divided(deployment: str) -> None:
    """A result names its placement, bytes, links and kind of memory, as JSON."""
    result = Simulator(device="cpu", **ON_CPU[deployment].options).run(wide_as(layers(WIRES), WIRES), shots=3)
    told = json.loads(json.dumps(result.metadata()))
    how = told["deployment"]
    assert told["placement"] == ON_CPU[deployment].kind
    assert how["kind"] == told["placement"]
    assert how["device_wires"] + how["peer_wires"] + how["migration_wires"] == WIRES
    assert how["reason"]
    assert told["peak_bytes"] == how["bytes_per_device"]
    if how["peer_wires"]:
        assert set(told["links"].values()) == {"same device"}
        assert sum(told["bytes_sent"].values()) > 0
    if how["migration_wires"]:
        assert told["host_memory_kind"] in ("plain", "pageable")
        assert sum(told["bytes_to_host"]) > 0
        assert max(told["bytes_held"]) <= how["bytes_per_device"]
        assert told["bytes_held_on_host"] <= how["bytes_on_host"]


@pytest.mark.parametrize("deployment", ON_CPU)
def test_planned_and_moved_bytes_agree(deployment: str) -> None:
    """The bytes sent between devices are those that the plan counts."""
    circuit = layers(WIRES)
    simulator = Simulator(device="cpu", **ON_CPU[deployment].options)
    with simulator.state(circuit) as state, state.placed() as placed:
        if ON_CPU[deployment].kind == "peers":
            assert sum(placed.sent.values()) == simulator.summary(circuit).bytes_peers  # type: ignore[attr-defined]
    assert "wires on index bits" in simulator.explain(circuit)


@pytest.mark.parametrize("deployment", [name for name in ON_CPU if name != "single"])
def test_memory_that_fails_halfway_is_given_back(
    deployment: str, machine: TinyMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After an allocation that failed halfway the same run works once there is memory."""
    simulator = Simulator(device="cpu", **ON_CPU[deployment].options)
    allocate, made = machine.allocate, [0]

    def second(num_amplitudes: int, dtype: Any) -> Any:
        made[0] += 1
        if made[0] == 2:
            raise OutOfMemory("no more on the device.")
        return allocate(num_amplitudes, dtype)

    monkeypatch.setattr(machine, "allocate", second)
    with pytest.raises(OutOfMemory, match="no more on the device"):
        simulator.run(wide_as(layers(WIRES), WIRES), shots=1)
    monkeypatch.undo()
    monkeypatch.setattr(discover, "cpu", lambda _threads=None: machine)
    assert simulator.run(wide_as(layers(WIRES), WIRES), shots=1).shots == 1


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        (
            {"device_wires": 5, "max_memory": 100},
            OutOfMemory,
            "whole, on the CPU. needs .* max_memory allows 100 bytes",
        ),
        ({"device_wires": 5, "max_host_memory": 100}, OutOfMemory, "max_host_memory allows 100 bytes"),
        ({"virtual_peers": 2, "device_wires": 9}, OptionError, "make 10 wires"),
        ({"devices": (0, 1)}, DeviceError, "no GPU found"),
    ],
)
def test_after_what_cannot_be_another_run(changes: dict[str, Any], error: type[Exception], message: str) -> None:
    """Impossible options are refused with the reason, and the next run in the process works."""
    device = "auto" if "devices" in changes else "cpu"
    if "devices" in changes and not gpu_missing():
        pytest.skip("a GPU is here")
    with pytest.raises(error, match=message):
        Simulator(device=device, **changes).run(wide_as(layers(WIRES), WIRES), shots=1)
    assert Simulator(device="cpu").run(wide_as(layers(WIRES), WIRES), shots=1).shots == 1


def test_an_operation_wider_than_a_sub_state_vector_is_refused() -> None:
    """An operation that no sub state vector can hold is refused, and the state can be worked on."""
    matrix = np.linalg.qr(np.random.default_rng(1).normal(size=(8, 8)))[0]
    with StateVector(WIRES, device="cpu", device_wires=2) as state:
        with pytest.raises(NotSupported, match="3"):
            state.unitary(matrix, [0, 4, 7])
        assert state.gate("h", [7]).norm() == pytest.approx(1)


def test_a_plan_for_machines_that_are_not_here() -> None:
    """A QFT of 38 wires on 4 GPUs and host memory is explained on a machine without a GPU."""
    builder = CircuitBuilder(38)
    for k in reversed(range(38)):
        builder.gate("h", [k])
        for j in range(k):
            builder.gate("cp", [j, k], np.pi / 2 ** (k - j))
    simulator = Simulator(
        device="gpu", devices=[0, 1, 2, 3], max_memory=139 << 30, max_host_memory=3 << 40, precision="single"
    )
    text = simulator.explain(builder.build())
    assert "peers over host: 64 sub state vectors of 32 wires" in text
    assert "4 migration bits" in text
    assert "predicted" in text


# --- real GPUs -------------------------------------------------------------------------------------------------


@pytest.mark.gpu
@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("deployment", ON_GPUS)
def test_on_gpus(deployment: str, precision: Any, tmp_path: Any) -> None:
    """On real GPUs a deployment gives the right amplitudes and shots, also after work by hand and from a file."""
    if reason := gpu_missing():
        pytest.skip(reason)
    options = ON_GPUS[deployment].options
    if ON_GPUS[deployment].gpus > discover.gpu_count():
        pytest.skip(f"{discover.gpu_count()} GPUs")
    wires, tolerance = 14, 1e-5 if precision == "single" else 1e-12
    circuit = layers(wires)
    wanted = reference.simulate(circuit)
    simulator = Simulator(device="gpu", precision=precision, **options)
    result = simulator.run(wide_as(circuit, wires), shots=100, seed=5)
    assert np.linalg.norm(result.saved["end"] - wanted) < tolerance
    if precision == "double":
        alone = Simulator(device="gpu", precision=precision).run(wide_as(circuit, wires), shots=100, seed=5)
        assert np.array_equal(result.packed, alone.packed)
    with simulator.state(circuit) as state:
        for index in state.sub_state_vectors:
            state.stage(index)
            array = state.sub_state_vector(index)
            with array.device, state.stream_of(index):
                array *= 1j
        assert np.linalg.norm(state.to_numpy() - 1j * wanted) < tolerance
        state.expose()
        if state.migration_wires:
            for index in state.unstaged:
                for number in range(state.slices_per_sub_state_vector):
                    part = state.slice(index, number)
                    part *= -1j
            assert np.linalg.norm(state.to_numpy() - wanted) < tolerance
            state.save(tmp_path / "a")
            with StateVector.load(tmp_path / "a", device="gpu", precision=precision) as back:
                assert np.linalg.norm(back.to_numpy() - wanted) < tolerance
            with StateVector.load(tmp_path / "a", device="gpu", precision=precision, **options) as back:
                assert back.inner(state) == pytest.approx(1, abs=1e-4)


def test_operations_of_the_corpus_are_of_one_kind() -> None:
    """`narrow` refuses a circuit with an operation that no sub state vector can hold, and accepts the corpus."""
    wide = CircuitBuilder(6).permutation(list(range(32)), range(5)).build()
    assert not narrow(wide)
    assert narrow(layers(6))
    assert all(isinstance(instruction, Op) for instruction in layers(6).instructions)
