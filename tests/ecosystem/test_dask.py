"""Dask: a cluster of processes runs the circuits of a job."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from distributed import Client, LocalCluster
from qiskit import QuantumCircuit
from qiskit.circuit import Parameter
from qiskit.circuit.library import quantum_volume

from qsim_ex.errors import OutOfMemory
from qsim_ex_provider import QsimExBackend

SEED = 7


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """A cluster of two processes on this machine."""
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        yield client


def circuits() -> list[QuantumCircuit]:
    """Return circuits of one to six qubits, with mid-circuit measurement in every second of them."""
    made = []
    for n in range(1, 7):
        circuit = quantum_volume(max(2, n), 2, seed=n)
        if n % 2:
            circuit.add_bits(QuantumCircuit(0, 1).clbits)
            circuit.measure(0, 0)
        circuit.measure_all()
        made.append(circuit)
    return made


def test_a_cluster_counts_what_one_process_counts(client: Client) -> None:
    """The counts of every circuit are those of the same job in this process, whoever ran it."""
    here = QsimExBackend(device="cpu").run(circuits(), seed_simulator=SEED, shots=500).result()
    there = QsimExBackend(device="cpu").run(circuits(), seed_simulator=SEED, shots=500, executor=client.get_executor())
    assert there.result().get_counts() == here.get_counts()


def test_the_example_ends_well() -> None:
    """It compares what the workers count with the counts of this process, and with the angles of its circuits."""
    example = Path(__file__).parents[2] / "examples" / "many_circuits.py"
    command = [sys.executable, str(example), "--small", "--on", "dask"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "8 circuits on dask" in ended.stdout


def test_the_circuits_run_in_the_workers(client: Client) -> None:
    """The executor hands tasks to other processes than this one."""
    pids = set(client.run(os.getpid).values())
    assert len(pids) == 2
    assert client.get_executor().submit(os.getpid).result() in pids - {os.getpid()}


def test_a_backend_may_keep_the_cluster_and_runs_sweeps_on_it(client: Client) -> None:
    """Rabi oscillation: the excited fraction of each angle is sin²(θ/2) within 5 standard deviations."""
    theta = Parameter("θ")
    circuit = QuantumCircuit(1)
    circuit.rx(theta, 0)
    circuit.measure_all()
    angles = np.linspace(0, np.pi, 21)
    backend = QsimExBackend(device="cpu", executor=client.get_executor(), seed_simulator=SEED)
    counts = backend.run(circuit, parameter_binds=[{theta: angles}], shots=2000).result().get_counts()
    excited = np.array([one.get("1", 0) for one in counts]) / 2000
    expected = np.sin(angles / 2) ** 2
    assert np.all(np.abs(excited - expected) <= 5 * np.sqrt(expected * (1 - expected) / 2000) + 1e-12)


def test_an_error_in_a_worker_is_the_jobs_error(client: Client) -> None:
    """A state that is too large for its worker raises what it raises here."""
    circuit = QuantumCircuit(12)
    circuit.h(range(12))
    for qubit in range(11):
        circuit.cx(qubit, qubit + 1)
    circuit.measure_all()
    job = QsimExBackend(device="cpu").run(circuit, max_memory=1 << 12, executor=client.get_executor())
    with pytest.raises(OutOfMemory):
        job.result()
