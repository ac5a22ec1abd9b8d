"""Sweeps of adjoint differentiation, and sums of Pauli strings applied to states, on the CPU.

The work is done by core/native/kernels/gradients.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.circuit.observables import StoredSum
from qsim_ex.kernels.cpu import pool
from qsim_ex.kernels.cpu.encoded_plan import NUM_INSTRUCTIONS, PROGRAM, NativeSweep
from qsim_ex.native.library import REFUSED, address, refusal, structure, unchecked
from qsim_ex.precision import BY_DTYPE, Amplitudes
from qsim_ex.steps.plan_arrays import Memory

Floats = NDArray[np.float64]

_PARTS = 16
"""The parts of all states whose sums are added up by themselves, as far as rows do not make as many."""

_BLOCK = 512
"""The amplitudes whose weights under one X-part are made together."""


def wanted_instructions(sweep: NativeSweep, single: bool, numbers: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Return for each instruction of a sweep whether one of its numbers is needed."""
    words = Memory(sweep, sweep.program, PROGRAM, "i8").array()
    out = np.zeros(int(words[NUM_INSTRUCTIONS]), dtype=np.uint8)
    given = np.ascontiguousarray(numbers, dtype=np.uint8)
    unchecked("adjoint_wanted")(sweep.program, single, address(given), address(out))
    return out


class HostRows(NamedTuple):
    """States [rows · 2^n] and their cotangents [rows · count · 2^n]; high: the value of the index bits outside."""

    states: Amplitudes
    cotangents: Amplitudes
    num_bits: int
    high: int = 0


def run_adjoint(rows: HostRows, sweep: NativeSweep, numbers: Floats, wanted: NDArray[np.uint8], threads: int) -> Floats:
    """Run a sweep on states and their cotangents; return the derivatives with respect to its numbers.

    numbers: [rows or 1, 2·numbers]. The result is float64 [rows, count, 2·numbers], with respect to real and imaginary
    parts in turn.
    """
    states, cotangents, num_bits, high = rows
    number, count = states.size >> num_bits, cotangents.size // states.size
    parts = max(1, min(_PARTS // number, 1 << max(0, num_bits - 12)))
    sums = np.empty((number, parts, count, numbers.shape[1]))
    call, chunk = unchecked("run_adjoint"), 0
    single = BY_DTYPE[states.dtype].storage.native_single
    given = sweep.program, single, address(states), address(cotangents), number, count, address(numbers), *numbers.shape
    threads = pool.worth(4 * cotangents.size, threads)
    slice_ = thresholds.now.slice_microseconds
    while chunk := call(*given, address(wanted), parts, address(sums), high, chunk, threads, slice_):
        if chunk == REFUSED:
            raise refusal(call)
    found: Floats = sums.sum(axis=1)
    return found


_Products = structure("size block num_sums xs_end xs zs_end zs coefficients")


class HostProducts(NamedTuple):
    """States, where H|ψ⟩ goes, with which weights [rows, sums] if sums are added up, and whether it is added there."""

    states: Amplitudes
    to: Amplitudes
    num_bits: int
    weights: Floats | None = None
    adds: bool = False


def pauli_products(where: HostProducts, sums: Sequence[StoredSum], threads: int) -> Floats:
    """Write H|ψ⟩ of each row for each sum H, [rows, sums, 2^n]; return ⟨ψ|H|ψ⟩, float64 [rows, sums]."""
    states, to, num_bits, weights, adds = where
    form, _ = _form(num_bits, tuple(sums))
    block = min(_BLOCK, 1 << num_bits)
    rows, blocks = states.size >> num_bits, (1 << num_bits) // block
    values = np.empty((rows, blocks, len(sums)))
    single = BY_DTYPE[states.dtype].storage.native_single
    own = None if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
    given = address(states), single, ctypes.addressof(form), address(to), 0 if own is None else address(own), adds
    each = block * len(sums)
    pool.in_ranges(unchecked("pauli_products"), *given, address(values), size=rows * blocks, each=each, threads=threads)
    found: Floats = values.sum(axis=1)
    return found


@lru_cache(maxsize=64)
def _form(num_bits: int, sums: tuple[StoredSum, ...]) -> tuple[ctypes.Structure, object]:
    """Return sums as native code reads them, and the arrays that it points to; cached for loops."""
    xs_end, xs, zs_end, zs, coefficients = [], [], [], [], []
    for one in sums:
        by_x: dict[int, list[tuple[int, complex]]] = {}
        for x, z, coefficient in one:
            by_x.setdefault(x, []).append((z, coefficient))
        for x, strings in by_x.items():
            xs.append(x)
            zs += [z for z, _ in strings]
            coefficients += [c for _, c in strings]
            zs_end.append(len(zs))
        xs_end.append(len(xs))
    size = 1 << num_bits
    arrays = [np.array(some, dtype=np.int64) for some in (xs_end, xs, zs_end, zs)]
    arrays.append(np.array(coefficients, dtype=np.complex128).view(np.float64))
    form = _Products(size, min(_BLOCK, size), len(sums), *map(address, arrays))
    return form, arrays
