"""Sweeps of adjoint differentiation on the GPU device: on an emulated GPU everywhere, and on the real one.

States and cotangents are compared with what the interpreter of sweeps makes of each, derivatives with differences.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.cuda.emulated_runtime import EmulatedRuntime
from support.cuda.program_words import WORD, named, operations
from support.unitary_circuits import circuit, unitary

from qsim_ex import CircuitBuilder
from qsim_ex.circuit.ops import Entry
from qsim_ex.devices.gpu.device import GpuDevice
from qsim_ex.errors import DeviceError, MissingPackage, NotSupported
from qsim_ex.kernels.cuda.adjoint import program as under_test
from qsim_ex.kernels.cuda.adjoint import sweep as adjoint
from qsim_ex.kernels.cuda.interpret.programs import program_of
from qsim_ex.planning.coefficients.binding import bind
from qsim_ex.planning.coefficients.pullback import LEFT_OUT
from qsim_ex.planning.planner import make_plan
from qsim_ex.precision import DOUBLE
from qsim_ex.program.one_state import unitary_program
from qsim_ex.steps.layout import Layout
from qsim_ex.steps.step import NUMBERED, DenseMatrix, Permute, Sweep

TOLERANCE = {np.complex64: 2e-4, np.complex128: 1e-11}
PARTS: dict[Entry, tuple[complex, ...]] = {Entry.REAL: (1,), Entry.IMAG: (1j,), Entry.COMPLEX: (1, 1j)}


@pytest.fixture(scope="module", params=["emulated", pytest.param("real", marks=pytest.mark.gpu)])
def gpu(request: pytest.FixtureRequest) -> GpuDevice:
    """An emulated GPU, and the real one."""
    return GpuDevice.on(EmulatedRuntime()) if request.param == "emulated" else real()


def real() -> GpuDevice:
    """The real GPU; skips where there is none."""
    try:
        return GpuDevice()
    except (DeviceError, MissingPackage) as error:
        pytest.skip(str(error))


@pytest.fixture(params=[np.complex64, np.complex128], ids=["single", "double"])
def dtype(request: pytest.FixtureRequest) -> Any:
    """Both precisions."""
    return request.param


class Case:
    """A sweep with the numbers of some rows, their states, and some cotangents of each."""

    def __init__(self, sweep: Sweep, numbers: np.ndarray, num_bits: int, rows: int, each: int, dtype: Any) -> None:
        rng = np.random.default_rng(num_bits)
        self.sweep, self.numbers, self.num_bits, self.each, self.dtype = sweep, numbers, num_bits, each, dtype
        drawn = rng.normal(size=(2, rows * (1 + each), 1 << num_bits))
        drawn = (drawn / np.sqrt(1 << num_bits)).astype(np.empty(0, dtype).real.dtype)
        self.states = (drawn[0, :rows] + 1j * drawn[1, :rows]).astype(dtype)
        self.cotangents = (drawn[0, rows:] + 1j * drawn[1, rows:]).reshape(rows, each, -1).astype(dtype)

    def parts(self) -> dict[int, tuple[complex, ...]]:
        """Along which of 1 and i each number may differ, by the class of its entry."""
        found: dict[int, tuple[complex, ...]] = {}
        for item in (item for block in self.sweep.register_blocks for item in block.items):
            if not isinstance(item, Permute):
                kept = [Entry(entry) for entry in item.pattern if item.reads or entry in NUMBERED]
                found |= {item.slot.at + k: PARTS.get(entry, ()) for k, entry in enumerate(kept)}
        return found

    def interpreted(self, gpu: GpuDevice, states: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """What the interpreter of sweeps makes of the states of rows."""
        prepared = gpu.prepare_batch((self.sweep,), self.num_bits, self.dtype, "never")
        buffer = sent(gpu, states)
        gpu.run_batch(buffer, self.num_bits, self.sweep, numbers, prepared)
        return gpu.read(buffer, 0, states.size).reshape(states.shape)

    def check(self, gpu: GpuDevice, most: int = 4) -> None:
        """Run the sweep backwards; compare states, cotangents, and derivatives for some numbers."""
        states, cotangents = sent(gpu, self.states), sent(gpu, self.cotangents)
        wanted = np.ones(self.numbers.shape[1], dtype=np.bool_)
        prepared = gpu.prepare_adjoint([self.sweep], self.num_bits, self.dtype, [wanted])
        found = gpu.run_adjoint(states, cotangents, self.num_bits, 0, self.numbers, prepared)
        behind = gpu.read(cotangents, 0, self.cotangents.size).reshape(self.cotangents.shape)
        close = {"rel": TOLERANCE[self.dtype], "abs": TOLERANCE[self.dtype]}
        assert gpu.read(states, 0, self.states.size).reshape(self.states.shape) == pytest.approx(
            self.interpreted(gpu, self.states, self.numbers), **close
        )
        for k in range(self.each):
            assert behind[:, k] == pytest.approx(self.interpreted(gpu, self.cotangents[:, k], self.numbers), **close)
        if not wanted.size:
            return
        assert found is not None
        for number in np.random.default_rng(0).permutation(wanted.size)[:most].tolist():
            for part in self.parts()[number]:
                change = np.where(np.arange(wanted.size) == number, part, 0)
                ends = [self.interpreted(gpu, self.states, self.numbers + way * change) for way in (1, -1)]
                expected = np.einsum("rki,ri->rk", behind.conj(), (ends[0] - ends[1]).astype(complex)).real / 2
                assert (found[:, :, number].conj() * part).real == pytest.approx(expected, **close)


def sent(gpu: GpuDevice, amplitudes: np.ndarray) -> Any:
    """Amplitudes in a buffer of the device."""
    buffer = gpu.allocate(amplitudes.size, amplitudes.dtype)
    gpu.write(buffer, 0, amplitudes.ravel())
    return buffer


def drawn(seed: int, num_wires: int, dtype: Any, rows: int = 1, each: int = 1, tile: int = 12) -> list[Case]:
    """The sweeps of a random circuit; rows have numbers of their own or share them."""
    circuits = [circuit(num_wires, seed)]
    device = GpuDevice.on(EmulatedRuntime())
    shape = replace(device.batch_shape(dtype), left_out=LEFT_OUT)
    shape = replace(shape, tile=min(shape.tile, tile))
    work = unitary_program(circuits[0].structure).whole.work
    plan = make_plan(work.instructions, num_wires, Layout.identity(num_wires), shape)  # type: ignore[arg-type]
    bound = bind(plan, circuits[0].operands)
    found = []
    for step, numbers in zip(plan.steps, bound, strict=True):
        if isinstance(step, Sweep):
            own = np.repeat(numbers[None], 1 if seed % 2 else rows, axis=0)
            found.append(Case(step, own, num_wires, rows, each, dtype))
    return found


@pytest.mark.parametrize("num_wires", [1, 2, 3, 5])
def test_rows_smaller_than_a_warp(gpu: GpuDevice, num_wires: int, dtype: Any) -> None:
    """States of rows that leave most lanes of a warp idle, with several cotangents each."""
    for case in drawn(num_wires, num_wires, dtype, 3, 2):
        case.check(gpu)


@pytest.mark.parametrize("seed", range(6))
def test_every_number(gpu: GpuDevice, seed: int) -> None:
    """Every operation of a sweep, in tiles of a state that has several."""
    for case in drawn(seed, 9, np.complex64 if seed % 2 else np.complex128, 1 + seed % 2, tile=8):
        case.check(gpu)


def test_full_tiles(gpu: GpuDevice, dtype: Any) -> None:
    """Thread blocks of full size, whose warps share the sums of a table."""
    drawn(3, 12 if dtype == np.complex64 else 11, dtype)[0].check(gpu, most=1)


@pytest.mark.gpu
@pytest.mark.parametrize("seed", range(4))
def test_large_states(seed: int, dtype: Any) -> None:
    """States of many tiles of full size, which thread blocks of a real GPU share."""
    device = real()
    for case in drawn(seed, 17, dtype, 1 + seed % 2, 1 + seed // 2):
        case.check(device)


def test_rows_in_pieces(gpu: GpuDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows whose sums do not fit into the workspace are worked on in pieces."""
    monkeypatch.setattr(adjoint.batch_sums, "WORKSPACE", 1 << 13)
    for case in drawn(4, 4, np.complex128, 5, 2):
        case.check(gpu)


