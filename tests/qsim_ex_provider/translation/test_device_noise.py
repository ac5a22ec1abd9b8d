"""The noise of a device is the one that Aer makes of the same target, in gates, measurements and delays."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest
from qiskit import QuantumCircuit, transpile
from qiskit.circuit import Parameter
from qiskit.circuit.library import RZXGate
from qiskit.providers.fake_provider import GenericBackendV2
from qiskit.quantum_info import Kraus, SuperOp, average_gate_fidelity
from qiskit.transpiler import InstructionProperties, Target

from qsim_ex import NoiseModel, bit_flip
from qsim_ex.errors import NoiseError, OptionError
from qsim_ex_provider import DeviceNoise, QsimExBackend, save_statevector
from qsim_ex_provider.translation.noise import AerNoise

LINE = [[0, 1], [1, 0], [1, 2], [2, 1], [2, 3], [3, 2]]


def device(num_qubits: int = 4, **given: Any) -> GenericBackendV2:
    """A fake device; T1, T2, durations and errors follow from a seed."""
    return GenericBackendV2(num_qubits, coupling_map=LINE if num_qubits == 4 else None, **{"seed": 3, **given})


def ghz(num_qubits: int = 3) -> QuantumCircuit:
    """Entangled qubits, measured; the coupling of a line asks for swaps."""
    circuit = QuantumCircuit(num_qubits)
    circuit.h(0)
    for k in range(1, num_qubits):
        circuit.cx(0, k)
    circuit.measure_all()
    return circuit


def super_operator(kraus: Any) -> np.ndarray:
    """The channel as one matrix, which does not depend on the choice of Kraus matrices."""
    return np.asarray(SuperOp(Kraus([*kraus])).data)


# --- channels ---------------------------------------------------------------------------------------------------------

MODELS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "all": ({}, {}),
    "no relaxation": ({"relaxation": False}, {"thermal_relaxation": False}),
    "relaxation alone": ({"gate_error": False}, {"gate_error": False}),
    "no readout errors": ({"readout_error": False}, {"readout_error": False}),
    "warm": ({"temperature": 80.0}, {"temperature": 80.0}),
    "inverted": ({"temperature": -80.0}, {"temperature": -80.0}),
}


@pytest.mark.parametrize(("own", "of_aer"), MODELS.values(), ids=MODELS)
def test_channels_are_those_of_aer(own: dict[str, Any], of_aer: dict[str, Any]) -> None:
    """Every gate on every qubit has the channel, and every qubit the readout error, that Aer gives it."""
    aer = pytest.importorskip("qiskit_aer.noise")
    found, expected = (
        DeviceNoise.from_backend(device(), **own),
        AerNoise(aer.NoiseModel.from_backend(device(), **of_aer)),
    )
    gates = {(name, qubits) for name, errors in expected.model._local_quantum_errors.items() for qubits in errors}
    assert set(found.errors) == gates
    for name, qubits in gates:
        difference = super_operator(found.after(name, qubits)) - super_operator(expected.after(name, qubits))
        assert np.abs(difference).max() < 1e-12
    for qubit in range(4):
        one, other = found.misreading(qubit), expected.misreading(qubit)
        assert (one is None) == (other is None) == ("readout_error" in own)
        if one is not None:
            np.testing.assert_allclose(one, other, atol=1e-15)


def test_infidelity_of_a_gate_is_the_error_that_the_device_reports() -> None:
    """Depolarizing and relaxation together have the average gate infidelity of the target, where relaxation is less."""
    given = device()
    noise, checked = DeviceNoise.from_backend(given), 0
    for name in ("sx", "cx"):
        for qubits, properties in given.target[name].items():
            relaxing = average_gate_fidelity(
                Kraus([*DeviceNoise.from_backend(given, gate_error=False).after(name, qubits)])
            )
            if properties.error > 1 - relaxing:
                assert 1 - average_gate_fidelity(Kraus([*noise.after(name, qubits)])) == pytest.approx(properties.error)
                checked += 1
    assert checked


def test_a_target_that_says_little() -> None:
    """Without times of qubits gates have depolarizing errors alone; errors beyond the possible are cut."""
    target = Target(num_qubits=2)
    target.add_instruction(RZXGate(Parameter("a")), {(0, 1): InstructionProperties(error=0.99), (1, 0): None})

    class Bare:
        """A backend, as far as it is asked."""

        def __init__(self, target: Target) -> None:
            self.target = target

    noise = DeviceNoise.from_backend(Bare(target))
    (kraus,) = noise.errors.values()
    assert 1 - average_gate_fidelity(Kraus([*kraus])) == pytest.approx(0.8)  # 4 / 5: no two-qubit channel has more
    assert noise.after("rzx", (1, 0)) is None
    assert not noise.is_ideal()
    assert DeviceNoise.from_backend(Bare(Target(num_qubits=2))).is_ideal()


def test_what_has_no_target_is_refused() -> None:
    """Only backends of Qiskit's have a target to read the noise from."""
    for make in (DeviceNoise.from_backend, QsimExBackend.from_backend):
        with pytest.raises(OptionError, match="BackendV2"):
            make("fake_sherbrooke")


