"""The interpreter does what a sweep says: its source text runs on the CPU and is compared with the definition."""

from __future__ import annotations

import numpy as np
import pytest
from cuda_definition import random_state, random_sweep, run_sweep
from cuda_emulator import EmulatedRuntime, call, library, wrapped
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.engine import appended
from benchmarks.families import FAMILIES
from qsim_ex import reference
from qsim_ex.circuit.circuit import CircuitBuilder
from qsim_ex.devices.gpu import GpuDevice
from qsim_ex.kernels.cuda import sweeps
from qsim_ex.kernels.cuda.interpreter import NAME, encode, source
from qsim_ex.kernels.cuda.interpreter import text as interpreter_text
from qsim_ex.kernels.cuda.packing import pack
from qsim_ex.planning.planner import bind, make_plan
from qsim_ex.steps import Layout


def interpreter(dtype):
    """The interpreter's kernel, compiled for the CPU."""
    return library(wrapped(source(np.dtype(dtype).itemsize), "interpret", "launch"), "-O1").launch


def check(seed, num_bits, tile_bits, num_phases, num_items, high_bits, dtype, **more):
    """Run a random sweep both ways round and compare."""
    dtype = np.dtype(dtype)
    sweep, numbers = random_sweep(seed, num_bits, tile_bits, num_phases, num_items, high_bits, **more)
    high = int(np.random.default_rng(seed).integers(0, 1 << high_bits))
    psi = random_state(seed, num_bits, dtype)
    want = run_sweep(psi, num_bits, sweep, numbers, high)
    program = encode(sweep, dtype.itemsize)
    entries = np.append(pack(numbers, program.numbers, np.float64), [0.0, 0.0]).view(np.complex128).astype(dtype)
    for backwards in (False, True):
        got = psi.copy()
        whole, size = np.uint64(high << num_bits), np.uint64(1 << num_bits)
        blocks = 1 << num_bits - program.skipped_bits
        call(interpreter(dtype), blocks, program.threads, backwards, got, entries, program.words, whole, size)
        error = np.linalg.norm(got - want) / max(np.linalg.norm(want), 1e-30)
        assert error < (2e-5 if dtype == np.complex64 else 1e-12), f"{error} for {sweep}"


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("num_bits", range(12))
def test_every_number_of_bits_from_none_up(num_bits, dtype):
    """States smaller than a tile, down to a single amplitude, are handled without touching anything beside them."""
    for seed in range(4):
        check(seed, num_bits, 11, 3, 4, 2, dtype)


def test_full_tiles():
    """The tiles of the product, 12 bits of complex64 and 11 of complex128, with one block and with several."""
    check(1, 12, 12, 3, 4, 0, np.complex64)
    check(2, 14, 12, 4, 4, 2, np.complex64)
    check(3, 11, 11, 3, 4, 0, np.complex128)
    check(4, 13, 11, 4, 4, 2, np.complex128)


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 2**31), st.integers(0, 11), st.integers(4, 9), st.integers(1, 5), st.integers(0, 6), st.booleans()
)
def test_any_sweep(seed, num_bits, tile_bits, num_phases, num_items, double):
    """Random sweeps of any shape agree with the definition."""
    check(seed, num_bits, tile_bits, num_phases, num_items, 3, np.complex128 if double else np.complex64)


@pytest.mark.parametrize("cores", [4, 16])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize(("family", "sizes"), [("qft", 1), ("su2", 1), ("brick", 2), ("mixed", 7), ("diagonal", 1)])
def test_a_first_run_takes_an_interpreter_that_knows_enough(family, sizes, dtype, cores, monkeypatch):
    """With many cores a plan runs by the smallest interpreter that knows its matrices, later by the whole one."""
    monkeypatch.setattr(sweeps, "cores", lambda: cores)
    runtime = EmulatedRuntime()
    device, n = GpuDevice.on(runtime), 9
    builder = CircuitBuilder(n)
    if family in FAMILIES:
        appended(builder, FAMILIES[family].build(n, 3))
    if family == "mixed":
        unitary = np.linalg.qr(np.random.default_rng(1).normal(size=(8, 8)) + 0j)[0]
        builder.gate("h", [0]).unitary(unitary, [0, 1, 2]).gate("ry", [3], 0.3).gate("rxx", [3, 4], 0.4)
    if family == "diagonal":
        builder.gate("rzz", [0, 1], 0.3).gate("cp", [2, 3], 0.4)
    circuit = builder.build()
    plan = make_plan(circuit.instructions, n, Layout.identity(n), device.shape(dtype), (1 << n) - 1)
    for known in ({}, {interpreter_text(np.dtype(dtype).itemsize)}):
        runtime.compiled[:] = known
        device = GpuDevice.on(runtime)
        buffer = device.allocate(1 << n, dtype)
        device.begin(buffer)
        prepared = device.prepare(plan.steps, n, dtype, "never")
        for step, numbers in zip(plan.steps, device.load(prepared, bind(plan, circuit.operands)), strict=True):
            device.run(buffer, n, step, numbers, prepared)
        used = [text for text in runtime.compiled if text.name == NAME]
        wanted = 7 if known or cores < 8 else sizes
        assert used == [interpreter_text(np.dtype(dtype).itemsize, sizes=wanted)]
        found = device.read(buffer, 0, 1 << n)[[plan.end.index(value) for value in range(1 << n)]]
        assert np.linalg.norm(found - reference.simulate(circuit)) < (1e-5 if dtype == np.complex64 else 1e-12)
