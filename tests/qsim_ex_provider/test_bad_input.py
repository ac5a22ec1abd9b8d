"""Every mistake has its own error, which names what was given and where."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from qiskit.circuit import Gate, Instruction, Parameter, QuantumCircuit
from qiskit.circuit import library as lib
from qiskit.circuit.classical import types
from qiskit.exceptions import QiskitError

from qsim_ex import errors
from qsim_ex.devices.discover import gpu_missing
from qsim_ex_provider import QsimExBackend, SaveStatevector, save_statevector

BACKEND = QsimExBackend(device="cpu")


def measured(change: Callable[[QuantumCircuit], Any] = lambda _: None, qubits: int = 3) -> QuantumCircuit:
    """A circuit of the name "given" with one thing in it, and measurements."""
    circuit = QuantumCircuit(qubits, qubits, name="given")
    circuit.h(0)
    change(circuit)
    circuit.measure(range(qubits), range(qubits))
    return circuit


def with_unbound(circuit: QuantumCircuit) -> None:
    """Two parameters without values."""
    circuit.rx(Parameter("theta"), 0)
    circuit.ry(Parameter("alpha"), 0)


def with_nested(circuit: QuantumCircuit) -> None:
    """An opaque gate inside another gate."""
    inner = QuantumCircuit(2, name="outer")
    inner.append(Gate("unheard_of", 1, []), [1])
    circuit.append(inner.to_gate(), [0, 2])


CIRCUITS: dict[str, tuple[Callable[[QuantumCircuit], Any], type[Exception], str]] = {
    "unbound parameters": (with_unbound, errors.ParameterError, "alpha, theta"),
    "opaque gate": (
        lambda c: c.append(Gate("unheard_of", 2, []), [2, 1]),
        errors.UnknownInstruction,
        r"'unheard_of' has neither .*instruction 1 of circuit 'given'.* on qubits \[2, 1\]",
    ),
    "opaque gate in a gate": (with_nested, errors.UnknownInstruction, r"of circuit 'outer'.*of circuit 'given'"),
    "opaque instruction": (
        lambda c: c.append(Instruction("beep", 1, 0, []), [0]),
        errors.UnknownInstruction,
        "beep",
    ),
    "angle not finite": (lambda c: c.rx(np.nan, 0), errors.ParameterError, "not finite"),
    "matrix not unitary": (
        lambda c: c.append(lib.UnitaryGate([[1, 1], [0, 1]], check_input=False), [0]),
        errors.MatrixError,
        "a unitary matrix",
    ),
    "a channel that is none": (
        lambda c: c.append(Instruction("kraus", 1, 0, [np.diag([1, 0.6]), np.diag([0, 0.7])]), [0]),
        errors.NoiseError,
        "differs from 1 by",
    ),
    "inputs": (
        lambda c: c.add_input("a", types.Uint(8)),
        errors.NotSupported,
        "expected a circuit without inputs, got 1 input variables",
    ),
    "saving a part": (lambda c: c.append(SaveStatevector(1), [0]), errors.CircuitError, "all qubits"),
    "label twice": (
        lambda c: save_statevector(save_statevector(c)),
        errors.CircuitError,
        "'statevector', .* already",
    ),
    "label of something else": (lambda c: save_statevector(c, "counts"), errors.CircuitError, "'counts'"),
}


@pytest.mark.parametrize("name", sorted(CIRCUITS))
def test_circuit_is_refused(name: str) -> None:
    """A circuit that is wrong or not supported raises an error of its own kind, before anything runs."""
    change, kind, message = CIRCUITS[name]
    with pytest.raises(kind, match=message):
        BACKEND.run(measured(change))


@pytest.mark.parametrize("shots", [0, -1, 1.5, "many", True])
def test_shots(shots: Any) -> None:
    """Shots are a whole number from 1 up."""
    with pytest.raises(errors.ShotsError, match="shots"):
        BACKEND.run(measured(), shots=shots)


@pytest.mark.parametrize("word", ["gpu", "statevector"])
def test_an_option_without_its_name(word: str) -> None:
    """A word in the place of the provider is refused, since it would have no effect."""
    with pytest.raises(errors.OptionError, match=f"got '{word}'.*by their names"):
        QsimExBackend(word)


def test_a_backend_has_shots() -> None:
    """Shots of None, which are those of the backend, are none that a backend can have."""
    with pytest.raises(errors.ShotsError, match="shots"):
        QsimExBackend(shots=None)
    backend = QsimExBackend()
    with pytest.raises(errors.ShotsError, match="shots"):
        backend.set_options(shots=None)


def test_no_measurement() -> None:
    """A run that measures nothing is a success, and to ask it for counts raises Qiskit's own error."""
    circuit = QuantumCircuit(2, 2, name="silent")
    circuit.h(0)
    result = BACKEND.run(circuit).result()
    with pytest.raises(QiskitError, match="No counts"):
        result.get_counts()
    with pytest.raises(QiskitError, match=r"No memory"):
        result.get_memory()


