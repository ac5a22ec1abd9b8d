"""CX in a register block: amplitudes stay where they are, and come out where CX would have moved them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cuda.definition import run_sweep
from support.cuda.random_sweeps import random_state, random_sweep
from support.cuda.sweeps import case, check

from qsim_ex.circuit.ops import ALWAYS, When, mask_of, pattern
from qsim_ex.kernels.cuda.write.emit import emit, emit_rows
from qsim_ex.kernels.cuda.write.register_frame import Flip, by_memory, by_tile, framed, is_cx, nothing
from qsim_ex.kernels.cuda.write.register_layout import LANES, banks, places, swizzle
from qsim_ex.precision import DOUBLE, PRECISIONS, SINGLE
from qsim_ex.steps import Mix, Permute, RegisterBlock, Slot, Sweep

DTYPES = [np.complex64, np.complex128]
KINDS = ("cx", "cx", "cx", "exchange", "mix", "diagonal", "permute", "turn", "pair")
BLOCKS = ("cx", "cx", "cx", "block", "diagonal")


def flipped(psi, bit, parity, high):
    """The state after a bit has flipped where a parity of other bits is odd."""
    index = np.arange(psi.size)
    odd = np.bitwise_count((index | high * psi.size) & parity).astype(np.int64) & 1
    return psi[index ^ odd << bit]


def cx(control, target, value=1):
    """A CX that acts where its control has a value."""
    return Permute((target,), When(1 << control, value << control), (1, 0), "cx")


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**31), come=st.booleans(), leave=st.booleans(), high=st.integers(0, 3))
def test_a_framed_phase_does_what_the_phase_does(seed, come, leave, high):
    """Flips at the ends, items that read other parities, and the flips that are left are what the items are."""
    sweep, numbers = random_sweep(seed, 7, 7, 1, 8, 2, KINDS)
    ((near, items),) = [(block.registers, block.items) for block in sweep.register_blocks]
    bits = tuple(sorted({*near, *sweep.tile[-4:]} if len(near) < 4 else near))
    rng = np.random.default_rng(seed)

    def some(_register, parity):
        return parity & int(rng.integers(1 << 9))

    made = framed(items, bits, some if come else nothing, some if leave else nothing)
    psi = got = random_state(seed, 7, np.complex128)
    for bit, parity in zip(bits, made.first, strict=True):
        got = flipped(got, bit, parity, high)
    for item in made.items:
        if isinstance(item, Flip):
            assert not item.parity & mask_of(bits)
            got = flipped(got, item.bits[0], item.parity, high)
        else:
            single = replace(sweep, register_blocks=(RegisterBlock(near, (item,)),), fresh=0, store=())
            got = run_sweep(got, 7, single, numbers, high)
    for bit, parity in zip(bits, made.last, strict=True):
        got = flipped(got, bit, parity, high)
    want = run_sweep(psi, 7, replace(sweep, fresh=0, store=()), numbers, high)
    assert np.linalg.norm(got - want) <= 1e-12 * max(np.linalg.norm(want), 1)


def test_only_what_mixes_a_bit_wants_it_as_it_is():
    """CX before the first matrix on its target are done when amplitudes come, those behind the last when they leave,
    and those between as one exchange; a table reads another parity.
    """
    turn = Mix((6,), (), ALWAYS, pattern("rrrr"), Slot(0, 4))
    items = (cx(1, 6), cx(2, 6, 0), turn, cx(1, 6), cx(9, 6), turn, cx(3, 6))
    made = framed(items, (4, 5, 6, 7), lambda _, parity: parity, lambda _, parity: parity)
    assert (made.first, made.last) == ((0, 0, 6, 0), (0, 0, 8, 0))
    x = Permute((6,), ALWAYS, (1, 0))
    assert made.items == (x, turn, Flip((6,), 1 << 1 | 1 << 9), turn)
    alone = framed(items, (4, 5, 6, 7), nothing, nothing).items
    assert alone == (x, Flip((6,), 6), turn, Flip((6,), 1 << 1 | 1 << 9), turn, Flip((6,), 8))
    between = framed((cx(1, 6), cx(6, 5), cx(1, 6)), (4, 5, 6, 7), nothing, lambda _, parity: parity)
    assert (between.items, between.last) == ((cx(6, 5),), (0, 2, 0, 0))
    chain = framed((cx(1, 4), cx(4, 5), cx(5, 6), turn), (4, 5, 6, 7), nothing, lambda _, parity: parity)
    assert chain.items == (cx(4, 5), Flip((5,), 2), cx(5, 6), turn)
    assert chain.last == (2, 0, 0, 0)


def test_what_an_item_reads_stays_where_it_has_to():
    """A matrix that reads a bit reads another parity behind a CX, unless registers have to say what it reads."""
    mix, bits = Mix((5,), (1 << 6,), ALWAYS, pattern("rrrr") * 2, Slot(0, 8)), (4, 5, 6, 7)
    items = (mix, cx(1, 6), mix)
    assert framed(items, bits, nothing, nothing).items[1] == replace(mix, reads=(1 << 6 | 1 << 1,))
    made = framed(items, bits, nothing, nothing, lambda item: 1 << 6 if isinstance(item, Mix) else 0)
    assert made.items == (mix, Flip((6,), 1 << 1), mix)


def sweeps(linear):
    """Drawn sweeps with many CX."""
    return [random_sweep(seed, 12, 10, 3, 8, 2, KINDS, linear=linear)[0] for seed in range(12)]


@pytest.mark.parametrize("precision", PRECISIONS.values(), ids=list(PRECISIONS))
def test_lanes_keep_their_banks_and_lines(precision):
    """Lanes that shared memory serves together keep banks of their own; neighbours in memory flip nothing."""
    width, moved = banks(precision), 0
    for sweep in sweeps(linear=True):
        for place in places(sweep, precision):
            bits = [sweep.tile[position] for position in place.registers]
            made = framed(place.block.items, bits, by_tile(place, sweep.tile, precision), by_memory(place, sweep.tile))
            lanes = place.threads[:LANES]
            assert not any(parity >> sweep.tile[position] & 1 for parity in made.last for position in lanes)
            moved += sum(any(parity >> sweep.tile[p] & 1 for p in place.threads[:width]) for parity in made.first)
            for parities in ((0,) * len(bits), made.first):
                met = set()
                for lane in range(1 << width):
                    at = sum((lane >> k & 1) << position for k, position in enumerate(place.threads[:width]))
                    index = sum(1 << bit for k, bit in enumerate(sweep.tile) if at >> k & 1)
                    flips = [(index & parity).bit_count() & 1 for parity in parities]
                    at ^= sum(flip << position for flip, position in zip(flips, place.registers, strict=True))
                    met.add(swizzle(at, precision) & (1 << width) - 1)
                if parities is not made.first:
                    apart = len(met)
                assert len(met) >= apart
    assert moved > 2


def test_no_amplitude_moves_for_cx_alone():
    """A register block of CX between places of threads and registers has no exchange of registers in its text."""
    tile = tuple(range(12))
    items = tuple(cx(control, target) for control in (4, 5, 14) for target in (8, 9, 10))
    sweep = Sweep(tile, (RegisterBlock((), ()), RegisterBlock((8, 9, 10, 11), items), RegisterBlock((), ())), 0, 0)
    over = replace(sweep, load=(*tile_units(12), 1 << 12 | 1 << 7))
    assert all(map(is_cx, items))
    assert "swap(" not in emit(sweep, SINGLE).source
    assert "swap(" not in emit(over, SINGLE).source
    assert "swap(" not in emit_rows(over, DOUBLE).source


def tile_units(count):
    """The units of the lowest bits."""
    return tuple(1 << bit for bit in range(count))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("linear", [False, True], ids=["bits", "subspaces"])
def test_kernels_with_frames(dtype, linear):
    """Kernels with many CX do what their sweep says, over subspaces and over bits."""
    given = [case(seed, 4 + seed % 8, 9, 1 + seed % 4, 8, 2, kinds=KINDS, linear=linear) for seed in range(36)]
    written = [emit(sweep, SINGLE).source for _, _, sweep, *_ in given]
    for name in ("to", "from", *(["origin", "there"] if linear else [])):
        assert sum(f"{name} ^= (" in text for text in written) > 1, name
    check(given, dtype)
    given = [case(900 + seed, 12, 10, 1 + seed % 4, 6, 2, kinds=BLOCKS, linear=linear) for seed in range(6)]
    check(given, dtype, tensor=True)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 10), st.integers(4, 9), st.integers(1, 4), st.booleans(), st.booleans())
def test_any_sweep_with_frames(seed, num_bits, tile_bits, num_blocks, double, linear):
    """Random sweeps with many CX agree with the definition."""
    made = case(seed, num_bits, tile_bits, num_blocks, 7, 2, kinds=KINDS, linear=linear)
    check([made], np.complex128 if double else np.complex64)
