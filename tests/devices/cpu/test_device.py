"""The CPU device beyond steps: sums, moves, memory, threads, and the cache of compiled kernels."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qsim_ex.circuit.ops import ALWAYS, When, pattern
from qsim_ex.devices.cpu.device import CpuDevice, aligned
from qsim_ex.errors import OutOfMemory
from qsim_ex.kernels import host
from qsim_ex.kernels.cpu import pool
from qsim_ex.kernels.cpu.passes import passes
from qsim_ex.reference import extract
from qsim_ex.steps import InitialAmplitudes, Mix, RegisterBlock, Slot, Sweep

DTYPES = [np.complex64, np.complex128]


def state(num_bits, dtype, seed=0):
    """A random state whose norm is 1."""
    rng = np.random.default_rng(seed)
    psi = rng.normal(size=1 << num_bits) + 1j * rng.normal(size=1 << num_bits)
    buffer = aligned(psi.size * np.dtype(dtype).itemsize).view(dtype)
    buffer[:] = psi / np.linalg.norm(psi)
    return buffer


def condition(data, bits):
    """A random condition on some of `bits`."""
    mask = sum(1 << bit for bit in bits if data.draw(st.booleans()))
    return When(mask, mask & data.draw(st.integers(0, (1 << 20) - 1)))


@pytest.mark.parametrize("dtype", DTYPES)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_marginal(dtype, data):
    """Marginals are sums of probabilities over the bits that are not asked for."""
    num_bits = data.draw(st.integers(0, 18))
    psi = state(num_bits, dtype)
    bits = data.draw(st.lists(st.sampled_from(range(num_bits)), unique=True)) if num_bits else []
    when = condition(data, [bit for bit in range(num_bits) if bit not in bits])
    index = np.arange(psi.size)
    index = index[index & when.mask == when.value]
    weights = np.abs(psi.astype(np.complex128)[index]) ** 2
    wanted = np.bincount(extract(index, tuple(bits)), weights, minlength=1 << len(bits))
    got = CpuDevice(2).marginal(psi, num_bits, bits, when)
    np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-18)
    np.testing.assert_array_equal(got, CpuDevice(1).marginal(psi, num_bits, bits, when))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("num_bits", [0, 3, 11, 18])
def test_norms_inner_density(dtype, num_bits):
    """Norms, inner products and density matrices are what NumPy makes of the same amplitudes in double precision."""
    a, b, device = state(num_bits, dtype, 1), state(num_bits, dtype, 2), CpuDevice(2)
    left, right = a.astype(np.complex128), b.astype(np.complex128)
    for top in {0, num_bits // 2, num_bits}:
        np.testing.assert_allclose(
            device.norms(a, 1 << top), (np.abs(left) ** 2).reshape(1 << top, -1).sum(axis=1), rtol=1e-12
        )
    assert abs(device.inner(a, b) - np.vdot(left, right)) < 1e-14
    bits = tuple(range(num_bits))[1::2][:5][::-1]
    rho = np.zeros((1 << len(bits),) * 2, dtype=np.complex128)
    index = np.arange(a.size)
    rows = extract(index, bits)
    rest = extract(index, tuple(bit for bit in range(num_bits) if bit not in bits))
    matrix = np.zeros((1 << len(bits), a.size >> len(bits)), dtype=np.complex128)
    matrix[rows, rest] = left
    rho = matrix @ matrix.conj().T
    np.testing.assert_allclose(device.density(a, num_bits, bits), rho, atol=1e-14)


@pytest.mark.parametrize("dtype", DTYPES)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_pauli(dtype, data):
    """Sums of Pauli strings follow their definition, and masks that share a pass do not disturb each other."""
    num_bits = data.draw(st.integers(0, 17))
    psi = state(num_bits, dtype)
    wide = psi.astype(np.complex128)
    x = data.draw(st.integers(0, psi.size - 1))
    zs = data.draw(st.lists(st.integers(0, psi.size - 1), min_size=1, max_size=5))
    index = np.arange(psi.size)
    wanted = [(wide[index ^ x].conj() * (1 - 2.0 * (np.bitwise_count(index & z) & 1)) * wide).sum() for z in zs]
    np.testing.assert_allclose(CpuDevice(2).pauli(psi, num_bits, x, zs), wanted, atol=1e-13)


@pytest.mark.parametrize("dtype", DTYPES)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_permute(dtype, data):
    """New bit k is old bit sources[k], inverted where flip says so."""
    num_bits = data.draw(st.integers(0, 17))
    psi = state(num_bits, dtype)
    sources = data.draw(st.permutations(range(num_bits)))
    flip = data.draw(st.integers(0, (1 << num_bits) - 1))
    new = np.arange(psi.size) ^ flip
    old = sum((new >> k & 1) << source for k, source in enumerate(sources)) + 0 * new
    wanted = psi[old]
    CpuDevice(2).permute(psi, num_bits, sources, flip)
    np.testing.assert_array_equal(psi, wanted)


def test_passes_end():
    """Reversing 40 bits takes a handful of passes, and moving nothing takes none."""
    assert passes(tuple(range(40)), 0) == []
    assert len(passes(tuple(reversed(range(40))), 0)) <= 6


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bits", [(), (0,), (13, 12), (4, 0, 7), (*range(7),), (*range(7, 14),), (*range(14),)])
def test_initial_amplitudes_are_an_outer_product(dtype, bits):
    """Each row becomes its amplitude times the row that was held, whichever of its bits are lowest."""
    psi, amplitudes, held = state(14, dtype), state(len(bits), np.complex128, 1), (1 << len(bits)) - 1 >> 1
    index = np.arange(psi.size)
    mask = sum(1 << bit for bit in bits)
    row = sum(1 << bit for k, bit in enumerate(bits) if held >> k & 1)
    wanted = amplitudes.astype(dtype)[extract(index, bits)] * psi[index & ~mask | row]
    CpuDevice(2).run(psi, 14, InitialAmplitudes(bits, held), amplitudes)
    np.testing.assert_allclose(psi, wanted, rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_scale_and_move(dtype, data):
    """A collapse scales the amplitudes that stay and clears the others; a reset moves them."""
    num_bits = data.draw(st.integers(1, 17))
    psi = state(num_bits, dtype)
    when = condition(data, range(num_bits))
    index = np.arange(psi.size)
    wanted = psi * np.where(index & when.mask == when.value, 0.5, 0).astype(psi.real.dtype)
    CpuDevice(2).scale(psi, num_bits, when, 0.5, 0.0)
    np.testing.assert_array_equal(psi, wanted)
    to = when.mask & data.draw(st.integers(0, (1 << num_bits) - 1))
    here, there = index & when.mask == when.value, index & when.mask == to
    wanted[here], wanted[there] = wanted[there], wanted[here]
    CpuDevice(2).move(psi, num_bits, when, to)
    np.testing.assert_array_equal(psi, wanted)


@pytest.mark.parametrize("dtype", DTYPES)
def test_read_write_gather(dtype):
    """Reading gives the amplitudes that were written, and a basis state is one amplitude."""
    device = CpuDevice(2)
    buffer = device.allocate(1 << 19, dtype)
    assert buffer.ctypes.data % 64 == 0
    device.set_basis(buffer, 77)
    assert buffer[77] == 1
    assert np.count_nonzero(buffer) == 1
    values = state(18, dtype)
    device.write(buffer, 100, values)
    np.testing.assert_array_equal(device.read(buffer, 100, 100 + values.size), values)
    np.testing.assert_array_equal(device.gather(buffer, np.array([100, 105])), values[[0, 5]])


def test_out_of_memory():
    """A state that does not fit is refused with the sum."""
    with pytest.raises(OutOfMemory, match=r"16 PiB.*free of"):
        CpuDevice().allocate(1 << 50, np.complex128)
    free, total = CpuDevice().memory()
    assert 0 < free <= total


def one_gate(num_bits):
    """A sweep with one Hadamard and its numbers."""
    mix = Mix((min(4, num_bits - 1),), (), ALWAYS, pattern("rrrr"), Slot(0, 4))
    sweep = Sweep(tuple(range(min(num_bits, 12))), (RegisterBlock(mix.bits, (mix,)),), 4, 0)
    return sweep, np.array([1, 1, 1, -1], dtype=np.complex128) * 0.5**0.5


def test_two_threads_at_once():
    """Sweeps of two Python threads do not disturb each other."""
    sweep, numbers = one_gate(17)
    failures = []

    def work(seed):
        device, psi = CpuDevice(2), state(17, np.complex64, seed)
        before = psi.copy()
        for _ in range(20):
            device.run(psi, 17, sweep, numbers)
        if np.linalg.norm(psi - before) > 1e-5:
            failures.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_result_does_not_depend_on_threads():
    """One thread and many give the same bits."""
    sweep, numbers = one_gate(18)
    results = []
    for threads in (1, 2, 5):
        psi = state(18, np.complex64)
        CpuDevice(threads).run(psi, 18, sweep, numbers)
        results.append(psi)
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


def test_pool_raises_what_work_raises():
    """An error in a helper thread or in the caller ends the work and is raised, also Ctrl-C."""
    for error in (ValueError, KeyboardInterrupt):

        def work(chunk, error=error):
            if chunk == 3:
                raise error

        with pytest.raises(error):
            pool.share(work, 100, 2)
    done = []
    pool.share(done.append, 100, 2)
    assert sorted(done) == list(range(100))


def test_lanes():
    """A vector holds twice as many single as double numbers, at least two doubles."""
    single, double = host.lane_bits(np.dtype(np.complex64)), host.lane_bits(np.dtype(np.complex128))
    assert single == double + 1
    assert double >= 1


def test_a_plan_is_encoded_once():
    """Preparing the same steps again gives what was prepared before; other steps or another size do not."""
    device = CpuDevice()
    step = Sweep((0, 1), (RegisterBlock((0, 1), ()),), 0, 0)
    first = device.prepare((step,), 2, np.complex64)
    assert device.prepare([step], 2, np.complex64) is first
    assert device.prepare((step,), 3, np.complex64) is not first
    assert device.prepare((Sweep((0, 1), (RegisterBlock((0, 1), ()),), 0, 0),), 2, np.complex64) is not first


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_a_cpu_says_of_itself(dtype: type[np.complexfloating]) -> None:
    """A tile has 32 KiB, a sweep reads four cache lines of 64 bytes at least, and phases that are left float on."""
    shape, size = CpuDevice(1).shape(dtype), np.dtype(dtype).itemsize
    assert (size << shape.tile, size << shape.low, shape.floats) == (1 << 15, 4 * 64, True)
