"""Batches on the GPU device, row by row against plain NumPy: on an emulated GPU everywhere, on the real one with many
rows where there is one.
"""

from __future__ import annotations

import numpy as np
import pytest
from contract.batches import BatchContract
from support.cuda.emulated_runtime import EmulatedRuntime
from support.cuda.random_sweeps import numbers_of_rows, random_state, random_sweep
from support.plain_device import PlainDevice

from qsim_ex import Simulator
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.ops import ALWAYS, Entry, Op, When
from qsim_ex.devices import discover
from qsim_ex.devices.base import Batches
from qsim_ex.devices.gpu.device import GpuDevice
from qsim_ex.errors import DeviceError, MissingPackage
from qsim_ex.kernels.cuda.batch_sweeps import BatchSweeps
from qsim_ex.kernels.cuda.cupy_runtime import CupyRuntime
from qsim_ex.kernels.cuda.fixed import batch_sums, fixed
from qsim_ex.kernels.cuda.interpret import interpreter
from qsim_ex.kernels.cuda.launch import tables
from qsim_ex.planning.coefficients.binding import bind, fill
from qsim_ex.planning.planner import make_plan
from qsim_ex.precision import SINGLE
from qsim_ex.steps.coefficients import Bound
from qsim_ex.steps.layout import Layout
from qsim_ex.steps.step import BasisPermutation, DenseMatrix, InitialAmplitudes, Sweep, ZeroFill

PLAIN = PlainDevice()
ROWS = (1, 3, 5, 33)
TOLERANCE = {np.complex64: 2e-5, np.complex128: 1e-12}
EXACT = {"rtol": 1e-12, "atol": 1e-14}


@pytest.fixture(scope="module", params=["emulated", pytest.param("real", marks=pytest.mark.gpu)])
def gpu(request):
    """An emulated GPU, and the real one."""
    if request.param == "emulated":
        return GpuDevice.on(EmulatedRuntime())
    return real()


def real():
    """The real GPU; skips where there is none."""
    try:
        return GpuDevice()
    except (DeviceError, MissingPackage) as error:
        pytest.skip(str(error))


@pytest.fixture(params=[np.complex64, np.complex128], ids=["single", "double"])
def dtype(request):
    """Both precisions."""
    return request.param


DISTINCT = 997
"""Rows whose numbers all differ; a prime, so that rows that share a block or a piece do not share their numbers."""


def circuit(wires, seed, *, wide=False):
    """Gates of all kinds and matrices that are not unitary; the seed gives the numbers, never the structure."""
    rng, structure = np.random.default_rng([seed, 3]), np.random.default_rng(wires)
    builder = CircuitBuilder(wires)
    for layer in range(3):
        for wire in range(wires):
            builder.gate("ry", [wire], rng.uniform(-3, 3))
            builder.gate("rz", [wire], rng.uniform(-3, 3))
        for wire in range(layer, wires - 1, 2):
            builder.gate("cp", [wire, wire + 1], rng.uniform(-3, 3))
            builder.gate("cx", [wire, wire + 1])
        for wire in range(1, wires):
            builder.gate("rzz", [0, wire], rng.uniform(-3, 3))
    if wide:
        size = 1 << 5
        builder.unitary(np.linalg.qr(rng.normal(size=(size, size)) + 0j)[0], range(wires - 5, wires))
    made = builder.build()
    instructions, operands = list(made.instructions), [*made.operands[0]]
    for _ in range(2 if wires else 0):  # one of them in the middle of the gates, as the matrix chosen of a channel
        on = (int(structure.integers(wires)),)
        at = int(structure.integers(len(instructions)))
        instructions.insert(at, Op(on, (), ALWAYS, bytes([Entry.COMPLEX] * 4), len(operands), "kraus", unitary=False))
        operands += list((rng.normal(size=4) + 1j * rng.normal(size=4)) / 2)
    return Circuit(wires, 0, tuple(instructions), np.array([operands]))


