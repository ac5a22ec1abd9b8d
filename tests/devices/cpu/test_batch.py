"""Batches on the CPU device: the contract, many rows, long rows, and threads."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from contract.batches import BatchContract, family, planned, random_rows, run, run_plain
from hypothesis import given, settings
from hypothesis import strategies as st
from support.plain_device import PlainDevice

from qsim_ex.circuit.ops import ALWAYS, When
from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.planning.coefficients.binding import fill
from qsim_ex.steps import BasisPermutation, DenseMatrix, InitialAmplitudes, ZeroFill

DTYPES = [np.complex64, np.complex128]


class TestPlain(BatchContract):
    """The definition itself fulfils the contract."""

    @pytest.fixture
    def device(self):
        """NumPy by definition."""
        return PlainDevice()


class TestCpu(BatchContract):
    """The CPU device fulfils the contract."""

    @pytest.fixture
    def device(self):
        """Two threads."""
        return CpuDevice(2)


@cache
def thousand(name):
    """A circuit, and a thousand rows of its numbers, of which those that are looked at are of seeds of their own."""
    made = [family(name, 6, seed) for seed in range(200)]
    return made[0], np.tile(np.concatenate([circuit.operands for circuit in made]), (5, 1))


@pytest.mark.parametrize("name", ["su2", "brick", "qft"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_thousand_rows(name, dtype):
    """Each of many rows is bit for bit what it is as a state alone, with any number of threads."""
    n, rows = 6, 1000
    made, operands = thousand(name)
    plan = planned(made, CpuDevice(1).shape(dtype))
    found = run(CpuDevice(2), plan, operands, dtype, rows)
    assert np.array_equal(run(CpuDevice(1), plan, operands, dtype, rows), found)
    for row in (0, 1, 498, 999):
        assert np.linalg.norm(found[row] - run_plain(plan, operands[row])) < (1e-5 if dtype == np.complex64 else 1e-12)
        single, device = np.empty(1 << n, dtype=dtype), CpuDevice(2)
        device.begin(single)
        for step, numbers in zip(plan.steps, fill(plan.coefficients, operands[row]), strict=True):
            device.run(single, n, step, numbers)
        assert np.array_equal(single, found[row])


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_of_many_tiles(dtype):
    """Rows longer than a tile, which threads divide, are bit for bit what each is alone."""
    n, rows = 16, 3
    made = [family("su2", n, seed) for seed in range(rows)]
    operands = np.concatenate([circuit.operands for circuit in made])
    plan = planned(made[0], CpuDevice(1).shape(dtype))
    found = run(CpuDevice(3), plan, operands, dtype, rows)
    for row in range(rows):
        wanted = run_plain(plan, operands[row])
        assert np.linalg.norm(found[row] - wanted) < (2e-5 if dtype == np.complex64 else 1e-12)
        assert np.array_equal(run(CpuDevice(1), plan, operands[row : row + 1], dtype, 1)[0], found[row])


@pytest.mark.parametrize("dtype", DTYPES)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_other_steps(dtype, data):
    """Wide matrices, permutations, spreads and clears use each row's own numbers and reach no other row."""
    num_bits, rows = data.draw(st.integers(1, 9)), data.draw(st.sampled_from([1, 2, 5]))
    bits = tuple(data.draw(st.lists(st.sampled_from(range(num_bits)), min_size=1, max_size=5, unique=True)))
    size = 1 << len(bits)
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    given_rows = data.draw(st.sampled_from([1, rows]))
    for step, count in (
        (DenseMatrix(bits, (), ALWAYS), size * size),
        (BasisPermutation(bits, tuple(int(x) for x in rng.permutation(size))), 0),
        (InitialAmplitudes(bits, int(rng.integers(size))), size),
        (ZeroFill(sum(1 << bit for bit in bits)), 0),
    ):
        numbers = rng.normal(size=(given_rows, count, 2)) @ [1, 1j] / size
        values = random_rows(rows, num_bits, dtype)
        wanted = values.astype(np.complex128).ravel()
        PlainDevice().run_batch(wanted, num_bits, step, numbers)
        buffer = values.ravel().copy()
        CpuDevice(2).run_batch(buffer, num_bits, step, numbers)
        np.testing.assert_allclose(buffer, wanted, atol=1e-13 if dtype == np.complex128 else 2e-6)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("num_bits", "rows"), [(4, 1000), (10, 500), (18, 3)])
def test_sums_do_not_depend_on_threads_or_rows(dtype, num_bits, rows):
    """Sums over a row are the same bits with more threads, in another batch, and alone."""
    values = random_rows(rows, num_bits, dtype)
    batch, several, one = values.ravel(), CpuDevice(3), CpuDevice(1)
    when = When(1 << num_bits - 1, 0)
    bits = [0, num_bits - 2, 1]
    parts = [(1, [0, 5]), ((1 << num_bits) - 1, [3])]
    marginals, paulis = several.marginals(batch, num_bits, bits, when), several.paulis(batch, num_bits, parts)
    assert np.array_equal(one.marginals(batch, num_bits, bits, when), marginals)
    assert np.array_equal(one.paulis(batch, num_bits, parts), paulis)
    for row in (0, rows // 2, rows - 1):
        own = values[row]
        assert np.array_equal(several.marginal(own, num_bits, bits, when), marginals[row])
        assert np.array_equal(np.concatenate([several.pauli(own, num_bits, x, zs) for x, zs in parts]), paulis[row])
    np.testing.assert_allclose(several.marginals(batch, num_bits, (), ALWAYS), 1, rtol=1e-6)


def test_long_rows_are_taken_whole():
    """A row that is copied in pieces arrives whole."""
    values = random_rows(3, 19, np.complex64)
    to = np.empty(2 << 19, dtype=np.complex64)
    CpuDevice(2).take_rows(to, values.ravel(), 19, np.array([2, 0]))
    assert np.array_equal(to.reshape(2, -1), values[[2, 0]])


def test_many_shots_of_many_rows():
    """Shots of a thousand rows fall on the values of the definition."""
    values = random_rows(1000, 5, np.complex128)
    targets = np.random.default_rng(1).random(100_000) * 0.999
    runs, bases = np.arange(1001) * 100, np.arange(1000) << 5
    found = CpuDevice(2).search(values.ravel(), range(5), bases, runs, targets)
    sums = np.repeat(np.cumsum(np.abs(values) ** 2, axis=1), 100, axis=0)
    assert np.array_equal(found, (sums <= targets[:, None]).sum(axis=1))
