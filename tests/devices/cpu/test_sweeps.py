"""Steps on the CPU device against the definition of each item, applied to the whole vector."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.directions import drawn, in_memory, shuffled

from qsim_ex.circuit.ops import ALWAYS, Entry, When, mask_of, pattern
from qsim_ex.devices.cpu.device import CpuDevice, aligned
from qsim_ex.kernels.cpu.encoded_plan import EncodedSweeps
from qsim_ex.native import library
from qsim_ex.reference import extract, replace
from qsim_ex.steps.algebra import columns_on, units
from qsim_ex.steps.step import (
    NUMBERED,
    BasisPermutation,
    DenseMatrix,
    Diagonal,
    InitialAmplitudes,
    Mix,
    Permute,
    RegisterBlock,
    Slot,
    Sweep,
    ZeroFill,
)

SIX = list(Entry)


def plain(psi, num_bits, step, numbers, high=0):
    """Apply one step by its definition, complex128."""
    index = np.arange(psi.size, dtype=np.int64)
    if isinstance(step, ZeroFill):
        return np.where(index & step.fresh, 0, psi)
    if isinstance(step, Sweep):
        psi = np.where(index & step.fresh, 0, psi)[in_memory(index, step.loads)]
        for item in (item for block in step.register_blocks for item in block.items):
            psi = plain_item(psi, num_bits, item, numbers, high)
        moved = np.empty_like(psi)
        moved[in_memory(index, step.stores)] = psi
        return moved
    if isinstance(step, DenseMatrix):
        count = 1 << len(step.reads) + 2 * len(step.bits)
        item = Mix(step.bits, step.reads, step.when, bytes([Entry.COMPLEX] * count), Slot(0, count))
        return plain_item(psi, num_bits, item, numbers, high)
    if isinstance(step, BasisPermutation):
        return plain_item(psi, num_bits, Permute(step.bits, ALWAYS, step.to), numbers, high)
    return numbers[extract(index, step.bits)] * psi[replace(index, step.bits, step.held)]


def plain_item(psi, num_bits, item, numbers, high):
    """Apply one item by its definition."""
    index = np.arange(psi.size, dtype=np.int64)
    full = index | high << num_bits
    index = index[full & item.when.mask == item.when.value]
    full = index | high << num_bits
    out = psi.copy()
    if isinstance(item, Permute):
        out[replace(index, item.bits, np.array(item.to)[extract(index, item.bits)])] = psi[index]
        return out
    block = np.zeros_like(index)
    for k, mask in enumerate(item.reads):
        block |= (np.bitwise_count(full & mask).astype(np.int64) & 1) << k
    entries = unpacked(item, numbers)
    if isinstance(item, Diagonal):
        out[index] = entries.ravel()[block] * psi[index]
        return out
    row = extract(index, item.bits)
    out[index] = sum(entries[block, row, c] * psi[replace(index, item.bits, c)] for c in range(1 << len(item.bits)))
    return out


def unpacked(item, numbers):
    """All entries of an item, from its pattern and its packed numbers."""
    dense = isinstance(item, Diagonal) or bool(item.reads)
    values, place = [], item.slot.at
    for k, entry in enumerate(item.pattern):
        if entry in NUMBERED:
            values.append(numbers[item.slot.at + k] if dense else numbers[place])
            place += 1
        else:
            values.append({Entry.ZERO: 0, Entry.ONE: 1, Entry.MINUS_ONE: -1}[Entry(entry)])
    size = 1 << len(item.bits) if isinstance(item, Mix) else 1
    return np.array(values, dtype=np.complex128).reshape(-1, size, size)


def number(rng, entry, size=1):
    """A number of the given class."""
    real, imag = rng.normal(size=2) / size**0.5
    return {Entry.ZERO: 0, Entry.ONE: 1, Entry.MINUS_ONE: -1, Entry.REAL: real, Entry.IMAG: 1j * imag}.get(
        entry, real + 1j * imag
    )


def masks(draw, bits, count):
    """Random masks over some bits, at least one bit in each."""
    if not bits:
        return ()
    return tuple(
        mask_of(tuple(draw(st.lists(st.sampled_from(bits), min_size=1, max_size=4, unique=True)))) for _ in range(count)
    )


def condition(draw, bits):
    """A random condition on up to three bits."""
    chosen = draw(st.lists(st.sampled_from(bits), max_size=3, unique=True)) if bits else []
    mask = mask_of(tuple(chosen))
    return When(mask, mask & draw(st.integers(0, (1 << 20) - 1)))


def mix_pattern(draw, size, blocks):
    """Classes of a matrix: dense, real, real and imaginary by parity, a random sprinkle, sets of values, or of two."""
    style = draw(st.sampled_from(["dense", "real", "planes", "sprinkle", "sets", "two", "diagonal"]))
    if style == "dense":
        return bytes([Entry.COMPLEX] * (blocks * size * size))
    if style == "real":
        kinds = st.sampled_from([Entry.REAL, Entry.REAL, Entry.ONE, Entry.ZERO, Entry.MINUS_ONE])
        return bytes(draw(st.lists(kinds, min_size=blocks * size * size, max_size=blocks * size * size)))
    if style == "planes":
        label = [draw(st.integers(0, 1)) for _ in range(size)]
        kinds = [Entry.REAL if label[r] == label[c] else Entry.IMAG for r in range(size) for c in range(size)]
        return bytes(kinds * blocks)
    if style == "sprinkle":
        kinds = st.sampled_from([Entry.ZERO] * 3 + SIX)
        return bytes(draw(st.lists(kinds, min_size=blocks * size * size, max_size=blocks * size * size)))
    if style == "sets":  # of rows they are others than of columns
        columns = np.array(draw(st.lists(st.integers(0, 3), min_size=size, max_size=size)))
        rows = columns[draw(st.permutations(range(size)))]
        kind = draw(st.sampled_from([Entry.REAL, Entry.COMPLEX]))
        return np.where(rows[:, None] == columns, kind, Entry.ZERO).astype(np.uint8).tobytes() * blocks
    unit = np.eye(size, dtype=np.uint8) * int(Entry.ONE)
    if style == "two":
        a, b = draw(st.lists(st.integers(0, size - 1), min_size=2, max_size=2, unique=True))
        unit[np.ix_([a, b], [a, b])] = draw(st.sampled_from([Entry.REAL, Entry.COMPLEX, Entry.IMAG]))
    else:
        np.fill_diagonal(unit, draw(st.sampled_from([Entry.REAL, Entry.COMPLEX, Entry.MINUS_ONE])))
    return unit.tobytes() * blocks


@st.composite
def sweeps(draw, num_bits, most_tile, most_near, high_bits=2):
    """A random sweep and its packed numbers."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    everywhere = list(range(num_bits + high_bits))
    low = draw(st.sampled_from([min(num_bits, 5), min(num_bits, 5), 0]))
    others = draw(st.lists(st.sampled_from(range(low, num_bits)), unique=True)) if low < num_bits else []
    if low and num_bits <= most_tile and draw(st.booleans()):
        others = list(range(low, num_bits))
    tile = sorted([*range(low), *others[: max(0, most_tile - low)]])
    packed, register_blocks = [], []
    for _ in range(draw(st.integers(1, 3))):
        near = sorted(draw(st.lists(st.sampled_from(tile), max_size=most_near, unique=True))) if tile else []
        items = []
        for _ in range(draw(st.integers(0, 3))):
            kind = draw(st.sampled_from(["mix", "mix", "mix", "diagonal", "permute"] if near else ["diagonal"]))
            bits = tuple(draw(st.lists(st.sampled_from(near), min_size=1, max_size=5, unique=True))) if near else ()
            if kind == "diagonal":
                reads = masks(draw, everywhere, draw(st.integers(0, 6)))
                size = 1 << len(reads)
                classes = draw(st.sampled_from([[5], [3, 1, 2], [1, 2], SIX]))
                entries = bytes(draw(st.lists(st.sampled_from(classes), min_size=size, max_size=size)))
                item = Diagonal(reads, condition(draw, everywhere), entries, Slot(len(packed), size))
                packed += [number(rng, entry) for entry in entries]
            else:
                others = [bit for bit in everywhere if bit not in bits]
                when = condition(draw, others)
                if kind == "mix":
                    reads = masks(draw, others, draw(st.sampled_from([0, 0, 1, 2, 3])) if len(bits) < 4 else 0)
                    entries = mix_pattern(draw, 1 << len(bits), 1 << len(reads))
                    values = [number(rng, e, 1 << len(bits)) for e in entries if reads or e in NUMBERED]
                    item = Mix(bits, reads, when, entries, Slot(len(packed), len(values)))
                    packed += values
                else:
                    item = Permute(bits, when, tuple(int(x) for x in rng.permutation(1 << len(bits))))
            items.append(item)
        register_blocks.append(RegisterBlock(tuple(near), tuple(items)))
    bits = draw(st.lists(st.sampled_from(range(num_bits)), unique=True)) if num_bits and draw(st.booleans()) else []
    fresh = mask_of(tuple(bits))
    load = drawn(rng, tile, num_bits, fresh, min(low, len(tile))) if draw(st.booleans()) else ()
    store = columns_on(tile, units(draw(st.permutations(tile)))) if draw(st.booleans()) and not load else ()
    store = shuffled(rng, tile, load, fresh, min(low, len(tile))) if load and draw(st.booleans()) else store
    sweep = Sweep(tuple(tile), tuple(register_blocks), len(packed), 0, fresh, store, load)
    return sweep, np.array(packed, dtype=np.complex128)


