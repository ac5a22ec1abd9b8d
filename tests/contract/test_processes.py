"""Objects that were used work in a forked child, in pools of processes, copied and pickled, and answer as before."""

from __future__ import annotations

import concurrent.futures
import copy
import gc
import json
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from support.paths import ROOT, TESTS

pytest.importorskip("qiskit")
pytest.importorskip("cirq")

from qiskit.providers import JobError, JobStatus
from support.child_processes import in_fork
from support.used_objects import ask, measured, used

from qsim_ex import BatchedStateVector, CircuitBuilder, Simulator, StateVector
from qsim_ex.circuit import structure
from qsim_ex.devices import discover
from qsim_ex.errors import Cancelled, CircuitError, DeviceError
from qsim_ex.kernels import fork
from qsim_ex.kernels.cuda.compile import compilation
from qsim_ex.kernels.cuda.cupy_runtime import CupyRuntime, _runtimes
from qsim_ex_provider import QsimExBackend

FORKS = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
WAYS: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda thing: pickle.loads(pickle.dumps(thing)),
}


@pytest.fixture(scope="module")
def things() -> dict[str, Any]:
    """Used objects of every kind."""
    return used()


@pytest.mark.parametrize("way", WAYS)
def test_copies_answer_alike(things: dict[str, Any], way: str) -> None:
    """A copy of a used object gives the answers of the original, which can still be used."""
    for name, thing in things.items():
        wanted = ask(name, thing)
        assert ask(name, WAYS[way](thing)) == wanted, name
        assert ask(name, thing) == wanted, name


