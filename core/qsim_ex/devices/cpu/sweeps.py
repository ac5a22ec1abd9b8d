"""Sweeps on the CPU device: encoded once for each plan, run over one state or over every row of a batch."""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qsim_ex.errors import InvalidInput
from qsim_ex.kernels import host
from qsim_ex.kernels.cpu import pool
from qsim_ex.precision import BY_DTYPE, DTYPES
from qsim_ex.steps.step import Step, Sweep

Buffer = NDArray[np.complexfloating[Any, Any]]

_ALIGNMENT = 64  # bytes: one cache line, one vector of AVX-512
_WORK = 4  # a sweep does 4 times as much work on an amplitude as a sum does
_CHUNK = 1 << 26
"""The instructions times amplitudes that one thread handles between two checks for Ctrl-C: some 10 ms."""
_LEAST = 7  # log2 of the amplitudes in whose time an instruction is read and its coefficients are looked up
_ASIDE = 32
"""The rows of scratch memory behind a tile, for the inputs of one large matrix."""


class EncodedSweeps:
    """Encoded sweeps of one plan, for one size and dtype.

    lane_bits: log2 of the lanes of a vector; the processor's if None.
    """

    def __init__(self, num_bits: int, dtype: np.dtype[Any], lane_bits: int | None = None) -> None:
        self.num_bits = num_bits
        self.dtype = dtype
        self.kind = (real_of(dtype).type(0),) * (host.lane_bits(dtype) if lane_bits is None else lane_bits)
        self._programs: dict[int, tuple[Step, Any]] = {}

    def program(self, step: Step) -> Any:
        """Return the encoded sweep; None for another step, which needs none."""
        found = self._programs.get(id(step))
        if found is None or found[0] is not step:
            from qsim_ex.kernels.cpu.writer import encode

            program = None
            if isinstance(step, Sweep):
                program = encode(step, self.num_bits, len(self.kind), real_of(self.dtype).itemsize)
            found = self._programs[id(step)] = (step, program)
        return found[1]


def run_sweep(
    buffer: Buffer, num_bits: int, step: Sweep, numbers: Any, prepared: EncodedSweeps | None, high: int, threads: int
) -> None:
    """Share the tiles of all rows among threads; each looks up a row's coefficients before its first tile.

    numbers: complex128 [count] or [1, count], the same for all rows, or [rows, count]. Coefficients that many tiles
    share are looked up once.
    """
    from qsim_ex.kernels.cpu import sweep

    if prepared is None or (prepared.num_bits, prepared.dtype) != (num_bits, buffer.dtype):
        prepared = EncodedSweeps(num_bits, buffer.dtype)
    program, kind, real = prepared.program(step), prepared.kind, real_of(buffer.dtype)
    floats = np.ascontiguousarray(numbers, dtype=np.complex128).view(np.float64)
    floats = floats.reshape(1, -1) if floats.ndim == 1 else floats
    tiles, rows = 1 << program.outside_bits, buffer.size >> num_bits
    units = tiles * rows
    threads = pool.worth(_WORK * buffer.size, threads)
    work_of_unit = len(program.instructions) + 1 << max(_LEAST, num_bits - program.outside_bits)
    chunk_size = max(1, min(_CHUNK // work_of_unit, units // (4 * threads)))
    shared = None
    if len(floats) == 1 and units > 1:
        shared = aligned(program.coefficients, real)
        sweep.expand(kind, floats[0], program.fills, program.codes, program.integers, shared)
        floats = floats[:0]
    state = buffer.view(real)
    tile = -(-(((1 << program.row_bits) + _ASIDE) * (2 << len(kind))) // 16) * 16  # whole cache lines

    def work(chunk: int) -> None:
        scratch = _scratch(tile + (program.coefficients if shared is None else 0), real)
        coefficients = scratch[tile:] if shared is None else shared
        first = chunk * chunk_size
        sweep.run_rows(
            kind, state, scratch[:tile], floats, program.fills, program.codes, coefficients, program.instructions,
            program.integers, program.geometry, tiles, first, min(units, first + chunk_size), high,
        )  # fmt: skip

    pool.share(work, -(-units // chunk_size), threads)


@lru_cache(maxsize=2)
def compile_sweeps(dtype: np.dtype[Any]) -> None:
    """Compile the kernels of sweeps for one dtype, by running them on a tiny state; once is enough."""
    for rows in (1, 2):
        run_sweep(aligned(rows, dtype), 0, Sweep((), (), 0, 0), np.zeros(0, dtype=np.complex128), None, 0, 1)


def aligned(count: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return an array whose first element is on a cache line."""
    raw = np.empty(count * dtype.itemsize + _ALIGNMENT, dtype=np.uint8)
    start = -raw.ctypes.data % _ALIGNMENT
    return raw[start : start + count * dtype.itemsize].view(dtype)


_local = threading.local()


def _scratch(count: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return this thread's tile and coefficients; kept, since new memory would have to be brought into the cache."""
    raw = getattr(_local, "scratch", None)
    size = count * dtype.itemsize
    if raw is None or raw.size < size:
        raw = _local.scratch = aligned(size, np.dtype(np.uint8))
    view: NDArray[Any] = raw[:size].view(dtype)
    return view


@lru_cache(maxsize=2)
def real_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of real and imaginary parts; raises `InvalidInput` unless amplitudes have this dtype."""
    if (row := BY_DTYPE.get(dtype)) is None:
        raise InvalidInput(f"expected amplitudes in {DTYPES}, got {dtype}; convert them.")
    return row.real
