"""Sweeps over subspaces: kernels find a tile where its maps say, and memory is touched in whole lines."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cuda.program_words import WORD
from support.cuda.random_sweeps import maps
from support.cuda.sweeps import case, check
from support.directions import in_memory

from qsim_ex.circuit.ops import ALWAYS, When, pattern
from qsim_ex.kernels.cuda.interpret.programs import program_of
from qsim_ex.kernels.cuda.write.emit import emit
from qsim_ex.kernels.cuda.write.memory_map import MemoryMap
from qsim_ex.kernels.cuda.write.register_layout import LANES, places, stored_order
from qsim_ex.kernels.cuda.write.tensor import arrange
from qsim_ex.precision import BY_DTYPE, PRECISIONS, SINGLE
from qsim_ex.steps import Mix, RegisterBlock, Slot, Sweep
from qsim_ex.steps.algebra import units
from qsim_ex.steps.unmixed import widened

DTYPES = [np.complex64, np.complex128]
BLOCKS = ("block", "block", "mix", "diagonal", "permute")
TURNS = ("pair", "turn", "diagonal")


def drawn(seed, num_bits=14, size=10, fresh=0, low=LANES):
    """A sweep without work over a drawn subspace."""
    rng = np.random.default_rng(seed)
    tile = tuple(sorted([*range(4), *(int(bit) for bit in rng.permutation(np.arange(4, num_bits))[: size - 4])]))
    store, load = maps(seed, tile, num_bits, fresh, low)
    return Sweep(tile, (RegisterBlock(tile[-4:], ()),), 0, 0, fresh, store, load)


@pytest.mark.parametrize("seed", range(20))
def test_a_map_is_that_of_its_sweep(seed):
    """A place made of what bits outside add and of what positions add is the one that the sweep's maps say."""
    sweep, index = drawn(seed), np.arange(1 << 14)
    outside = index & ~sum(1 << bit for bit in sweep.tile)
    for made, columns in ((MemoryMap.read(sweep), sweep.loads), (MemoryMap.written(sweep), sweep.stores)):
        found = outside.copy()
        for bit, mask in made.added:
            found ^= (outside >> bit & 1) * mask
        for position, bit in enumerate(sweep.tile):
            found ^= (index >> bit & 1) * made.at(1 << position)
        assert np.array_equal(found, in_memory(index, columns))
        registers = made.registers((2, 7, 9))
        assert registers == [made.at((r & 1) << 2 | (r >> 1 & 1) << 7 | (r >> 2) << 9) for r in range(8)]


def test_what_kind_of_map_it_is():
    """Bits are added to places, directions XORed; a map that moves nothing needs no place of its own."""
    tile, blocks = (0, 1, 2, 3, 6, 7), (RegisterBlock((), ()),)
    still = MemoryMap.read(Sweep(tile, blocks, 0, 0))
    moved = MemoryMap.written(Sweep(tile, blocks, 0, 0, store=(2, 1)))
    direction = MemoryMap.read(Sweep(tile, blocks, 0, 0, load=(*units(range(6)), 64 | 16)))
    beside = MemoryMap.read(Sweep(tile, blocks, 0, 0, load=(1, 2, 4, 8, 16 | 64)))
    assert [each.stays for each in (still, moved, direction, beside)] == [True, False, False, False]
    assert [each.joined for each in (still, moved, direction, beside)] == ["+", "+", "^", "^"]
    assert still.place("there", (0, 1, 4)) == ["const u64 there = outside | (u64)(t & 0x3) | (u64)(t >> 2 & 0x1) << 6;"]
    assert direction.place("there", (4, 0)) == [
        "u64 there = outside | (u64)(t >> 1 & 0x1);",
        "there ^= t & 1 ? 0x50ull : 0;",
    ]
    assert beside.place("origin", (4,))[1:] == ["origin ^= outside >> 4 & 1 ? 0x40ull : 0;"]
    assert still.pairs(0)
    assert not moved.pairs(0)
    assert not MemoryMap.read(Sweep(tile, blocks, 0, 0, load=(1, 2, 4, 8, 16 | 1))).pairs(0)


def test_fresh_bits_outside_add_nothing():
    """A fresh bit outside the tile is 0 wherever a block is, so that nothing is computed for it."""
    sweep = Sweep((0, 1), (RegisterBlock((), ()),), 0, 0, 1 << 3, load=(1, 2, 4, 8 | 1, 16 | 2))
    assert MemoryMap.read(sweep).added == ((4, 2),)


def keeps_lowest(sweep):
    """Whether the lowest bits are alone in both maps of a sweep, as planning has it."""
    columns = [set(each(range(14))) for each in (sweep.loads, sweep.stores)]
    return all({mask for mask in each if mask & 15} == {1, 2, 4, 8} for each in columns)


KEEPING = [seed for seed in range(24) if keeps_lowest(drawn(seed))]