def test_children_answer_alike() -> None:
    """A used object gives the same answers in a child process, forked or spawned, alone or in a pool."""
    paths = [str(path) for path in (ROOT / "core", ROOT, TESTS)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", str(TESTS / "support" / "child_processes.py")],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    here, there = json.loads(done.stdout)
    assert len(there) == (3 if hasattr(os, "fork") else 1)
    for how, answers in there.items():
        assert answers == here, how


@pytest.mark.parametrize("make", [lambda: StateVector(2, device="cpu"), lambda: BatchedStateVector(2, 2, device="cpu")])
@pytest.mark.parametrize("way", WAYS)
def test_who_owns_memory_is_not_copied(way: str, make: Callable[[], Any]) -> None:
    """Copying an object that owns memory is refused, and the error says what to do instead."""
    with make() as state, pytest.raises(TypeError, match=r"owns memory .* \(to_numpy\)"):
        WAYS[way](state)


class Stops(concurrent.futures.ThreadPoolExecutor):
    """A thread that waits until it may begin."""

    def __init__(self) -> None:
        super().__init__(1)
        self.go = threading.Event()
        self.submit(self.go.wait, 60)


def test_to_copy_a_running_job_waits_for_its_end() -> None:
    """A job that is pickled while it runs gives a copy with its result."""
    with Stops() as executor:
        job = QsimExBackend(device="cpu").run(measured(), shots=20, seed_simulator=3, executor=executor)
        threading.Timer(0.2, executor.go.set).start()
        back = pickle.loads(pickle.dumps(job))
        assert executor.go.is_set()
    assert back.status() is JobStatus.DONE
    assert back.result().get_counts() == job.result().get_counts()
    assert back.job_id() == job.job_id()
    assert not back.cancel()


def test_copies_of_jobs_that_failed_fail_alike() -> None:
    """A copy of a job that failed or was cancelled has its status and raises its error."""
    backend = QsimExBackend(device="cpu")
    failed = backend.run(measured(), shots=5, max_memory=1)
    with Stops() as executor:
        stopped = backend.run(measured(), shots=5, executor=executor)
        stopped.cancel()
        executor.go.set()
        for job, error, status in ((failed, MemoryError, JobStatus.ERROR), (stopped, Cancelled, JobStatus.CANCELLED)):
            back = pickle.loads(pickle.dumps(job))
            assert back.status() is job.status() is status
            with pytest.raises(error):
                back.result()


@FORKS
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # later Pythons warn of any fork beside a thread
def test_a_child_does_not_wait_for_a_job_of_its_parent() -> None:
    """Asking in a forked child for a job that runs in the parent raises an error at once."""
    with Stops() as executor:
        job = QsimExBackend(device="cpu").run(measured(), shots=20, executor=executor)

        def told() -> str:
            with pytest.raises(JobError, match="runs in the process that this one was forked from"):
                job.result()
            return "told"

        assert in_fork(told) == "told"
        executor.go.set()
    assert job.result().get_counts()


@FORKS
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_locks_that_others_hold_are_open_in_a_child() -> None:
    """A lock of the engine that another thread held during the fork can be taken in the child."""
    plain, again = fork.lock(), fork.reentrant_lock()
    held, end = threading.Event(), threading.Event()

    def hold() -> None:
        with plain, again:
            held.set()
            end.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(60)

    def taken() -> list[bool]:
        return [plain.acquire(timeout=5), again.acquire(timeout=5)]

    assert in_fork(taken) == [True, True]
    assert not plain.acquire(blocking=False)  # the parent's is as it was
    end.set()
    thread.join()


@FORKS
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_does_not_wait_for_a_cached_property(monkeypatch: pytest.MonkeyPatch) -> None:
    """A property that another thread was computing at the fork is computed in the child, for any object."""
    held, end, here = threading.Event(), threading.Event(), threading.get_ident()
    right = structure.function

    def slow(name: str) -> Callable[..., int]:
        if name == "structure_wires" and threading.get_ident() != here:
            held.set()
            end.wait(60)
        return right(name)

    monkeypatch.setattr(structure, "function", slow)
    circuits = [CircuitBuilder(23).gate("rx", [wire], 0.3).gate("rz", [17 + wire], 0.3).build() for wire in (0, 1)]
    assert not any("gate_wires" in vars(circuit.structure) for circuit in circuits)  # structures are shared
    thread = threading.Thread(target=lambda: circuits[0].structure.gate_wires)
    thread.start()
    assert held.wait(60)
    assert in_fork(lambda: circuits[1].structure.gate_wires.mixed, 10) == 2
    end.set()
    thread.join()


@FORKS
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_waits_for_what_is_imported() -> None:
    """A child that is forked while another thread imports the engine and runs can run, too."""
    script = """
import os, signal, sys, threading, time
sys.path[:0] = {paths!r}
from support.child_processes import in_fork
from qsim_ex import CircuitBuilder, Simulator
circuit = CircuitBuilder(3, 3).gate("h", [0]).measure(range(3), range(3)).build()
def run():
    return sum(Simulator(device="cpu").run(circuit, shots=50, seed=1).counts().values())
for delay in {delays!r}:
    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(delay)
    assert in_fork(run, 100) == 50
    thread.join()
"""
    paths = [str(path) for path in (ROOT / "core", ROOT, TESTS)]
    for delays in ([0.02], [0.3, 0.0]):
        done = subprocess.run(
            [sys.executable, "-W", "ignore::DeprecationWarning", "-c", script.format(paths=paths, delays=delays)],
            capture_output=True,
            text=True,
            timeout=250,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")


@FORKS
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_compilations_that_were_begun_are_forgotten_in_a_child(monkeypatch: pytest.MonkeyPatch) -> None:
    """A child does not wait for kernels that a thread of its parent compiles."""
    monkeypatch.setitem(compilation._begun, "key", concurrent.futures.Future())
    assert in_fork(lambda: len(compilation._begun)) == 0
    assert "key" in compilation._begun


@FORKS
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_of_a_process_that_has_used_cuda_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a forked child demanding a GPU raises a DeviceError, 'auto' takes the CPU, and both say why."""
    for found_once in (discover._driver, discover.driver_count):
        found_once.cache_clear()
    monkeypatch.setattr("ctypes.CDLL", lambda _name: Driver())
    assert discover.driver_count() == 1
    monkeypatch.setattr(discover, "_usable", [True])  # as after a first use
    runtime = CupyRuntime.__new__(CupyRuntime)
    runtime._cupy, runtime._device, runtime._stream = object(), object(), None
    _runtimes.add(runtime)

    def told() -> list[str]:
        found = []
        for use in (lambda: Simulator(device="gpu").placement(20), runtime.memory, runtime._launch):
            with pytest.raises(DeviceError, match="does not survive a fork") as error:
                use()
            found.append(str(error.value))
        found.append(Simulator().placement(20).reason)
        return found

    try:
        found = in_fork(told)
        assert discover._lost == []  # the parent goes on
    finally:
        for found_once in (discover._driver, discover.driver_count):
            found_once.cache_clear()
        _runtimes.discard(runtime)
    assert len(found) == 4, found
    assert found[0] == found[1] == found[2]
    assert found[3].startswith("auto: no GPU can be used here")


class Driver:
    """A driver that lists one GPU."""

    def cuInit(self, _flags: int) -> int:
        """Start."""
        return 0

    def cuDeviceGetCount(self, count: Any) -> int:
        """Tell how many there are."""
        count._obj.value = 1
        return 0


def test_backends_that_are_gone_leave_no_thread() -> None:
    """The thread of a backend ends with it."""
    before = set(threading.enumerate())
    backend = QsimExBackend(device="cpu")
    job = backend.run(measured(), shots=1)
    while not job.done():  # whoever asks for the result of a quick job does it without a thread
        time.sleep(0.001)
    mine = {thread for thread in threading.enumerate() if thread not in before and thread.name.startswith("qsim-ex")}
    assert mine
    del backend, job
    for _ in range(100):
        gc.collect()
        if not any(thread.is_alive() for thread in mine):
            return
        time.sleep(0.05)
    raise AssertionError("a thread was left")


def test_a_backend_that_cannot_be_asked_is_still_copied() -> None:
    """A copied backend has defaults of its own: to change one leaves the other."""
    backend = QsimExBackend(device="cpu")
    other = copy.deepcopy(backend)
    other.set_options(shots=7)
    assert backend.options.shots != 7
    with pytest.raises(CircuitError):
        other.run(3)
