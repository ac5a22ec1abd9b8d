"""States above 2^31 amplitudes on a real GPU: indices are 64-bit everywhere.

The state is known amplitude by amplitude: H on all wires and controlled phases give
2^(−n/2)·exp(i Σ θ_jk i_j i_k).
"""

from __future__ import annotations

import numpy as np
import pytest

from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.ops import When
from qsim_ex.devices.gpu.device import GpuDevice
from qsim_ex.errors import DeviceError, MissingPackage
from qsim_ex.planning.coefficients.binding import bind
from qsim_ex.planning.planner import make_plan
from qsim_ex.steps import Layout

pytestmark = pytest.mark.gpu

CASES = [(np.complex64, 32), (np.complex128, 32)]


@pytest.fixture(scope="module")
def gpu():
    """The real GPU."""
    try:
        return GpuDevice()
    except (DeviceError, MissingPackage) as error:
        pytest.skip(str(error))


def phases(num_bits):
    """Pairs of wires, high ones among them, and the angles of their controlled phases."""
    rng = np.random.default_rng(num_bits)
    pairs = [(k, (k * 7 + 3) % num_bits) for k in range(num_bits)]
    return [(a, b, float(rng.uniform(-3, 3))) for a, b in pairs if a != b]


def circuit(num_bits, sign):
    """The circuit (sign 1) or its inverse (sign −1)."""
    builder = CircuitBuilder(num_bits)
    turns = [("cp", (a, b), sign * angle) for a, b, angle in phases(num_bits)]
    walls = [("h", (wire,)) for wire in range(num_bits)]
    for name, wires, *angles in [*walls, *turns] if sign > 0 else [*turns, *walls]:
        builder.gate(name, wires, *angles)
    return builder.build()


def apply(gpu, buffer, num_bits, made, start, compile):
    """Run a circuit from a layout; returns the layout after it."""
    plan = make_plan(made.instructions, num_bits, start, gpu.shape(buffer.dtype))
    prepared = gpu.prepare(plan.steps, num_bits, buffer.dtype, compile)
    for step, numbers in zip(plan.steps, bind(plan, made.operands), strict=True):
        gpu.run(buffer, num_bits, step, numbers, prepared)
    return plan.end


@pytest.mark.parametrize(("dtype", "num_bits"), CASES)
@pytest.mark.parametrize("compile", ["always", "never"])
def test_amplitudes_beyond_32_bits(gpu, dtype, num_bits, compile):
    """Every part of the state is right, sums agree, and the mirrored circuit leads back to |0…0>."""
    free = gpu.memory()[0]
    needed = np.dtype(dtype).itemsize << num_bits
    if free < 1.06 * needed:
        pytest.skip(f"2^{num_bits} amplitudes need {needed >> 30} GiB, {free >> 30} GiB are free")
    buffer = gpu.allocate(1 << num_bits, dtype)
    gpu.set_basis(buffer, 0)
    layout = apply(gpu, buffer, num_bits, circuit(num_bits, 1), Layout.identity(num_bits), compile)
    assert layout.is_identity()
    index = np.random.default_rng(1).integers(0, 1 << num_bits, 4000)
    index[:2] = (1 << num_bits) - 1, 1 << (num_bits - 1)
    angle = sum((index >> a & index >> b & 1) * theta for a, b, theta in phases(num_bits))
    want = np.exp(1j * angle) * 2 ** (-num_bits / 2)
    error = np.linalg.norm(gpu.gather(buffer, index) - want) / np.linalg.norm(want)
    assert error < (3e-6 if dtype == np.complex64 else 1e-12)
    tolerance = 1e-5 if dtype == np.complex64 else 1e-11
    assert np.allclose(gpu.norms(buffer, 8), 1 / 8, rtol=tolerance)
    top = When(1 << num_bits - 1, 1 << num_bits - 1)
    assert np.allclose(gpu.marginal(buffer, num_bits, (num_bits - 2, 0), top), 1 / 8, rtol=tolerance)
    assert abs(gpu.inner(buffer, buffer) - 1) < tolerance
    turned = [*range(1, num_bits), 0]
    gpu.permute(buffer, num_bits, turned)
    back = (index >> 1) | (index & 1) << (num_bits - 1)
    assert np.linalg.norm(gpu.gather(buffer, back) - want) / np.linalg.norm(want) < tolerance
    gpu.permute(buffer, num_bits, [num_bits - 1, *range(num_bits - 1)])
    apply(gpu, buffer, num_bits, circuit(num_bits, -1), layout, compile)
    assert abs(gpu.read(buffer, 0, 1)[0] - 1) < 10 * tolerance
    del buffer


def test_permutation_of_high_bits_is_exact(gpu):
    """A basis state far out moves to where its bits go."""
    num_bits = 32
    if gpu.memory()[0] < 1.06 * (8 << num_bits):
        pytest.skip("32 GiB are not free")
    buffer = gpu.allocate(1 << num_bits, np.complex64)
    at = 0xDEADBEEF
    gpu.set_basis(buffer, at)
    sources = list(reversed(range(num_bits)))
    gpu.permute(buffer, num_bits, sources, 1 << 31 | 5)
    moved = int(f"{at:032b}"[::-1], 2) ^ (1 << 31 | 5)
    assert np.array_equal(gpu.gather(buffer, np.array([moved, at])), [1, 0])
    gpu.move(buffer, num_bits, When(0xF0000000, moved & 0xF0000000), moved & 0xF0000000 ^ 0x80000000)
    assert gpu.gather(buffer, np.array([moved ^ 0x80000000]))[0] == 1
