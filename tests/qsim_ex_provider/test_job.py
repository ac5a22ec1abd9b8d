"""Jobs run in the background, and can be watched, cancelled, and run elsewhere."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from qiskit import QuantumCircuit
from qiskit.providers import JobError, JobStatus, JobTimeoutError

from qsim_ex import errors
from qsim_ex.frameworks import BindingGroup
from qsim_ex_provider import QsimExBackend
from qsim_ex_provider import job as job_module


def ghz(num_qubits: int = 3, layers: int = 1) -> QuantumCircuit:
    """A measured GHZ state, and more layers to make it long."""
    circuit = QuantumCircuit(num_qubits)
    for _ in range(layers):
        circuit.h(range(num_qubits))
        for wire in range(num_qubits - 1):
            circuit.cx(wire, wire + 1)
            circuit.rx(0.1 * wire, wire)
    circuit.measure_all()
    return circuit


class Gate(concurrent.futures.ThreadPoolExecutor):
    """An executor whose tasks wait until they are let through."""

    def __init__(self) -> None:
        super().__init__(max_workers=1)
        self.open = threading.Event()

    def submit(self, task: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Put a task behind the gate."""

        def later() -> Any:
            assert self.open.wait(30)
            return task(*args, **kwargs)

        return super().submit(later)


@pytest.fixture
def gate() -> Any:
    """An executor that holds its tasks back, opened in the end."""
    with Gate() as executor:
        yield executor
        executor.open.set()


def test_run_returns_before_the_work_is_done(gate: Gate) -> None:
    """Running is in the background: the job is there, its result later."""
    job = QsimExBackend(device="cpu").run([ghz()] * 2, executor=gate)
    assert job.status() in (JobStatus.QUEUED, JobStatus.RUNNING)
    assert not job.in_final_state()
    with pytest.raises(JobTimeoutError, match=r"0\.05 s"):
        job.result(timeout=0.05)
    gate.open.set()
    assert job.result(timeout=30).success
    assert job.status() is JobStatus.DONE
    assert job.done()
    assert job.result() is job.result()


def test_waiting_ends_with_the_job(gate: Gate) -> None:
    """`wait_for_final_state` ends as soon as the job does, whatever is asked between queries, and keeps its timeout."""
    job = QsimExBackend(device="cpu", executor=gate).run(ghz(), shots=10)
    told: list[Any] = []
    with pytest.raises(JobTimeoutError, match=r"0\.05 s"):
        job.wait_for_final_state(timeout=0.05, wait=0.02, callback=lambda *of: told.append(of))
    assert told[0] == (job.job_id(), JobStatus.RUNNING, job)
    assert len(told) > 1
    threading.Timer(0.1, gate.open.set).start()
    job.wait_for_final_state(wait=1e6)
    assert job.status() is JobStatus.DONE
    job.wait_for_final_state(timeout=0)


def test_job_behind_another_is_queued(gate: Gate) -> None:
    """A job whose tasks wait for others is queued and not running."""
    backend = QsimExBackend(device="cpu", executor=gate)
    first, second = backend.run(ghz()), backend.run(ghz())
    deadline = time.monotonic() + 10
    while first.status() is not JobStatus.RUNNING and time.monotonic() < deadline:
        time.sleep(0.01)
    assert (first.status(), second.status()) == (JobStatus.RUNNING, JobStatus.QUEUED)
    gate.open.set()
    assert second.result().success


def test_cancel_before_it_began(gate: Gate) -> None:
    """A cancelled job ends as cancelled, gives no result, and begins no more circuits."""
    job = QsimExBackend(device="cpu").run([ghz()] * 3, executor=gate)
    assert job.cancel()
    gate.open.set()
    with pytest.raises(errors.Cancelled):
        job.result(timeout=30)
    assert job.status() is JobStatus.CANCELLED
    assert job.cancelled()
    assert not job.cancel()


def test_cancel_in_the_middle_of_a_circuit() -> None:
    """A long circuit stops within a second of being cancelled."""
    job = QsimExBackend(device="cpu").run(ghz(21, layers=60))
    deadline = time.monotonic() + 20
    while job.status() is not JobStatus.RUNNING and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.3)
    asked = time.monotonic()
    if job.cancel():
        with pytest.raises(errors.Cancelled):
            job.result(timeout=30)
        assert time.monotonic() - asked < 10  # a second on an idle machine
        assert job.status() is JobStatus.CANCELLED


INTERRUPTED = """
import signal
from qiskit import QuantumCircuit
from qsim_ex_provider import QsimExBackend

signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background of a shell starts without it


def layers(wires, depth):
    circuit = QuantumCircuit(wires)
    for layer in range(depth):
        for wire in range(wires):
            circuit.ry(0.1 * layer + wire, wire)  # so that layers do not commute, and are no one layer
        for wire in range(wires - 1):
            circuit.rxx(0.3, wire, wire + 1)
    circuit.measure_all()
    return circuit


QsimExBackend(device="cpu").run(layers(18, 2)).result()  # on a fresh machine this compiles, which nothing interrupts
job = QsimExBackend(device="cpu").run([layers(22, 40)] * 100)
print("waiting", flush=True)
try:
    job.result()
except KeyboardInterrupt:
    print(job.status().name)
"""