def test_the_noise_of_a_device_may_be_changed() -> None:
    """As any noise model it gives a new one with another error, which keeps relaxation in delays."""
    noise = DeviceNoise.from_backend(device())
    changed = noise.with_error("x", bit_flip(0.5), [0]).with_misreading([[1, 0], [0.5, 0.5]], 1)
    np.testing.assert_allclose(super_operator(changed.after("x", (0,))), super_operator(bit_flip(0.5)))
    assert changed.after("x", (1,)) is not None
    assert changed.misreading(1)[1, 1] == 0.5
    assert changed.relaxations == noise.relaxations


# --- delays -----------------------------------------------------------------------------------------------------------


def waiting(duration: Any, unit: str, qubit: int = 1) -> QuantumCircuit:
    """A qubit that is 1, waits, and is measured."""
    circuit = QuantumCircuit(4, 1)
    circuit.x(qubit)
    circuit.delay(duration, qubit, unit=unit)
    circuit.measure(qubit, 0)
    return circuit


def relaxing(**options: Any) -> QsimExBackend:
    """The device with relaxation alone."""
    noise = DeviceNoise.from_backend(device(), gate_error=False, readout_error=False)
    return QsimExBackend.from_backend(device(), device="cpu", noise_model=noise, seed_simulator=5, **options)


UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "ps": 1e-12, "dt": device().dt}


@pytest.mark.parametrize("unit", UNITS)
def test_a_qubit_relaxes_in_a_delay_of_any_unit(unit: str) -> None:
    """After a delay of T1 a qubit is still 1 with probability 1/e (six standard deviations)."""
    t1 = device().target.qubit_properties[1].t1
    duration = t1 / UNITS[unit]
    circuit = waiting(round(duration) if unit == "dt" else duration, unit)
    counts = relaxing().run(circuit, shots=20_000).result().get_counts()
    assert counts["1"] / 20_000 == pytest.approx(math.exp(-1), abs=6 * 0.5 / math.sqrt(20_000) + 1e-3)


def test_a_delay_in_a_block_is_noisy() -> None:
    """A delay in a block of control flow is followed by the relaxation of the qubit that the block acts on."""
    circuit = QuantumCircuit(4, 1)
    with circuit.if_test((0, 1)):
        circuit.delay(2, 3, unit="us")
    alone = QuantumCircuit(4)
    alone.delay(2, 3, unit="us")
    noise = DeviceNoise.from_backend(device())
    (block,) = noise.around(circuit).data[0].operation.blocks
    assert [one.name for one in block.data] == ["delay", "kraus"]
    expected = SuperOp(noise.around(alone).data[1].operation)
    np.testing.assert_allclose(SuperOp(block.data[1].operation).data, expected.data)


def test_delays_of_scheduled_circuits_are_noisy() -> None:
    """`transpile` with a scheduling method pads with delays, and a qubit relaxes while it waits for another."""
    circuit = QuantumCircuit(2)
    circuit.x(0)
    circuit.delay(round(50 * device().target.qubit_properties[0].t1 / device().dt), 1)
    circuit.barrier()
    circuit.measure_all()
    backend = relaxing()
    given: dict[str, Any] = {"optimization_level": 0, "initial_layout": [0, 1]}
    counts = {}
    for method in (None, "asap"):
        made = transpile(circuit, backend, scheduling_method=method, **given)
        counts[method] = backend.run(made, shots=200).result().get_counts()
    assert counts[None].get("01", 0) > 190
    assert counts["asap"].get("00", 0) > 190


def test_delays_with_parameters() -> None:
    """A sweep over the duration of a delay is translated for each value, as in a T1 experiment."""
    duration = Parameter("duration")
    t1 = device().target.qubit_properties[1].t1
    values = [0.0, t1, 2 * t1]
    result = relaxing().run(waiting(duration, "s"), parameter_binds=[{duration: values}], shots=20_000).result()
    for counts, seconds in zip(result.get_counts(), values, strict=True):
        expected = math.exp(-seconds / t1)
        assert counts.get("1", 0) / 20_000 == pytest.approx(expected, abs=6 * 0.5 / math.sqrt(20_000) + 1e-3)


