"""Noise of Aer's and of Qiskit's: the translated circuit has the density matrix that they compute themselves."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from qiskit import transpile
from qiskit.circuit import Instruction, QuantumCircuit
from qiskit.circuit.library import CSwapGate, CXGate, RYGate, UnitaryGate, XGate
from qiskit.providers.fake_provider import GenericBackendV2
from qiskit.quantum_info import Choi, DensityMatrix, Kraus, SuperOp, random_quantum_channel
from qiskit.quantum_info import Operator as QiskitOperator

from qsim_ex import errors, reference
from qsim_ex.circuit.noise import channels as noise
from qsim_ex.circuit.noise.model import NoiseModel
from qsim_ex.circuit.ops import Channel, Measure, Op
from qsim_ex_provider import QsimExBackend, save_density_matrix, save_statevector
from qsim_ex_provider.options import noise_of
from qsim_ex_provider.translation.circuits import NoisyCircuit, translate, translate_noisy
from qsim_ex_provider.translation.noise import AerNoise


@pytest.fixture
def aer() -> Any:
    """Aer's package of noise; tests that need it are skipped where Aer is not installed."""
    return pytest.importorskip("qiskit_aer.noise")


def noisy(circuit: QuantumCircuit, model: Any) -> NoisyCircuit:
    """The circuit as a noisy machine would run it."""
    return translate_noisy(circuit, noise_of(model))


def by_aer(circuit: QuantumCircuit, model: Any) -> NDArray[np.complex128]:
    """The density matrix that Aer computes; the circuit measures nothing."""
    from qiskit_aer import AerSimulator

    saved = circuit.copy()
    saved.save_density_matrix()
    simulator = AerSimulator(method="density_matrix", noise_model=model, fusion_enable=False)
    return np.asarray(simulator.run(saved).result().data(0)["density_matrix"].data)


def assert_as_aer(circuit: QuantumCircuit, model: Any) -> None:
    """Compare all entries."""
    np.testing.assert_allclose(
        reference.density_matrix(noisy(circuit, model).circuit), by_aer(circuit, model), atol=1e-10
    )


def channels(circuit: Any) -> list[Channel]:
    """The channels of a translated circuit."""
    return [i for i in circuit.instructions if isinstance(i, Channel)]


def busy(num_qubits: int = 3) -> QuantumCircuit:
    """A circuit with gates of one and two qubits in both directions."""
    circuit = QuantumCircuit(num_qubits)
    for k in range(num_qubits):
        circuit.ry(0.3 + k, k)
        circuit.sx(k)
    circuit.cx(0, 1)
    circuit.rz(0.7, 1)
    circuit.cx(num_qubits - 1, 0)
    circuit.sx(0)
    return circuit


ONE: dict[str, Any] = {
    "depolarizing": lambda aer: aer.depolarizing_error(0.2, 1),
    "pauli": lambda aer: aer.pauli_error([("X", 0.1), ("Y", 0.2), ("I", 0.7)]),
    "amplitude damping": lambda aer: aer.amplitude_damping_error(0.3, 0.1),
    "phase damping": lambda aer: aer.phase_damping_error(0.3),
    "both dampings": lambda aer: aer.phase_amplitude_damping_error(0.2, 0.1, 0.3),
    "relaxation, t2 < t1": lambda aer: aer.thermal_relaxation_error(50, 30, 10, 0.1),
    "relaxation, t2 > t1": lambda aer: aer.thermal_relaxation_error(50, 80, 10, 0.1),
    "reset": lambda aer: aer.reset_error(0.1, 0.2),
    "coherent": lambda aer: aer.coherent_unitary_error(RYGate(0.2).to_matrix()),
    "mixed unitary": lambda aer: aer.mixed_unitary_error([(RYGate(0.2).to_matrix(), 0.4), (np.eye(2), 0.6)]),
    "Kraus": lambda aer: aer.kraus_error(Kraus(random_quantum_channel(2, 2, rank=3, seed=5)).data),
    "a circuit": lambda aer: aer.QuantumError([(some_gates(), 0.3), (QuantumCircuit(1), 0.7)]),
}


def some_gates() -> QuantumCircuit:
    """A circuit of several instructions, one of them a reset."""
    circuit = QuantumCircuit(1)
    circuit.h(0)
    circuit.reset(0)
    circuit.ry(0.3, 0)
    return circuit