def planned(gpu, dtype, wires, rows, *, shared=False, wide=False):
    """A plan, and the numbers of each row as a device is given them: what is made from tables is left out.

    Of very many rows each has the numbers of one `DISTINCT` rows before.
    """
    circuits = [circuit(wires, seed, wide=wide) for seed in range(1 if shared else min(rows, DISTINCT))]
    everything = (1 << wires) - 1
    plan = make_plan(circuits[0].instructions, wires, Layout.identity(wires), gpu.shape(dtype), everything)
    assert len({made.instructions for made in circuits}) == 1
    given = np.array([fill(plan.coefficients, made.operands[0]).given for made in circuits])
    packed = [list(bind(plan, made.operands)) for made in circuits]
    every = np.arange(1 if shared else rows) % len(circuits)
    bound = Bound(plan.coefficients, given[every, : plan.coefficients.tables_at()].copy(), None)
    return plan, bound, [packed[k] for k in every.tolist()]


def states(rows, num_bits, dtype, seed=0):
    """Random states, [rows, 2^n]."""
    return np.array([random_state(seed + row, num_bits, dtype) for row in range(rows)])


def filled(gpu, psi):
    """A batch that holds states."""
    buffer = gpu.allocate(psi.size, psi.dtype)
    gpu.write(buffer, 0, psi.ravel())
    return buffer


def read(gpu, buffer, num_bits):
    """All rows of a batch."""
    return gpu.read(buffer, 0, int(buffer.size)).reshape(-1, 1 << num_bits)


def check_plan(gpu, dtype, wires, rows, compile, *, shared=False, loaded=True, wide=False, every=1):
    """Run a plan over rows that begin as |0…0> in memory that holds anything; compare every so many rows."""
    plan, bound, packed = planned(gpu, dtype, wires, rows, shared=shared, wide=wide)
    prepared = gpu.prepare_batch(plan.steps, wires, dtype, compile)
    buffer = filled(gpu, np.full((rows, 1 << wires), np.nan, dtype=dtype))
    gpu.begin_batch(buffer, wires)
    numbers = gpu.load_batch(prepared, bound) if loaded else [np.array(step) for step in zip(*packed, strict=True)]
    for step, given in zip(plan.steps, numbers, strict=True):
        gpu.run_batch(buffer, wires, step, given, prepared)
    got = read(gpu, buffer, wires)
    for row in range(0, rows, every):
        want = np.zeros(1 << wires, dtype=np.complex128)
        want[0] = 1
        for step, given in zip(plan.steps, packed[0 if shared else row], strict=True):
            PLAIN.run(want, wires, step, given)
        assert np.linalg.norm(got[row] - want) < TOLERANCE[dtype] * np.linalg.norm(want), row
    return plan


@pytest.mark.parametrize("compile", ["always", "never"])
@pytest.mark.parametrize("wires", range(15))
def test_a_plan_over_rows(gpu, dtype, wires, compile):
    """States of one structure that differ in all numbers, in rows smaller and larger than a tile, keep apart."""
    rows = ROWS[wires % 4] if wires < 12 else 3
    plan = check_plan(gpu, dtype, wires, rows, compile, shared=wires % 3 == 2)
    assert wires == 0 or any(isinstance(step, Sweep) for step in plan.steps)


@pytest.mark.parametrize("compile", ["always", "never", "auto"])
def test_numbers_that_are_not_loaded(gpu, dtype, compile):
    """Packed arrays of the rows, or one for all of them, do what loaded numbers do."""
    check_plan(gpu, dtype, 6, 5, compile, loaded=False)
    check_plan(gpu, dtype, 6, 5, compile, loaded=False, shared=True)