def test_numbers_by_value_and_from_memory(dtype: Any) -> None:
    """A driver whose kernels take few arguments gets all numbers from memory, and finds the same derivatives."""
    device, old = GpuDevice.on(EmulatedRuntime()), GpuDevice.on(EmulatedRuntime(room=4096))
    (case, *_), found = drawn(1, 6, dtype), []
    for gpu in (device, old):
        wanted = np.ones(case.numbers.shape[1], dtype=np.bool_)
        prepared = gpu.prepare_adjoint([case.sweep], 6, dtype, [wanted])
        states, cotangents = sent(gpu, case.states), sent(gpu, case.cotangents)
        found.append(gpu.run_adjoint(states, cotangents, 6, 0, case.numbers, prepared))
    assert np.array_equal(*found)


def test_what_nobody_needs_is_not_collected(gpu: GpuDevice) -> None:
    """Without a number that is needed there is no result, and with one the others' sums are left at 0."""
    case = drawn(1, 6, np.complex128)[0]
    none = np.zeros(case.numbers.shape[1], dtype=np.bool_)
    one = none.copy()
    one[0] = True
    results = []
    for wanted in (none, one):
        prepared = gpu.prepare_adjoint([case.sweep], 6, np.complex128, [wanted])
        states, cotangents = sent(gpu, case.states), sent(gpu, case.cotangents)
        results.append(gpu.run_adjoint(states, cotangents, 6, 0, case.numbers, prepared))
    assert results[0] is None
    assert results[1] is not None
    assert results[1][0, 0, :4].all()
    assert not results[1][0, 0, 4:].any()


