"""Kernels for the rows of a batch do to every row what their sweep says: their source text runs on the CPU."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cuda.definition import error_of, run_sweep
from support.cuda.emulator import call, library, wrapped
from support.cuda.random_sweeps import numbers_of_rows, random_state, random_sweep

from qsim_ex.kernels.cuda.interpret import interpreter
from qsim_ex.kernels.cuda.interpret.packing import pack
from qsim_ex.kernels.cuda.interpret.programs import program_of
from qsim_ex.kernels.cuda.write.emit import emit_rows
from qsim_ex.kernels.cuda.write.frames import BatchFrame
from qsim_ex.kernels.cuda.write.register_layout import banks, places, skipped_bits, swizzle
from qsim_ex.precision import BY_DTYPE, SINGLE
from qsim_ex.steps import RegisterBlock, Sweep

ROWS = (1, 3, 5, 33)


def program(kernels):
    """All kernels in one C++ text, each in a namespace with a launcher of its own."""
    wrappers = [wrapped(kernel.source, "sweep", f"run{k}") for k, kernel in enumerate(kernels)]
    texts = [text.replace('extern "C" __global__', "__global__") for text in wrappers]
    return "\n".join(f"namespace k{k} {{\n{text}\n}}" for k, text in enumerate(texts))


class Case:
    """A random sweep over rows, what it is given, and what comes of it; one row in the middle is not a number.

    shared: all rows have the same numbers.
    """

    def __init__(self, seed, num_bits, rows, dtype, tile_bits=12, shared=False, **more):
        tile_bits = min(tile_bits, 12 if dtype == np.complex64 else 11)
        self.sweep, numbers = random_sweep(seed, num_bits, tile_bits, 3, 3, **more)
        self.num_bits, self.rows = num_bits, rows
        self.real = np.float32 if dtype == np.complex64 else np.float64
        self.numbers = numbers_of_rows(seed, self.sweep, numbers, 1 if shared else rows)
        self.psi = np.array([random_state(seed + row, num_bits, dtype) for row in range(rows)])
        if rows > 2:
            self.psi[rows // 2] = np.nan
        numbers_of = np.broadcast_to(self.numbers, (rows, len(numbers)))
        self.want = np.array([run_sweep(*each, self.sweep, row) for *each, row in self._rows(numbers_of)])
        self.compared = np.arange(rows) != rows // 2 if rows > 2 else np.ones(rows, dtype=bool)

    def _rows(self, numbers):
        for psi, row in zip(self.psi, numbers, strict=True):
            yield psi, self.num_bits, row

    def laid_out(self, take):
        """The rows' numbers as a kernel reads them, and from one row to the next."""
        take = np.append(take, np.zeros(4 + -len(take) % 4, dtype=np.int64))
        packed = np.array([pack(row, take, self.real) for row in self.numbers])
        return packed.ravel(), np.uint64(len(take) if len(packed) > 1 else 0)

    def tiles(self):
        """Return the sizes that kernels get: tiles of all rows, of a row, and the bits of a row."""
        tiles = self.num_bits - skipped_bits(self.sweep)
        return np.uint64(self.rows << tiles), np.uint32(tiles), np.uint32(self.num_bits)

    def check(self, launch):
        """Launch in both orders of threads and compare; nothing beside the batch may be touched."""
        for backwards in (False, True):
            held = np.full((self.rows + 2) << self.num_bits, 7, dtype=self.psi.dtype)
            inside = held[1 << self.num_bits : -(1 << self.num_bits)]
            inside[:] = self.psi.ravel()
            launch(backwards, inside)
            got = inside.reshape(self.rows, -1)
            assert (held[: 1 << self.num_bits] == 7).all()
            assert (held[-(1 << self.num_bits) :] == 7).all()
            for k in np.flatnonzero(self.compared):
                error = error_of(got[k], self.want[k], self.psi[k])
                assert error < (2e-5 if self.real is np.float32 else 1e-12), f"row {k}: {error} for {self.sweep}"