def state(num_bits, dtype, seed=0):
    """A random normalised state on a cache line, and the same in complex128."""
    rng = np.random.default_rng(seed)
    psi = rng.normal(size=1 << num_bits) + 1j * rng.normal(size=1 << num_bits)
    psi /= np.linalg.norm(psi)
    buffer = aligned(psi.size * np.dtype(dtype).itemsize).view(dtype)
    buffer[:] = psi
    return buffer, buffer.astype(np.complex128)


def check(num_bits, dtype, chosen, step, numbers, high=0):
    """Run a step on the device and by definition."""
    buffer, psi = state(num_bits, dtype)
    index = np.arange(psi.size)
    fresh = getattr(step, "fresh", 0)
    buffer[index & fresh != 0] = np.nan  # nobody has written there
    prepared = EncodedSweeps(num_bits, np.dtype(dtype), chosen)
    CpuDevice(2).run(buffer, num_bits, step, numbers, prepared, high)
    wanted = plain(psi, num_bits, step, numbers, high)
    if isinstance(step, Sweep):
        visited = index & fresh & ~mask_of(step.tile) == 0
        assert np.isnan(buffer[~visited]).all()
        buffer, wanted = buffer[visited], wanted[visited]
    bound = 1e-13 if dtype == np.complex128 else 2e-6
    assert np.linalg.norm(buffer - wanted) <= bound * max(np.linalg.norm(wanted), np.linalg.norm(psi))


