"""The table of precisions: the numbers in which amplitudes are stored, one row for each precision.

Only this module distinguishes precisions. Other modules receive a row, or look it up by its name (`PRECISIONS`), by the
dtype of an array (`BY_DTYPE`) or by the bytes of an amplitude (`BY_ITEMSIZE`), when a kernel is written or a plan is
made. A new precision is a new row and three things that a row cannot say:

- its name in `PrecisionName`, which type checkers read;
- the files of kernels/cuda/write/tensor_kernels that the row names, with the arithmetic of the tensor cores; all other
  .cu files are written in terms of `real`, `amp` and `TILE`;
- the reals of 4 and 8 bytes in native code: `kernels/cuda/launch/run_words.py` for launches, and the types of the
  kernels of the CPU in `core/native`.

The operands of gates are always complex128 and sums always float64, in every precision.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

PrecisionName = Literal["single", "double"]
"""The name of a row: a value of the option `precision`."""


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Precision:
    """One row: the format of amplitudes, and what follows from it for kernels, plans and checks.

    name: the value of the option `precision`.
    dtype, real: the dtype of an amplitude, and that of its real and imaginary part.
    c_real, c_amplitude: the same two types in CUDA C++.
    c_pair: the type in CUDA C++ of two amplitudes of 8 bytes, which are copied at once; None where one amplitude has
        16 bytes.
    native_single: whether native code works with C++'s float, and not with double.
    fewer_lows: so many lowest index bits do instead of four, if a plan gains by it; 0 if they do not.
    scattered: reading and writing takes so many times as long with them.
    tile_bits: a thread block of a GPU works on a tile of 2^tile_bits amplitudes in its shared memory; at most 12, the
        number of bits that fixed_kernels/permute.cu can permute.
    threads: the threads of a thread block with such a tile.
    blocks: the number of these thread blocks that a multiprocessor must hold; this limits the registers of a thread.
    padded_blocks: the same of kernels that need fewer registers, since slots of shared memory have gaps.
    tensor_files: the files of kernels/cuda/write/tensor_kernels with the text of a dense block on the tensor cores.
    tensor_depth: the columns of the 16-row matrix whose numbers a warp loads at once, 16 bytes for each lane.
    tensor_loops: how often a warp reads eight columns before it multiplies them; the more, the more registers it needs.
    pass_work: multiply-adds per amplitude in the time in which a GPU reads and writes the state once.
    counted_work: the same where exchanges between register blocks are counted beside them; from the rates of
        `cost.Rates`.
    block_work: multiply-adds per amplitude in the time that a dense block on four bits takes on the tensor cores.
    exchange_work: multiply-adds per amplitude in the time in which a GPU exchanges a tile between two register blocks.
    permuted_work: multiply-adds per amplitude in the time by which a GPU takes longer to write a tile back permuted.
    rounding, rounding_per_gate: the relative error of a state vector that rounding explains: a constant, and an amount
        for each gate.
    same_shots: whether every device draws the same shots. With coarse rounding a random number may fall on the other
        side of a boundary between outcomes.
    """

    name: PrecisionName
    dtype: np.dtype[Any]
    real: np.dtype[Any]
    c_real: str
    c_amplitude: str
    c_pair: str | None
    native_single: bool
    fewer_lows: int
    scattered: float
    tile_bits: int
    threads: int
    blocks: int
    padded_blocks: int
    tensor_files: tuple[str, ...]
    tensor_depth: int
    tensor_loops: int
    pass_work: float
    counted_work: float
    block_work: float
    exchange_work: float
    permuted_work: float
    rounding: float
    rounding_per_gate: float
    same_shots: bool

    @property
    def itemsize(self) -> int:
        """The bytes of an amplitude."""
        return self.dtype.itemsize


SINGLE = Precision(
    name="single",
    dtype=np.dtype(np.complex64),
    real=np.dtype(np.float32),
    c_real="float",
    c_amplitude="float2",
    c_pair="float4",
    native_single=True,
    fewer_lows=0,
    scattered=1.0,
    tile_bits=12,
    threads=256,
    blocks=3,
    padded_blocks=4,
    tensor_files=("f16.cu", "reals.cu", "single.cu"),
    tensor_depth=8,
    tensor_loops=2,
    pass_work=88.0,  # 22e12 a second, while 16 bytes are moved at 4e12 a second (one H200)
    counted_work=106.0,  # 28e12 a second, while 16 bytes are moved at 4.24e12 a second
    block_work=40.0,  # fitted to four plans of blocks at 28e12 a second: 0.38 ms for 2^28 amplitudes (one H200)
    exchange_work=8.0,  # this and the next fitted to 383 sweeps of 16 families (one H200)
    permuted_work=6.0,
    rounding=1e-6,
    rounding_per_gate=3e-8,
    same_shots=False,
)

DOUBLE = Precision(
    name="double",
    dtype=np.dtype(np.complex128),
    real=np.dtype(np.float64),
    c_real="double",
    c_amplitude="double2",
    c_pair=None,
    native_single=False,
    fewer_lows=2,  # pieces of 64 bytes
    scattered=1.12,  # 0.99 to 1.17, six families (one H200)
    tile_bits=11,
    threads=128,
    blocks=4,
    padded_blocks=4,
    tensor_files=("f64.cu", "double.cu"),
    tensor_depth=4,
    tensor_loops=1,
    pass_work=100.0,  # 12e12 a second, while 32 bytes are moved at 4e12 a second (one H200)
    counted_work=116.0,  # 15.4e12 a second, while 32 bytes are moved at 4.24e12 a second
    block_work=27.0,  # the same at 15.4e12 a second: 0.47 ms for 2^28 amplitudes (one H200)
    exchange_work=3.0,  # fitted to sweeps of Heisenberg steps; with less for the next the brick took longer (one H200)
    permuted_work=30.0,
    rounding=1e-12,
    rounding_per_gate=0.0,
    same_shots=True,
)

PRECISIONS: Mapping[str, Precision] = {row.name: row for row in (SINGLE, DOUBLE)}
"""Every row by its name, the coarsest first."""

BY_DTYPE: Mapping[np.dtype[Any], Precision] = {row.dtype: row for row in PRECISIONS.values()}
"""Every row by the dtype of its amplitudes."""

BY_ITEMSIZE: Mapping[int, Precision] = {row.itemsize: row for row in PRECISIONS.values()}
"""Every row by the bytes of an amplitude, of which no two rows have the same number."""

DTYPES = " or ".join(row.dtype.name for row in PRECISIONS.values())
"""The dtypes of amplitudes, for messages."""