def check(cases, dtype):
    """Run each case by a kernel of its own."""
    kernels = [emit_rows(case.sweep, BY_DTYPE[np.dtype(dtype)]) for case in cases]
    compiled = library(program(kernels))
    for k, (case, kernel) in enumerate(zip(cases, kernels, strict=True)):
        numbers, stride = case.laid_out(kernel.table)
        count, *shape = case.tiles()
        run, blocks = getattr(compiled, f"run{k}"), -(-int(count) // kernel.tiles)
        assert kernel.threads == (256 if dtype == np.complex64 else 128) or kernel.tiles == 1

        def launch(backwards, held, run=run, blocks=blocks, kernel=kernel, given=(numbers, stride, count, *shape)):
            call(run, blocks, kernel.threads, backwards, held, *given)

        case.check(launch)


def check_interpreter(case, dtype):
    """Run a case by the interpreter."""
    precision = BY_DTYPE[np.dtype(dtype)]
    run = library(wrapped(interpreter.source(precision, None), "interpret", "launch"), "-O1").launch
    written = program_of(case.sweep, precision, False)
    numbers, stride = case.laid_out(written.numbers)
    count, *shape = case.tiles()
    lanes, threads = written.threads.bit_length() - 1, precision.geometry.threads
    blocks = -(-(int(count) << lanes) // threads)
    given = (numbers, written.words, np.uint64(0), stride // np.uint64(2), count, *shape, np.uint32(lanes))
    case.check(lambda backwards, held: call(run, blocks, threads, backwards, held, *given))


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_every_number_of_bits_from_none_up(dtype, shared):
    """Rows smaller than a tile share a block, down to rows of one amplitude, and keep their numbers apart."""
    check([Case(100 + n, n, ROWS[n % 4], dtype, shared=shared) for n in range(15)], dtype)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_small_tiles(dtype, rows):
    """Where tiles are small, tiles of one row and of different rows share a block; the last block is not full."""
    check([Case(200 + n, n, rows, dtype, 5 + n % 3) for n in range(3, 10)], dtype)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_fresh_bits(dtype):
    """Fresh bits count as zero in every row, inside and outside the tile (a seed divisible by 3 has some)."""
    cases = [Case(3 * (50 + n), n, 5, dtype, 4 + n % 5) for n in range(3, 11)]
    assert any(case.sweep.fresh & ~sum(1 << bit for bit in case.sweep.tile) for case in cases)
    check(cases, dtype)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("num_bits", range(4, 8))
def test_tiles_of_a_block_have_banks_of_their_own(num_bits, dtype):
    """Threads of several rows that are served together meet different banks of shared memory.

    Threads served together are 16 in single and 8 in double precision, as many as there are banks for amplitudes.
    """
    precision, lanes = BY_DTYPE[np.dtype(dtype)], num_bits - 4
    highest = RegisterBlock(tuple(range(lanes, num_bits)), ())
    (place,) = places(Sweep(tuple(range(num_bits)), (highest,), 0, 0), precision)
    exclusive = BatchFrame(0, lanes, 256 >> lanes).slot(num_bits, precision).removeprefix(" ^ ") or "0"
    together = 1 << banks(precision)
    met = set()
    for thread in range(together):
        position = sum((thread >> k & 1) << at for k, at in enumerate(place.threads))
        met.add((swizzle(position, precision) ^ eval(exclusive, {"e": thread >> lanes})) % together)
    assert len(met) == together


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_subspaces(dtype):
    """In every row tiles may be subspaces, small ones that share a block too, by kernels and by the interpreter."""
    kinds = ("cx", "cx", "cx", "mix", "diagonal", "permute")
    drawn = [(70 + k, 3 + k % 9, ROWS[k % 4], dtype, 4 + k % 6, k % 2 == 0) for k in range(18)]
    cases = [Case(*each, kinds=kinds, linear=True) for each in drawn]
    assert sum("there ^= (" in emit_rows(case.sweep, SINGLE).source for case in cases) > 1
    assert sum(any(mask & mask - 1 for mask in case.sweep.load or case.sweep.store) for case in cases) > 9
    check(cases, dtype)
    for case in cases:
        check_interpreter(case, dtype)


@settings(max_examples=10, deadline=None)
@given(
    seed=st.integers(0, 2**31), num_bits=st.integers(0, 10), rows=st.integers(1, 40), tile_bits=st.integers(4, 9),
    double=st.booleans(), shared=st.booleans(),
)  # fmt: skip
def test_any_sweep(seed, num_bits, rows, tile_bits, double, shared):
    """Random sweeps over any number of rows of any size agree with the definition."""
    dtype = np.complex128 if double else np.complex64
    check([Case(seed, num_bits, rows, dtype, tile_bits, shared)], dtype)


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 2**31), num_bits=st.integers(0, 11), rows=st.integers(1, 40), tile_bits=st.integers(4, 9),
    double=st.booleans(), shared=st.booleans(),
)  # fmt: skip
def test_any_sweep_interpreted(seed, num_bits, rows, tile_bits, double, shared):
    """Random sweeps over any number of rows of any size agree with the definition, by the interpreter."""
    dtype = np.complex128 if double else np.complex64
    check_interpreter(Case(seed, num_bits, rows, dtype, tile_bits, shared), dtype)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_full_tiles_interpreted(dtype):
    """Rows of the product's full tiles, one tile or four to a row, agree with the definition by the interpreter."""
    for n in (11, 12, 13, 14):
        check_interpreter(Case(n, n, 3, dtype), dtype)
