"""The check of generated sweep kernels: run by the emulator and compared with the definition."""

from __future__ import annotations

import numpy as np
from support.cuda.definition import error_of, run_sweep
from support.cuda.emulator import call, library, wrapped
from support.cuda.random_sweeps import random_state, random_sweep

from qsim_ex.kernels.cuda.interpret.packing import pack
from qsim_ex.kernels.cuda.launch.pivoted import pivot
from qsim_ex.kernels.cuda.runtime import ByValue
from qsim_ex.kernels.cuda.write.emit import ROOM, emit
from qsim_ex.precision import BY_DTYPE


def program(kernels):
    """All kernels in one C++ text, each in a namespace with a launcher of its own."""
    wrappers = [wrapped(kernel.source, "sweep", f"run{k}") for k, kernel in enumerate(kernels)]
    texts = [text.replace('extern "C" __global__', "__global__") for text in wrappers]
    return "\n".join(f"namespace k{k} {{\n{text}\n}}" for k, text in enumerate(texts))


def check(cases, dtype, room=ROOM, tensor=False):
    """Run each case (seed, bits, sweep, packed numbers, high) both ways round and compare."""
    dtype = np.dtype(dtype)
    real = np.float32 if dtype == np.complex64 else np.float64
    kernels = [emit(sweep, BY_DTYPE[dtype], room, tensor=tensor) for _, _, sweep, _, _ in cases]
    compiled = library(program(kernels))
    for k, (seed, num_bits, sweep, numbers, high) in enumerate(cases):
        kernel = kernels[k]
        psi = random_state(seed, num_bits, dtype)
        want = run_sweep(psi, num_bits, sweep, numbers, high)
        taken = np.append(pack(numbers, kernel.values, np.float64), 0.0)
        pivot(taken, kernel.pivots)
        values = ByValue(taken.astype(real))
        table = pack(numbers, kernel.table, real)
        for backwards in (False, True):
            got = psi.copy()
            whole = np.uint64(high << num_bits)
            run = getattr(compiled, f"run{k}")
            call(run, 1 << num_bits - kernel.skipped_bits, kernel.threads, backwards, got, table, whole, values)
            error = error_of(got, want, psi)
            assert error < (2e-5 if dtype == np.complex64 else 1e-12), f"{error} for {sweep}\n{kernel.source}"


def case(seed, num_bits, tile_bits, num_blocks, num_items, high_bits=0, **more):
    """One random case."""
    sweep, numbers = random_sweep(seed, num_bits, tile_bits, num_blocks, num_items, high_bits, **more)
    high = int(np.random.default_rng(seed).integers(0, 1 << high_bits))
    return seed, num_bits, sweep, numbers, high
