"""Programs of others run unchanged: the width of the target, runs without measurement, options, copies and forks."""

from __future__ import annotations

import copy
import json
import os
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from qiskit import QuantumCircuit, transpile
from qiskit.circuit import Parameter
from qiskit.exceptions import QiskitError
from qiskit.primitives import BackendSamplerV2
from qiskit.providers import QiskitBackendNotFoundError
from qiskit.transpiler import CouplingMap, generate_preset_pass_manager
from support.child_processes import in_fork

from qsim_ex import NoiseModel, depolarizing
from qsim_ex.errors import OptionError
from qsim_ex_provider import QsimExBackend, QsimExProvider
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


def test_a_copy_has_a_width_of_its_own() -> None:
    """A circuit that widens a copy of a backend leaves the target of the original as it is."""
    backend = QsimExBackend()
    assert backend.target.num_qubits == WIDTH
    other = copy.copy(backend)
    transpile(layers(WIDTH + 1), other, optimization_level=0)
    assert (backend.target.num_qubits, other.target.num_qubits) == (WIDTH, WIDTH + 1)
    assert (backend.num_qubits, other.num_qubits) == (WIDTH, WIDTH + 1)


def test_width_of_a_target_makes_circuits_and_arrays() -> None:
    """Programs that use the number of qubits as a size get what an int gives."""
    width = QsimExBackend().num_qubits
    assert QuantumCircuit(width).num_qubits == WIDTH
    assert np.zeros(width).shape == (WIDTH,)
    assert CouplingMap.from_line(width).size() == WIDTH


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


# --- backends of Qiskit's kind ----------------------------------------------------------------------------------------


def test_options_of_a_backend() -> None:
    """Unknown fields raise `AttributeError`, unknown options of a run name the nearest, known ones are read again."""
    backend = QsimExBackend(device="cpu", shots=5)
    with pytest.raises(AttributeError, match="Did you mean 'shots'"):
        QsimExBackend(shotz=3)
    with pytest.raises(AttributeError, match="Did you mean 'shots'"):
        backend.set_options(shotz=3)
    with pytest.raises(OptionError, match="Did you mean 'shots'"):
        backend.run(bell(), shotz=3)
    assert backend.options.shots == 5
    assert backend.max_circuits is None


def test_provider_lists_its_backends() -> None:
    """A provider gives its backends by name, and says which there are."""
    provider = QsimExProvider(shots=9)
    assert [one.name for one in provider.backends()] == ["qsim_ex"]
    assert provider.backends("none") == []
    assert provider.get_backend().options.shots == 9
    with pytest.raises(QiskitBackendNotFoundError, match="qsim_ex"):
        provider.get_backend("qsim_e")


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda thing: pickle.loads(pickle.dumps(thing))], ids=["deep", "pickle"]
)
def test_copies_of_a_used_backend(copied: Callable[[Any], Any]) -> None:
    """A copy of a backend that has run, and of its job, gives the same counts."""
    backend = QsimExBackend(device="cpu", seed_simulator=3)
    job = backend.run(bell())
    expected = job.result().get_counts()
    assert copied(backend).run(bell()).result().get_counts() == expected
    assert copied(job).result().get_counts() == expected


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_fork_of_a_used_backend() -> None:
    """A forked child runs circuits on a backend that its parent has used, and has the result of the parent's job."""
    backend = QsimExBackend(device="cpu", seed_simulator=3)
    job = backend.run(bell())
    expected = job.result().get_counts()
    assert in_fork(lambda: backend.run(bell()).result().get_counts()) == expected
    assert in_fork(lambda: job.result().get_counts()) == expected


def test_programs_that_were_written_for_aer() -> None:
    """A run with the options of a program for Aer gives the counts of the seed, and says where it ran."""
    backend = QsimExBackend(method="statevector", device="CPU", max_parallel_threads=1, fusion_enable=True)
    given: dict[str, Any] = {"shots": 50, "seed_simulator": 3, "memory": True, "runtime_parameter_bind_enable": False}
    result = backend.run(transpile(bell(), backend), **given).result()
    expected = QsimExBackend(device="cpu").run(bell(), shots=50, seed_simulator=3).result().get_counts()
    assert result.get_counts() == expected
    assert result.results[0].metadata["device"] == "cpu"


def test_the_backends_seed_holds_where_none_is_given() -> None:
    """A seeded backend gives the same shots in each run, and under Qiskit's primitives, which pass a seed of None."""
    circuit = QuantumCircuit(3)
    circuit.h(range(3))
    circuit.measure_all()
    backend = QsimExBackend(seed_simulator=123)
    counts = backend.run(circuit, shots=50).result().get_counts()
    assert backend.run(circuit, shots=50, seed_simulator=None).result().get_counts() == counts
    sampled = BackendSamplerV2(backend=backend).run([circuit], shots=50).result()[0].data.meas.get_counts()
    assert sampled == counts
    backend.set_options(seed_simulator=None)
    assert backend.options.seed_simulator is None


def test_a_backend_says_that_it_is_a_simulator() -> None:
    """Other packages insist on the target's own gates unless a backend is a simulator."""
    assert QsimExBackend().simulator


def test_n_qubits_is_the_width_of_the_target_and_keeps_no_circuit_out() -> None:
    """Aer's `n_qubits` is what experiments over all qubits of a backend ask for; wider circuits run all the same."""
    backend = QsimExBackend(n_qubits=2)
    assert backend.num_qubits == backend.target.num_qubits == 2
    wide = QuantumCircuit(5)
    wide.h(0)
    wide.cx(0, range(1, 5))
    wide.measure_all()
    for circuit in (wide, transpile(wide, backend)):
        assert set(backend.run(circuit, shots=20, seed_simulator=1).result().get_counts()) == {"0" * 5, "1" * 5}
