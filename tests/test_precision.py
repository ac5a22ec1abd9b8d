"""The table of precisions agrees with its definitions; tools/house finds columns without a reader, and whoever tells
precisions apart elsewhere.
"""

from __future__ import annotations

import ctypes
from importlib import resources
from typing import get_args

import numpy as np
import pytest

from qsim_ex import options
from qsim_ex.files import header
from qsim_ex.kernels.cuda.write.register_layout import REGISTERS
from qsim_ex.options import Options
from qsim_ex.precision import BY_DTYPE, BY_ITEMSIZE, PRECISIONS, Precision, PrecisionName

rows = pytest.mark.parametrize("row", PRECISIONS.values(), ids=list(PRECISIONS))


@rows
def test_an_amplitude_is_two_reals(row: Precision) -> None:
    """The real type is that of the amplitude's parts, and the types of CUDA C++ are as large as NumPy's."""
    assert np.zeros(1, dtype=row.dtype).real.dtype == row.real
    assert row.itemsize == row.dtype.itemsize == 2 * row.real.itemsize
    assert ctypes.sizeof(getattr(ctypes, f"c_{row.c_real}")) == row.real.itemsize
    assert row.c_amplitude == f"{row.c_real}2"
    assert row.c_pair == (f"{row.c_real}4" if 2 * row.itemsize == 16 else None)
    assert row.c_pair or row.itemsize == 16


@rows
def test_a_tile_fits_a_thread_block(row: Precision) -> None:
    """The largest tile fits into 48 KiB, is shared out to the registers of its threads, and `permute` can number it.

    48 KiB of shared memory are what a kernel may declare, and 1024 threads what any multiprocessor can hold (CUDA C++
    Programming Guide, "Technical Specifications per Compute Capability").
    """
    assert row.itemsize << row.tile_bits <= 48 << 10
    assert 1 << row.tile_bits == row.threads << REGISTERS
    assert row.threads * row.blocks <= 1024
    folder = resources.files("qsim_ex.kernels.cuda.fixed").joinpath("fixed_kernels")
    moved = folder.joinpath("permute.cu").read_text(encoding="utf-8")
    assert f"from[{max(other.tile_bits for other in PRECISIONS.values())}]" in moved


@rows
def test_tensor_core_files_are_there(row: Precision) -> None:
    """The text of a dense block exists, and its instruction divides a matrix of 16 columns."""
    folder = resources.files("qsim_ex.kernels.cuda.write").joinpath("tensor_kernels")
    assert row.tensor_files
    assert all(folder.joinpath(name).is_file() for name in row.tensor_files)
    assert row.tensor_depth in (4, 8)


@rows
def test_tolerances_are_above_rounding(row: Precision) -> None:
    """No check is finer than one rounding, and a saved state may be as far off as the amplitudes of a circuit."""
    assert np.finfo(row.real).eps < row.rounding
    assert row.rounding_per_gate < row.rounding


def test_rows_are_found_by_what_is_theirs_alone() -> None:
    """Name, dtype and bytes each tell all rows apart, and rows come from coarse to fine."""
    assert [*BY_DTYPE.values()] == [*BY_ITEMSIZE.values()] == [*PRECISIONS.values()]
    assert all(PRECISIONS[row.name] is BY_DTYPE[row.dtype] is BY_ITEMSIZE[row.itemsize] for row in PRECISIONS.values())
    assert [*BY_ITEMSIZE] == sorted(BY_ITEMSIZE)


def test_options_are_the_rows() -> None:
    """The option takes the names of the table and no other, as does its type; files know the dtypes of the table."""
    assert get_args(PrecisionName) == options._CHOICES["precision"] == tuple(PRECISIONS)
    assert all(Options(precision=row.name).dtype == row.dtype for row in PRECISIONS.values())
    assert {str(row.dtype): row.dtype for row in PRECISIONS.values()} == header._DTYPES
