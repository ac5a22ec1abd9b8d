"""The library of NVRTC, loaded while other threads go on.

CuPy loads it by ``ctypes.CDLL``, which holds the interpreter's lock meanwhile: 15 to 150 ms in which no run begins. A
call of the loader's own function gives the lock away.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from collections.abc import Iterator
from pathlib import Path

_FOLDERS = {12: "nvidia/cuda_nvrtc/lib", 13: "nvidia/cu13/lib"}
"""Where the wheels of NVIDIA put the library, for each major version of CUDA."""


def load_ahead(major: int) -> None:
    """Load the NVRTC of a major version of CUDA from NVIDIA's wheel or the system, in the order of cuda-pathfinder.

    What is not found here CuPy looks for itself, and tells of it.
    """
    if sys.platform != "linux":
        return
    dlopen = ctypes.CDLL(None).dlopen
    dlopen.restype, dlopen.argtypes = ctypes.c_void_p, (ctypes.c_char_p, ctypes.c_int)
    for library in (*_in_wheels(major), _name(major)):
        if dlopen(os.fsencode(library), os.RTLD_NOW | os.RTLD_GLOBAL):
            return


@functools.cache
def size() -> int:
    """Return the bytes of the NVRTC in NVIDIA's wheel, by which versions of it are told apart before it is loaded.

    0 if it is the system's, whose kernels are not told apart by that: each of them does what its text says.
    """
    for major in _FOLDERS:
        for library in _in_wheels(major):
            return Path(library).stat().st_size
    return 0


def _name(major: int) -> str:
    return f"libnvrtc.so.{major}"


def _in_wheels(major: int) -> Iterator[str]:
    """Yield the files of a major version that are in wheels."""
    wheels = [str(Path(folder, _FOLDERS[major], _name(major))) for folder in sys.path] if major in _FOLDERS else []
    return filter(os.path.isfile, wheels)
