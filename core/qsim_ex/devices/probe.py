"""Which devices there are, and which one a state goes to.

The rule of ``device='auto'``: the GPU `device_id`, if there is one, CuPy is installed, the state has at least
2^`GPU_FROM` amplitudes and fits there; otherwise the CPU. The reason is kept and told in every result.
``device='gpu'`` and ``device='cpu'`` are demands: what can't be met is an error.
"""

from __future__ import annotations

import ctypes
import importlib.util
from dataclasses import dataclass
from functools import lru_cache
from time import monotonic
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from qsim_ex.devices.base import Device
from qsim_ex.devices.memory import human, require, state_bytes
from qsim_ex.errors import DeviceError, MissingPackage
from qsim_ex.options import Options

GPU_FROM = 16
"""Fewest wires for which 'auto' takes a GPU: a smaller state is done on a CPU before a GPU has begun."""

INSTALL = "pip install 'qsim-ex[cuda12]'"
"""What brings CuPy and the compiler of its kernels."""

_read: WeakKeyDictionary[Device, tuple[float, int]] = WeakKeyDictionary()
"""When each device was last asked for its free bytes, and what it said."""


@dataclass(frozen=True, slots=True)
class Where:
    """Where a state goes and why.

    needed, free: bytes of the state, and bytes that the device had free (or that `max_memory` allows).
    host_free: bytes that the host has free.
    """

    device: Device
    reason: str
    needed: int
    free: int
    host_free: int


def place(num_wires: int, options: Options) -> Where:
    """Choose the device of a state and check that it fits.

    Raises `DeviceError` or `MissingPackage` if the device that was asked for is not there, `OutOfMemory` with
    the sum if the state does not fit.
    """
    device, reason = choose(num_wires, options)
    needed = state_bytes(num_wires, options.dtype)
    host_free = free_bytes(cpu(options.threads), needed)
    free = free_bytes(device, needed)
    places = [("the host", host_free)]
    if device.kind == "gpu":
        places.insert(0, (f"GPU {options.device_id}", free))
    require(num_wires, options.dtype, places, limit=options.max_memory)
    allowed = free if options.max_memory is None else options.max_memory
    return Where(device, reason, needed, allowed, host_free)


def choose(num_wires: int, options: Options) -> tuple[Device, str]:
    """The device of a state and the reason, by the rule above; asks for no memory but what 'auto' looks at."""
    match options.device:
        case "cpu":
            return cpu(options.threads), "asked for"
        case "gpu":
            if missing := gpu_missing():
                raise missing
            return gpu(options.device_id), "asked for"
        case _:
            return _automatic(num_wires, options)


def _automatic(num_wires: int, options: Options) -> tuple[Device, str]:
    host = cpu(options.threads)
    if missing := gpu_missing():
        return host, f"auto: {_without_advice(missing)}"
    if num_wires < GPU_FROM:
        return host, f"auto: {num_wires} wires are faster on the CPU (a GPU is taken from {GPU_FROM} wires up)"
    device = gpu(options.device_id)
    needed = state_bytes(num_wires, options.dtype)
    free = free_bytes(device, needed) if options.max_memory is None else options.max_memory
    if needed > free and needed <= free_bytes(host, needed):
        return host, f"auto: the state needs {human(needed)}, {device.name} has {human(free)} free"
    return device, "auto: a GPU is present"


def _without_advice(missing: DeviceError | MissingPackage) -> str:
    """What is wrong; and what to do about it only where that is a package to be installed."""
    text = str(missing)
    return text if isinstance(missing, MissingPackage) else text.split(". ", maxsplit=1)[0].removesuffix(".")


def host_free() -> int:
    """Bytes that the host has free."""
    return cpu().memory()[0]


def free_bytes(device: Device, needed: int) -> int:
    """Bytes that a device has free; for a small state what was read within the last second is good enough.

    To ask an operating system takes a millisecond, longer than a small circuit.
    """
    now = monotonic()
    read_at, free = _read.get(device, (-np.inf, 0))
    if now - read_at > 1 or needed * 64 > free:
        free = device.memory()[0]
        _read[device] = (now, free)
    return free


@lru_cache(maxsize=8)
def cpu(threads: int | None = None) -> Device:
    """The CPU, with all cores or with some threads."""
    from qsim_ex.devices.cpu import CpuDevice

    return CpuDevice(threads)


@lru_cache(maxsize=64)
def gpu(device_id: int = 0) -> Device:
    """One GPU; raises `DeviceError` if there is none of that number."""
    import cupy

    count = cupy.cuda.runtime.getDeviceCount()
    if device_id >= count:
        known = "only GPU 0 is there" if count == 1 else f"GPUs 0 to {count - 1} are there"
        raise DeviceError(f"device_id={device_id}: {known}.")
    from qsim_ex.devices.gpu import GpuDevice

    return GpuDevice(device_id)


def gpu_missing() -> DeviceError | MissingPackage | None:
    """Why no GPU can be used, as the error that a demand for one raises; None if there is one."""
    count = driver_count()
    if count == 0:
        return DeviceError("no GPU found. Use device='cpu', or device='auto', which takes a GPU where there is one.")
    if importlib.util.find_spec("cupy") is None:
        return MissingPackage(f"a GPU is present, but CuPy is not installed. Install it with: {INSTALL}")
    try:
        import cupy
    except ImportError as error:
        return MissingPackage(f"a GPU is present, but CuPy does not load ({error}). Reinstall it with: {INSTALL}")
    try:
        cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return DeviceError(f"a GPU is present, but CUDA does not start: {error}.")
    return None


@lru_cache(maxsize=1)
def driver_count() -> int:
    """How many GPUs the NVIDIA driver lists; 0 without a driver. Needs no package."""
    for name in ("libcuda.so.1", "nvcuda.dll"):
        try:
            driver = ctypes.CDLL(name)
        except OSError:
            continue
        count = ctypes.c_int(0)
        if driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0:
            return count.value
    return 0


def gpu_with(device_id: int, stream: Any, allocator: Any) -> Device:
    """A GPU that works on a caller's stream and takes memory from a caller's allocator."""
    gpu(device_id)  # raises if it is not there
    from qsim_ex.devices.gpu import GpuDevice

    return GpuDevice(device_id, stream=stream, allocator=allocator)


def device_of(array: Any, stream: Any = None, allocator: Any = None) -> Device:
    """The device that a caller's array lies on; raises `DeviceError` if it is neither NumPy's nor CuPy's."""
    if isinstance(array, np.ndarray):
        return cpu()
    if not hasattr(array, "__cuda_array_interface__") or not hasattr(array, "device"):
        raise DeviceError(f"array: a NumPy or a CuPy array is wanted, got {type(array).__name__}.")
    if missing := gpu_missing():
        raise missing
    return gpu_with(int(array.device.id), stream, allocator)