def test_steps_that_are_no_sweeps(gpu: GpuDevice) -> None:
    """A matrix on many wires is applied to states and cotangents, and refused in words where it has parameters."""
    rng, wires = np.random.default_rng(0), 6
    matrix = unitary(rng, wires)
    made = CircuitBuilder(wires).unitary(matrix, range(wires)).build()
    plan = make_plan(made.instructions, wires, Layout.identity(wires), gpu.batch_shape(np.complex128), 0)
    (step,), (numbers,) = plan.steps, bind(plan, made.operands)
    assert isinstance(step, DenseMatrix)
    states, cotangents = (rng.normal(size=(rows, 64)) + 0j for rows in (2, 4))
    buffers = sent(gpu, states), sent(gpu, cotangents)
    none = np.zeros(len(numbers), dtype=np.bool_)
    prepared = gpu.prepare_adjoint([step], wires, np.complex128, [none])
    assert gpu.run_adjoint(*buffers, wires, 0, numbers[None], prepared) is None
    for buffer, before in zip(buffers, (states, cotangents), strict=True):
        assert gpu.read(buffer, 0, before.size).reshape(before.shape) == pytest.approx(before @ matrix.T)
    with pytest.raises(NotSupported, match="DenseMatrix"):
        gpu.prepare_adjoint([step], wires, np.complex128, [~none])


def test_codes_are_those_of_the_interpreter() -> None:
    """Operations and places of words are called as in the interpreter's text, and every kind above is met."""
    for names in (under_test.OpCode, under_test.WordPlace):
        assert {one.name: WORD[one.name] for one in names} == {one.name: int(one) for one in names}
    kernel = named("collect.cu", "qsim_ex.kernels.cuda.adjoint", "adjoint_kernels")
    assert kernel["RECORD"] == kernel["SPLIT"] + 1
    met: set[int] = set()
    for seed in range(6):
        for case in drawn(seed, 9, np.complex128, tile=8):
            met |= operations(program_of(case.sweep, DOUBLE, False, bodies=False).words)
    found = {max(op for op in under_test.OpCode if op <= code) for code in met}
    assert found == set(under_test.OpCode)


def test_records_part_a_tile() -> None:
    """The slots that a record gives to threads are all of a tile, each once, and with its own block."""
    for sweep in (case.sweep for seed in range(8) for case in drawn(seed, 9, np.complex128, tile=8)):
        program = program_of(sweep, DOUBLE, False, bodies=False)
        made = under_test.adjoint_program(program, 2, np.ones(sweep.numbers + sweep.tables, dtype=np.bool_))
        lanes = program.threads.bit_length() - 1
        for first in range(made.records, made.words.size, 13):
            record = made.words[first : first + 13].tolist()
            vectors = [*record[:lanes], *record[8:12]]
            slots = [0]
            for vector in vectors:
                slots += [slot ^ vector for slot in slots]
            assert len({slot & 0xFFFF for slot in slots}) == len(slots) == 1 << lanes + 4
            idle, split = record[12] & 0xFF, record[12] >> 8
            assert not any(vector >> 16 for vector in [*record[:idle], *record[8 + split : 12]])
