"""Plans in a CNOT frame on the GPU device, which have CX moved by addresses: drawn sweeps and whole circuits, on an
emulated GPU and on the real one.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from planning.linear.test_schedule import drawn
from support.cuda.emulated_runtime import EmulatedRuntime
from support.cuda.random_sweeps import numbers_of_rows, random_state, random_sweep
from support.plain_device import PlainDevice
from support.promises import verify

from benchmarks.counts import circuit_of
from benchmarks.cx_rich import FAMILIES
from qsim_ex import reference
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.deployment.assignment import on
from qsim_ex.devices.gpu.device import GpuDevice
from qsim_ex.errors import DeviceError, MissingPackage
from qsim_ex.options import Options
from qsim_ex.planning.coefficients.binding import bind
from qsim_ex.planning.planner import make_plan
from qsim_ex.state.vector import StateVector
from qsim_ex.steps import Layout, Mix

PLAIN = PlainDevice()
WIRES = 14
SWEEP_BOUND = {np.complex64: 2e-5, np.complex128: 1e-12}
BOUND = {np.complex64: 1e-5, np.complex128: 1e-12}


class LinearGpu(GpuDevice):
    """A GPU whose plans may be in a CNOT frame, with dense blocks on tensor cores however small a state is."""

    def shape(self, dtype):
        """The GPU's shape, with both switches on."""
        return replace(super().shape(dtype), linear=True, block_made=0)


@pytest.fixture(scope="module", params=["emulated", pytest.param("real", marks=pytest.mark.gpu)])
def gpu(request):
    """An emulated GPU, and the real one."""
    if request.param == "emulated":
        return LinearGpu.on(EmulatedRuntime(tensor=True))
    try:
        return LinearGpu()
    except (DeviceError, MissingPackage) as error:
        pytest.skip(str(error))


@pytest.fixture(params=[np.complex64, np.complex128], ids=["single", "double"])
def dtype(request):
    """Both precisions."""
    return request.param


def filled(gpu, psi):
    """A buffer that holds a state."""
    buffer = gpu.allocate(psi.size, psi.dtype)
    gpu.write(buffer, 0, psi)
    return buffer


@pytest.mark.parametrize("compile", ["always", "never"])
@pytest.mark.parametrize("num_bits", [0, 2, 5, 11, 13, 15])
def test_drawn_sweeps(gpu, dtype, num_bits, compile):
    """Sweeps over drawn subspaces, of whole states and of growing ones, do what the definition says."""
    tile = gpu.shape(dtype).tile
    for seed in range(4):
        kinds = ("block", "cx", "diagonal") if seed % 2 and num_bits > 3 else ("cx", "mix", "diagonal", "permute")
        sweep, numbers = random_sweep(seed, num_bits, tile, 3, 4, 2, kinds if num_bits else ("diagonal",), linear=True)
        psi = random_state(seed, num_bits, dtype)
        want, buffer = psi.astype(np.complex128), filled(gpu, psi)
        prepared = gpu.prepare((sweep,), num_bits, dtype, compile)
        gpu.run(buffer, num_bits, sweep, numbers, prepared, 2)
        PLAIN.run(want, num_bits, sweep, numbers, high=2)
        got = gpu.read(buffer, 0, len(psi))
        visited = ~np.isnan(want)
        error = np.linalg.norm((got - want)[visited]) / max(float(np.linalg.norm(want[visited])), 1e-30)
        assert error < SWEEP_BOUND[dtype], (seed, sweep)


@pytest.mark.parametrize("compile", ["always", "never"])
@pytest.mark.parametrize("num_bits", [3, 7, 13])
def test_drawn_sweeps_over_rows(gpu, dtype, num_bits, compile):
    """The same holds in every row of a batch."""
    rows = 5
    for seed in (1, 2):
        sweep, packed = random_sweep(seed, num_bits, gpu.shape(dtype).tile, 3, 3, linear=True)
        numbers = numbers_of_rows(seed, sweep, packed, rows)
        psi = np.array([random_state(row, num_bits, dtype) for row in range(rows)])
        want, buffer = psi.ravel().astype(np.complex128), filled(gpu, psi.ravel())
        gpu.run_batch(buffer, num_bits, sweep, numbers, gpu.prepare_batch((sweep,), num_bits, dtype, compile))
        PLAIN.run_batch(want, num_bits, sweep, numbers)
        error = np.linalg.norm(gpu.read(buffer, 0, psi.size) - want) / max(float(np.linalg.norm(want)), 1e-30)
        assert error < SWEEP_BOUND[dtype], (seed, sweep)