TWO: dict[str, Any] = {
    "depolarizing": lambda aer: aer.depolarizing_error(0.2, 2),
    "a product": lambda aer: ONE["relaxation, t2 < t1"](aer).tensor(ONE["amplitude damping"](aer)),
    "composed": lambda aer: TWO["a product"](aer).compose(TWO["depolarizing"](aer)),
    "pauli": lambda aer: aer.pauli_error([("XI", 0.1), ("ZY", 0.2), ("II", 0.7)]),
    "Kraus": lambda aer: aer.kraus_error(Kraus(random_quantum_channel(4, 4, rank=3, seed=6)).data),
    "Pauli product": lambda aer: aer.PauliError(["XZ", "II"], [0.2, 0.8]),
    "Pauli rates": lambda aer: aer.PauliLindbladError(["XZ", "IY"], [0.2, 0.1]),
}


@pytest.mark.parametrize("name", ONE)
def test_errors_of_one_qubit(aer: Any, name: str) -> None:
    """Each of Aer's errors of one qubit is the same channel, after its gates."""
    model = aer.NoiseModel()
    model.add_all_qubit_quantum_error(ONE[name](aer), ["sx", "rz"])
    assert_as_aer(busy(), model)


@pytest.mark.parametrize("name", TWO)
def test_errors_of_two_qubits(aer: Any, name: str) -> None:
    """An error of two qubits has its qubits in the order of its gate's."""
    model = aer.NoiseModel()
    model.add_all_qubit_quantum_error(TWO[name](aer), ["cx"])
    assert_as_aer(busy(), model)


def test_the_noise_of_a_layer_in_a_circuit(aer: Any) -> None:
    """Aer's error with rates of Pauli products on five qubits is the same channel here, as channels of two qubits."""
    generators = ["IIIXZ", "IIYZI", "XIIII", "IIIXI", "IIIII"]
    error = aer.PauliLindbladError(generators, [0.2, 0.1, 0.3, 0.05, 0.4])
    circuit = QuantumCircuit(5)
    circuit.ry(0.4, range(5))
    circuit.cx([0, 1, 2, 3], [1, 2, 3, 4])
    circuit.append(error.to_instruction(), [4, 0, 3, 1, 2])
    circuit.rx(0.7, range(5))
    translated = noisy(circuit, None).circuit
    channels = [one for one in translated.instructions if isinstance(one, Channel)]
    assert sorted(len(channel.wires) for channel in channels) == [1, 2, 2]
    saved = save_density_matrix(circuit.copy())
    found = QsimExBackend(method="density_matrix").run(saved).result().data(0)["density_matrix"]
    np.testing.assert_allclose(np.asarray(found), by_aer(circuit, None), atol=1e-10)


@pytest.mark.parametrize(
    ("name", "table", "count", "mixed"),
    [
        ("depolarizing", ONE, 4, True),
        ("depolarizing", TWO, 16, True),
        ("phase damping", ONE, 2, True),
        ("amplitude damping", ONE, 4, False),
        ("relaxation, t2 > t1", ONE, 4, False),
        ("composed", TWO, 96, False),  # of 384 that Aer's circuits have
        ("Kraus", TWO, 3, False),
    ],
)
def test_channels_are_small(aer: Any, name: str, table: Any, count: int, mixed: bool) -> None:
    """A mixture of unitary operations is one here, and a channel has no more Kraus matrices than it needs."""
    model = aer.NoiseModel()
    gate = "sx" if table is ONE else "cx"
    model.add_all_qubit_quantum_error(table[name](aer), [gate])
    found = channels(noisy(busy(), model).circuit)
    assert found
    assert all(channel.mixed == mixed and channel.count <= count for channel in found)


def test_one_percent_is_seen(aer: Any) -> None:
    """An error whose time is off by one part in a hundred differs visibly."""
    right, wrong = aer.NoiseModel(), aer.NoiseModel()
    right.add_all_qubit_quantum_error(aer.thermal_relaxation_error(50, 70, 10), ["sx"])
    wrong.add_all_qubit_quantum_error(aer.thermal_relaxation_error(50, 70, 10.1), ["sx"])
    difference = reference.density_matrix(noisy(busy(), wrong).circuit) - by_aer(busy(), right)
    assert np.abs(difference).max() > 1e-4


