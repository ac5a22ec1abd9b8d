"""Dense blocks by the tensor cores: kernels do what their sweep says, by the documented layouts of `mma.sync`."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from support.cuda.emulated_runtime import EmulatedRuntime
from support.cuda.random_sweeps import random_sweep
from support.cuda.sweeps import case, check
from support.promises import verify

from benchmarks.engine import circuit_of
from benchmarks.families import FAMILIES
from qsim_ex import reference
from qsim_ex.circuit.ops import ALWAYS, When, pattern
from qsim_ex.devices.gpu.device import GpuDevice
from qsim_ex.kernels.cuda.write import tensor
from qsim_ex.kernels.cuda.write.emit import emit
from qsim_ex.kernels.cuda.write.register_layout import swizzle
from qsim_ex.planning.coefficients.binding import bind
from qsim_ex.planning.planner import make_plan
from qsim_ex.precision import BY_DTYPE, DOUBLE, SINGLE
from qsim_ex.steps import Layout, Mix, RegisterBlock, Slot, Sweep
from qsim_ex.steps.algebra import columns_on, units
from qsim_ex.steps.unmixed import widened

DTYPES = [np.complex64, np.complex128]
TOLERANCE = {np.complex64: 3e-6, np.complex128: 1e-13}
MIXED = ("block", "block", "mix", "diagonal", "permute")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("tile", [9, 10, 11, 12])
def test_blocks_among_everything_else(dtype, tile):
    """In any order with other items, at the edges of a sweep and beside fresh bits, blocks do what a sweep says."""
    cases = [case(50 * tile + k, tile + k % 3, tile, 1 + k % 3, 3, 2, kinds=MIXED) for k in range(5)]
    cases.append(case(tile, tile, tile, 2, 1, kinds=("block",)))
    used = [emit(sweep, BY_DTYPE[np.dtype(dtype)], tensor=True).source.count("Matrix m;") for _, _, sweep, *_ in cases]
    assert sum(used) >= 5
    check(cases, dtype, tensor=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [9, 11])
def test_blocks_at_the_edges(dtype, size):
    """A block in the last register block stores to memory; one in the first finds what an empty one has loaded."""
    rng = np.random.default_rng(size)
    cases = []
    for k in range(12):
        tile = tuple(sorted([0, 1, 2, 3, *(int(b) for b in rng.permutation(np.arange(4, 13))[: size - 4])]))
        near = [tuple(sorted(int(b) for b in rng.permutation(tile[4:])[:4])) for _ in range(1 + k % 3)]
        mixes = [Mix(bits[::-1], (), ALWAYS, pattern("c" * 256), Slot(256 * j, 256)) for j, bits in enumerate(near)]
        blocks = tuple(RegisterBlock(bits, (mix,)) for bits, mix in zip(near, mixes, strict=True))
        fresh = int(rng.integers(1 << 13)) & int(rng.integers(1 << 13)) if k % 2 else 0
        sweep = Sweep(tile, blocks, 256 * len(mixes), 0, fresh)
        kernel = emit(sweep, BY_DTYPE[np.dtype(dtype)], tensor=True)
        ends = bool(widened(sweep).beside)  # a register block without items stores zeros beside amplitudes
        assert kernel.source.count("// register block") == len(blocks) + 1 + ends
        numbers = (rng.normal(size=256 * len(mixes)) + 1j * rng.normal(size=256 * len(mixes))) / 6
        cases.append((k, 13, sweep, numbers, 0))
    check(cases, dtype, tensor=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("controls", [1, 2, 4])
def test_blocks_under_conditions(dtype, controls):
    """A block under conditions on bits of any place changes the amplitudes at which they hold, and no other."""
    rng = np.random.default_rng(controls)
    cases = []
    for k in range(10):
        tile = tuple(sorted([0, 1, 2, 3, *(int(b) for b in rng.permutation(np.arange(4, 13))[:6])]))
        near = tuple(sorted(int(b) for b in rng.permutation(tile)[:4]))
        others = rng.permutation([bit for bit in range(14) if bit not in near])[:controls].tolist()
        mask = sum(1 << bit for bit in others)
        when = When(mask, mask & int(rng.integers(1 << 14)))
        mix = Mix(near, (), when, pattern("c" * 256), Slot(0, 256))
        store = columns_on(tile, units(tuple(rng.permutation(tile).tolist()))) if k % 2 else ()
        sweep = Sweep(tile, (RegisterBlock(near, (mix,)),), 256, 0, 0, store=store)
        assert "mma(" in emit(sweep, BY_DTYPE[np.dtype(dtype)], tensor=True).source
        numbers = (rng.normal(size=256) + 1j * rng.normal(size=256)) / 6
        cases.append((k, 13, sweep, numbers, k % 2))
    check(cases, dtype, tensor=True)


@pytest.mark.parametrize("dtype", DTYPES)
def test_blocks_behind_numbers_that_did_not_fit(dtype):
    """Where all numbers stand in the table, those of a block are aligned for loads of 16 bytes."""
    check([case(900 + k, 10, 9, 2, 4, kinds=MIXED) for k in range(4)], dtype, room=32, tensor=True)
    for seed in range(900, 904):
        sweep, _ = random_sweep(seed, 10, 9, 2, 4, kinds=MIXED)
        kernel = emit(sweep, BY_DTYPE[np.dtype(dtype)], 32, tensor=True)
        places = re.findall(r"load\(m, table \+ (\d+), t & 31\)|    table \+= (\d+);", kernel.source)
        assert len(places) > 1
        assert all(int(one or other) % 4 == 0 for one, other in places)


def test_what_is_for_the_tensor_cores():
    """Full matrices on four bits are, in tiles large enough; with reads or many zeros they are not."""
    full, sparse = pattern("c" * 256), pattern(("c" * 4 + "0" * 12) * 16)
    near = (5, 6, 7, 8)
    slot = Slot(0, 256)

    def used(item, size=9):
        sweep = Sweep(tuple(range(size)), (RegisterBlock(tuple(range(size - 4, size)), (item,)),), 256, 0)
        return "mma(" in emit(sweep, SINGLE, tensor=True).source

    assert used(Mix(near, (), ALWAYS, full, slot))
    assert not used(Mix((4, 5, 6, 7), (), ALWAYS, full, slot), size=8)
    assert used(Mix(near, (), When(1, 1), full, slot))
    assert not used(Mix(near, (1,), ALWAYS, full * 2, Slot(0, 512)))
    assert not used(Mix(near, (), ALWAYS, sparse, Slot(0, 64)))
    sweep = Sweep(tuple(range(9)), (RegisterBlock(near, (Mix(near, (), ALWAYS, full, slot),)),), 256, 0)
    assert "mma(" not in emit(sweep, SINGLE).source


@pytest.mark.parametrize(
    ("precision", "tile", "most"), [(SINGLE, 12, 0), (SINGLE, 11, 0), (DOUBLE, 11, 1), (DOUBLE, 10, 1)]
)
def test_banks(precision, tile, most):
    """Whatever is mixed, lanes that shared memory serves together meet different banks, or two of them one."""
    together, bank = (16, 0xF) if precision is SINGLE else (8, 0x7)
    crowded = 0
    for near in combinations(range(tile), 4):
        place = tensor.arrange(near, tile, precision)
        assert {*place.columns, *place.groups, *place.loops, *place.warps} == set(range(tile))
        assert set(place.rows) == set(near)
        for positions in (place.reading, place.writing):
            slots = [swizzle(tensor.mask(positions, thread), precision) & bank for thread in range(together)]
            assert len(set(slots)) >= together >> most
            crowded += len(set(slots)) < together
    assert crowded <= 10


@pytest.mark.parametrize("compile", ["always", "never"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("family", "n"), [("brick", 9), ("qv", 10), ("brick", 11), ("qv", 12), ("su2", 12)])
def test_plans_with_blocks(family, n, dtype, compile):
    """Plans with blocks, compiled or interpreted, make the state that the circuit's definition makes."""
    circuit = circuit_of(FAMILIES[family].build(n, 1), n)
    device = GpuDevice.on(EmulatedRuntime(tensor=True))
    shape = replace(device.shape(dtype), block_made=0)
    plan = make_plan(circuit.instructions, n, Layout.identity(n), shape, (1 << n) - 1)
    verify(plan)
    blocks = [
        i for s in plan.sweeps for b in s.register_blocks for i in b.items if isinstance(i, Mix) and len(i.bits) == 4
    ]
    assert blocks
    buffer = device.allocate(1 << n, dtype)
    device.begin(buffer)
    prepared = device.prepare(plan.steps, n, dtype, compile)
    for step, numbers in zip(plan.steps, device.load(prepared, bind(plan, circuit.operands)), strict=True):
        device.run(buffer, n, step, numbers, prepared)
    found = device.read(buffer, 0, 1 << n)[[plan.end.index(value) for value in range(1 << n)]]
    assert np.linalg.norm(found - reference.simulate(circuit)) < TOLERANCE[dtype]
