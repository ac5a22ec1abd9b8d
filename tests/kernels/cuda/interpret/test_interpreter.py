"""The interpreter does what a sweep says: its source text runs on the CPU and is compared with the definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cuda.definition import run_sweep
from support.cuda.emulator import call, library, wrapped
from support.cuda.random_sweeps import random_state, random_sweep

from qsim_ex.kernels.cuda.interpret.interpreter import FEW, MANY, capacity_for, source
from qsim_ex.kernels.cuda.interpret.packing import pack
from qsim_ex.kernels.cuda.interpret.program import FRAGMENTS, OpCode, encode
from qsim_ex.kernels.cuda.runtime import ByValue
from qsim_ex.kernels.cuda.write.emit import OLD_ROOM, ROOM
from qsim_ex.steps import Sweep

HEAD = 65
"""The words before those of runs and operations."""


def interpreter(dtype, capacity):
    """The interpreter's kernel, compiled for the CPU."""
    return library(wrapped(source(np.dtype(dtype).itemsize, capacity), "interpret", "launch"), "-O1").launch


def arguments(program, numbers, capacity, num_bits, high, dtype):
    """The arguments of a launch behind the state, as `Sweeps` makes them."""
    real, itemsize = np.empty(0, dtype).real.dtype, dtype.itemsize
    whole = np.uint64(high << num_bits)
    if capacity is None:
        tiles = num_bits - program.skipped_bits
        shape = (
            np.uint64(1 << tiles),
            np.uint32(tiles),
            np.uint32(num_bits),
            np.uint32(program.threads.bit_length() - 1),
        )
        return pack(numbers, program.numbers, real), program.words, whole, np.uint64(0), *shape
    words, shared = np.zeros(capacity.words, np.uint32), np.full(capacity.numbers // (itemsize // 2), np.nan, real)
    words[: program.words.size] = program.words
    shared[: program.shared.size] = pack(numbers, program.shared, real)
    return pack(numbers, program.tables, real), whole, ByValue(words), ByValue(shared)


def check(seed, num_bits, tile_bits, num_phases, num_items, high_bits, dtype, *, tensor=False, **more):
    """Run a random sweep both ways round and compare; return the program."""
    dtype = np.dtype(dtype)
    sweep, numbers = random_sweep(seed, num_bits, tile_bits, num_phases, num_items, high_bits, **more)
    high = int(np.random.default_rng(seed).integers(0, 1 << high_bits))
    psi = random_state(seed, num_bits, dtype)
    want = run_sweep(psi, num_bits, sweep, numbers, high)
    program = encode(sweep, dtype.itemsize, tensor)
    fits = capacity_for(program, dtype.itemsize, ROOM)
    for backwards, capacity in ((False, fits), (True, fits), (False, None)):
        got = psi.copy()
        blocks = 1 << num_bits - program.skipped_bits
        given = arguments(program, numbers, capacity, num_bits, high, dtype)
        call(interpreter(dtype, capacity), blocks, program.threads, backwards, got, *given)
        error = np.linalg.norm(got - want) / max(np.linalg.norm(want), 1e-30)
        assert error < (2e-5 if dtype == np.complex64 else 1e-12), f"{error} for {sweep}"
    return program


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("num_bits", range(12))
def test_every_number_of_bits_from_none_up(num_bits, dtype):
    """States smaller than a tile, down to one amplitude, agree with the definition."""
    for seed in range(4):
        check(seed, num_bits, 11, 3, 4, 2, dtype)


def test_full_tiles():
    """Tiles of 12 bits of complex64 and 11 of complex128 agree with the definition, in one block and in several."""
    check(1, 12, 12, 3, 4, 0, np.complex64)
    check(2, 14, 12, 4, 4, 2, np.complex64)
    check(3, 11, 11, 3, 4, 0, np.complex128)
    check(4, 13, 11, 4, 4, 2, np.complex128)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("num_bits", [3, 9, 12, 14])
def test_sweeps_over_subspaces(num_bits, dtype):
    """Sweeps whose tiles are subspaces agree with the definition, with and without bits outside the tile."""
    for seed in range(10):
        check(seed, num_bits, 11 if num_bits == 14 else 8, 3, 3, 2, dtype, linear=True)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_blocks_over_subspaces(dtype):
    """Matrices that the tensor cores multiply find the amplitudes of a subspace."""
    for seed in range(6):
        check(seed, 12, 10, 3, 2, 2, dtype, tensor=True, kinds=("block", "diagonal", "mix"), linear=True)


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 2**31), st.integers(0, 11), st.integers(4, 9), st.integers(1, 4), st.booleans())
def test_any_sweep_over_subspaces(seed, num_bits, tile_bits, num_phases, double):
    """Random sweeps over subspaces of any shape agree with the definition."""
    check(seed, num_bits, tile_bits, num_phases, 3, 3, np.complex128 if double else np.complex64, linear=True)


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 2**31), st.integers(0, 11), st.integers(4, 9), st.integers(1, 5), st.integers(0, 6), st.booleans()
)
def test_any_sweep(seed, num_bits, tile_bits, num_phases, num_items, double):
    """Random sweeps of any shape agree with the definition."""
    check(seed, num_bits, tile_bits, num_phases, num_items, 3, np.complex128 if double else np.complex64)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("num_bits", [4, 9, 12])