def test_gates_that_come_again(aer: Any) -> None:
    """Gates with and without parameters, identities and labels come again between each other, each with its noise."""
    model = aer.NoiseModel()
    model.add_all_qubit_quantum_error(aer.depolarizing_error(0.05, 1), ["rx", "sx", "id"])
    model.add_all_qubit_quantum_error(aer.amplitude_damping_error(0.1), ["h", "slow"])
    model.add_all_qubit_quantum_error(aer.depolarizing_error(0.1, 2), ["cx", "rzz", "cp"])
    rng, circuit = np.random.default_rng(3), QuantumCircuit(3)
    for _ in range(60):
        a, b = (int(wire) for wire in rng.permutation(3)[:2])
        angle = float(rng.uniform(0, 6))
        match rng.integers(8):
            case 0 | 1:
                getattr(circuit, ("rx", "rz", "ry")[int(rng.integers(3))])(angle, a)
            case 2:
                getattr(circuit, ("rzz", "cp")[int(rng.integers(2))])(angle, a, b)
            case 3:
                circuit.append(XGate(label="slow"), [a])
            case 4:
                circuit.id(a)
            case _:
                getattr(circuit, ("h", "sx", "x")[int(rng.integers(3))])(a)
                circuit.cx(a, b)
    assert_as_aer(circuit, model)


def test_a_noise_model_that_changes(aer: Any) -> None:
    """What was read of a noise model is not taken for a later state of the same object."""
    model, circuit = aer.NoiseModel(), QuantumCircuit(1)
    circuit.x(0)
    for strength in (0.1, 0.3):
        model.add_all_qubit_quantum_error(aer.amplitude_damping_error(strength), ["x"], warnings=False)
        assert_as_aer(circuit, model)
    model.add_quantum_error(aer.amplitude_damping_error(0.6), ["x"], [0], warnings=False)
    assert_as_aer(circuit, model)


def test_given_qubits(aer: Any) -> None:
    """An error for given qubits replaces the one for all, on these qubits in this order."""
    model = aer.NoiseModel()
    model.add_all_qubit_quantum_error(TWO["pauli"](aer), ["cx"], warnings=False)
    model.add_quantum_error(TWO["a product"](aer), ["cx"], [2, 0], warnings=False)
    model.add_quantum_error(ONE["reset"](aer), ["sx"], [1], warnings=False)
    assert_as_aer(busy(), model)
    names = [(channel.name, channel.wires) for channel in channels(noisy(busy(), model).circuit)]
    assert names == [("sx error", (1,)), ("cx error", (0, 1)), ("cx error", (2, 0))]


def test_labels(aer: Any) -> None:
    """The error of a labelled instruction is that of its label."""
    model = aer.NoiseModel()
    model.add_all_qubit_quantum_error(ONE["pauli"](aer), ["mine", "x"])
    model.add_all_qubit_quantum_error(TWO["pauli"](aer), ["whole"])
    circuit = QuantumCircuit(2)
    circuit.append(XGate(label="other"), [0])
    circuit.append(RYGate(0.4, label="mine"), [1])
    circuit.append(UnitaryGate(QiskitOperator(CXGate()).data, label="whole"), [1, 0])
    assert_as_aer(circuit, model)
    assert len(channels(noisy(circuit, model).circuit)) == 2


def test_open_controls(aer: Any) -> None:
    """A gate with open controls is noisy as the gate between X, as in Aer."""
    model = aer.NoiseModel()
    model.add_all_qubit_quantum_error(ONE["pauli"](aer), ["x"])
    model.add_all_qubit_quantum_error(TWO["pauli"](aer), ["cx"])
    circuit = QuantumCircuit(2)
    circuit.append(CXGate(ctrl_state=0), [1, 0])
    assert_as_aer(circuit, model)
    swap = QuantumCircuit(3)
    swap.append(CSwapGate(ctrl_state=0), [0, 1, 2])
    assert [channel.wires for channel in channels(noisy(swap, model).circuit)] == [(0,), (0,)]


def test_what_is_idle(aer: Any) -> None:
    """An identity, a delay and a reset have their noise, and a barrier has none."""
    model = aer.NoiseModel()
    model.add_all_qubit_quantum_error(ONE["amplitude damping"](aer), ["id", "delay", "reset", "barrier"])
    circuit = QuantumCircuit(1)
    circuit.x(0)
    circuit.id(0)
    circuit.barrier()
    circuit.delay(100, 0)
    assert_as_aer(circuit, model)
    circuit.reset(0)
    assert_as_aer(circuit, model)
    assert len(channels(noisy(circuit, model).circuit)) == 3


