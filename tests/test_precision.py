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
from qsim_ex.precision import BY_DTYPE, BY_REAL, PRECISIONS, STORAGE, Precision, PrecisionName
from qsim_ex.precision.storage import CudaStorage

rows = pytest.mark.parametrize("row", PRECISIONS.values(), ids=list(PRECISIONS))


@rows
def test_an_amplitude_is_two_reals(row: Precision) -> None:
    """The real type is that of the amplitude's parts, and the types of CUDA C++ are as large as NumPy's."""
    storage, cuda = row.storage, row.storage.cuda
    assert np.zeros(1, dtype=storage.dtype).real.dtype == storage.real
    assert storage.bytes == storage.dtype.itemsize == 2 * storage.real.itemsize == storage.computed_bytes
    assert ctypes.sizeof(getattr(ctypes, f"c_{cuda.real}")) == storage.real.itemsize == storage.real_bytes
    assert cuda.amplitude == f"{cuda.real}2"
    assert cuda.pair == (f"{cuda.real}4" if 2 * storage.bytes == 16 else None)
    assert cuda.pair or storage.bytes == 16
    assert (cuda.stored, cuda.declared, cuda.stored_pair) == ("amp", "", cuda.pair)


@rows
def test_a_buffer_is_as_large_as_its_storage_says(row: Precision) -> None:
    """An array of amplitudes has the bytes of its storage, which hold that many amplitudes, and one less with less."""
    for count in (0, 1, 7, 4096):
        size = row.storage.nbytes(count)
        assert size == np.zeros(count, dtype=row.storage.dtype).nbytes
        assert row.storage.count(size) == row.storage.count(size + row.storage.bytes - 1) == count
    assert row.storage.count(row.storage.bytes - 1) == 0


def test_what_loads_and_stores_is_a_type() -> None:
    """Where amplitudes lie otherwise than they are computed with, `mem` is a declared type, and no pair is copied."""
    cuda = CudaStorage(real="float", amplitude="float2", pair="float4", stored="half2x", declared="struct half2x {};")
    assert cuda.head() == ["typedef float real;", "typedef float2 amp;", "struct half2x {};"]
    assert cuda.written("const mem* state, amp* member") == "const half2x* state, amp* member"
    assert cuda.stored_pair is None


@rows
def test_a_tile_fits_a_thread_block(row: Precision) -> None:
    """The largest tile fits into 48 KiB, is shared out to the registers of its threads, and `permute` can number it.

    48 KiB of shared memory are what a kernel may declare, and 1024 threads what any multiprocessor can hold (CUDA C++
    Programming Guide, "Technical Specifications per Compute Capability").
    """
    geometry = row.geometry
    assert row.storage.computed_bytes << geometry.tile_bits <= 48 << 10
    assert 1 << geometry.tile_bits == geometry.threads << REGISTERS
    assert geometry.threads * geometry.blocks <= 1024
    folder = resources.files("qsim_ex.kernels.cuda.fixed").joinpath("fixed_kernels")
    moved = folder.joinpath("permute.cu").read_text(encoding="utf-8")
    assert f"from[{max(other.geometry.tile_bits for other in PRECISIONS.values())}]" in moved


@rows
def test_tensor_core_files_are_there(row: Precision) -> None:
    """The text of a dense block exists, and its instruction divides a matrix of 16 columns."""
    folder = resources.files("qsim_ex.kernels.cuda.write").joinpath("tensor_kernels")
    assert row.tensor.files
    assert all(folder.joinpath(name).is_file() for name in row.tensor.files)
    assert row.tensor.depth in (4, 8)


@rows
def test_tolerances_are_above_rounding(row: Precision) -> None:
    """No check is finer than one rounding, and a saved state may be as far off as the amplitudes of a circuit."""
    assert np.finfo(row.storage.real).eps < row.tolerances.rounding
    assert row.tolerances.rounding_per_gate < row.tolerances.rounding


def test_rows_are_found_by_what_is_theirs_alone() -> None:
    """Name and dtype each tell all rows apart, and rows come from coarse to fine."""
    assert [*BY_DTYPE.values()] == [*PRECISIONS.values()]
    assert all(PRECISIONS[row.name] is BY_DTYPE[row.storage.dtype] for row in PRECISIONS.values())
    assert all(STORAGE[row.storage.dtype] is row.storage for row in PRECISIONS.values())
    assert [row.storage.bytes for row in PRECISIONS.values()] == sorted(row.storage.bytes for row in BY_DTYPE.values())
    assert {real: row.storage.real for real, row in BY_REAL.items()} == {real: real for real in BY_REAL}


def test_options_are_the_rows() -> None:
    """The option takes the names of the table and no other, as does its type; files know the dtypes of the table."""
    assert get_args(PrecisionName) == options._CHOICES["precision"] == tuple(PRECISIONS)
    assert all(Options(precision=row.name).dtype == row.storage.dtype for row in PRECISIONS.values())
    assert {str(row.storage.dtype): row.storage.dtype for row in PRECISIONS.values()} == header._DTYPES
