"""States that a loop makes on a GPU are those that a state vector and `apply` make."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from math import pi

import numpy as np
import pytest
from support.cuda.emulated_runtime import EmulatedRuntime
from support.gpus import gpu_missing

from qsim_ex import reference
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.deployment.assignment import Assignment, on
from qsim_ex.devices.gpu.device import GpuDevice
from qsim_ex.errors import CircuitError, NotSupported
from qsim_ex.kernels.giving_way import FIRST_RUNS
from qsim_ex.options import Options
from qsim_ex.run.repeated import RepeatedCircuit

WIRES = 6

Place = Callable[..., Assignment]


@pytest.fixture(params=["always", "auto", "never"])
def options(request: pytest.FixtureRequest) -> Options:
    """With kernels of their own from the first run on, from the third run on, or never."""
    return Options(precision="double", compile=request.param)


def ansatz(seed: int, wires: int = WIRES) -> Circuit:
    """Rotations by random angles and a chain of CZ, twice."""
    angles = np.random.default_rng(seed).uniform(-pi, pi, (2, wires))
    builder = CircuitBuilder(wires)
    for layer in angles:
        for wire in range(wires):
            builder.gate("ry", [wire], layer[wire]).gate("rz", [wire], layer[wire] / 2)
        for wire in range(wires - 1):
            builder.gate("cz", [wire, wire + 1])
    return builder.build()


@pytest.fixture(params=["emulated", pytest.param("real", marks=pytest.mark.gpu)])
def place(request: pytest.FixtureRequest) -> Place:
    """Puts states on a new device: an emulated GPU, and the real one."""

    def found(options: Options, wires: int = WIRES) -> Assignment:
        device = GpuDevice.on(EmulatedRuntime()) if request.param == "emulated" else GpuDevice()
        return on(device, wires, options, "the test's")

    if request.param == "real" and (missing := gpu_missing()):
        pytest.skip(missing)
    return found


def test_a_loop_over_angles(options: Options, place: Place) -> None:
    """From the first run to those whose kernels are queued at once, a state is that of its own angles."""
    grown, where = RepeatedCircuit(options), place(options)
    for seed in range(6):
        circuit = ansatz(seed)
        with grown(circuit, where) as state:
            assert state.to_numpy() == pytest.approx(reference.simulate(circuit), abs=1e-12)
            assert state.where is where


def test_the_state_goes_on(options: Options, place: Place) -> None:
    """A state that was made this way can be applied to, and knows which wires were touched."""
    grown, where = RepeatedCircuit(options), place(options)
    builder = CircuitBuilder(WIRES)
    first = builder.gate("h", [2]).gate("cx", [2, 4]).build()
    reset = CircuitBuilder(WIRES).reset([4]).build()
    for _ in range(4):
        with grown(first, where) as state:
            with pytest.raises(NotSupported, match="reset of wires that were used before"):
                state.apply(reset)
            more = ansatz(1)
            wanted = reference.simulate(more, reference.simulate(first))
            assert state.apply(more).to_numpy() == pytest.approx(wanted, abs=1e-12)


def test_another_device_has_its_own(options: Options, place: Place) -> None:
    """Each device has what was prepared for it."""
    grown, circuit = RepeatedCircuit(options), ansatz(0)
    for where in (place(options), place(options)) * 2:
        for _ in range(4):
            with grown(circuit, where) as state:
                assert state.device is where.device
                assert state.to_numpy() == pytest.approx(reference.simulate(circuit), abs=1e-12)


def test_what_is_not_unitary_is_refused(options: Options, place: Place) -> None:
    """A measurement in the middle is refused, and nothing is allocated for it."""
    where = place(options)
    where.device.allocate = None  # type: ignore[method-assign, assignment]
    circuit = CircuitBuilder(WIRES, 1).gate("h", [0]).measure([0], [0]).gate("h", [0]).build()
    with pytest.raises((NotSupported, CircuitError), match="measurement in the middle"):
        RepeatedCircuit(options)(circuit, where)


@pytest.mark.gpu
def test_streams_and_threads_keep_apart(options: Options) -> None:
    """Threads that run one structure at the same time, each on its own stream, get the states of their angles."""
    if missing := gpu_missing():
        pytest.skip(missing)
    import cupy

    grown, where = RepeatedCircuit(options), on(GpuDevice(), 12, options, "the test's")

    def deviation(seed: int) -> float:
        circuit = ansatz(seed, 12)
        with cupy.cuda.Stream(non_blocking=True), grown(circuit, where) as state:
            return float(np.abs(state.to_numpy() - reference.simulate(circuit)).max())

    assert max(map(deviation, range(4))) < 1e-12
    with ThreadPoolExecutor(8) as pool:
        assert max(pool.map(deviation, range(100))) < 1e-12


def test_the_state_is_allocated_before_tables() -> None:
    """A pool of memory gives the state the block of the state before; a table taken first would split that block."""
    runtime = EmulatedRuntime()
    where, sizes = on(GpuDevice.on(runtime), WIRES, Options(compile="never"), "the test's"), []
    empty, upload = runtime.empty, runtime.upload
    runtime.empty = lambda count, dtype: (sizes.append(count), empty(count, dtype))[1]  # type: ignore[method-assign]
    runtime.upload = lambda host: (sizes.append(-1), upload(host))[1]  # type: ignore[method-assign]
    builder = CircuitBuilder(WIRES)
    for wire in range(WIRES):
        builder.gate("h", [wire])
        for other in range(wire):
            builder.gate("cp", [wire, other], 0.1)
    RepeatedCircuit(Options(compile="never"))(builder.build(), where).close()
    assert len(sizes) > 2
    assert sizes[0] == 1 << WIRES


def test_the_background_waits_until_a_new_circuit_is_queued() -> None:
    """All of a run until its kernels are queued comes first, unless what was prepared is settled."""
    runtime = EmulatedRuntime()
    where, waits = on(GpuDevice.on(runtime), WIRES, Options(compile="never"), "the test's"), list[bool]()
    empty = runtime.empty
    runtime.empty = lambda *of: (waits.append(FIRST_RUNS._planned > 0), empty(*of))[1]  # type: ignore[method-assign]
    grown = RepeatedCircuit(Options(compile="never"))
    for _ in range(2):
        grown(ansatz(0), where).close()
    assert waits[0]
    assert not waits[-1]
    assert not FIRST_RUNS._planned
