"""Generated kernels do what their sweep says: their source text runs on the CPU and is compared with the definition."""

from __future__ import annotations

import numpy as np
import pytest
from cuda_definition import random_state, random_sweep, run_sweep
from cuda_emulator import call, library, wrapped
from hypothesis import given, settings
from hypothesis import strategies as st

from qsim_ex.kernels.cuda.interpret.packing import pack
from qsim_ex.kernels.cuda.runtime import ByValue
from qsim_ex.kernels.cuda.write.emit import ROOM, emit
from qsim_ex.kernels.cuda.write.style import STYLE, KernelStyle


def program(kernels):
    """All kernels in one C++ text, each in a namespace with a launcher of its own."""
    wrappers = [wrapped(kernel.source, "sweep", f"run{k}") for k, kernel in enumerate(kernels)]
    texts = [text.replace('extern "C" __global__', "__global__") for text in wrappers]
    return "\n".join(f"namespace k{k} {{\n{text}\n}}" for k, text in enumerate(texts))


def check(cases, dtype, room=ROOM, style=STYLE, tensor=False):
    """Run each case (seed, bits, sweep, packed numbers, high) both ways round and compare."""
    dtype = np.dtype(dtype)
    real = np.float32 if dtype == np.complex64 else np.float64
    kernels = [emit(sweep, dtype.itemsize, room, style, tensor=tensor) for _, _, sweep, _, _ in cases]
    compiled = library(program(kernels))
    for k, (seed, num_bits, sweep, numbers, high) in enumerate(cases):
        kernel = kernels[k]
        psi = random_state(seed, num_bits, dtype)
        want = run_sweep(psi, num_bits, sweep, numbers, high)
        values = ByValue(np.append(pack(numbers, kernel.values, real), real(0)))
        table = pack(numbers, kernel.table, real)
        for backwards in (False, True):
            got = psi.copy()
            whole = np.uint64(high << num_bits)
            run = getattr(compiled, f"run{k}")
            call(run, 1 << num_bits - kernel.skipped_bits, kernel.threads, backwards, got, table, whole, values)
            error = np.linalg.norm(got - want) / max(np.linalg.norm(want), 1e-30)
            assert error < (2e-5 if dtype == np.complex64 else 1e-12), f"{error} for {sweep}\n{kernel.source}"


def case(seed, num_bits, tile_bits, num_phases, num_items, high_bits=0, **more):
    """One random case."""
    sweep, numbers = random_sweep(seed, num_bits, tile_bits, num_phases, num_items, high_bits, **more)
    high = int(np.random.default_rng(seed).integers(0, 1 << high_bits))
    return seed, num_bits, sweep, numbers, high


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_every_number_of_bits_from_none_up(dtype):
    """States smaller than a tile, down to a single amplitude, are handled without touching anything beside them."""
    check([case(100 + n, n, 11, 3, 3, 2) for n in range(11)], dtype)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("seed", range(3))
def test_several_tiles(dtype, seed):
    """With bits outside the tile and outside the buffer, reads and conditions find them wherever they are."""
    check([case(1000 * seed + k, 9 + k % 3, 6 + k % 3, 1 + k % 4, 4, 3) for k in range(12)], dtype)


def test_full_tiles():
    """The tiles of the product, 12 bits of complex64 and 11 of complex128, with one block and with several."""
    check([case(7, 12, 12, 3, 4), case(8, 14, 12, 4, 4, 2)], np.complex64)
    check([case(9, 11, 11, 3, 4), case(10, 13, 11, 4, 4, 2)], np.complex128)


def test_numbers_that_do_not_fit_by_value_come_from_memory():
    """With little room for arguments all numbers are read from the table, and the result is the same."""
    check([case(20 + k, 8, 7, 2, 5, 1) for k in range(4)], np.complex64, room=32)


STYLES = {
    "ahead": KernelStyle(ahead=True),
    "in step": KernelStyle(in_step=64),
    "streamed": KernelStyle(streamed=True),
    "tables in any order": KernelStyle(near_lanes=False),
    "all": KernelStyle(blocks=(2, 3), ahead=True, in_step=200, streamed=True),
}


@pytest.mark.parametrize("style", STYLES)
def test_every_style_computes_the_same(style):
    """However a kernel is written, with full tiles and small ones, it does what the sweep says."""
    check([case(30 + k, 9, 7, 3, 4, 2) for k in range(6)] + [case(8, 14, 12, 3, 4)], np.complex64, style=STYLES[style])
    check([case(40 + k, 13, 11, 2, 4, 1) for k in range(2)], np.complex128, style=STYLES[style])


@settings(max_examples=12, deadline=None)
@given(
    st.integers(0, 2**31), st.integers(0, 10), st.integers(4, 9), st.integers(1, 4), st.integers(0, 4), st.booleans()
)
def test_any_sweep(seed, num_bits, tile_bits, num_phases, num_items, double):
    """Random sweeps of any shape agree with the definition."""
    check([case(seed, num_bits, tile_bits, num_phases, num_items, 2)], np.complex128 if double else np.complex64)