def test_steps_that_go_row_by_row(gpu, dtype):
    """Matrices wider than a register block, permutations, spreads and clears use each row's own numbers."""
    plan = check_plan(gpu, dtype, 7, 3, "never", wide=True)
    assert any(isinstance(step, DenseMatrix) for step in plan.steps)
    check_plan(gpu, dtype, 7, 3, "never", wide=True, shared=True)
    rng = np.random.default_rng(0)
    steps = [
        (DenseMatrix((4, 0, 2), (1 << 1 | 1 << 3,), ALWAYS), rng.normal(size=(3, 128)) + 0j),
        (BasisPermutation((0, 4), (2, 0, 3, 1)), np.zeros((1, 0), dtype=complex)),
        (InitialAmplitudes((0, 2), 1), rng.normal(size=(1, 4)) + 0j),
        (ZeroFill(0b10010), np.zeros((1, 0), dtype=complex)),
    ]
    psi = states(3, 5, dtype)
    buffer, want = filled(gpu, psi), psi.astype(np.complex128)
    for step, numbers in steps:
        gpu.run_batch(buffer, 5, step, numbers)
        for row in range(3):
            PLAIN.run(want[row], 5, step, numbers[row if len(numbers) > 1 else 0])
        error = np.linalg.norm(read(gpu, buffer, 5) - want, axis=1) / np.linalg.norm(want, axis=1)
        assert error.max() < TOLERANCE[dtype], type(step)


def test_wide_steps_may_take_entries_of_tables(gpu):
    """Table entries that a wide step takes are made on the host, for each row."""
    plan, bound, _ = planned(gpu, np.complex128, 6, 3)
    tabled = plan.coefficients.tables_at()
    assert tabled < plan.coefficients.size()
    sweep = next(step for step in plan.steps if isinstance(step, Sweep))
    places = np.array([plan.coefficients.size() - 1, 5, tabled, 4, tabled + 1])
    of = plan.coefficients
    numbers = type(of)(of.num_operands, of.program, (places, of.packed[0]))
    prepared = gpu.prepare_batch((DenseMatrix((0,), (), ALWAYS), sweep), 6, np.complex128, "never")
    found, _ = gpu.load_batch(prepared, Bound(numbers, bound.given, None))
    for row in range(3):
        want = fill(plan.coefficients, circuit(6, row).operands[0]).buffer[places]
        assert found[row] == pytest.approx(want, abs=1e-14)


@pytest.mark.parametrize("compile", ["always", "never"])
def test_a_row_of_nan_stays_alone(gpu, dtype, compile):
    """A row that is not a number, or has such numbers, spoils no other row of its thread block."""
    for num_bits in (3, 9):
        sweep, packed = random_sweep(7, num_bits, gpu.shape(dtype).tile, 3, 3)
        numbers = numbers_of_rows(7, sweep, packed, 5)
        numbers[3] = np.nan
        psi = states(5, num_bits, dtype)
        psi[1] = np.nan
        buffer = filled(gpu, psi)
        gpu.run_batch(buffer, num_bits, sweep, numbers, gpu.prepare_batch((sweep,), num_bits, dtype, compile))
        got = read(gpu, buffer, num_bits)
        for row in (0, 2, 4):
            want = psi[row].astype(np.complex128)
            PLAIN.run(want, num_bits, sweep, numbers[row])
            assert np.linalg.norm(got[row] - want) < TOLERANCE[dtype] * max(1, np.linalg.norm(want))
        assert np.isnan(got[1]).all()


def test_numbers_are_sent_in_pieces(gpu, monkeypatch):
    """Rows whose numbers are sent in another piece get their own numbers."""
    monkeypatch.setattr(tables, "PIECE", 3000)
    check_plan(gpu, np.complex128, 5, 33, "never")


@pytest.mark.parametrize("rows", ROWS)
def test_rows_begin_and_go(gpu, dtype, rows):
    """Amplitude 0 of each row is set and nothing else; rows are gathered in any order, also more than there were."""
    for num_bits in (0, 1, 4, 9):
        psi = states(rows, num_bits, dtype)
        buffer = filled(gpu, psi)
        gpu.begin_batch(buffer, num_bits)
        psi[:, 0] = 1
        assert np.array_equal(read(gpu, buffer, num_bits), psi)
        chosen = np.random.default_rng(rows).integers(0, rows, 2 * rows + 1)
        to = gpu.allocate(len(chosen) << num_bits, dtype)
        gpu.take_rows(to, buffer, num_bits, chosen)
        assert np.array_equal(read(gpu, to, num_bits), psi[chosen])


