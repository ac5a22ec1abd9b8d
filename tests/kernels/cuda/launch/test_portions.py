"""A run in portions has the definition's state, whichever kernels arrive while it runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np
import pytest
from support.cuda.emulated_runtime import EmulatedRuntime
from support.held import Hold

from qsim_ex.circuit.circuit import Circuit
from qsim_ex.devices.gpu.device import GpuDevice
from qsim_ex.execution.prepare import prepare
from qsim_ex.kernels.cuda.launch.portions import PortionedLaunches
from qsim_ex.kernels.cuda.runtime import KernelText
from qsim_ex.placement.single import Single
from qsim_ex.planning.planner import compiled_plan
from qsim_ex.precision import BY_DTYPE
from qsim_ex.reference import simulate
from qsim_ex.steps import Layout
from qsim_ex.steps.compiled import key_of
from qsim_ex.steps.step import Sweep, ZeroFill
from tests.kernels.cuda.launch.test_first_launches import SMALL, TOLERANCE, drawn


class LateKernels(EmulatedRuntime):
    """A GPU whose compiler is done with so many kernels when so many portions are queued.

    arrivals: the number of kernels that are done behind each portion. ready: how many have been taken, and are wanted.
    """

    def __init__(self, arrivals: list[int], room: int = 32_764) -> None:
        super().__init__(room)
        self._arrivals = iter(arrivals)
        self._permits, self._permitted = threading.Semaphore(0), 0
        self.threads: list[threading.Thread] = []
        self.ready: Callable[[], tuple[int, int]] = lambda: (0, 0)

    def later(self, work: Callable[[], object]) -> None:
        """Do it in a thread."""
        self.threads.append(threading.Thread(target=work))
        self.threads[-1].start()

    def kernels(self, texts: list[KernelText]) -> list[object]:
        """Compile, as soon as the compiler may be done with that."""
        if any(text.name == "sweep" and text not in self.compiled for text in texts):
            self._permits.acquire()
        return super().kernels(texts)

    def mark(self) -> int:
        """A portion is queued: wait until as many kernels are there as are to be there by then."""
        self.permit(next(self._arrivals, 0))
        return super().mark()

    def permit(self, count: int) -> None:
        """Let so many more kernels be done."""
        self._permits.release(count) if count else None
        self._permitted += count
        end = time.monotonic() + 60
        while any(thread.is_alive() for thread in self.threads):
            ready, wanted = self.ready()
            if ready >= min(self._permitted, wanted):
                return
            assert time.monotonic() < end
            time.sleep(1e-3)

    def finish(self) -> None:
        """Let all kernels be done."""
        self._permits.release(1 << 20)
        for thread in self.threads:
            thread.join()


class Runs:
    """Runs of a circuit on such a GPU, which keeps what it prepared."""

    def __init__(self, circuit: Circuit, dtype: type, arrivals: list[int], room: int = 32_764) -> None:
        self.circuit, self.dtype = circuit, np.dtype(dtype)
        self.runtime = LateKernels(arrivals, room)
        self.device = GpuDevice.on(self.runtime)
        n = self.n = circuit.num_qubits
        self.plan = compiled_plan(circuit.instructions, n, Layout.identity(n), SMALL, (1 << n) - 1, True)
        self.sweeps = [step for step in self.plan.steps if isinstance(step, Sweep)]
        self.runtime.ready = self.ready

    def ready(self) -> tuple[int, int]:
        """Return how many structures of sweeps have a kernel, and how many there are."""
        keys = {key_of(sweep): sweep for sweep in self.sweeps}
        found = self.device._sweeps._choosing.ready([*keys.values()], BY_DTYPE[self.dtype])
        return sum(one is not None for one in found), len(keys)

    def __call__(self) -> float:
        """Return how far one more run is from the definition."""
        n, fresh = self.n, (1 << self.n) - 1
        ((self.prepared, loaded),) = prepare(self.plan, self.circuit.operands, (self.device,), self.dtype, "auto")
        self.launches = loaded._launches
        state = Single(self.device, self.device.allocate(1 << n, self.dtype), self.plan.start, fresh, begun=False)
        self.ticks = 0
        state.run(self.plan, ((self.prepared, loaded),), self._tick)
        return float(np.linalg.norm(state.read(0, 1 << n, range(n)) - simulate(self.circuit)))

    def _tick(self) -> None:
        self.ticks += 1


@pytest.fixture(params=[np.complex64, np.complex128], ids=["single", "double"])
def dtype(request: pytest.FixtureRequest) -> type:
    """Both precisions."""
    kind: type = request.param
    return kind


@pytest.fixture
def watched(hold: Hold) -> None:
    """Every run is in portions of one step, and has kernels made beside it."""
    hold(portion_microseconds=0, awaited_microseconds=0, compiled_milliseconds=0)


@pytest.mark.parametrize("seed", range(4))
def test_kernels_that_arrive_anywhere(hold: Hold, dtype: type, seed: int) -> None:
    """Whatever portions there are, and whenever kernels are compiled, the state is right, and so are later runs."""
    rng = np.random.default_rng(seed)
    hold(portion_microseconds=int(rng.choice([0, 7, 20])), awaited_microseconds=0, compiled_milliseconds=0)
    runs = Runs(drawn(seed, 8, 80, touched=int(rng.integers(6, 9))), dtype, rng.integers(0, 3, 12).tolist())
    assert runs() < TOLERANCE[dtype]
    assert isinstance(runs.launches, PortionedLaunches)
    assert runs.ticks == len(runs.plan.steps) > 2
    runs.runtime.finish()
    assert runs() < TOLERANCE[dtype]
    assert runs.prepared.compiled == runs.ready()[0]


@pytest.mark.usefixtures("watched")
def test_kernels_are_taken_in_the_middle_of_a_plan(dtype: type) -> None:
    """Sweeps behind the portion in which their kernels arrive run by them, and the others are interpreted."""
    runs = Runs(drawn(3, 8, 120), dtype, [0, 0, 0, 2, 0, 0, 1])
    assert runs() < TOLERANCE[dtype]
    taken = runs.prepared.taken
    runs.runtime.finish()
    assert taken is not None
    assert 0 < taken.compiled < len(runs.sweeps) - 3
    assert taken.from_disk == 0
    assert len(runs.runtime.reached) >= 2


def test_no_kernel_is_begun_that_comes_too_late(hold: Hold) -> None:
    """A run that is over before a kernel could be there begins none."""
    hold(portion_microseconds=0, awaited_microseconds=0, compiled_milliseconds=1 << 30)
    runs = Runs(drawn(3, 8, 80), np.complex64, [])
    assert runs() < TOLERANCE[np.complex64]
    assert runs.prepared.taken is not None
    assert runs.prepared.taken.compiled == 0
    assert len(runs.runtime.reached) == len(runs.plan.steps) - 2
    assert runs.runtime.threads == []


def test_a_short_run_is_queued_at_once(hold: Hold) -> None:
    """Without kernels on disk, and without time for any, there is one list of launches."""
    hold(awaited_microseconds=1 << 40)
    runs = Runs(drawn(3, 8, 80), np.complex64, [])
    assert runs() < TOLERANCE[np.complex64]
    assert not isinstance(runs.launches, PortionedLaunches)
    assert runs.runtime.reached == []


def test_long_runs_are_queued_in_pieces(hold: Hold, dtype: type) -> None:
    """A run in portions can be cancelled as often as another one: each step is told of, and the host waits."""
    hold(portion_microseconds=0, awaited_microseconds=0, compiled_milliseconds=1 << 30, queued_work=0)
    runs = Runs(drawn(2, 8, 60), dtype, [])
    assert runs() < TOLERANCE[dtype]
    assert runs.ticks == len(runs.plan.steps)
    assert len(runs.runtime.reached) >= len(runs.plan.steps) - 2


@pytest.mark.usefixtures("watched")
@pytest.mark.parametrize("room", [4_096, 96])
def test_what_an_old_driver_takes(dtype: type, room: int) -> None:
    """Where portions cannot be laid out the run goes as it did before; where they can, its tables are right."""
    runs = Runs(drawn(5, 8, 60), dtype, [0, 1, 1, 1], room)
    assert runs() < TOLERANCE[dtype]
    assert isinstance(runs.launches, PortionedLaunches) == (room > 96)
    runs.runtime.finish()


@pytest.mark.usefixtures("watched")
def test_zeros_of_wires_without_gates(dtype: type) -> None:
    """The last portion writes the zeros of wires that no gate touches."""
    runs = Runs(drawn(1, 9, 20, touched=6), dtype, [0, 1])
    assert runs() < TOLERANCE[dtype]
    assert isinstance(runs.plan.steps[-1], ZeroFill)
    runs.runtime.finish()