def test_definitions_are_looked_into(aer: Any) -> None:
    """The gates in a user's gate have their noise, unless the noise names the whole."""
    inner = QuantumCircuit(2, name="mine")
    inner.sx(0)
    inner.cx(0, 1)
    circuit = QuantumCircuit(2)
    circuit.append(inner.to_gate(), [1, 0])
    model = aer.NoiseModel()
    model.add_all_qubit_quantum_error(ONE["reset"](aer), ["sx"])
    model.add_all_qubit_quantum_error(TWO["pauli"](aer), ["cx"])
    found = reference.density_matrix(noisy(circuit, model).circuit)
    np.testing.assert_allclose(found, by_aer(circuit.decompose(), model), atol=1e-10)
    model.add_all_qubit_quantum_error(TWO["depolarizing"](aer), ["mine"])
    assert [channel.name for channel in channels(noisy(circuit, model).circuit)] == ["mine error"]
    controlled = QuantumCircuit(3)
    controlled.append(inner.to_gate().control(), [0, 1, 2])
    assert channels(noisy(controlled, model).circuit) == []


def test_a_backends_noise(aer: Any) -> None:
    """The noise of a whole backend, with relaxation in its delays, is that of Aer."""
    backend = GenericBackendV2(3, seed=4, noise_info=True)
    model = aer.NoiseModel.from_backend(backend)
    circuit = busy()
    circuit.delay(1800, 2, unit="dt")
    circuit.swap(1, 2)
    circuit = transpile(circuit, backend, seed_transpiler=1)
    assert "delay" in circuit.count_ops()
    assert_as_aer(circuit, model)


def test_measurements(aer: Any) -> None:
    """A measurement's error precedes it, and its bit is misread as its own qubit is."""
    model = aer.NoiseModel()
    model.add_all_qubit_quantum_error(ONE["pauli"](aer), ["measure"])
    model.add_all_qubit_readout_error([[0.9, 0.1], [0.2, 0.8]], warnings=False)
    model.add_readout_error([[0.7, 0.3], [0.4, 0.6]], [2], warnings=False)
    circuit = QuantumCircuit(3, 4)
    circuit.measure([0, 2], [3, 1])
    built, misread, _ = noisy(circuit, model)
    assert [type(i) for i in built.instructions] == [Channel, Measure, Channel, Measure]
    assert {one.clbits: one.matrix.tolist() for one in misread} == {
        (1,): [[0.7, 0.3], [0.4, 0.6]],
        (3,): [[0.9, 0.1], [0.2, 0.8]],
    }


def test_noise_without_aer() -> None:
    """The engine's own noise model acts after its gates on their wires in a circuit of Qiskit's."""
    model = (
        NoiseModel()
        .with_error("sx", noise.reset_channel(0.1))
        .with_error("cx", noise.pauli_channel({"XZ": 0.2}), [2, 0])
    )
    found = noisy(busy(), model.with_misreading([[0.9, 0.1], [0, 1]]))
    by_hand = QuantumCircuit(3)
    for instruction in busy().data:
        on = [busy().find_bit(qubit).index for qubit in instruction.qubits]
        by_hand.append(instruction.operation, on)
        if instruction.name == "sx":
            by_hand.append(Kraus([*noise.reset_channel(0.1)]), on)
        if on == [2, 0]:
            by_hand.append(Kraus([*noise.pauli_channel({"XZ": 0.2})]), on)
    np.testing.assert_allclose(reference.density_matrix(found.circuit), DensityMatrix(by_hand).data, atol=1e-12)


# --- channels that stand in a circuit -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Kraus, SuperOp, Choi])
@pytest.mark.parametrize("num_qubits", [1, 2])
def test_channels_in_a_circuit(kind: Any, num_qubits: int) -> None:
    """A channel of Qiskit's is the same channel here, on its qubits in their order."""
    size = 1 << num_qubits
    channel = kind(random_quantum_channel(size, size, rank=3, seed=7))
    circuit = busy()
    circuit.append(channel, [2, 0][:num_qubits])
    circuit.cx(0, 1)
    found = translate(circuit)
    np.testing.assert_allclose(reference.density_matrix(found), DensityMatrix(circuit).data, atol=1e-10)
    assert channels(found)[0].count == 3