@pytest.mark.parametrize(
    ("num_bits", "rows", "bits", "when"),
    [
        (0, 33, (), ALWAYS),
        (3, 1, (2, 0), When(2, 2)),
        (3, 70, (), ALWAYS),
        (3, 5, (0, 1, 2), ALWAYS),
        (5, 33, (), When(31, 7)),
        (9, 5, (), ALWAYS),
        (10, 3, (9, 0, 4), When(0b1100, 0b0100)),
        (13, 3, (12, 1, 7), ALWAYS),
        (11, 3, tuple(range(11)), ALWAYS),
        (16, 2, (), ALWAYS),
        (16, 3, (15, 2), When(1 << 9, 1 << 9)),
        (6, 3, (0,), When(2, 6)),
    ],
)
def test_marginals(gpu, dtype, num_bits, rows, bits, when):
    """The sums of squares for values of some bits are those of each row."""
    psi = states(rows, num_bits, dtype)
    got = gpu.marginals(filled(gpu, psi), num_bits, bits, when)
    want = np.array([PLAIN.marginal(row, num_bits, bits, when) for row in psi])
    assert (got.shape, got.dtype) == ((rows, 1 << len(bits)), np.float64)
    assert np.allclose(got, want, **EXACT)


@pytest.mark.parametrize(("num_bits", "rows"), [(0, 5), (1, 33), (3, 70), (5, 3), (8, 3), (11, 5), (15, 2)])
def test_paulis(gpu, dtype, num_bits, rows):
    """Strings of any x and many z have each row's own values, also where x is 0 or has no z."""
    rng = np.random.default_rng(num_bits)
    size = 1 << num_bits
    strings = [(0, [int(z) for z in rng.integers(0, size, 19)]), (size - 1, [0, size - 1]), (size >> 1, [])]
    strings += [(int(x), [int(z) for z in rng.integers(0, size, 3)]) for x in rng.integers(0, size, 4)]
    psi = states(rows, num_bits, dtype)
    got = gpu.paulis(filled(gpu, psi), num_bits, strings)
    want = [np.concatenate([PLAIN.pauli(row, num_bits, x, zs) for x, zs in strings]) for row in psi]
    assert got.dtype == np.complex128
    assert np.allclose(got, want, **EXACT)
    assert gpu.paulis(filled(gpu, psi), num_bits, [(0, [])]).shape == (rows, 0)


@pytest.mark.parametrize("num_bits", [2, 9])
def test_a_row_does_not_depend_on_the_others(gpu, dtype, num_bits, monkeypatch):
    """The same state gives the same bits in every sum, alone, among others, and where the work is cut into pieces."""
    psi = states(33, num_bits, dtype)
    strings = [(1, [0, 1, 2]), (0, [*range(1 << 2)])]

    def asked(states):
        buffer = filled(gpu, states)
        return gpu.marginals(buffer, num_bits, (1,), ALWAYS), gpu.paulis(buffer, num_bits, strings)

    whole = asked(psi)
    monkeypatch.setattr(batch_sums, "WORKSPACE", 400)
    for alone in (asked(psi), asked(psi[:7]), asked(psi[5:6])):
        start = 5 if len(alone[0]) == 1 else 0
        for some, every in zip(alone, whole, strict=True):
            assert np.array_equal(some, every[start : start + len(some)])