def test_interrupt_cancels_the_job() -> None:
    """Ctrl-C while waiting for a result stops the work, and the program ends soon after."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", INTERRUPTED]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        time.sleep(2)
        asked = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
        assert time.monotonic() - asked < 5
        assert process.stdout.read().strip() in ("RUNNING", "CANCELLED")


def quick_job(backend: QsimExBackend, circuit: QuantumCircuit) -> Any:
    """A job of a circuit that has run before, and was short."""
    for _ in range(3):
        backend.run(circuit).result()
    return backend.run(circuit)


def test_who_waits_for_a_quick_job_does_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A circuit that was quick before runs in the thread that asks for its result, behind the quick ones before it."""
    monkeypatch.setattr(job_module, "QUICK", 60.0)
    where, call = [], job_module.JobTask.__call__

    def told(task: Any) -> Any:
        where.append((task.circuits[0][1], threading.current_thread() is threading.main_thread()))
        return call(task)

    backend, circuit, other = QsimExBackend(device="cpu"), ghz(), ghz(4)
    circuit.name, other.name = "first", "second"
    first, second = quick_job(backend, circuit), quick_job(backend, other)
    assert first.result().success
    assert second.result().success
    monkeypatch.setattr(job_module.JobTask, "__call__", told)
    monkeypatch.setattr("qsim_ex_provider.one_thread.background", lambda: SimpleNamespace(submit=lambda _: None))
    first, second = backend.run(circuit), backend.run(other)
    assert first.status() is JobStatus.QUEUED
    assert second.result().success
    assert where == [("first", True), ("second", True)]
    assert first.status() is JobStatus.DONE


def test_a_quick_job_that_nobody_waits_for_runs() -> None:
    """A circuit that was quick before runs in the background if its result is asked for later."""
    job = quick_job(QsimExBackend(device="cpu"), ghz())
    deadline = time.monotonic() + 20
    while not job.done() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert job.done()
    assert job.result(timeout=0.0).success


def test_interrupt_of_a_quick_job(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while a quick job is done by who waits for it cancels it, is raised, and leaves a backend that works."""
    monkeypatch.setattr(job_module, "QUICK", 60.0)
    backend, circuit = QsimExBackend(device="cpu"), ghz(12, layers=3)
    job = quick_job(backend, circuit)
    run = BindingGroup.run

    def interrupted(*given: Any, **named: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return run(*given, **named)

    with monkeypatch.context() as during:
        during.setattr(BindingGroup, "run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            job.result()
    assert job.status() is JobStatus.CANCELLED
    with pytest.raises(errors.Cancelled):
        job.result()
    assert backend.run(circuit).result().success


def test_failed_job_says_so() -> None:
    """A job whose circuit does not fit has failed, and its result raises the reason."""
    job = QsimExBackend(device="cpu").run(ghz(60))
    with pytest.raises(errors.OutOfMemory):
        job.result()
    assert job.status() is JobStatus.ERROR


def test_job_is_submitted_once() -> None:
    """A second submission is refused."""
    job = QsimExBackend(device="cpu").run(ghz())
    with pytest.raises(JobError):
        job.submit()
    assert job.backend().name == "qsim_ex"
    assert len(job.job_id()) == 36


def test_jobs_of_several_threads() -> None:
    """Jobs that are submitted from several threads at once all come back with their own counts."""
    backend = QsimExBackend(device="cpu")

    def count(number: int) -> int:
        circuit = QuantumCircuit(5)
        for wire in range(5):
            circuit.rx(np.pi * (number >> wire & 1), wire)
        circuit.measure_all()
        (bits,) = backend.run(circuit, shots=10).result().get_counts()
        return int(bits, 2)

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert list(pool.map(count, range(32))) == list(range(32))


def test_parallel_executor() -> None:
    """Several circuits at once in threads give the shots that they give one after another."""
    circuits = [ghz(n) for n in range(2, 8)]
    backend = QsimExBackend(device="cpu", memory=True, seed_simulator=3, shots=50)
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        together = backend.run(circuits, executor=pool).result()
    alone = backend.run(circuits).result()
    assert [together.get_memory(k) for k in range(6)] == [alone.get_memory(k) for k in range(6)]


def test_other_process() -> None:
    """Tasks and results travel to other processes and back, so clusters' executors can be given."""
    spawn = multiprocessing.get_context("spawn")
    backend = QsimExBackend(device="cpu", memory=True, seed_simulator=3, shots=50)
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=spawn) as pool:
        there = backend.run([ghz(3), ghz(4)], executor=pool).result()
    here = backend.run([ghz(3), ghz(4)]).result()
    assert [there.get_memory(k) for k in range(2)] == [here.get_memory(k) for k in range(2)]


def test_results_can_be_pickled() -> None:
    """A result can be written away and read again, before and after it was looked at."""
    result = QsimExBackend(device="cpu").run(ghz(), memory=True).result()
    again = pickle.loads(pickle.dumps(result))
    assert again.get_counts() == result.get_counts()
    assert pickle.loads(pickle.dumps(result)).get_memory() == again.get_memory()
