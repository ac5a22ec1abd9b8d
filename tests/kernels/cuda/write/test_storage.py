"""Kernels load and store amplitudes by the type that their precision declares for memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from support.cuda.definition import error_of, run_sweep
from support.cuda.emulator import call, library, wrapped
from support.cuda.random_sweeps import random_state
from support.cuda.sweeps import case, program

from qsim_ex.kernels.cuda.fixed import fixed
from qsim_ex.kernels.cuda.interpret import interpreter
from qsim_ex.kernels.cuda.interpret.packing import pack
from qsim_ex.kernels.cuda.launch.pivoted import pivot
from qsim_ex.kernels.cuda.runtime import ByValue
from qsim_ex.kernels.cuda.write.emit import emit
from qsim_ex.precision import SINGLE
from qsim_ex.precision.storage import CudaStorage, Storage

DECLARED = """
struct pair16 {
    unsigned bits;
    static __device__ __forceinline__ unsigned rounded(const float x) { return (*(const unsigned*)&x + 0x8000u) >> 16; }
    __device__ __forceinline__ operator amp() const
    {
        const unsigned re = bits << 16, im = bits & 0xffff0000u;
        amp a;
        a.x = *(const float*)&re;
        a.y = *(const float*)&im;
        return a;
    }
    __device__ __forceinline__ pair16& operator=(const amp& a)
    {
        bits = rounded(a.x) | rounded(a.y) << 16;
        return *this;
    }
};
""".strip()
"""An amplitude in 4 bytes: the upper halves of two floats, the real part below."""

HALF = replace(
    SINGLE,
    storage=Storage(
        dtype=np.dtype(np.uint32),
        real=np.dtype(np.float32),
        cuda=CudaStorage(real="float", amplitude="float2", pair="float4", stored="pair16", declared=DECLARED),
        native_single=True,
    ),
)
HALF_ERROR = 2.0**-8
"""The relative error of one rounding to 8 bits; amplitudes are rounded when they are stored."""


def stored(psi: NDArray[np.complex64]) -> NDArray[np.uint32]:
    """Return amplitudes in 4 bytes each."""
    upper = (psi.view(np.uint32) + 0x8000) >> 16
    return upper[0::2] | upper[1::2] << 16


def loaded(words: NDArray[np.uint32]) -> NDArray[np.complex64]:
    """Return the amplitudes that words of 4 bytes hold."""
    return np.stack([words << 16, words & 0xFFFF0000], axis=1).view(np.float32).view(np.complex64).ravel()


def test_a_sweep_loads_and_stores_what_its_precision_declares() -> None:
    """A sweep over amplitudes in 2 × 16 bits differs from the definition by one rounding of what it stores."""
    cases = [case(seed, 9 + seed % 3, 6 + seed % 3, 1 + seed % 3, 1 + seed % 4) for seed in range(6)]
    kernels = [emit(sweep, HALF) for _, _, sweep, _, _ in cases]
    compiled = library(program(kernels))
    for k, (seed, num_bits, sweep, numbers, high) in enumerate(cases):
        kernel, words = kernels[k], stored(random_state(seed, num_bits, np.complex64))
        psi = loaded(words)
        want = run_sweep(psi, num_bits, sweep, numbers, high)
        taken = np.append(pack(numbers, kernel.values, np.float64), 0.0)
        pivot(taken, kernel.pivots)
        given = pack(numbers, kernel.table, np.float32), np.uint64(high << num_bits), ByValue(taken.astype(np.float32))
        blocks = 1 << num_bits - kernel.skipped_bits
        call(getattr(compiled, f"run{k}"), blocks, kernel.threads, False, words, *given)
        assert error_of(loaded(words), want, psi) < HALF_ERROR


def test_a_fixed_kernel_loads_what_its_precision_declares() -> None:
    """A sum over amplitudes in 2 × 16 bits is that over the amplitudes that they hold."""
    left, right = (stored(random_state(seed, 8, np.complex64)) for seed in (1, 2))
    run = library(wrapped(fixed.text("inner.cu", "inner", HALF).code, "inner", "launch")).launch
    sums = np.zeros(2)
    call(run, 1, fixed.THREADS, False, left, right, sums, np.uint64(len(left)))
    assert abs(complex(*sums) - np.vdot(loaded(left), loaded(right))) < 1e-6


def test_all_kernels_name_the_type_in_memory() -> None:
    """The type stands in the place of `mem` in every kernel, which is `amp` where nothing is declared."""
    for row, name in ((HALF, "pair16"), (SINGLE, "amp")):
        texts = [text.code for text in interpreter.texts(row)]
        texts += [fixed.text(file, kernel, row).code for file, kernel in fixed.KERNELS]
        assert sum(f"{name}* state" in text for text in texts) > 10
        assert not any("mem*" in text for text in texts)
