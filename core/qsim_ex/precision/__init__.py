"""The table of precisions: how amplitudes are stored, and what follows from it, one row for each precision.

Only this package distinguishes precisions. Other modules receive a row, or look it up by its name (`PRECISIONS`) or by
the dtype of an array (`BY_DTYPE`), when a kernel is written or a plan is made. How many bytes amplitudes take is asked
of the row's `Storage`, and nowhere computed from a dtype. A new precision is a file with its row, its name in
`PrecisionName`, its place in `PRECISIONS`, and what a row cannot say:

- the files of kernels/cuda/write/tensor_kernels that the row names, with the arithmetic of the tensor cores; all other
  .cu files are written in terms of `real`, `amp`, `mem` and `TILE`;
- a type of amplitudes in the native kernels of the CPU (`core/native/kernels`), which know float and double.

The operands of gates are always complex128 and sums always float64, in every precision.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from qsim_ex.precision.double import DOUBLE
from qsim_ex.precision.row import Precision, PrecisionName
from qsim_ex.precision.single import SINGLE
from qsim_ex.precision.storage import AmplitudeDtype, Amplitudes, Storage

PRECISIONS: Mapping[str, Precision] = {row.name: row for row in (SINGLE, DOUBLE)}
"""Every row by its name, the coarsest first."""

BY_DTYPE: Mapping[AmplitudeDtype, Precision] = {row.storage.dtype: row for row in PRECISIONS.values()}
"""Every row by the dtype of its amplitudes."""

BY_REAL: Mapping[np.dtype[np.floating], Precision] = {
    row.storage.real: row for row in PRECISIONS.values() if row.storage.bytes == row.storage.computed_bytes
}
"""The row whose amplitudes are two real numbers of a dtype, for kernels that touch none."""

STORAGE: Mapping[AmplitudeDtype, Storage] = {dtype: row.storage for dtype, row in BY_DTYPE.items()}
"""How amplitudes lie in memory, by their dtype."""

DTYPES = " or ".join(row.storage.dtype.name for row in PRECISIONS.values())
"""The dtypes of amplitudes, for messages."""

__all__ = [
    "BY_DTYPE",
    "BY_REAL",
    "DOUBLE",
    "DTYPES",
    "PRECISIONS",
    "SINGLE",
    "STORAGE",
    "AmplitudeDtype",
    "Amplitudes",
    "Precision",
    "PrecisionName",
    "Storage",
]