def full_of_cx(wires, seed):
    """A circuit of layers of dense gates on four wires, with many drawn CX behind each."""
    builder, rng = CircuitBuilder(wires), np.random.default_rng(seed)
    for layer in range(4):
        for wire in range(layer % 2, wires - 3, 4):
            matrix = np.linalg.qr(rng.normal(size=(16, 16)) + 1j * rng.normal(size=(16, 16)))[0]
            builder.unitary(matrix, rng.permutation(np.arange(wire, wire + 4)).tolist())
        for _ in range(2 * wires):
            builder.gate("cx", rng.permutation(wires)[:2].tolist())
    return builder.build()


CIRCUITS = {
    "drawn": lambda: drawn(3, WIRES, 120),
    "dense": lambda: full_of_cx(WIRES, 1),
    "cx_only": lambda: circuit_of(FAMILIES["cx_only"](WIRES), WIRES),
    "surface_code": lambda: circuit_of(FAMILIES["surface_code"](WIRES), WIRES),
    "clifford_t": lambda: circuit_of(FAMILIES["clifford_t"](WIRES), WIRES),
}


@cache
def defined(name, new):
    """A circuit, the state before it, |0…0⟩ or any, and the one that its definition makes of that."""
    made = CIRCUITS[name]()
    psi = np.eye(1, 1 << WIRES, dtype=np.complex128)[0] if new else random_state(5, WIRES, np.complex128)
    return made, psi, reference.simulate(made, psi)


@pytest.mark.usefixtures("every_linear_plan")
@pytest.mark.parametrize("name", CIRCUITS)
@pytest.mark.parametrize("compile", ["always", "never"])
@pytest.mark.parametrize("new", [True, False], ids=["new", "full"])
def test_a_plan_in_a_cnot_frame(gpu, name, compile, dtype, new):
    """Kernels of such plans make the state that the circuit's definition makes, from |0…0⟩ in memory that may hold
    anything, and from any state.
    """
    (made, begin, want), size = defined(name, new), 1 << WIRES
    every = size - 1 if new else 0
    plan = make_plan(made.instructions, WIRES, Layout.identity(WIRES), gpu.shape(dtype), every, None, new)
    verify(plan)
    assert any(sweep.load or any(mask & mask - 1 for mask in sweep.store) for sweep in plan.sweeps)
    if name == "dense":
        assert any(
            isinstance(i, Mix) and len(i.bits) == 4 for s in plan.sweeps for b in s.register_blocks for i in b.items
        )
    psi = begin.astype(dtype)
    memory = np.full(size, np.nan, dtype=dtype) if new else psi.copy()
    memory[0] = psi[0]
    buffer = filled(gpu, memory)
    prepared = gpu.prepare(plan.steps, WIRES, dtype, compile)
    for step, numbers in zip(plan.steps, gpu.load(prepared, bind(plan, made.operands)), strict=True):
        gpu.run(buffer, WIRES, step, numbers, prepared)
    found = gpu.read(buffer, 0, size)[[plan.end.index(value) for value in range(size)]]
    assert np.linalg.norm(found - want) < BOUND[dtype] * np.linalg.norm(want)


@pytest.mark.usefixtures("every_linear_plan")
@pytest.mark.parametrize("compile", ["always", "never", "auto"])
@pytest.mark.parametrize("precision", ["single", "double"])
def test_states_as_users_have_them(gpu, compile, precision):
    """A state that is run again and again, whose launches are laid out, and goes on from where it was, is right."""
    made, more = drawn(4, WIRES, 80), drawn(5, WIRES, 30)
    where = on(gpu, WIRES, Options(precision=precision), "the test's")
    want = reference.simulate(made)
    after = reference.simulate(more, want)
    for _ in range(4):
        with StateVector(WIRES, compile=compile, precision=precision, where=where) as state:
            assert state.apply(made).to_numpy() == pytest.approx(want, abs=1e-5)
            assert state.apply(more).to_numpy() == pytest.approx(after, abs=1e-5)


def test_which_plans_are_in_a_cnot_frame(dtype):
    """On a GPU circuits full of CX have plans in a CNOT frame, of new states and of others; other circuits do not."""
    shape = GpuDevice.on(EmulatedRuntime()).shape(dtype)
    for family, linear in (("cx_only", True), ("qaoa", False)):
        circuit = circuit_of(FAMILIES[family](22), 22)
        args = circuit.instructions, 22, Layout.identity(22), replace(shape, start=14)
        for plan in (make_plan(*args, (1 << 22) - 1, None, True), make_plan(*args)):
            verify(plan)
            assert any(sweep.load for sweep in plan.sweeps) == linear
