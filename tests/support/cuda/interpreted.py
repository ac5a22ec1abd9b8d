"""The interpreter's kernels, compiled for the CPU: what a program does is compared with the definition of its sweep."""

from __future__ import annotations

import numpy as np
from support.cuda.definition import error_of, run_sweep
from support.cuda.emulator import call, library, wrapped

from qsim_ex.kernels.cuda.interpret.interpreter import capacity_for, source
from qsim_ex.kernels.cuda.interpret.packing import pack
from qsim_ex.kernels.cuda.runtime import ByValue
from qsim_ex.kernels.cuda.write.emit import ROOM
from qsim_ex.precision import BY_DTYPE


def check_program(program, sweep, numbers, psi, num_bits, high=0):
    """Run a sweep's program on a state, in both orders of threads, by value and from memory, and compare."""
    want = run_sweep(psi, num_bits, sweep, numbers, high)
    fits = capacity_for(program, BY_DTYPE[psi.dtype], ROOM)
    for backwards, capacity in ((False, fits), (True, fits), (False, None)):
        got = psi.copy()
        blocks = 1 << num_bits - program.skipped_bits
        given = arguments(program, numbers, capacity, num_bits, high, psi.dtype)
        call(interpreter(psi.dtype, capacity), blocks, program.threads, backwards, got, *given)
        error = error_of(got, want, psi)
        assert error < (2e-5 if psi.dtype == np.complex64 else 1e-12), f"{error} for {sweep}"


def interpreter(dtype, capacity):
    """The interpreter's kernel, compiled for the CPU."""
    return library(wrapped(source(BY_DTYPE[dtype], capacity), "interpret", "launch"), "-O1").launch


def arguments(program, numbers, capacity, num_bits, high, dtype):
    """The arguments of a launch behind the state, as `Sweeps` makes them."""
    storage = BY_DTYPE[dtype].storage
    real = storage.real
    whole = np.uint64(high << num_bits)
    if capacity is None:
        tiles = num_bits - program.skipped_bits
        lanes = np.uint32(program.threads.bit_length() - 1)
        shape = np.uint64(1 << tiles), np.uint32(tiles), np.uint32(num_bits), lanes
        return pack(numbers, program.numbers, real), program.words, whole, np.uint64(0), *shape
    words, shared = np.zeros(capacity.words, np.uint32), np.full(capacity.numbers // storage.real_bytes, np.nan, real)
    words[: program.words.size] = program.words
    shared[: program.shared.size] = pack(numbers, program.shared, real)
    return pack(numbers, program.tables, real), whole, ByValue(words), ByValue(shared)
