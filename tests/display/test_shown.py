"""Public objects show what they are in one line, without amplitudes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from qiskit.circuit import QuantumCircuit

import qsim_ex
import qsim_ex_cirq
import qsim_ex_provider
from qsim_ex import (
    BatchedStateVector,
    CircuitBuilder,
    NoiseModel,
    NoisyBuilder,
    Options,
    PauliSum,
    Simulator,
    StateVector,
    depolarizing,
)
from qsim_ex_cirq import QsimExSimulator
from qsim_ex_provider import EstimatorV2, QsimExBackend, QsimExProvider, SamplerV2

NOISY = NoiseModel().with_error("cx", depolarizing(0.1, 2)).with_misreading([[1, 0], [0.5, 0.5]], 3)
CPU = Simulator(device="cpu")


def bell() -> CircuitBuilder:
    """Two wires, entangled, measured."""
    return CircuitBuilder(2, 2).gate("h", [0]).gate("cx", [0, 1]).save("psi").measure([0, 1], [0, 1])


AUTO = "device='auto', method='automatic', precision='double'"

SHOWN: dict[str, tuple[Callable[[], Any], str]] = {
    "options": (
        lambda: Options(device="cpu", seed=3),
        "Options(device='cpu', method='automatic', precision='double', seed=3)",
    ),
    "options that are the defaults": (Options, "Options(device='auto', method='automatic', precision='double')"),
    "simulator": (
        lambda: Simulator(precision="single"),
        "Simulator(device='auto', method='automatic', precision='single')",
    ),
    "builder": (bell, "CircuitBuilder(2 wires, 2 classical bits, 4 instructions)"),
    "noisy builder": (lambda: NoisyBuilder(2, 0, NOISY), "NoisyBuilder(2 wires, 0 classical bits, 0 instructions)"),
    "circuit": (lambda: bell().build(), "Circuit(2 wires, 2 classical bits, 4 instructions)"),
    "noise": (lambda: NOISY, "NoiseModel(errors of 'cx'; readout errors of wire 3)"),
    "no noise": (NoiseModel, "NoiseModel(no noise)"),
    "state": (lambda: StateVector(3, device="cpu"), "StateVector(3 wires, complex128, cpu)"),
    "states": (
        lambda: BatchedStateVector(2, 3, device="cpu"),
        "BatchedStateVector(2 states of 3 wires, complex128, cpu)",
    ),
    "backend": (
        lambda: QsimExBackend(shots=7),
        "QsimExBackend('qsim_ex', shots=7, noise_model=None, device='auto', method='automatic', precision='double')",
    ),
    "noisy backend": (
        lambda: QsimExBackend(noise_model=NOISY),
        f"QsimExBackend('qsim_ex', noise_model=NoiseModel(errors of 'cx'; readout errors of wire 3), {AUTO})",
    ),
    "provider": (lambda: QsimExProvider(device="cpu"), "QsimExProvider(device='cpu')"),
    "sampler": (
        lambda: SamplerV2(default_shots=5, seed=1),
        "SamplerV2(default_shots=5, noise_model=None, device='auto', method='automatic', precision='double', seed=1)",
    ),
    "estimator": (
        lambda: EstimatorV2(trajectories=5),
        "EstimatorV2(trajectories=5, noise_model=None, device='auto', method='automatic', precision='double')",
    ),
    "Cirq's simulator": (
        lambda: QsimExSimulator(dtype=np.complex128, device="cpu"),
        "QsimExSimulator(dtype='complex128', noise=None, device='cpu', method='automatic')",
    ),
    "Cirq's simulator as it is": (
        QsimExSimulator,
        "QsimExSimulator(dtype='complex64', noise=None, device='auto', method='automatic')",
    ),
}


@pytest.mark.parametrize("name", SHOWN)
def test_an_object_shows_what_differs_from_the_default(name: str) -> None:
    """The representation names the class, device, precision, method and noise, and what else was chosen."""
    make, told = SHOWN[name]
    assert repr(make()) == told


def test_results_show_what_they_hold() -> None:
    """A result shows shots, labels, values, device and seconds, and neither bits nor amplitudes."""
    circuit = bell().build()
    one = CPU.run(circuit, shots=1000)
    assert repr(one).startswith("Result(1,000 shots of 2 bits, saved 'psi', cpu, double precision, ")
    many = CPU.run_batch(circuit, np.repeat(circuit.operands, 3, 0), observables=[PauliSum.from_labels({"ZZ": 1})])
    assert repr(many).startswith("BatchResult(3 bindings, saved 'psi', 1 expectation value, cpu, double precision, ")
    assert repr(one.provenance).startswith("Provenance(cpu, double precision, ")
    (plan,) = CPU.plans(CircuitBuilder(2).gate("rxx", [0, 1], 0.1).build())
    assert repr(plan) == f"Plan(1 gates on 2 wires in 1 steps, key {plan.key})"


def test_a_job_shows_its_circuits_and_its_state() -> None:
    """A job shows its number, its circuits, and how far it is."""
    circuit = QuantumCircuit(1)
    circuit.measure_all()
    job = QsimExBackend(device="cpu").run([circuit, circuit])
    job.result()
    assert repr(job) == (
        f"QsimExJob({job.job_id()!r}, circuits=2, status='job has successfully run', device='cpu', precision='double', "
        "method='automatic', noise_model=None)"
    )


def test_a_job_of_a_primitive_shows_the_primitive_and_its_state() -> None:
    """A job shows its number, how its primitive simulates, and how far it is."""
    circuit = QuantumCircuit(1)
    circuit.measure_all()
    sampler = SamplerV2(device="cpu")
    job = sampler.run([circuit])
    job.result()
    assert repr(job) == f"PrimitiveJob({job.job_id()!r}, {sampler!r}, status='job has successfully run')"


@pytest.mark.parametrize("package", [qsim_ex, qsim_ex_provider, qsim_ex_cirq], ids=lambda package: package.__name__)
def test_a_package_lists_what_users_want(package: Any) -> None:
    """`dir`, which is what editors complete, has the public names and the version, and no inner module."""
    assert set(dir(package)) == {*package.__all__, "__version__"}


def test_the_version_is_that_of_the_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    """All three packages have one version; that of a checkout that is not installed is unknown."""
    assert qsim_ex.__version__ == qsim_ex_provider.__version__ == qsim_ex_cirq.__version__
    from importlib import metadata

    def absent(_: str) -> str:
        raise metadata.PackageNotFoundError

    monkeypatch.setattr(metadata, "version", absent)
    monkeypatch.delitem(vars(qsim_ex), "__version__")
    assert qsim_ex.__version__ == "0+unknown"
    monkeypatch.delitem(vars(qsim_ex), "__version__")


@pytest.mark.parametrize("package", [qsim_ex_provider, qsim_ex_cirq], ids=lambda package: package.__name__)
def test_other_names_of_adapters_are_attribute_errors(package: Any) -> None:
    """A misspelt name is an AttributeError that repeats it."""
    with pytest.raises(AttributeError, match="QsimExBackendd"):
        package.QsimExBackendd  # noqa: B018
