"""The GPU device keeps its contract: on an emulated GPU everywhere, on the real one where there is one.

Every method is compared with `support.plain_device.PlainDevice`, which is written from the definitions.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from support.cuda.emulated_runtime import EmulatedRuntime
from support.cuda.random_sweeps import random_state, random_sweep
from support.plain_device import PlainDevice

from qsim_ex import reference
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.ops import ALWAYS, When
from qsim_ex.devices.gpu.device import GpuDevice
from qsim_ex.devices.gpu.shape import shape_of
from qsim_ex.errors import DeviceError, MissingPackage
from qsim_ex.kernels.cuda.runtime import TENSOR
from qsim_ex.planning.coefficients.binding import bind
from qsim_ex.planning.planner import make_plan
from qsim_ex.precision import BY_DTYPE
from qsim_ex.steps import BasisPermutation, DenseMatrix, InitialAmplitudes, Layout, Mix, Sweep

PLAIN = PlainDevice()
TOLERANCE = {np.complex64: 3e-6, np.complex128: 1e-12}


@pytest.fixture(scope="module", params=["emulated", pytest.param("real", marks=pytest.mark.gpu)])
def gpu(request):
    """An emulated GPU, and the real one."""
    if request.param == "emulated":
        return GpuDevice.on(EmulatedRuntime())
    try:
        return GpuDevice()
    except (DeviceError, MissingPackage) as error:
        pytest.skip(str(error))


@pytest.fixture(params=[np.complex64, np.complex128], ids=["single", "double"])
def dtype(request):
    """Both precisions."""
    return request.param


def filled(gpu, psi):
    """A buffer that holds a state."""
    buffer = gpu.allocate(len(psi), psi.dtype)
    gpu.write(buffer, 0, psi)
    return buffer


def agree(gpu, buffer, want, dtype):
    """Assert that the buffer holds the expected amplitudes, relative to their norm."""
    got = gpu.read(buffer, 0, len(want))
    assert got.dtype == dtype
    error = np.linalg.norm(got - want) / max(float(np.linalg.norm(want)), 1e-30)
    assert error < TOLERANCE[dtype], error


@pytest.mark.parametrize("num_bits", [0, 1, 3, 9, 13])
def test_memory_goes_in_and_out(gpu, dtype, num_bits):
    """Basis states, ranges that are written and read, and amplitudes by index are what was put there."""
    size = 1 << num_bits
    buffer = gpu.allocate(size, dtype)
    gpu.set_basis(buffer, size - 1)
    want = np.zeros(size, dtype=dtype)
    want[-1] = 1
    assert np.array_equal(gpu.read(buffer, 0, size), want)
    psi = random_state(1, num_bits, dtype)
    gpu.write(buffer, size // 2, psi[size // 2 :])
    want[size // 2 :] = psi[size // 2 :]
    assert np.array_equal(gpu.read(buffer, size // 3, size), want[size // 3 :])
    indices = np.array([0, size - 1, size // 2, 0])
    assert np.array_equal(gpu.gather(buffer, indices), want[indices])
    assert gpu.gather(buffer, np.zeros(0, dtype=np.int64)).shape == (0,)
    other = gpu.allocate(2 * size, dtype)
    gpu.copy(other[size:], buffer)
    gpu.set_basis(buffer, 0)
    assert np.array_equal(gpu.read(other, size, 2 * size), want)
    gpu.synchronize()
    free, total = gpu.memory()
    assert 0 < free <= total


@pytest.mark.parametrize(
    ("num_bits", "bits", "when"),
    [
        (0, (), ALWAYS),
        (3, (2, 0), When(2, 2)),
        (9, (), ALWAYS),
        (10, (9, 0, 4), When(0b1100, 0b0100)),
        (13, (12, 1, 7), ALWAYS),
        (13, tuple(range(13)), ALWAYS),
        (13, tuple(reversed(range(2, 13))), When(1, 1)),
        (12, (), When((1 << 12) - 1, 77)),
        (12, (0, 3, 6, 11), When(1 << 9, 1 << 9)),
        (13, (7, 2, 10), When(1 << 5, 0)),
    ],
)
def test_marginal(gpu, dtype, num_bits, bits, when):
    """Sums of squares for values of some bits, under a condition on others, are those of the definition."""
    psi = random_state(2, num_bits, dtype)
    got = gpu.marginal(filled(gpu, psi), num_bits, bits, when)
    want = PLAIN.marginal(psi, num_bits, bits, when)
    assert got.dtype == np.float64
    assert np.allclose(got, want, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(("num_bits", "blocks"), [(0, 1), (5, 4), (13, 1), (13, 64), (12, 4096)])
def test_norms(gpu, dtype, num_bits, blocks):
    """Sums of squares over contiguous blocks are those of the definition."""
    psi = random_state(3, num_bits, dtype)
    assert np.allclose(gpu.norms(filled(gpu, psi), blocks), PLAIN.norms(psi, blocks), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("num_bits", [0, 4, 13])
def test_inner_and_pauli(gpu, dtype, num_bits):
    """Inner products, and expectation values of Pauli strings with ten masks at a time, are those of the definition."""
    left, right = random_state(4, num_bits, dtype), random_state(5, num_bits, dtype)
    a, b = filled(gpu, left), filled(gpu, right)
    assert gpu.inner(a, b) == pytest.approx(PLAIN.inner(left, right), rel=1e-12, abs=1e-14)
    rng = np.random.default_rng(6)
    x = int(rng.integers(0, 1 << num_bits))
    zs = [int(z) for z in rng.integers(0, 1 << num_bits, 10)]
    assert np.allclose(gpu.pauli(a, num_bits, x, zs), PLAIN.pauli(left, num_bits, x, zs), rtol=1e-12, atol=1e-14)
    assert gpu.pauli(a, num_bits, 0, []).shape == (0,)


@pytest.mark.parametrize(
    ("num_bits", "bits"),
    [(0, ()), (6, (5, 0, 2)), (11, (10, 3)), (11, (1, 10, 3, 5)), (5, (0, 1, 2, 3, 4)), (13, (12, 1, 2, 3, 4, 5, 6))],
)
def test_density(gpu, dtype, num_bits, bits):
    """Reduced density matrices are those of the definition, in double precision."""
    psi = random_state(7, num_bits, dtype)
    got = gpu.density(filled(gpu, psi), num_bits, bits)
    assert got.dtype == np.complex128
    assert np.allclose(got, PLAIN.density(psi, num_bits, bits), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("num_bits", [1, 10, 13])
def test_scale_and_move(gpu, dtype, num_bits):
    """Factors inside and outside a condition, and the exchange of two values of some bits, follow the definition."""
    rng = np.random.default_rng(num_bits)
    psi = random_state(8, num_bits, dtype)
    for _ in range(4):
        mask = int(rng.integers(1, 1 << num_bits))
        when, to = When(mask, mask & int(rng.integers(0, 1 << num_bits))), mask & int(rng.integers(0, 1 << num_bits))
        want, buffer = psi.copy(), filled(gpu, psi)
        gpu.scale(buffer, num_bits, when, 1.5, 0.0)
        PLAIN.scale(want, num_bits, when, 1.5, 0.0)
        gpu.scale(buffer, num_bits, ALWAYS, 0.5, 1.0)
        PLAIN.scale(want, num_bits, ALWAYS, 0.5, 1.0)
        gpu.move(buffer, num_bits, when, to)
        PLAIN.move(want, num_bits, when, to)
        agree(gpu, buffer, want, dtype)


PARTS = {
    "one run": (slice(8, 16), None),
    "one amplitude": (slice(5, 6), None),
    "rows of one": (slice(1, 2), 4),
    "rows of four": (slice(4, 8), 16),
    "all": (slice(0, 1 << 10), None),
}
"""A part of 2^10 amplitudes: some of each row, and the amplitudes of a row; None for one row."""


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("half", [None, 0, 1, "both"])
def test_parts_trade_places(gpu, dtype, part, half):
    """Both halves swap the parts of two states, one half swaps that half, and a pull copies; all else stays."""
    columns, stride = PARTS[part]

    def of(buffer, shift=0):
        at = slice(columns.start + shift, columns.stop + shift)
        return buffer[at] if stride is None else buffer.reshape(-1, stride)[:, at]

    shift = 0 if part in ("all", "one run") else 2
    mine, theirs = random_state(3, 10, dtype), random_state(4, 10, dtype)
    wants, buffers = [mine.copy(), theirs.copy()], [filled(gpu, mine), filled(gpu, theirs)]
    flat = np.arange(of(mine).size).reshape(of(mine).shape)
    middle = (flat.size + 1) // 2
    chosen = {None: flat >= 0, 0: flat < middle, 1: flat >= middle, "both": flat >= 0}[half]
    of(wants[0])[chosen] = of(theirs, shift)[chosen]
    if half is None:
        gpu.pull(of(buffers[0]), of(buffers[1], shift))
    else:
        of(wants[1], shift)[chosen] = of(mine)[chosen]
        for one in (0, 1) if half == "both" else (half,):
            gpu.swap_half(of(buffers[0]), of(buffers[1], shift), one)
    for buffer, want in zip(buffers, wants, strict=True):
        assert np.array_equal(gpu.read(buffer, 0, 1 << 10), want)


@pytest.mark.parametrize("num_bits", [0, 1, 3, 11, 14, 15])
@pytest.mark.parametrize("kind", ["random", "reverse", "rotate", "flip"])
def test_permute(gpu, dtype, num_bits, kind):
    """Any movement of index bits with any flips follows the definition in place, also where long cycles take several
    passes.
    """
    rng = np.random.default_rng(num_bits)
    sources = {
        "random": [int(b) for b in rng.permutation(num_bits)],
        "reverse": list(reversed(range(num_bits))),
        "rotate": [*range(1, num_bits), 0][:num_bits],
        "flip": list(range(num_bits)),
    }[kind]
    flip = int(rng.integers(0, 1 << num_bits)) if kind != "flip" else (1 << num_bits) - 1
    psi = random_state(9, num_bits, dtype)
    want, buffer = psi.copy(), filled(gpu, psi)
    gpu.permute(buffer, num_bits, sources, flip)
    PLAIN.permute(want, num_bits, sources, flip)
    assert np.array_equal(gpu.read(buffer, 0, len(psi)), want)


WIDES = [
    (5, DenseMatrix((4, 0, 2, 1, 3), (), ALWAYS), 0),
    (8, DenseMatrix((7, 0, 3, 5, 1), (), When(4, 4)), 0),
    (9, DenseMatrix((0, 2, 4, 6), (1 << 1 | 1 << 3, 1 << 3 | 1 << 5, 1 << 1 | 1 << 5), ALWAYS), 0),
    (8, DenseMatrix((1, 2), (1 << 8 | 1 << 3, 1 << 9), When(1 << 0 | 1 << 10, 1 << 10)), 5),
    (8, DenseMatrix((1, 2), (1 << 9,), When(1 << 8, 1 << 8)), 2),
    (8, DenseMatrix((1, 2), (1 << 8,), ALWAYS), 0),
    (13, DenseMatrix((12, 0, 2, 1, 3, 9, 10), (), ALWAYS), 0),
]


@pytest.mark.parametrize(("num_bits", "step", "high"), WIDES)
def test_wide(gpu, dtype, num_bits, step, high):
    """Matrices on many bits follow the definition, selected by parities that may depend on each other or lie outside
    the buffer, where bits are 0 if nobody says otherwise.
    """
    rng = np.random.default_rng(10)
    count = 1 << 2 * len(step.bits) + len(step.reads)
    numbers = rng.normal(size=count) + 1j * rng.normal(size=count)
    psi = random_state(11, num_bits, dtype)
    want, buffer = psi.astype(np.complex128), filled(gpu, psi)
    gpu.run(buffer, num_bits, step, numbers, gpu.prepare((step,), num_bits, dtype), *((high,) if high else ()))
    PLAIN.run(want, num_bits, step, numbers, high=high)
    agree(gpu, buffer, want, dtype)


def test_shuffle_and_spread(gpu, dtype):
    """Basis permutations on any bits, and bits that are put into a state, follow the definition."""
    rng = np.random.default_rng(12)
    psi = random_state(13, 10, dtype)
    numbers = rng.normal(size=32) + 1j * rng.normal(size=32)
    held = psi.copy()
    held[(np.arange(1024) >> 2 & 1) != 1] = 0
    for step, state, given in [
        (BasisPermutation((8, 0, 3), tuple(int(x) for x in rng.permutation(8))), psi, np.zeros(0, dtype=complex)),
        (
            BasisPermutation(tuple(range(10)), tuple(int(x) for x in rng.permutation(1024))),
            psi,
            np.zeros(0, dtype=complex),
        ),
        (InitialAmplitudes((2, 9, 0, 5, 7), 1), held, numbers),
        (InitialAmplitudes(tuple(range(10)), 3), psi, rng.normal(size=1024) + 0j),
    ]:
        want, buffer = state.astype(np.complex128), filled(gpu, state)
        gpu.run(buffer, 10, step, given)
        PLAIN.run(want, 10, step, given)
        agree(gpu, buffer, want, dtype)


@pytest.mark.parametrize("compile", ["always", "never", "auto"])
@pytest.mark.parametrize("num_bits", [0, 2, 5, 13])
def test_sweeps(gpu, dtype, num_bits, compile):
    """Random sweeps follow the definition, by kernels of their own and by the interpreter."""
    tile = gpu.shape(dtype).tile
    for seed in range(3):
        sweep, numbers = random_sweep(seed, num_bits, tile, 3, 3, 2)
        psi = random_state(seed, num_bits, dtype)
        want, buffer = psi.astype(np.complex128), filled(gpu, psi)
        prepared = gpu.prepare((sweep,), num_bits, dtype, compile)
        if compile != "auto":
            assert prepared.compiled == (compile == "always")
        gpu.run(buffer, num_bits, sweep, numbers, prepared, 2)
        PLAIN.run(want, num_bits, sweep, numbers, high=2)
        got = gpu.read(buffer, 0, len(psi))
        error = np.linalg.norm(got - want) / max(float(np.linalg.norm(want)), 1e-30)
        assert error < (2e-5 if dtype == np.complex64 else 1e-12)


@pytest.mark.parametrize("compile", ["always", "never"])
@pytest.mark.parametrize("target", ["emulated", pytest.param("real", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("num_bits", [12, 15])
def test_dense_blocks(target, dtype, num_bits, compile):
    """A plan with dense blocks makes the state that the definitions make, by tensor cores if the GPU has good ones."""
    try:
        gpu = GpuDevice() if target == "real" else GpuDevice.on(EmulatedRuntime(tensor=True))
    except (DeviceError, MissingPackage) as error:
        pytest.skip(str(error))
    builder = CircuitBuilder(num_bits)
    rng = np.random.default_rng(num_bits)
    for layer in range(8):
        for wire in range(layer % 2, num_bits - 1, 2):
            matrix = np.linalg.qr(rng.normal(size=(4, 4)) + 1j * rng.normal(size=(4, 4)))[0]
            builder.unitary(matrix, [wire, wire + 1])
        builder.gate("rzz", [layer, layer + 4], rng.random())
    circuit = builder.build()
    shape = replace(shape_of(BY_DTYPE[np.dtype(dtype)], tensor=True), block_made=0)
    plan = make_plan(circuit.instructions, num_bits, Layout.identity(num_bits), shape, (1 << num_bits) - 1)
    items = [item for sweep in plan.sweeps for block in sweep.register_blocks for item in block.items]
    assert sum(isinstance(item, Mix) and len(item.bits) == 4 for item in items) >= 3
    buffer = gpu.allocate(1 << num_bits, dtype)
    gpu.begin(buffer)
    prepared = gpu.prepare(plan.steps, num_bits, dtype, compile)
    for step, numbers in zip(plan.steps, gpu.load(prepared, bind(plan, circuit.operands)), strict=True):
        gpu.run(buffer, num_bits, step, numbers, prepared)
    want = np.empty(1 << num_bits, dtype=np.complex128)
    want[[plan.end.index(value) for value in range(1 << num_bits)]] = reference.simulate(circuit)
    agree(gpu, buffer, want, dtype)


@pytest.mark.parametrize("tensor", [False, True])
def test_blocks_are_for_gpus_with_fast_tensor_cores(tensor):
    """The shape has dense blocks exactly if the runtime promises tensor cores."""
    for dtype in (np.complex64, np.complex128):
        assert (GpuDevice.on(EmulatedRuntime(tensor=tensor)).shape(dtype).block is not None) == tensor


@pytest.mark.gpu
def test_the_shape_follows_the_compute_capability():
    """A real GPU has dense blocks exactly if its compute capability is among those with fast tensor cores."""
    try:
        gpu = GpuDevice()
    except (DeviceError, MissingPackage) as error:
        pytest.skip(str(error))
    import cupy

    capability = cupy.cuda.Device(0).compute_capability
    assert (gpu.shape(np.complex64).block is not None) == (capability in TENSOR)


def test_a_launch_may_be_all_that_a_thread_does(gpu, dtype):
    """A loaded kernel can be launched by a thread that has done nothing else."""
    buffer = filled(gpu, random_state(0, 4, dtype))
    gpu.set_basis(buffer, 3)
    gpu.write(buffer, 0, random_state(1, 4, dtype))
    with ThreadPoolExecutor(1) as pool:
        pool.submit(gpu.begin, buffer).result()
    want = random_state(1, 4, dtype)
    want[0] = 1
    agree(gpu, buffer, want, dtype)


def test_a_structure_that_comes_back_is_compiled(dtype):
    """After `RETURNS` interpreted runs a structure gets its kernel, and keeps it."""
    from qsim_ex.kernels.cuda.compile.policy import RETURNS

    device = GpuDevice.on(EmulatedRuntime())
    sweep, _ = random_sweep(3, 8, 8, 2, 2)
    compiled = [device.prepare((sweep,), 8, dtype).compiled for _ in range(RETURNS + 2)]
    assert compiled == [0] * RETURNS + [1, 1]
    assert device.prepare((sweep,), 8, dtype) is device.prepare((sweep,), 8, dtype)


@pytest.mark.parametrize("compile", ["always", "never"])
@pytest.mark.parametrize("room", [32_764, 96])
def test_numbers_of_a_run_are_arguments_or_one_transfer(dtype, compile, room):
    """Numbers loaded at once are those that each step is given, as arguments or in one transfer."""
    runtime = EmulatedRuntime(room)
    device = GpuDevice.on(runtime)
    circuit = _every_kind_of_step()
    plan = make_plan(circuit.instructions, 8, Layout.identity(8), device.shape(dtype))
    kinds = (Sweep, DenseMatrix, BasisPermutation)
    assert {kind for kind in kinds for step in plan.steps if isinstance(step, kind)} == set(kinds)
    bound = bind(plan, circuit.operands)
    prepared = device.prepare(plan.steps, 8, dtype, compile)
    uploads = []
    runtime.upload = lambda host: uploads.append(host) or np.array(host)
    list(device.load(prepared, bound))
    uploads.clear()  # what is sent once for a plan
    loaded = list(device.load(prepared, bind(plan, circuit.operands)))
    assert len(uploads) == (0 if room > 8 * 4000 else 1)
    psi = random_state(5, 8, dtype)
    want, buffer = psi.astype(np.complex128), filled(device, psi)
    for step, numbers, given in zip(plan.steps, bound, loaded, strict=True):
        device.run(buffer, 8, step, given, prepared)
        PLAIN.run(want, 8, step, numbers)
        agree(device, buffer, want, dtype)


def _every_kind_of_step():
    """A circuit whose plan has sweeps with numbers and tables, a wide matrix and a shuffle."""
    rng = np.random.default_rng(7)
    builder = CircuitBuilder(8)
    for _ in range(3):
        for wire in range(8):
            builder.gate("u", [wire], *rng.uniform(-3, 3, 3))
        for wire in range(7):
            builder.gate("cp", [wire, wire + 1], rng.uniform(-3, 3)).gate("rzz", [wire, (wire + 3) % 8], 0.3)
    builder.unitary(np.linalg.qr(rng.normal(size=(32, 32)))[0], [0, 4, 2, 7, 5])
    builder.permutation(rng.permutation(32).tolist(), [1, 5, 3, 0, 6])
    return builder.gate("rx", [3], 0.4).gate("cp", [3, 0], 0.5).build()


class CudaError(RuntimeError):
    """As CuPy raises it."""


def cupy_with(count):
    """Return a CuPy whose driver lists this many GPUs, or fails."""

    def device_count():
        if count is None:
            raise CudaError("cudaErrorNoDevice: no CUDA-capable device is detected")
        return count

    runtime = SimpleNamespace(getDeviceCount=device_count, CUDARuntimeError=CudaError)
    return SimpleNamespace(cuda=SimpleNamespace(runtime=runtime))


@pytest.mark.parametrize(
    ("count", "device_id", "words"),
    [(None, 0, "no GPU can be used here: cudaErrorNoDevice"), (0, 0, "no GPU 0"), (2, 2, "GPUs 0 to 1"), (1, -1, "-1")],
)
def test_a_gpu_that_is_not_there_is_an_error(monkeypatch, count, device_id, words):
    """Without a driver, without a GPU, or without that GPU, the error says which, and what else can be done."""
    monkeypatch.setitem(sys.modules, "cupy", cupy_with(count))
    with pytest.raises(DeviceError, match=words) as caught:
        GpuDevice(device_id)
    assert "device='cpu'" in str(caught.value)


def test_without_cupy_the_command_that_installs_it_is_told(monkeypatch):
    """The error for a missing package names the command that installs it."""
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(MissingPackage, match=r"pip install 'qsim-ex\[cuda13\]'"):
        GpuDevice()


@pytest.mark.parametrize(("num_bits", "bits"), [(3, (0, 2)), (7, ()), (9, (8, 0, 3, 4)), (13, (*range(12),))])
def test_search(gpu, dtype, num_bits, bits):
    """Each target falls on the value whose running sum passes it, whichever bits are searched and stored inverted."""
    rng = np.random.default_rng(num_bits)
    psi = random_state(num_bits, num_bits, dtype)
    psi[rng.integers(0, len(psi), len(psi) // 3)] = 0
    others = [bit for bit in range(num_bits) if bit not in bits][:2]
    bases = np.array([0, sum(1 << bit for bit in others), sum(1 << bit for bit in bits[:1])], dtype=np.int64)
    runs = np.array([0, 400, 401, 900])
    places = np.zeros(1 << len(bits), dtype=np.int64)
    for k, bit in enumerate(bits):
        places |= (np.arange(1 << len(bits)) >> k & 1) << bit
    sums = [float((np.abs(psi[base ^ places].astype(np.complex128)) ** 2).sum()) for base in bases]
    targets = np.repeat(sums, np.diff(runs)) * rng.uniform(0, 1.0001, 900)
    found = gpu.search(filled(gpu, psi), bits, bases, runs, targets)
    assert np.array_equal(found, PLAIN.search(psi, bits, bases, runs, targets))
