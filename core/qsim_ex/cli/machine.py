"""The processor, the memory, and the GPUs that the driver lists. Needs no CUDA package."""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Sequence
from dataclasses import dataclass

from qsim_ex.kernels import host
from qsim_ex.native import library

_VECTORS = {"v4": "AVX-512", "v3": "AVX2", "v2": "SSE2", "neon": "NEON"}
_MAJOR, _MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR


@dataclass(frozen=True, slots=True)
class Processor:
    """The CPU. simd, target: the vectors of kernels, and their instruction set. free, total: bytes of memory."""

    name: str
    cores: int
    simd: str
    target: str
    free: int
    total: int


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU as the driver describes it. capability: (major, minor). total: bytes of memory."""

    number: int
    name: str
    capability: tuple[int, int]
    total: int


@dataclass(frozen=True, slots=True)
class Driver:
    """The NVIDIA driver: its own version, the newest CUDA that it runs, and the GPUs that this process may use."""

    version: str | None
    cuda: tuple[int, int]
    gpus: Sequence[Gpu]


def processor() -> Processor:
    """Describe the CPU and the memory that this process may use."""
    target = library.instruction_set()
    free, total = host.memory()
    return Processor(host.processor(), host.cores(), _VECTORS[target], target, free, total)


def system() -> str:
    """Return the operating system and Python."""
    return f"{platform.system()} {platform.release()}, {platform.machine()}, Python {platform.python_version()}"


def driver() -> Driver | None:
    """Ask the NVIDIA driver for its GPUs; return None without one. Honours CUDA_VISIBLE_DEVICES."""
    library = _library("libcuda.so.1")
    if library is None:
        return None
    version, count = ctypes.c_int(0), ctypes.c_int(0)
    library.cuDriverGetVersion(ctypes.byref(version))
    if library.cuInit(0) == 0:
        library.cuDeviceGetCount(ctypes.byref(count))
    cuda = (version.value // 1000, version.value % 1000 // 10)
    return Driver(_driver_version(), cuda, tuple(_gpu(library, number) for number in range(count.value)))


def _gpu(library: ctypes.CDLL, number: int) -> Gpu:
    device, total, name = ctypes.c_int(0), ctypes.c_size_t(0), ctypes.create_string_buffer(256)
    library.cuDeviceGet(ctypes.byref(device), number)
    library.cuDeviceGetName(name, len(name), device)
    library.cuDeviceTotalMem_v2(ctypes.byref(total), device)
    capability = []
    for attribute in (_MAJOR, _MINOR):
        value = ctypes.c_int(0)
        library.cuDeviceGetAttribute(ctypes.byref(value), attribute, device)
        capability.append(value.value)
    return Gpu(number, name.value.decode(errors="replace"), (capability[0], capability[1]), total.value)


def _driver_version() -> str | None:
    """Return the driver's own version, such as 580.95.05, from NVML."""
    library = _library("libnvidia-ml.so.1")
    text = ctypes.create_string_buffer(96)
    if library is None or library.nvmlInit_v2() != 0:
        return None
    found = library.nvmlSystemGetDriverVersion(text, len(text)) == 0
    library.nvmlShutdown()
    return text.value.decode(errors="replace") if found else None


def _library(name: str) -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(name)
    except OSError:
        return None