def test_super_operators() -> None:
    """A super-operator that stands in the circuit as such is Qiskit's channel."""
    matrix = SuperOp(random_quantum_channel(2, 2, seed=9))
    circuit, expected = busy(), busy()
    circuit.append(Instruction("superop", 1, 0, [matrix.data]), [1])
    expected.append(matrix, [1])
    np.testing.assert_allclose(reference.density_matrix(translate(circuit)), DensityMatrix(expected).data, atol=1e-10)


def test_aers_errors_in_a_circuit(aer: Any) -> None:
    """An error that Aer's users append themselves is the same channel here, and a mixture stays one."""
    circuit = busy()
    circuit.append(TWO["depolarizing"](aer), [2, 1])
    circuit.append(ONE["relaxation, t2 < t1"](aer), [0])
    assert_as_aer(circuit, None)
    assert [channel.mixed for channel in channels(translate(circuit))] == [True, False]


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_transpile_keeps_channels(aer: Any, level: int) -> None:
    """The transpiler keeps channels, and the circuit keeps its density matrix."""
    circuit = busy()
    circuit.append(Kraus(random_quantum_channel(4, 4, rank=2, seed=1)), [2, 0])
    circuit.append(Instruction("superop", 1, 0, [SuperOp(random_quantum_channel(2, 2, seed=9)).data]), [1])
    circuit.append(ONE["pauli"](aer), [0])
    circuit.cx(2, 0)
    made = transpile(circuit, QsimExBackend(device="cpu"), optimization_level=level, seed_transpiler=1)
    found, wanted = (reference.density_matrix(translate(one)) for one in (made, circuit))
    np.testing.assert_allclose(found, wanted, atol=1e-10)
    assert {"kraus", "superop", "quantum_channel"} <= set(made.count_ops())


def test_a_unitary_channel_is_a_gate() -> None:
    """A channel that leaves nothing to chance becomes a gate."""
    circuit = QuantumCircuit(1)
    circuit.append(Instruction("kraus", 1, 0, [np.array([[0, 1], [1, 0]])]), [0])
    assert [type(i) for i in translate(circuit).instructions] == [Op]


# --- what is refused ------------------------------------------------------------------------------------------------


def test_what_noise_is_refused(aer: Any) -> None:
    """Noise that is not supported is refused, and the error names it."""
    circuit = QuantumCircuit(3, 3)
    circuit.measure([0, 1], [0, 1])
    model = aer.NoiseModel()
    model.add_readout_error(np.eye(4)[::-1], [0, 1])
    with pytest.raises(errors.NotSupported, match=r"readout error of qubits \(0, 1\) together"):
        noisy(circuit, model)
    model = aer.NoiseModel()
    model.add_all_qubit_quantum_error(aer.depolarizing_error(0.1, 1), ["wide"])
    circuit.append(UnitaryGate(np.eye(4), label="wide"), [0, 2])
    with pytest.raises(errors.NoiseError, match=r"an error of 2 qubits for .wide. on .*instruction 2 of circuit"):
        noisy(circuit, model)
    model = aer.NoiseModel()
    model.add_all_qubit_quantum_error(aer.pauli_error([("XXXXX", 0.1), ("IIIII", 0.9)]), ["wide"])
    five = QuantumCircuit(5)
    five.append(UnitaryGate(np.eye(32), label="wide"), range(5))
    with pytest.raises(errors.NoiseError, match="at most 4 qubits, got one on 5"):
        noisy(five, model)


def test_channels_that_are_refused(aer: Any) -> None:
    """A readout error in a circuit, and a super-operator that is no channel, are refused."""
    circuit = QuantumCircuit(1, 1)
    circuit.append(aer.ReadoutError(np.eye(2)).to_instruction(), [], [0])
    with pytest.raises(errors.NotSupported, match="'roerror' in a circuit"):
        translate(circuit)
    transposed = QuantumCircuit(1)
    transposed.append(Instruction("superop", 1, 0, [np.eye(4)[[0, 2, 1, 3]]]), [0])
    with pytest.raises(errors.NoiseError, match="not completely positive"):
        translate(transposed)


