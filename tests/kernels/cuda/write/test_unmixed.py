"""Kernels of sweeps with unmixed bits: zeros are stored beside amplitudes, and nothing is computed of them."""

from __future__ import annotations

import numpy as np
import pytest
from support.cuda.sweeps import check
from support.cuda.unmixed_sweeps import unmixed_sweep

from qsim_ex.kernels.cuda.write.emit import emit
from qsim_ex.kernels.cuda.write.tensor import dense_block
from qsim_ex.precision import BY_DTYPE
from qsim_ex.steps.unmixed import widened


def case(seed, num_bits, high_bits=0, *, kinds=("mix", "diagonal", "permute", "cx"), items=3, **more):
    """One random case, as `support.cuda.sweeps.check` takes them."""
    tile_bits = 10 + seed % 3
    sweep, numbers = unmixed_sweep(seed, num_bits, tile_bits, 1 + seed % 3, items, high_bits, kinds=kinds, **more)
    high = int(np.random.default_rng(seed).integers(0, 1 << high_bits))
    return seed, num_bits, sweep, numbers, high


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("linear", [False, True])
def test_amplitudes_and_zeros_are_where_the_definition_puts_them(dtype, linear):
    """Sweeps with unmixed bits agree with the definition, over tiles of index bits and over subspaces."""
    cases = [case(3100 + k, 12 + k % 2, 2, linear=linear) for k in range(14)]
    assert sum(bool(widened(sweep).beside) for _, _, sweep, _, _ in cases) > 6
    texts = [emit(sweep, BY_DTYPE[np.dtype(dtype)]).source for _, _, sweep, _, _ in cases]
    assert any("float4* const pairs" in text for text in texts) == (dtype == np.complex64)
    check(cases, dtype)


def test_dense_blocks_leave_the_stores_to_a_register_block():
    """Where the last register block is a dense matrix on tensor cores, zeros are beside its amplitudes, too."""
    cases = [case(5100 + k, 13, kinds=("block",), items=1, most=0) for k in range(12)]
    found = [widened(sweep) for _, _, sweep, _, _ in cases]
    assert sum(bool(one.beside and dense_block(one.sweep.register_blocks[-1])) for one in found) > 1
    check(cases, np.complex64, tensor=True)
