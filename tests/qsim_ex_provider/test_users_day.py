"""What programs of others do on their users' day, and what they expect of a backend."""

from __future__ import annotations

import copy
import json
import pickle

import pytest
from qiskit import QuantumCircuit, transpile
from qiskit.circuit import Parameter
from qiskit.exceptions import QiskitError
from qiskit.transpiler import generate_preset_pass_manager

from qsim_ex import NoiseModel, depolarizing
from qsim_ex_provider import QsimExBackend
from qsim_ex_provider.target import WIDEST, WIDTH


def bell(num_qubits: int = 2) -> QuantumCircuit:
    """A Bell pair on the first and the last qubit, measured."""
    circuit = QuantumCircuit(num_qubits, 2, name="bell")
    circuit.h(0)
    circuit.cx(0, num_qubits - 1)
    circuit.measure([0, num_qubits - 1], [0, 1])
    return circuit


def layers(num_qubits: int) -> QuantumCircuit:
    """Gates on all qubits, a Toffoli gate, and a condition."""
    circuit = QuantumCircuit(num_qubits, 2)
    for k in range(num_qubits - 1):
        circuit.h(k)
        circuit.cx(k, k + 1)
        circuit.rz(0.3, k)
    circuit.ccx(0, num_qubits // 2, num_qubits - 1)
    circuit.measure(0, 0)
    with circuit.if_test((0, 1)):
        circuit.h(num_qubits - 1)
        circuit.x(num_qubits - 1)
    return circuit


# --- the width of the target ------------------------------------------------------------------------------------------


def test_num_qubits_is_a_number() -> None:
    """Target and backend have one finite width; all qubits are coupled, and nothing has a duration."""
    backend = QsimExBackend()
    assert backend.target.num_qubits == backend.num_qubits == WIDTH
    assert backend.coupling_map is None
    assert backend.dt is None
    assert backend.instruction_durations.duration_by_name == {}


@pytest.mark.parametrize("level", [0, 1, 2, 3])
@pytest.mark.parametrize("num_qubits", [40, 127, 1121])
def test_transpile_takes_wide_circuits(level: int, num_qubits: int) -> None:
    """`transpile` takes a circuit of any width at each level, and the target is as wide as the circuit then."""
    backend = QsimExBackend()
    made = transpile(layers(num_qubits), backend, optimization_level=level)
    assert made.num_qubits == num_qubits
    assert backend.target.num_qubits == backend.num_qubits == max(WIDTH, num_qubits)


def test_width_of_a_target_is_an_int_in_everything_but_one_comparison() -> None:
    """The width that a backend says counts, is written and is copied as a number; only too wide circuits widen it."""
    backend = QsimExBackend()
    width = backend.num_qubits
    assert not width > WIDTH + 1
    assert len(range(width)) == WIDTH
    assert json.dumps(width) == str(WIDTH)
    assert type(copy.deepcopy(width)) is type(pickle.loads(pickle.dumps(width))) is int
    assert width < WIDEST + 1
    assert not width >= WIDEST + 1
    assert width >= WIDTH
    assert backend.num_qubits == WIDTH
    circuit_width = WIDTH + 5
    assert not circuit_width > width
    assert backend.num_qubits == backend.target.num_qubits == WIDTH + 5


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_preset_pass_managers_have_the_backend_s_width(level: int) -> None:
    """A pass manager made for the backend takes circuits as wide as the devices in common use."""
    manager = generate_preset_pass_manager(optimization_level=level, backend=QsimExBackend())
    assert manager.run(layers(156)).num_qubits == 156


# --- a run without measurement ----------------------------------------------------------------------------------------


def test_a_run_without_measurement_is_a_success_without_data() -> None:
    """The result of a circuit that measures nothing has no data, and the others of its list have theirs."""
    silent = QuantumCircuit(2, 2, name="silent")
    silent.h(0)
    result = QsimExBackend(device="cpu").run([silent, bell()], shots=10, memory=True).result()
    first, second = result.results
    assert result.success
    assert first.success
    assert (first.status, first.shots, first.data.to_dict()) == ("DONE", 10, {})
    assert result.data("silent") == {}
    assert sum(result.get_counts("bell").values()) == second.shots
    for ask in (result.get_counts, result.get_memory, result.get_statevector):
        with pytest.raises(QiskitError):
            ask("silent")


def test_an_unmeasured_circuit_with_noise_or_parameters_is_a_success_too(device_name: str) -> None:
    """Neither an error of a noise model nor values of parameters ask for a measurement."""
    angle = Parameter("angle")
    circuit = QuantumCircuit(1)
    circuit.rx(angle, 0)
    backend = QsimExBackend(device=device_name, noise_model=NoiseModel().with_error("rx", depolarizing(0.1)))
    result = backend.run(circuit, parameter_binds=[{angle: [0.1, 0.2]}]).result()
    assert [one.data.to_dict() for one in result.results] == [{}, {}]