@pytest.mark.parametrize("precision", PRECISIONS.values(), ids=list(PRECISIONS))
@pytest.mark.parametrize("seed", KEEPING)
def test_lanes_touch_whole_lines(seed, precision):
    """Sixteen neighbouring lanes load and store sixteen neighbouring amplitudes, tensor cores' lanes four pairs."""
    assert len(KEEPING) > 12
    sweep = drawn(seed)
    read, written = MemoryMap.read(sweep), MemoryMap.written(sweep)
    first, *_, last = places(Sweep(sweep.tile, sweep.register_blocks * 2, 0, 0, 0, sweep.store, sweep.load), precision)
    assert [read.columns[position] for position in first.threads[:LANES]] == [1, 2, 4, 8]
    assert [written.columns[position] for position in last.threads[:LANES]] == [1, 2, 4, 8]
    order = stored_order(sweep)
    place = arrange(order[-4:], len(sweep.tile), precision, order=order)
    assert sorted(written.columns[position] for position in place.groups) == [1, 2, 4]
    assert written.pairs(place.groups[0])
    words = program_of(sweep, precision, False).words
    assert (
        [words[WORD["LOAD"] + 2 * k] for k in range(LANES)]
        == [words[WORD["STORE"] + 2 * k] for k in range(LANES)]
        == [1, 2, 4, 8]
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_number_of_bits_from_none_up(dtype):
    """States smaller than a tile, whose whole index is mapped, agree with the definition."""
    check([case(100 + n, n, 11, 3, 3, 2, linear=True) for n in range(12)], dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("seed", range(3))
def test_several_tiles(dtype, seed):
    """With bits outside the tile, fresh ones among them, a tile is found and written back where its maps say."""
    cases = [case(1000 * seed + k, 9 + k % 4, 6 + k % 4, 1 + k % 4, 3, 3, linear=True) for k in range(12)]
    assert any(sweep.load and not sweep.store for _, _, sweep, *_ in cases)
    assert any(sweep.store and not sweep.load for _, _, sweep, *_ in cases)
    assert any(sweep.fresh & ~sum(1 << bit for bit in sweep.tile) for _, _, sweep, *_ in cases)
    check(cases, dtype)


def test_full_tiles():
    """Tiles of 12 bits of complex64 and 11 of complex128 agree with the definition, in one block and in several."""
    check([case(7, 12, 12, 3, 3, linear=True), case(8, 14, 12, 4, 3, 2, linear=True)], np.complex64)
    check([case(9, 11, 11, 3, 3, linear=True), case(10, 13, 11, 4, 3, 2, linear=True)], np.complex128)


@pytest.mark.parametrize("dtype", DTYPES)
def test_dense_blocks(dtype):
    """Blocks of the tensor cores among everything else read and write a subspace."""
    cases = [
        case(300 + k, 11 + k % 3, 9 + k % 3, 1 + k % 3, 1 + k % 2, 2, kinds=BLOCKS, linear=True) for k in range(12)
    ]
    check(cases, dtype, tensor=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("when", [ALWAYS, When(1 << 13, 1 << 13)])
def test_dense_blocks_that_store(dtype, when):
    """A block in the last register block stores by the map: in pairs where neighbours are one, else one by one."""
    rng, cases, paired = np.random.default_rng(1), [], 0
    for seed in range(14):
        sweep = drawn(seed, 13, 9 + seed % 3, fresh=0x1100 * (seed % 2))
        near = tuple(sweep.tile[position] for position in stored_order(sweep)[4:8])
        mix = Mix(near, (), when, pattern("c" * 256), Slot(0, 256))
        sweep = replace(sweep, register_blocks=(RegisterBlock(tuple(sorted(near)), (mix,)),), numbers=256)
        text = emit(sweep, BY_DTYPE[np.dtype(dtype)], tensor=True).source
        paired += "&state[there ^" in text
        assert when.mask or widened(sweep).beside or re.search(r"state\[there [+^] 0x[0-9a-f]+\] = [c{]", text)
        cases.append((seed, 13, sweep, (rng.normal(size=256) + 1j * rng.normal(size=256)) / 6, seed % 2))
    assert (paired > 3) == (dtype == np.complex64 and not when.mask)
    check(cases, dtype, tensor=True)


def test_neighbours_that_are_no_pair():
    """A block that stores a direction with the lowest bit in it, beside that bit alone, stores one by one."""
    tile, near = tuple(range(10)), (6, 7, 8, 9)
    store = (1, 2, 4, 8, 16 | 1, *units(range(5, 10)))
    mix = Mix(near, (), ALWAYS, pattern("c" * 256), Slot(0, 256))
    sweep = Sweep(tile, (RegisterBlock(near, (mix,)),), 256, 0, store=store)
    assert "&state[" not in emit(sweep, SINGLE, tensor=True).source
    numbers = np.random.default_rng(0).normal(size=(256, 2)) @ [1, 1j] / 6
    check([(0, 11, sweep, numbers, 0)], np.complex64, tensor=True)


def test_rotations_that_leave_their_scale():
    """Pairs of rotations are pivoted in subspaces as in bits."""
    cases = [case(500 + k, 10, 8, 1 + k % 3, 5, 2, kinds=TURNS, linear=True) for k in range(8)]
    assert any(len(emit(sweep, SINGLE).pivots) for _, _, sweep, *_ in cases)
    check(cases, np.complex64)


def test_numbers_that_do_not_fit_by_value_come_from_memory():
    """With little room for arguments all numbers are read from the table, and the result is the same."""
    check([case(20 + k, 9, 7, 2, 4, 1, linear=True) for k in range(4)], np.complex64, room=32)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 2**31), st.integers(0, 10), st.integers(4, 9), st.integers(1, 4), st.booleans(), st.booleans())
def test_any_sweep(seed, num_bits, tile_bits, num_blocks, double, blocks):
    """Random sweeps over subspaces of any shape agree with the definition."""
    kinds = BLOCKS if blocks and num_bits > 3 else ("mix", "diagonal", "permute")
    given = case(seed, num_bits, tile_bits, num_blocks, 3, 2, kinds=kinds, linear=True)
    check([given], np.complex128 if double else np.complex64, tensor=blocks)
