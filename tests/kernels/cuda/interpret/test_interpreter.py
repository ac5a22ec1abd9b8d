"""The interpreter does what a sweep says: its source text runs on the CPU and is compared with the definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.cuda.interpreted import check_program
from support.cuda.program_words import WORD, exchanged, operations, steps
from support.cuda.random_sweeps import random_state, random_sweep

from qsim_ex.circuit.ops import ALWAYS, When, pattern
from qsim_ex.kernels.cuda.interpret.interpreter import FEW, MANY, capacity_for
from qsim_ex.kernels.cuda.interpret.programs import program_of
from qsim_ex.kernels.cuda.write.emit import OLD_ROOM, ROOM
from qsim_ex.precision import BY_DTYPE, DOUBLE, SINGLE
from qsim_ex.steps import Diagonal, Mix, Permute, RegisterBlock, Slot, Sweep


def check(seed, num_bits, tile_bits, num_blocks, num_items, high_bits, dtype, *, tensor=False, **more):
    """Run a random sweep both ways round and compare; return the program."""
    dtype = np.dtype(dtype)
    sweep, numbers = random_sweep(seed, num_bits, tile_bits, num_blocks, num_items, high_bits, **more)
    high = int(np.random.default_rng(seed).integers(0, 1 << high_bits))
    psi = random_state(seed, num_bits, dtype)
    program = program_of(sweep, BY_DTYPE[dtype], tensor)
    check_program(program, sweep, numbers, psi, num_bits, high)
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
@example(772, 7, 6, 2, False)  # its matrices take all of the state away
def test_any_sweep_over_subspaces(seed, num_bits, tile_bits, num_blocks, double):
    """Random sweeps over subspaces of any shape agree with the definition."""
    check(seed, num_bits, tile_bits, num_blocks, 3, 3, np.complex128 if double else np.complex64, linear=True)


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 2**31), st.integers(0, 11), st.integers(4, 9), st.integers(1, 5), st.integers(0, 6), st.booleans()
)
def test_any_sweep(seed, num_bits, tile_bits, num_blocks, num_items, double):
    """Random sweeps of any shape agree with the definition."""
    check(seed, num_bits, tile_bits, num_blocks, num_items, 3, np.complex128 if double else np.complex64)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("num_bits", [4, 9, 12])
def test_bodies_with_fixed_registers(num_bits, dtype):
    """Items that concern nothing but register bits agree with the definition, and most of their bodies are used."""
    used = set()
    for seed in range(12):
        check(seed, num_bits, 11, 4, 5, 2, dtype, kinds=("fixed",))
        sweep, _ = random_sweep(seed, num_bits, 11, 4, 5, 2, ("fixed",))
        used |= operations(program_of(sweep, BY_DTYPE[np.dtype(dtype)], False).words)
    if num_bits == 12:
        fixed = [*range(WORD["MIX_2"], WORD["BLOCK"]), *range(WORD["FLIP_IF"], WORD["LAYER"])]
        assert len(used.intersection(fixed)) > 20
        assert used >= {WORD[name] for name in ("FACTORS", "EXCHANGE", "LAYER", "CXS")}


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_pairs_by_a_parity_and_matrices_under_a_condition(dtype):
    """One of two matrices of a few reals, and a matrix under a condition, agree with the definition: any bits choose,
    and each pair of register bits and each register bit has its body.
    """
    used, chosen = set(), 0
    for seed in range(24):
        program = check(seed, 12, 9, 3, 4, 2, dtype, kinds=("chosen", "chosen", "controlled"))
        used |= operations(program.words)
        pairs = [first for first, _ in steps(program.words) if WORD["PAIR_2"] <= first & 0xFF < WORD["FLIP_IF"]]
        chosen += sum(bool(first & WORD["PAIR_BY_PARITY"] and first >> 16) for first in pairs)
    assert used >= {WORD["PAIR_2"] + pair for pair in range(6)} | {WORD["MIX_IF"] + bit for bit in range(4)}
    assert chosen > 5


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_a_layer_is_one_operation(dtype):
    """Matrices on four bits with a phase behind each, and flips that commute with some, are three operations."""
    entries = {"rrrr": [0.6, 0.8, 0.8, -0.6], "riir": [0.6, 0.8j, 0.8j, 0.6], "cccc": [0.6, 0.8j, -0.8, 0.6j]}
    bits, items, numbers = (4, 5, 6, 7), [], []
    for bit, classes in zip(bits, ("rrrr", "riir", "cccc", "rrrr"), strict=True):
        items.append(Mix((bit,), (), ALWAYS, pattern(classes), Slot(len(numbers), 4)))
        numbers += entries[classes]
        items.append(Diagonal((), When(1 << bit, 1 << bit), pattern("c"), Slot(len(numbers), 1)))
        numbers.append(np.exp(0.3j * bit))
        if bit == 5:  # bits 6 and 7 are those that the layer has not reached
            items += [Permute((7,), When(1 << 6, 1 << 6), (1, 0)), Permute((6,), When(1 << 7, 1 << 7), (1, 0))]
    sweep = Sweep(tuple(range(8)), (RegisterBlock(bits, tuple(items)),), len(numbers), 0)
    program = program_of(sweep, BY_DTYPE[np.dtype(dtype)], False)
    check_program(program, sweep, np.array(numbers), random_state(5, 8, np.dtype(dtype)), 8)
    assert [first & 0xFF for first, _ in steps(program.words)] == [WORD["CXS"], WORD["LAYER"], WORD["END"]]


def test_what_does_not_fit_into_arguments_is_read_from_memory():
    """A sweep with more numbers than a kernel takes by value uses another kernel; an old driver's take less."""
    sweep, _ = random_sweep(3, 12, 11, 4, 6, 2, kinds=("block",))
    program = program_of(sweep, DOUBLE, False)
    assert program.shared.size * 8 > MANY.numbers
    assert capacity_for(program, DOUBLE, ROOM) is None
    assert capacity_for(program_of(Sweep((0, 1, 2, 3), (), 0, 0), SINGLE, False), SINGLE, OLD_ROOM) == FEW


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("num_bits", [9, 12])
def test_dense_blocks(num_bits, dtype):
    """Matrices on all four near bits agree with the definition, in any order, also behind an odd number of other
    entries.
    """
    for seed in range(8):
        check(seed, num_bits, 11, 3, 4, 2, dtype, kinds=("block", "diagonal", "mix"))


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_matrices_on_three_bits(dtype):
    """Matrices on three of the four near bits agree with the definition, whichever bit is left, in any order."""
    used = set()
    for seed in range(8):
        program = check(seed, 10, 9, 3, 4, 2, dtype, kinds=("block", "three", "three", "diagonal"))
        used |= operations(program.words)
    assert used >= {WORD["MIX_3"] + left for left in range(4)}


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
        assert WORD["BLOCK"] not in operations(program.words)
        most = max(most, *found)
    assert most > 1
