"""In which numbers amplitudes are stored: a table with one row for each precision.

Only this module tells precisions apart. Every other one is given a row, or finds it by its name (`PRECISIONS`), by the
dtype of an array (`BY_DTYPE`) or by the bytes of an amplitude (`BY_ITEMSIZE`), and reads what it needs when a
kernel is written or a plan is made. A further precision is a further row, and this around it:

- what the language wants spelled out: the name in `PrecisionName`;
- kernels as text (the .cu files of kernels/cuda) are written in `real`, `amp` and `TILE`; the arithmetic of the tensor
  cores is in files of kernels/cuda/write/tensor_kernels, which the row names;
- compiled code of the host writes reals of 4 and 8 bytes: `kernels/cuda/launch/run_words.py` for launches, Numba's and
  LLVM's types in the kernels of the CPU.

Operands of gates are always complex128 and sums always float64, whatever the amplitudes are. Those are no precision.
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
    """One row: how amplitudes are stored, and what follows from that for kernels, plans and checks.

    name: the value of the option `precision`.
    dtype, real: of an amplitude, and of its real and imaginary part.
    c_real, c_amplitude: the same in CUDA C++.
    c_pair: the type in CUDA C++ of two amplitudes, if they have 16 bytes, which are moved at once; otherwise None, and
        one amplitude has as many.
    tile_bits: a thread block of a GPU works on a tile of 2^tile_bits amplitudes in its shared memory; at most 12,
        since that many bits can be numbered in fixed_kernels/permute.cu.
    threads: of a thread block that has such a tile.
    blocks: how many of these thread blocks a multiprocessor shall hold; this bounds the registers of a thread.
    tensor_files: the text of a dense block on the tensor cores: files of kernels/cuda/write/tensor_kernels.
    tensor_depth: columns of the 16-row matrix that one instruction of the tensor cores multiplies.
    pass_work: multiply-adds per amplitude in the time in which a GPU reads and writes the state once.
    block_work: multiply-adds per amplitude in the time that a dense block on four bits takes on the tensor cores.
    rounding, rounding_per_gate: the relative error of an amplitude vector that rounding explains, at first and for
        each gate more.
    same_shots: whether every device draws the same shots. Where rounding is coarse, a random number may fall on the
        other side of a boundary.
    norm_tolerance: how far the norm may be from 1 in a file of a state that does not say what it was.
    """

    name: PrecisionName
    dtype: np.dtype[Any]
    real: np.dtype[Any]
    c_real: str
    c_amplitude: str
    c_pair: str | None
    tile_bits: int
    threads: int
    blocks: int
    tensor_files: tuple[str, ...]
    tensor_depth: int
    pass_work: float
    block_work: float
    rounding: float
    rounding_per_gate: float
    same_shots: bool
    norm_tolerance: float

    @property
    def itemsize(self) -> int:
        """Bytes of an amplitude."""
        return self.dtype.itemsize


SINGLE = Precision(
    name="single",
    dtype=np.dtype(np.complex64),
    real=np.dtype(np.float32),
    c_real="float",
    c_amplitude="float2",
    c_pair="float4",
    tile_bits=12,
    threads=256,
    blocks=3,
    tensor_files=("tf32.cu", "reals.cu", "terms.cu", "single.cu"),
    tensor_depth=8,
    pass_work=88.0,  # 22e12 a second, while 16 bytes are moved at 4e12 a second (one H200)
    block_work=36.0,  # 0.44 ms for 2^28 amplitudes, at the same rates (one H200)
    rounding=1e-6,
    rounding_per_gate=3e-8,
    same_shots=False,
    norm_tolerance=1e-2,  # long circuits round a lot
)

DOUBLE = Precision(
    name="double",
    dtype=np.dtype(np.complex128),
    real=np.dtype(np.float64),
    c_real="double",
    c_amplitude="double2",
    c_pair=None,
    tile_bits=11,
    threads=128,
    blocks=4,
    tensor_files=("f64.cu", "double.cu"),
    tensor_depth=4,
    pass_work=100.0,  # 12e12 a second, while 32 bytes are moved at 4e12 a second (one H200)
    block_work=27.0,  # 0.6 ms for 2^28 amplitudes, at the same rates (one H200)
    rounding=1e-12,
    rounding_per_gate=0.0,
    same_shots=True,
    norm_tolerance=1e-6,
)

PRECISIONS: Mapping[str, Precision] = {row.name: row for row in (SINGLE, DOUBLE)}
"""Every row by its name, the coarsest first."""

BY_DTYPE: Mapping[np.dtype[Any], Precision] = {row.dtype: row for row in PRECISIONS.values()}
"""Every row by the dtype of its amplitudes."""

BY_ITEMSIZE: Mapping[int, Precision] = {row.itemsize: row for row in PRECISIONS.values()}
"""Every row by the bytes of an amplitude, of which no two rows have the same number."""

DTYPES = " or ".join(row.dtype.name for row in PRECISIONS.values())
"""The dtypes of amplitudes, for messages."""
