"""Migrated states on a real GPU, with streams and page-locked memory, hold what a state in one piece holds there."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from support.gpus import gpu_missing
from support.states import TOLERANCE, far

from benchmarks.engine import circuit_of
from benchmarks.families import FAMILIES
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.ops import ALWAYS
from qsim_ex.errors import Cancelled
from qsim_ex.execution.progress import Ticker
from qsim_ex.placement import executor
from qsim_ex.placement.migrated import Migrated
from qsim_ex.placement.single import Single
from qsim_ex.planning.coefficients.binding import bind
from qsim_ex.planning.planner import make_plan
from qsim_ex.steps import Layout, Levels

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def gpu() -> Any:
    """The real one."""
    if reason := gpu_missing():
        pytest.skip(reason)
    from qsim_ex.devices.gpu.device import GpuDevice

    return GpuDevice()


def circuit(name: str, wires: int) -> Circuit:
    """A family's circuit."""
    return circuit_of(FAMILIES[name].build(wires, 1), wires)


def work(gpu: Any, state: Any, made: Circuit, levels: Levels) -> tuple[Any, Any, Any]:
    """A plan for a state, what the GPU has prepared for it, and its numbers."""
    shape = gpu.shape(state.dtype)
    plan = make_plan(made.instructions, made.num_qubits, state.layout, shape, state.fresh, levels)
    prepared = gpu.prepare(plan.steps, levels.local, state.dtype)
    return plan, prepared, gpu.load(prepared, bind(plan, made.operands))


def in_one_piece(gpu: Any, made: Circuit, dtype: Any) -> np.ndarray:
    """Return the state of a circuit from |0…0⟩ in one buffer of the GPU."""
    n = made.num_qubits
    buffer = gpu.allocate(1 << n, dtype)
    gpu.begin(buffer)
    state = Single(gpu, buffer, Layout.identity(n), (1 << n) - 1)
    plan, prepared, numbers = work(gpu, state, made, Levels(n))
    for step, packed in zip(plan.steps, numbers, strict=True):
        gpu.run(buffer, n, step, packed, prepared)
    return Single(gpu, buffer, plan.end).read(0, 1 << n, range(n))


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize(
    ("n", "far_wires", "slots", "scenario"),
    [(16, 1, 1, "whole"), (18, 2, 3, "whole"), (18, 1, 1, "spread"), (20, 3, 2, "spread"), (22, 5, 3, "whole")],
)
def test_families(
    gpu: Any, precision: str, dtype: Any, name: str, n: int, far_wires: int, slots: int, scenario: Any
) -> None:
    """A circuit on a migrated state ends in the state of one piece, and few bytes are copied."""
    levels = Levels(n - far_wires, slice=10)
    made = circuit(name, n)
    state = Migrated(gpu, Layout.identity(n), levels, dtype, slots=slots, scenario=scenario, piece=1 << 16)
    try:
        plan, prepared, numbers = work(gpu, state, made, levels)
        state.run(plan, [(prepared, numbers)], lambda: None)
        found = state.read(0, 1 << n, range(n))
        assert far(found, in_one_piece(gpu, made, dtype)) < TOLERANCE[precision] * (1 + 0.03 * plan.num_gates)
        assert state.slots.kind in ("pinned", "plain")
        whole = state.dtype.itemsize << n
        assert state.slots.pipe.bytes_in <= whole * (len(plan.stages) + 1)
    finally:
        state.release()


@pytest.mark.parametrize("scenario", ["whole", "spread"])
@pytest.mark.parametrize("slots", [1, 2, 3])
def test_many_visits(gpu: Any, slots: int, scenario: Any) -> None:
    """After amplitudes have gone back and forth many times, with little work between, all are right."""
    n, local = 22, 19
    state = Migrated(
        gpu, Layout.identity(n), Levels(local, slice=12), np.complex64, slots=slots, scenario=scenario, piece=1 << 17
    )
    psi = (np.arange(1 << n) + 1j * np.arange(1 << n)[::-1]).astype(np.complex64)
    try:
        state.forget()
        state.write(0, psi)
        rng = np.random.default_rng(slots)
        for turn in range(12):
            near = rng.permutation(n)[: local - 12].tolist()
            for place in state.visit(near, write=True):
                gpu.scale(place.buffer, local, ALWAYS, 2.0 if turn % 2 else 0.5, 1.0)
        assert np.array_equal(state.read(0, 1 << n, range(n)), psi)
        state.arrange(Layout(tuple(rng.permutation(n).tolist()), 0b1011 << 9 | 5))
        assert np.array_equal(state.read(0, 1 << n, range(n)), psi)
    finally:
        state.release()


def test_cancel(gpu: Any) -> None:
    """A cancelled run leaves no device memory behind, and the next one runs."""
    n, levels = 20, Levels(17, slice=10)
    made = circuit("qft", n) if "qft" in FAMILIES else circuit(next(iter(FAMILIES)), n)
    for cancelled in (True, False):
        before = held()
        state = Migrated(gpu, Layout.identity(n), levels, np.complex64, slots=2, piece=1 << 16)
        plan, prepared, numbers = work(gpu, state, made, levels)
        event = threading.Event()
        ticker = Ticker(event)

        def tick(ticker: Ticker = ticker, event: threading.Event = event, stop: bool = cancelled) -> None:
            if stop and ticker.done == 7:
                event.set()
            ticker()

        if cancelled:
            with pytest.raises(Cancelled):
                state.run(plan, [(prepared, numbers)], tick)
        else:
            state.run(plan, [(prepared, numbers)], tick)
            assert ticker.done == executor.ticks(state, plan)
            assert abs(state.norm_squared() - 1) < 1e-4
        state.release()
        assert held() < before + (1 << 20)  # a slot


def held() -> int:
    """The bytes of device memory in use by this process: what is free changes with other processes, too."""
    import cupy

    used: int = cupy.get_default_memory_pool().used_bytes()
    return used