def test_bodies_with_fixed_registers(num_bits, dtype):
    """Items that concern nothing but register bits agree with the definition, and most of their bodies are used."""
    used = set()
    for seed in range(12):
        check(seed, num_bits, 11, 4, 5, 2, dtype, kinds=("fixed",))
        sweep, _ = random_sweep(seed, num_bits, 11, 4, 5, 2, ("fixed",))
        used |= operations(encode(sweep, np.dtype(dtype).itemsize).words)
    if num_bits == 12:
        assert len(used.intersection(range(OpCode.PHASE, OpCode.BLOCK))) > 25
        assert used >= {OpCode.FACTORS, OpCode.EXCHANGE}


def begin(words):
    """Where the operations of a program begin."""
    return HEAD + (int(words[0]) & 0xFF) + 3 * (int(words[0]) >> 8)


def steps(words):
    """The code of each operation of a program, and the number of its words."""
    at = begin(words)
    while True:
        code = int(words[at]) & 0xFF
        if code == OpCode.EXCHANGE:
            length = 13 + FRAGMENTS * (int(words[at]) >> 8)
        elif code == OpCode.FACTORS or OpCode.MIX_1 <= code <= OpCode.BLOCK:
            length = 2
        elif OpCode.PHASE <= code < OpCode.MIX_1:
            length = 7
        else:
            length = 17 + 3 * int(words[at + 7]) if code != OpCode.END else 1
        yield code, length
        if code == OpCode.END:
            return
        at += length


def operations(words):
    """The codes of a program's operations."""
    return {code for code, _ in steps(words)}


def test_what_does_not_fit_into_arguments_is_read_from_memory():
    """A sweep with more numbers than a kernel takes by value uses another kernel; an old driver's take less."""
    sweep, _ = random_sweep(3, 12, 11, 4, 6, 2, kinds=("block",))
    program = encode(sweep, 16)
    assert program.shared.size * 8 > MANY.numbers
    assert capacity_for(program, 16, ROOM) is None
    assert capacity_for(encode(Sweep((0, 1, 2, 3), (), 0, 0), 8), 8, OLD_ROOM) == FEW


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("num_bits", [9, 12])
def test_dense_blocks(num_bits, dtype):
    """Matrices on all four near bits agree with the definition, in any order, also behind an odd number of other
    entries.
    """
    for seed in range(8):
        check(seed, num_bits, 11, 3, 4, 2, dtype, kinds=("block", "diagonal", "mix"))


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("num_bits", [9, 12])
def test_dense_blocks_on_tensor_cores(num_bits, dtype):
    """Matrices on all four near bits agree with the definition when tensor cores multiply them: one behind the other,
    first, last, and between other items.
    """
    most = 0
    for seed in range(8):
        kinds = ("block",) if seed < 3 else ("block", "diagonal", "mix")
        program = check(seed, num_bits, 11, 3, 1 + seed % 3, 2, dtype, tensor=True, kinds=kinds)
        found = exchanged(program.words)
        assert OpCode.BLOCK not in operations(program.words)
        most = max(most, *found)
    assert most > 1


def exchanged(words):
    """The matrices for the tensor cores at each exchange."""
    found, at = [], begin(words)
    for code, length in steps(words):
        if code == OpCode.EXCHANGE:
            found.append(int(words[at]) >> 8)
        at += length
    return found
