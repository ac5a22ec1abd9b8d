"""Native code that is refused memory raises `OutOfMemory`, loses nothing, and the next run is right.

Each allocation of a plan or a run is refused in turn: the first, then the second alone, and so on.
"""

from __future__ import annotations

import gc
import re
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import cirq
import numpy as np
import pytest
from support import literal_executor as literal
from support.small_runs import RUNS, N, drawn, planned

from qsim_ex import reference, thresholds
from qsim_ex.circuit.digest import digest_of
from qsim_ex.circuit.ops import Op
from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.errors import OutOfMemory
from qsim_ex.execution.prepare import ordered_plan_of, plan_of, plans_of
from qsim_ex.kernels.cpu.encoded_plan import encoded_plan
from qsim_ex.kernels.cuda.interpret.programs import plan_programs
from qsim_ex.native.library import function
from qsim_ex.planning.coefficients.binding import bind
from qsim_ex_cirq.translation.circuits import translate
from tools.faults import caches

refuse_after = function("refuse_after")
Run = Callable[[], tuple[np.ndarray, np.ndarray]]


@pytest.fixture(autouse=True)
def _nothing_is_too_small() -> Iterator[None]:
    """Let native code do what Python does for small circuits."""
    with thresholds.instead(native_instructions=0, written_parts=0, gates_at_once=0, read_at_once=10):
        yield
    refuse_after(-1)


@pytest.fixture(scope="module", autouse=True)
def _this_thread_alone_collects() -> Iterator[None]:
    """Let no other thread collect garbage: a block counts for the thread that frees it."""
    gc.unfreeze()  # caches are looked for among all objects
    gc.collect()
    CACHES.extend(caches.caches())
    gc.freeze()
    gc.disable()
    yield
    gc.enable()
    CACHES.clear()


CACHES: list[Any] = []
"""The caches of all modules that were there before."""


def forget() -> None:
    """Clear the caches of plans and of what is made of them, so that a run is the first one of its circuit."""
    for cache in (plan_of, plans_of, ordered_plan_of, encoded_plan, plan_programs):
        cache.cache_clear()


def right(run: Run) -> bool:
    """Return whether a first run finds what the definition says."""
    forget()
    found, wanted = run()
    return bool(found.shape == wanted.shape and np.abs(found - wanted).max() < 1e-12)


def refused(run: Run, granted: int) -> str | None:
    """Return the words of the error of a run to which only so many allocations are granted; None if these are all."""
    forget()
    refuse_after(granted)
    try:
        run()
    except OutOfMemory as error:
        words = str(error)
    else:
        words = ""
    left = refuse_after(-1)
    assert bool(words) == (left < 0), (granted, "a refused allocation is an error")
    return words or None


def blocks() -> int:
    """Return how many blocks of native memory this thread has in use once every cache of plans is empty."""
    caches.forget([*CACHES, *caches.caches()])
    gc.collect()
    return function("allocated_blocks")()


def added(run: Run, said: set[str]) -> int:
    """Refuse each allocation of a run in turn; return how many blocks of native memory are left of all these runs."""
    granted, before = 0, blocks()
    while words := refused(run, granted):
        said.add(words)
        granted += 1
        if granted % 8 == 1:
            assert right(run), granted
    assert right(run)
    assert granted > 0
    return blocks() - before


@pytest.mark.parametrize("kind", RUNS)
def test_each_allocation_that_is_refused_is_an_error(kind: str) -> None:
    """Whichever allocation is refused, the run says what needed how much memory, and the next run is right."""
    run, said = RUNS[kind], set[str]()
    assert right(run)
    assert any(added(run, said) <= 0 for _ in range(3)), "a leak grows every time, what other tests left does not"
    for words in said:
        assert re.fullmatch(
            r"[a-z ]+ needs another [\d,]+ bytes of host memory, which the system refused\. Close.+", words
        )


def test_a_block_that_each_refusal_keeps_is_found() -> None:
    """A run that loses memory whenever it is refused some has lost more after each pass."""
    kept = []

    def losing() -> tuple[np.ndarray, np.ndarray]:
        try:
            return RUNS["a circuit of Cirq"]()
        except OutOfMemory:
            kept.append(planned(drawn(7, 1)))
            raise

    assert all(added(losing, set()) >= 24 for _ in range(3))
    kept.clear()
    assert added(RUNS["a circuit of Cirq"], set()) <= 0