def closed_executor() -> concurrent.futures.Executor:
    """An executor that takes no work any more."""
    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        return executor


OPTIONS: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "unknown": ({"shot": 5}, errors.OptionError, "Did you mean 'shots'"),
    "of Aer": ({"method": "tensor_network"}, errors.OptionError, "'density_matrix', 'stabilizer', got"),
    "nearly of Aer": ({"fusion_enabled": True}, errors.OptionError, "Did you mean 'fusion_enable'"),
    "device": ({"device": "tpu"}, errors.OptionError, "'auto', 'cpu', 'gpu'"),
    "precision": ({"precision": "half"}, errors.OptionError, "'single', 'double'"),
    "seed": ({"seed_simulator": -1}, errors.OptionError, "expected seed_simulator as a whole number"),
    "seed that is no number": ({"seed_simulator": "x"}, errors.OptionError, "expected seed_simulator as .*got 'x'"),
    "seed beyond 64 bits": ({"seed_simulator": 1 << 64}, errors.OptionError, "seed_simulator"),
    "memory": ({"memory": "yes"}, errors.OptionError, "memory"),
    "threads": ({"threads": 0}, errors.OptionError, "threads"),
    "executor": ({"executor": 4}, errors.OptionError, "Executor"),
    "executor that was shut down": (
        {"executor": closed_executor()},
        errors.OptionError,
        "takes work, got .* after shutdown",
    ),
    "noise model": ({"noise_model": object()}, errors.OptionError, "a NoiseModel of qiskit_aer.noise or"),
}


@pytest.mark.parametrize("name", sorted(OPTIONS))
def test_option_is_refused(name: str) -> None:
    """An unknown option, or an impossible value of one, is refused."""
    options, kind, message = OPTIONS[name]
    with pytest.raises(kind, match=message):
        BACKEND.run(measured(), **options)


def test_unknown_fields_are_attribute_errors() -> None:
    """Qiskit asks for an AttributeError where a field of the backend does not exist."""
    with pytest.raises(AttributeError, match="precision"):
        QsimExBackend(precison="double")
    with pytest.raises(AttributeError, match="shots"):
        BACKEND.set_options(shotz=3)


def test_bad_values_leave_the_backend_as_it_was() -> None:
    """A value that cannot be taken is refused at once, and no other change is made with it."""
    backend = QsimExBackend(device="cpu", shots=5)
    with pytest.raises(errors.OptionError):
        backend.set_options(shots=6, precision="half")
    assert backend.options.shots == 5


@pytest.mark.parametrize("given", [3, "circuit", [QuantumCircuit(1), None], ("circuit", [0.1])])
def test_what_is_no_circuit(given: Any) -> None:
    """Only circuits are run; primitives' blocs and other things are named."""
    with pytest.raises(
        errors.CircuitError,
        match=r"expected a (list of QuantumCircuits|QuantumCircuit (or a list|as item 1))",
    ):
        BACKEND.run(given)


@pytest.mark.parametrize(("given", "named"), [(None, "got None; "), (5, "got an int; "), (2.0, "got a float; ")])
def test_what_is_given_in_place_of_a_circuit_is_named(given: Any, named: str) -> None:
    """The message names the kind of object, with its article."""
    with pytest.raises(errors.CircuitError, match=named):
        BACKEND.run(given)


@pytest.mark.parametrize("device", ["cpu", "auto"])
def test_sixty_qubits_show_the_sum(device: str) -> None:
    """A state that cannot fit is refused at once, with the memory that it needs."""
    circuit = QuantumCircuit(60)
    circuit.ry(0.3, range(60))  # no Clifford gates, for which there is a method without amplitudes
    circuit.cx(range(59), range(1, 60))
    circuit.measure_all()
    with pytest.raises(errors.OutOfMemory, match="60 wires"):
        QsimExBackend(device=device).run(circuit).result()


def test_gpu_that_is_not_there() -> None:
    """A GPU that was asked for and is not there is an error, not a run on the CPU."""
    if not gpu_missing():
        pytest.skip("there is a GPU")
    with pytest.raises((errors.DeviceError, errors.MissingPackage)):
        QsimExBackend(device="gpu").run(measured()).result()


def test_error_of_one_circuit_names_it() -> None:
    """In a list, the error says which circuit it was."""
    wide = QuantumCircuit(60, name="wide")
    wide.ry(0.3, 0)
    wide.cx(range(59), range(1, 60))
    wide.measure_all()
    with pytest.raises(errors.OutOfMemory) as caught:
        BACKEND.run([measured(), wide]).result()
    assert any("circuit 1" in note and "wide" in note for note in caught.value.__notes__)


def test_options_that_are_set_on_the_object_are_checked_too() -> None:
    """An unknown field of `backend.options` is an error of the next run, and a foreign one is understood."""
    backend = QsimExBackend(device="cpu")
    backend.options.max_parallel_threads = 1
    assert backend.run(measured()).result().success
    backend.options.shotts = 5
    with pytest.raises(errors.OptionError, match="Did you mean 'shots'"):
        backend.run(measured())
