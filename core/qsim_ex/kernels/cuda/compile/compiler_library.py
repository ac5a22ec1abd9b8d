"""The library of NVRTC, loaded while other threads go on.

CuPy loads it by ``ctypes.CDLL``, which holds the interpreter's lock meanwhile: 15 to 150 ms in which no run begins. A
call of the loader's own function gives the lock away.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

_FOLDERS = {12: "nvidia/cuda_nvrtc/lib", 13: "nvidia/cu13/lib"}
"""Where the wheels of NVIDIA put the library, for each major version of CUDA."""


def load_ahead(major: int) -> None:
    """Load the NVRTC of a major version of CUDA from NVIDIA's wheel or the system, in the order of cuda-pathfinder.

    What is not found here CuPy looks for itself, and tells of it.
    """
    if sys.platform != "linux":
        return
    name = f"libnvrtc.so.{major}"
    wheels = [str(Path(folder, _FOLDERS[major], name)) for folder in sys.path] if major in _FOLDERS else []
    dlopen = ctypes.CDLL(None).dlopen
    dlopen.restype, dlopen.argtypes = ctypes.c_void_p, (ctypes.c_char_p, ctypes.c_int)
    for library in (*filter(os.path.isfile, wheels), name):
        if dlopen(os.fsencode(library), os.RTLD_NOW | os.RTLD_GLOBAL):
            return