DRAWN = drawn(7).instructions
GATES = cirq.CNOT, cirq.MatrixGate(np.diag([1, 1, 1j, 1]))  # one with a row of the gate table, and one without
LINES = [GATES[k % 2](*cirq.LineQubit.range(k, k + 2)) for k in range(24)]
READERS: dict[str, Callable[[], object]] = {
    "texts": lambda: digest_of(DRAWN, Op),
    "Cirq": lambda: translate(cirq.Circuit(LINES)),
}


@pytest.mark.parametrize("reader", READERS)
def test_references_to_objects_are_given_back(reader: str) -> None:
    """A reader that is refused memory holds on to no object that it has made or looked at."""

    def refuse_each() -> int:
        granted = 0
        while refused(READERS[reader], granted):
            granted += 1
        gc.collect()
        return granted

    count, held = refuse_each(), sum(sys.getrefcount(one.qubits) for one in LINES)
    tracemalloc.start()
    try:
        held_before = [tracemalloc.get_traced_memory()[0] for _ in range(4) if refuse_each()]
        assert min(after - before for before, after in pairwise(held_before)) < LOST * count  # caches grow now and then
    finally:
        tracemalloc.stop()
    assert sum(sys.getrefcount(one.qubits) for one in LINES) == held


LOST = 250
"""The bytes that Python keeps of a refusal at most; a text or a tuple takes 60, and readers hold a dozen of them."""


def in_a_new_thread(work: Callable[[], object]) -> None:
    """Call a function in a thread that has no scratch memory yet."""
    with ThreadPoolExecutor(1) as threads:
        threads.submit(work).result()


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_what_changes_a_state_in_place_is_refused_before_it_begins(dtype: type) -> None:
    """A sweep and a permutation of index bits leave the state as it was, and are right when they are tried again."""
    circuit, device = drawn(8), CpuDevice(threads=1)
    plan = planned(circuit)
    prepared, numbers = device.prepare(plan.steps, N, dtype), list(bind(plan, circuit.operands))
    psi, begin = np.zeros(1 << N, dtype), np.random.default_rng(0).normal(size=1 << N).astype(dtype)
    psi[0] = 1
    turned = begin.copy()

    def sweep() -> None:
        device.run(psi, N, plan.steps[0], numbers[0], prepared)

    def permute() -> None:
        device.permute(turned, N, [*range(1, N), 0])

    for work, state in ((sweep, psi), (permute, turned)):
        before = state.copy()
        refuse_after(0)
        with pytest.raises(OutOfMemory, match=r"(running a sweep|moving the index bits).* needs another"):
            in_a_new_thread(work)
        refuse_after(-1)
        assert (state == before).all()
        in_a_new_thread(work)
    for step, taken in zip(plan.steps[1:], numbers[1:], strict=True):
        device.run(psi, N, step, taken, prepared)
    assert np.abs(literal.in_order(psi, plan.end) - reference.simulate(circuit)).max() < 1e-5
    places = np.arange(1 << N)
    assert (turned == begin[places >> N - 1 | places << 1 & (1 << N) - 1]).all()


LIMITED = """
import resource, sys
import numpy as np
from qsim_ex import CircuitBuilder, Simulator, reference
from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.planning.planner import make_plan
from qsim_ex.steps import Layout

def circuit(wires, gates):
    builder, rng = CircuitBuilder(wires), np.random.default_rng(0)
    for one, other, angle in zip(*rng.integers(wires - 1, size=(2, gates)).tolist(), rng.uniform(0, 3, gates).tolist()):
        builder.gate("u", [one], angle, 0.3, 0.2).gate("cx", [other, other + 1])
    return builder.build()

large, small, simulator = circuit(24, 60_000), circuit(6, 40), Simulator(device="cpu", precision="double", threads=1)
simulator.state(circuit(5, 10)).close()  # all modules are there, and the library is loaded
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (40 << 20), resource.RLIM_INFINITY))
try:
    make_plan(large.instructions, 24, Layout.identity(24), CpuDevice().shape(np.complex64), (1 << 24) - 1, place=True)
except MemoryError as error:
    print("refused:", error)
with simulator.state(small) as state:
    print("right:", bool(abs(state.to_numpy() - reference.simulate(small)).max() < 1e-12))
"""


def test_a_process_that_is_refused_memory_for_a_large_circuit_goes_on_with_a_small_one() -> None:
    """Under a limit of the system, 120,000 gates are a `MemoryError`, and 80 gates have the state of the definition."""
    done = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    refused, right = done.stdout.splitlines()
    assert re.match(r"refused: planning a circuit needs another [\d,]+ bytes", refused), refused
    assert right == "right: True"