SETS = [(dtype, chosen) for dtype in (np.complex64, np.complex128) for chosen in library.instruction_sets()]


@pytest.mark.parametrize(("dtype", "chosen"), SETS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_small_sweeps(dtype, chosen, data):
    """Any sweep over up to 9 bits does what its items say, for every instruction set."""
    num_bits = data.draw(st.integers(0, 9))
    sweep, numbers = data.draw(sweeps(num_bits, 9, 9))
    check(num_bits, dtype, chosen, sweep, numbers, data.draw(st.integers(0, 3)))


@pytest.mark.parametrize(("dtype", "chosen"), SETS)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_large_sweeps(dtype, chosen, data):
    """Any sweep over more bits than a tile has does what its items say."""
    num_bits = data.draw(st.integers(10, 17))
    sweep, numbers = data.draw(sweeps(num_bits, data.draw(st.integers(8, 15)), 11))
    check(num_bits, dtype, chosen, sweep, numbers, data.draw(st.integers(0, 3)))


@pytest.mark.parametrize(("dtype", "chosen"), SETS)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_chains_of_cx(dtype, chosen, data):
    """Chains of CX, which become permutations of rows, move what each of them would move."""
    num_bits = data.draw(st.integers(2, 12))
    tile = tuple(range(min(num_bits, data.draw(st.integers(5, 12)))))
    packed, items = [], []
    for _ in range(data.draw(st.integers(1, 12))):
        target = data.draw(st.sampled_from(tile))
        if data.draw(st.integers(0, 5)) == 0:
            items.append(Mix((target,), (), ALWAYS, pattern("rrrr"), Slot(len(packed), 4)))
            packed += [0.6, 0.8, 0.8, -0.6]
            continue
        control = data.draw(st.sampled_from([bit for bit in range(num_bits + 2) if bit != target]))
        items.append(Permute((target,), When(1 << control, data.draw(st.integers(0, 1)) << control), (1, 0)))
    store = units(data.draw(st.permutations(tile))) if data.draw(st.booleans()) else ()
    sweep = Sweep(tile, (RegisterBlock(tile, tuple(items)),), len(packed), 0, store=store)
    check(num_bits, dtype, chosen, sweep, np.array(packed, dtype=np.complex128), data.draw(st.integers(0, 3)))


@pytest.mark.parametrize(("dtype", "chosen"), SETS)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_layers_of_rotations(dtype, chosen, data):
    """Real matrices and rotations about X, of which two are done at once, do what each of them does alone."""
    num_bits = data.draw(st.integers(6, 12))
    controls = [
        When(mask, mask & data.draw(st.integers(0, 4095))) for mask in (0, 0, 1 << data.draw(st.integers(0, 12)))
    ]
    packed, items = [], []
    for _ in range(data.draw(st.integers(2, 12))):
        when = data.draw(st.sampled_from(controls))
        free = [bit for bit in range(num_bits) if not when.mask >> bit & 1]
        bits = tuple(data.draw(st.lists(st.sampled_from(free), min_size=1, max_size=2, unique=True)))
        classes = data.draw(st.sampled_from(["rrrr", "riir"]))
        entries = pattern(classes if len(bits) == 1 else f"{classes[:2]}00{classes[2:]}0000rr00rr")
        numbers = [number(np.random.default_rng(len(packed)), entry, 2) for entry in entries if entry in NUMBERED]
        items.append(Mix(bits, (), when, entries, Slot(len(packed), len(numbers))))
        packed += numbers
    tile = tuple(range(num_bits))
    sweep = Sweep(tile, (RegisterBlock(tile, tuple(items)),), len(packed), 0)
    check(num_bits, dtype, chosen, sweep, np.array(packed, dtype=np.complex128), data.draw(st.integers(0, 3)))


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_other_steps(dtype, data):
    """Wide matrices, permutations and spreads do what they say."""
    num_bits = data.draw(st.integers(1, 11))
    high = data.draw(st.integers(0, 3))
    bits = tuple(data.draw(st.lists(st.sampled_from(range(num_bits)), min_size=1, max_size=7, unique=True)))
    others = [bit for bit in range(num_bits + 2) if bit not in bits]
    size = 1 << len(bits)
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    reads = masks(data.draw, others, data.draw(st.integers(0, 2)))
    matrices = rng.normal(size=(2, (1 << len(reads)) * size * size)).T @ [1, 1j] / size
    check(num_bits, dtype, "", DenseMatrix(bits, reads, condition(data.draw, others)), matrices, high)
    check(num_bits, dtype, "", BasisPermutation(bits, tuple(int(x) for x in rng.permutation(size))), matrices[:0], high)
    check(
        num_bits,
        dtype,
        "",
        InitialAmplitudes(
            bits,
            int(rng.integers(size)),
        ),
        matrices[:size],
        high,
    )


def test_any_alignment():
    """A caller's array need not begin on a cache line."""
    numbers = np.array([0.6, 0.8, 0.8, -0.6], dtype=np.complex128)
    sweep = Sweep(tuple(range(8)), (RegisterBlock((6,), (Mix((6,), (), ALWAYS, pattern("rrrr"), Slot(0, 4)),)),), 4, 0)
    for dtype in (np.complex64, np.complex128):
        raw = np.zeros(257, dtype=dtype)
        raw[1:] = state(8, dtype)[0]
        wanted = plain(raw[1:].astype(np.complex128), 8, sweep, numbers)
        CpuDevice(1).run(raw[1:], 8, sweep, numbers)
        np.testing.assert_allclose(raw[1:], wanted, atol=1e-6)
