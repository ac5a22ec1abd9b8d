"""CuPy and the driver: found, or an error that says what to install."""

from __future__ import annotations

import ctypes
import functools
import os
from typing import Any

from qsim_ex.errors import DeviceError, MissingPackage


def import_cupy() -> Any:
    """Return CuPy; raises `MissingPackage` with the command that installs it."""
    try:
        import cupy
    except ImportError as error:
        raise MissingPackage(
            f"GPUs are used through CuPy, which cannot be imported ({error}). Install it with: "
            "pip install 'qsim-ex[cuda13]' (or 'qsim-ex[cuda12]' for a driver of CUDA 12)."
        ) from error
    return cupy


@functools.cache
def launcher() -> int:
    """Return the address of the driver's `cuLaunchKernel`, for code that calls it without Python."""
    driver = ctypes.CDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")
    return int(ctypes.cast(driver.cuLaunchKernel, ctypes.c_void_p).value or 0)


def find_gpu(device_id: int) -> Any:
    """Return CuPy, after a check that there is a GPU of this number; raises `DeviceError` otherwise."""
    cupy = import_cupy()
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise DeviceError(
            f"no GPU can be used here: {error}. Check the driver with nvidia-smi, or use device='cpu'."
        ) from error
    if not 0 <= device_id < count:
        found = f"GPUs 0 to {count - 1}" if count else "no GPU"
        raise DeviceError(
            f"there is no GPU {device_id}: the driver lists {found}. Use another device_id, or device='cpu'."
        )
    return cupy