def test_ideal_models_are_no_noise(aer: Any) -> None:
    """A model without errors is no noise, and an object of another kind is refused."""
    assert noise_of(None) is None
    assert noise_of(aer.NoiseModel()) is None
    model = aer.NoiseModel()
    model.add_all_qubit_quantum_error(ONE["reset"](aer), ["x"])
    assert isinstance(noise_of(model), AerNoise)
    with pytest.raises(errors.OptionError, match=r"expected noise_model as a NoiseModel .* got 'loud'"):
        noise_of("loud")


def test_the_backend_takes_noise_models(aer: Any) -> None:
    """The backend keeps a noise model as its option, and refuses other objects."""
    model = aer.NoiseModel()
    model.add_all_qubit_quantum_error(ONE["reset"](aer), ["x"])
    backend = QsimExBackend(noise_model=model)
    assert backend.options.noise_model is model
    with pytest.raises(errors.OptionError, match=r"expected noise_model as .* got 3"):
        backend.set_options(noise_model=3)


def test_counts_are_those_of_the_density_matrix(aer: Any) -> None:
    """A noisy run draws from the diagonal of Aer's density matrix."""
    model, shots = aer.NoiseModel(), 20_000
    model.add_all_qubit_quantum_error(TWO["a product"](aer), ["cx"])
    model.add_all_qubit_quantum_error(ONE["amplitude damping"](aer), ["sx"])
    measured = busy()
    measured.measure_all()
    run = QsimExBackend(device="cpu", noise_model=model).run(measured, shots=shots, seed_simulator=5)
    counts = run.result().results[0].data.counts
    wanted = by_aer(busy(), model).diagonal().real
    found = np.array([counts.get(hex(value), 0) for value in range(8)]) / shots
    assert (np.abs(found - wanted) <= 5 * np.sqrt(wanted * (1 - wanted) / shots)).all()
    assert np.abs(wanted - DensityMatrix(busy()).data.diagonal().real).max() > 0.05  # or the test would see nothing


def test_transpiled_circuits_are_noisy(aer: Any) -> None:
    """Transpiling for a noisy backend leaves gates that the noise names."""
    model = aer.NoiseModel(basis_gates=["rz", "sx", "cx", "x"])
    model.add_all_qubit_quantum_error(ONE["reset"](aer), ["sx"])
    model.add_all_qubit_quantum_error(TWO["pauli"](aer), ["cx"])
    backend = QsimExBackend()
    wide = QuantumCircuit(3)
    wide.ccx(0, 1, 2)
    assert "ccx" in transpile(wide, backend, optimization_level=0).count_ops()
    backend.set_options(noise_model=model)
    made = transpile(wide, backend, optimization_level=0)
    assert set(made.count_ops()) <= set(model.basis_gates)
    assert channels(noisy(made, model).circuit)
    saved = QuantumCircuit(1)
    save_statevector(saved)
    assert transpile(saved, backend).count_ops() == {"save_statevector": 1}


def test_aer_is_not_imported() -> None:
    """Noise without Aer's models imports no Aer."""
    code = (
        "import sys; from qsim_ex import NoiseModel; from qsim_ex_provider.options import noise_of; "
        "noise_of(NoiseModel()); print('qiskit_aer' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_measurements_that_follow_one_another() -> None:
    """Measurements that are misread at most are one instruction; one with a channel before it stands apart."""
    flip = [[0.9, 0.1], [0.2, 0.8]]
    model = NoiseModel().with_error("measure", noise.bit_flip(0.1), [1]).with_misreading(flip, 2)
    circuit = QuantumCircuit(4, 4)
    circuit.measure([0, 1, 2, 3], [3, 2, 1, 0])
    made = noisy(circuit, model)
    kinds = [(type(one), one.wires) for one in made.circuit.instructions if isinstance(one, Measure | Channel)]
    assert kinds == [(Measure, (0,)), (Channel, (1,)), (Measure, (1,)), (Measure, (2, 3))]
    assert [error.clbits for error in made.readout_errors] == [(1,)]


def test_an_error_of_other_wires_names_its_gate() -> None:
    """Where a channel has other wires than its gate, the error names the gate and its place."""
    model = NoiseModel().with_error("cx", noise.depolarizing(0.1, 2)).with_error("ccx", noise.depolarizing(0.1, 2))
    circuit = QuantumCircuit(3)
    circuit.cx(0, 1)
    circuit.ccx(0, 1, 2)
    circuit.cx(1, 2)
    with pytest.raises(errors.NoiseError, match=r"error of 'ccx'.*instruction 1 of circuit"):
        noisy(circuit, model)
