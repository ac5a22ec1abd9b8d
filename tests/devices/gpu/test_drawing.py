"""Shots that a GPU draws at once: on an emulated GPU everywhere, on the real one where there is one."""

from __future__ import annotations

import numpy as np
import pytest
from support.cuda.emulated_runtime import EmulatedRuntime
from support.cuda.random_sweeps import random_state

from qsim_ex.devices.gpu.device import GpuDevice
from qsim_ex.errors import DeviceError, MissingPackage, StateError
from qsim_ex.kernels.cuda.fixed import drawing
from qsim_ex.observe import sampling
from qsim_ex.placement.single import Single
from qsim_ex.steps.layout import Layout


def real():
    """The real GPU; a test skips itself where there is none."""
    try:
        return GpuDevice()
    except (DeviceError, MissingPackage) as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module", params=["emulated", "backwards", pytest.param("real", marks=pytest.mark.gpu)])
def gpu(request):
    """An emulated GPU, one whose threads take turns in the other order, and the real one."""
    if request.param == "real":
        return real()
    runtime = EmulatedRuntime()
    runtime.backwards = request.param == "backwards"
    return GpuDevice.on(runtime)


@pytest.fixture(params=[np.complex64, np.complex128], ids=["single", "double"])
def dtype(request):
    """Both precisions."""
    return request.param


def in_layout(gpu, psi, layout):
    """A state on the device, stored in a layout."""
    index = np.zeros(len(psi), dtype=np.int64)
    for wire, bit in enumerate(layout.address):
        index |= (np.arange(len(psi)) >> wire & 1) << bit
    stored = np.empty_like(psi)
    stored[index ^ layout.flip] = psi
    buffer = gpu.allocate(len(psi), psi.dtype)
    gpu.write(buffer, 0, stored)
    return Single(gpu, buffer, layout)


def drawn(state, numbers):
    """The values and the norm that a device draws at once."""
    return sampling.drawing_of(state, len(numbers))(numbers)


def by_definition(psi, numbers):
    """The value v of each number u with CDF(v − 1) ≤ u·norm < CDF(v)."""
    ends = np.cumsum(np.abs(psi.astype(np.complex128)) ** 2)
    return np.searchsorted(ends, numbers * ends[-1], side="right")


def layouts_of(n):
    """The order of the wires, its reverse, and a drawn one; some bits are stored inverted."""
    rng = np.random.default_rng(n)
    orders = range(n), range(n - 1, -1, -1), rng.permutation(n).tolist()
    return [Layout(tuple(order), int(rng.integers(0, 1 << n))) for order in orders]


@pytest.mark.parametrize("n", [0, 1, 6, 9, 13])
def test_shots_by_definition(gpu, dtype, n):
    """Each number falls on the value whose running sum passes it, in any layout, and never on an amplitude of 0."""
    psi = random_state(n, n, dtype)
    psi[np.random.default_rng(n).integers(1, len(psi) + 1, len(psi) // 3) - 1] = 0
    numbers = np.sort(sampling.uniforms(n, 0, 16))
    for layout in layouts_of(n):
        values, norm = drawn(in_layout(gpu, psi, layout), numbers)
        assert values.tolist() == by_definition(psi, numbers).tolist()
        assert (psi[values] != 0).all()
        assert norm == pytest.approx(float(np.sum(np.abs(psi.astype(np.complex128)) ** 2)), rel=1e-12)


def test_many_weights(gpu, monkeypatch):
    """Shots are as defined where the weights are more groups than a block has threads."""
    monkeypatch.setattr(drawing, "_LEAST_SEARCHED", 1)
    monkeypatch.setattr(drawing, "_LOOPED", 1)
    psi, numbers = random_state(3, 18, np.complex64), np.sort(sampling.uniforms(3, 0, 8))
    layout = Layout(tuple(range(17, -1, -1)))
    assert drawing.searched_of(layout.address) == 1
    values, _ = drawn(in_layout(gpu, psi, layout), numbers)
    assert values.tolist() == by_definition(psi, numbers).tolist()


@pytest.mark.parametrize("n", [4, 14])
def test_the_ends_stay_inside(gpu, dtype, n):
    """The smallest and the largest number fall on the first and the last value that has an amplitude."""
    psi = np.zeros(1 << n, dtype=dtype)
    first, last = (1 << n) // 3, (1 << n) - 3
    psi[[first, last]] = 0.6, 0.8
    numbers = np.array([0.0, 0.1, np.nextafter(1, 0)])
    for layout in layouts_of(n):
        values, _ = drawn(in_layout(gpu, psi, layout), numbers)
        assert values.tolist() == [first, first, last]


def test_what_cannot_be_drawn(gpu):
    """A state whose norm is 0 or no number is refused, and more shots than are drawn at once are left to others."""
    for fill in (0, np.nan, np.inf):
        state = in_layout(gpu, np.full(1 << 10, fill, dtype=np.complex64), Layout.identity(10))
        with pytest.raises(StateError, match="norm"):
            sampling.draw(state, np.array([0.5]))
        assert sampling.drawing_of(state, gpu.most_drawn + 1) is None


@pytest.mark.parametrize(
    ("bits", "searched"),
    [(range(28), 12), (range(27, -1, -1), 8), (range(34), 12), (range(33, -1, -1), 12), (range(6), 6), (range(30), 12)],
)
def test_amplitudes_on_high_bits_are_few(bits, searched):
    """Wires on the lowest index bits are searched, for wires on high ones there are more sums, up to 2^20."""
    assert drawing.searched_of(tuple(bits)) == searched


@pytest.mark.gpu
def test_a_large_state_has_the_shots_of_sums_on_the_host(dtype):
    """Shots of 24 wires are those that sums on the host and searches behind prefixes give."""
    gpu = real()
    psi, numbers = random_state(5, 24, dtype), np.sort(sampling.uniforms(5, 0, 1000))
    for layout in layouts_of(24):
        state = in_layout(gpu, psi, layout)
        values, norm = drawn(state, numbers)
        weights = state.marginal(range(12, 24))
        prefixes, rest = sampling.choose_on(weights, numbers * sampling.norm_of(weights))
        assert norm == pytest.approx(sampling.norm_of(weights), rel=1e-12)
        assert values.tolist() == sampling._by_amplitudes(state, prefixes, rest, 12).tolist()