def test_a_delay_in_dt_needs_a_dt() -> None:
    """A device that does not say how long dt is cannot relax in delays that are counted in it."""
    noise = DeviceNoise.from_backend(device())
    timeless = DeviceNoise(noise.errors, noise.misreadings, noise.relaxations, None)
    with pytest.raises(NoiseError, match="unit='s'"):
        QsimExBackend(device="cpu", noise_model=timeless).run(waiting(100, "dt"))


def test_delays_are_those_of_aer() -> None:
    """A delay has the channel that Aer's pass puts after it."""
    aer = pytest.importorskip("qiskit_aer.noise")
    circuit = QuantumCircuit(4)
    circuit.delay(3, 2, unit="us")
    expected = AerNoise(aer.NoiseModel.from_backend(device())).around(circuit)
    found = DeviceNoise.from_backend(device()).around(circuit)
    of_aer, own = expected.data[-1].operation, found.data[-1].operation
    np.testing.assert_allclose(SuperOp(own).data, SuperOp(of_aer).data, atol=1e-12)


# --- backends that simulate another -----------------------------------------------------------------------------------


def test_from_backend_has_the_device_s_target() -> None:
    """Number of qubits, coupling, basis gates, durations and dt are those of the device."""
    given = device()
    backend = QsimExBackend.from_backend(given, device="cpu", shots=77)
    assert backend.num_qubits == backend.target.num_qubits == 4
    assert set(backend.coupling_map.get_edges()) == set(given.coupling_map.get_edges())
    assert backend.dt == given.dt
    assert set(given.operation_names) <= set(backend.operation_names)
    assert backend.instruction_durations.get("cx", [0, 1]) == given.instruction_durations.get("cx", [0, 1])
    assert backend.qubit_properties(0).t1 == given.qubit_properties(0).t1
    assert backend.options.shots == 77
    assert given.name in backend.name


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_from_backend_transpiles_for_the_device(level: int) -> None:
    """What `transpile` makes has the device's gates on coupled qubits, and saves stay where they are."""
    backend = QsimExBackend.from_backend(device(), device="cpu")
    circuit = QuantumCircuit(3)
    circuit.h(0)
    circuit.cx(0, 2)
    save_statevector(circuit)
    made = transpile(circuit, backend, optimization_level=level, seed_transpiler=1)
    edges = set(backend.coupling_map.get_edges())
    pairs = [tuple(made.find_bit(q).index for q in one.qubits) for one in made.data if one.name == "cx"]
    assert pairs
    assert set(pairs) <= edges
    assert made.count_ops()["save_statevector"] == 1
    assert "h" not in made.count_ops()


def test_from_backend_counts_are_those_of_aer() -> None:
    """Counts of a transpiled and scheduled circuit differ from Aer's by chance alone (six standard deviations)."""
    aer = pytest.importorskip("qiskit_aer")
    backend = QsimExBackend.from_backend(device(seed=1), device="cpu", seed_simulator=1)
    circuit = transpile(ghz(), backend, seed_transpiler=1, scheduling_method="alap")
    shots = 5_000
    own = backend.run(circuit, shots=shots).result().get_counts()
    others = (
        aer.AerSimulator.from_backend(device(seed=1)).run(circuit, shots=shots, seed_simulator=2).result().get_counts()
    )
    for bits in {*own, *others}:
        found, expected = own.get(bits, 0), others.get(bits, 0)
        assert abs(found - expected) <= 6 * math.sqrt(found + expected) + 1


def test_from_backend_with_another_noise_or_none() -> None:
    """A noise model among the options takes the place of the device's, also one that the other backend has."""
    circuit = QuantumCircuit(1)
    circuit.x(0)
    circuit.measure_all()
    noiseless = QsimExBackend.from_backend(device(), device="cpu", noise_model=None)
    assert noiseless.run(circuit, shots=300).result().get_counts() == {"1": 300}
    flips = NoiseModel().with_error("x", bit_flip(1.0))
    chosen = QsimExBackend.from_backend(device(), device="cpu", noise_model=flips)
    assert chosen.run(circuit, shots=30).result().get_counts() == {"0": 30}
    again = QsimExBackend.from_backend(chosen, device="cpu")
    assert again.run(circuit, shots=30).result().get_counts() == {"0": 30}
    assert QsimExBackend.from_backend(device(noise_info=False)).options.noise_model is None


def test_from_backend_can_be_copied() -> None:
    """A copy and a pickled backend have the device's target and noise."""
    backend = QsimExBackend.from_backend(device(), device="cpu", seed_simulator=4)
    circuit = transpile(ghz(), backend, seed_transpiler=1)
    expected = backend.run(circuit, shots=50).result().get_counts()
    for other in (copy.deepcopy(backend), pickle.loads(pickle.dumps(backend))):
        assert other.num_qubits == 4
        assert other.run(circuit, shots=50).result().get_counts() == expected