@pytest.mark.parametrize(("num_bits", "rows"), [(3, 5), (7, 33), (12, 3)])
def test_the_row_is_the_high_part_of_an_index(gpu, dtype, num_bits, rows):
    """`search` and `gather` find amplitudes of the last row of a batch whose size is no power of two."""
    rng = np.random.default_rng(rows)
    psi = states(rows, num_bits, dtype)
    psi[:, rng.integers(0, 1 << num_bits, 1 << num_bits >> 1)] = 0
    buffer, bits = filled(gpu, psi), tuple(range(num_bits - 1))
    bases = np.sort(rng.choice(rows, (rows + 1) // 2, replace=False)) << num_bits
    bases = np.concatenate([bases, bases[-1:] | 1 << num_bits - 1, [rows - 1 << num_bits]])
    runs = np.arange(len(bases) + 1) * 9
    places = np.arange(1 << num_bits - 1)
    sums = [float((np.abs(psi.ravel()[base ^ places].astype(np.complex128)) ** 2).sum()) for base in bases]
    targets = np.repeat(sums, 9) * rng.uniform(0, 1.0001, 9 * len(bases))
    found = gpu.search(buffer, bits, bases, runs, targets)
    assert np.array_equal(found, PLAIN.search(psi.ravel(), bits, bases, runs, targets))
    indices = rng.integers(0, psi.size, 50)
    assert np.array_equal(gpu.gather(buffer, indices), psi.ravel()[indices])


def test_a_batch_that_comes_back_is_compiled(dtype):
    """After `RETURNS` interpreted batches a structure gets its kernel for rows; a large batch gets it at once."""
    from qsim_ex.kernels.cuda.compile.policy import RETURNS

    runtime = EmulatedRuntime()
    device = GpuDevice.on(runtime)
    assert isinstance(device, Batches)
    plan, bound, _ = planned(device, dtype, 4, 3)
    prepared = device.prepare_batch(plan.steps, 4, dtype, "auto")
    for turn in range(RETURNS + 2):
        device.load_batch(prepared, bound)
        compiled = [text for text in runtime.compiled if text.name == "sweep"]
        assert bool(compiled) == (turn >= RETURNS)
    sweeps = BatchSweeps(EmulatedRuntime())
    assert [sweeps.prepare(plan.steps, bits, SINGLE, "auto").settled for bits in (20, 40)] == [False, True]


def test_no_rows(gpu, dtype):
    """A batch without rows is asked and worked on like any other."""
    empty = gpu.allocate(0, dtype)
    sweep, packed = random_sweep(1, 4, 4, 2, 2)
    gpu.run_batch(empty, 4, sweep, packed[None])
    gpu.begin_batch(empty, 4)
    gpu.take_rows(empty, gpu.allocate(16, dtype), 4, np.zeros(0, dtype=np.int64))
    assert gpu.marginals(empty, 4, (1,), ALWAYS).shape == (0, 2)
    assert gpu.paulis(empty, 4, [(1, [2])]).shape == (0, 1)


class Compiling(EmulatedRuntime, CupyRuntime):
    """An emulated GPU whose driver compiles: it remembers the kernels that were begun."""

    cupy = device = None

    def __init__(self):
        super().__init__()
        self.begun = []

    def begin(self, texts):
        """Remember them."""
        self.begun.append([text.name for text in texts])


def test_kernels_of_the_first_batch_are_begun_once():
    """When a first batch is prepared, the interpreter and what begins rows are compiled; later batches have them."""
    runtime = Compiling()
    device = GpuDevice.on(runtime)
    for _batch in range(2):
        device.prepare_batch((), 3, np.complex64)
        assert runtime.begun == [[interpreter.text(SINGLE, None).name, *fixed.FIRST_OF_ROWS]]


def test_shots_are_those_of_the_cpu(monkeypatch):
    """A seed gives the shots of the CPU where branches of a batch go on after a measurement."""
    runtime = EmulatedRuntime()
    device = GpuDevice.on(runtime)
    monkeypatch.setattr(discover, "gpu", lambda _number: device)
    monkeypatch.setattr(discover, "gpu_missing", lambda: None)

    def measured(seed):
        builder, rng = CircuitBuilder(4, 5), np.random.default_rng(seed)
        for wire in range(4):
            builder.gate("ry", [wire], rng.uniform(-3, 3)).gate("rz", [wire], rng.uniform(-3, 3))
            builder.gate("cx", [wire, (wire + 1) % 4])
        builder.measure([0], [4])
        for wire in range(4):
            builder.gate("rx", [wire], rng.uniform(-3, 3))
        return builder.measure(range(4), range(4)).build()

    operands = np.concatenate([measured(seed).operands for seed in range(9)])
    asked = {"shots": 40, "seeds": 5}
    want = Simulator(device="cpu", precision="double").run_batch(measured(0), operands, **asked)
    for turn in range(4):  # interpreted at first, then compiled
        got = Simulator(device="gpu", precision="double").run_batch(measured(0), operands, **asked)
        assert (got.device, np.array_equal(got.packed, want.packed)) == (device.name, True), turn
    assert {"interpret", "sweep"} < {text.name for text in runtime.compiled}


class Interpreting(GpuDevice):
    """A GPU that compiles nothing for a plan: after some runs it would, and other kernels round in another way."""

    def prepare(self, steps, num_bits, dtype, compile="never"):
        """Interpret."""
        return super().prepare(steps, num_bits, dtype, compile)


class TestEmulated(BatchContract):
    """The emulated GPU fulfils the contract."""

    any_shape = False

    @pytest.fixture
    def device(self):
        """A device that interprets."""
        return Interpreting.on(EmulatedRuntime())


@pytest.mark.gpu
class TestReal(BatchContract):
    """The real GPU fulfils the contract."""

    any_shape = False

    @pytest.fixture
    def device(self):
        """A device that interprets."""
        real()
        return Interpreting()


MANY = [(3, 70_000), (10, 1_000), (18, 16)]


@pytest.mark.gpu
@pytest.mark.parametrize("compile", ["always", "never"])
@pytest.mark.parametrize(("wires", "rows"), MANY)
def test_many_rows(dtype, wires, rows, compile):
    """More rows than a grid's second axis may have, and rows of many tiles, are each what the definition says."""
    check_plan(real(), dtype, wires, rows, compile, every=max(1, rows // 3))


@pytest.mark.gpu
@pytest.mark.parametrize(("wires", "rows"), MANY)
def test_questions_to_many_rows(dtype, wires, rows):
    """Sums over many rows, gathered rows, and searches in them are those of each row."""
    gpu = real()
    few = states(min(rows, 50), wires, dtype)
    source, chosen = filled(gpu, few), np.arange(rows) * 7 % len(few)
    buffer = gpu.allocate(rows << wires, dtype)
    gpu.take_rows(buffer, source, wires, chosen)
    assert np.array_equal(gpu.read(buffer, (rows - 1) << wires, rows << wires), few[chosen[-1]])
    when, strings = When(2, 2), [(5, [0, 3, 7]), (0, [*range(1, 8)]), (1 << wires - 1, [1])]
    marginals, paulis = gpu.marginals(buffer, wires, (0, wires - 1), when), gpu.paulis(buffer, wires, strings)
    norms = gpu.marginals(buffer, wires, (), ALWAYS)
    for row in range(0, rows, max(1, rows // 7)):
        psi = few[chosen[row]]
        assert np.allclose(marginals[row], PLAIN.marginal(psi, wires, (0, wires - 1), when), **EXACT)
        assert np.allclose(norms[row], PLAIN.norms(psi, 1), **EXACT)
        want = np.concatenate([PLAIN.pauli(psi, wires, x, zs) for x, zs in strings])
        assert np.allclose(paulis[row], want, **EXACT)
    bases = np.arange(rows, dtype=np.int64) << wires
    bits = tuple(range(gpu.searched_bits(wires, rows)))
    above = When((1 << wires) - (1 << len(bits)), 0)
    targets = np.random.default_rng(1).uniform(0, 0.9, rows) * gpu.marginals(buffer, wires, (), above)[:, 0]
    found = gpu.search(buffer, bits, bases, np.arange(rows + 1), targets)
    for row in range(0, rows, max(1, rows // 7)):
        want = PLAIN.search(few[chosen[row]], bits, bases[:1], np.array([0, 1]), targets[row : row + 1])
        assert found[row] == want[0]
