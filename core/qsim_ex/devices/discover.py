"""The devices of this machine, and the device of a state, or the first of several.

The rule of ``device='auto'``: the GPU `device_id`, if there is one, CuPy is installed, and the state has at least
2^`GPU_FROM` amplitudes. Otherwise the CPU. Every result has the reason.
``device='gpu'``, ``device='cpu'`` and ``devices=[…]`` are demands: one that cannot be met is an error.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
from collections.abc import Callable, Mapping
from functools import lru_cache
from time import monotonic
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from qsim_ex.devices.base import Device
from qsim_ex.devices.memory import memory_of_host
from qsim_ex.errors import DeviceError, MissingPackage
from qsim_ex.kernels import fork
from qsim_ex.later import later
from qsim_ex.options import Options

if TYPE_CHECKING:
    from qsim_ex.devices.cpu import device as cpu_device
    from qsim_ex.devices.gpu import device as gpu_device
else:
    cpu_device = later("qsim_ex.devices.cpu.device")
    gpu_device = later("qsim_ex.devices.gpu.device")

GPU_FROM = 16
"""The fewest wires for which 'auto' takes a GPU: a CPU has finished a smaller state before a GPU has begun."""

INSTALL = "pip install 'qsim-ex[cuda12]'"
"""The command that installs CuPy and the compiler of its kernels."""


class Host:
    """The host's memory where no work is done on its processors: a device for that brings all kernels of the CPU."""

    memory = staticmethod(memory_of_host)


HOST = Host()

_read: WeakKeyDictionary[Device | Host, tuple[float, int]] = WeakKeyDictionary()
"""The time at which each device's free bytes were last read, and their number."""


def choose(num_wires: int, options: Options, states: int = 1) -> tuple[Device, str]:
    """Return the device of a state, or the first of several, and the reason, by the rule above; checks no memory."""
    if options.devices is not None:
        return _demanded_gpu(options.devices[0], f"devices={list(options.devices)}"), "asked for"
    if options.device == "auto":
        return _automatic(num_wires, options, states)
    return DEMANDED[options.device](options), "asked for"


def _demanded_gpu(number: int, asked: str = "") -> Device:
    """Return a GPU; raises `DeviceError` or `MissingPackage` if it cannot be used; asked: what asked for it."""
    if missing := gpu_missing():
        raise missing
    if asked and number >= gpu_count():
        raise DeviceError(f"{asked}: {present(gpu_count())}.")
    return gpu(number)


def _automatic(num_wires: int, options: Options, states: int) -> tuple[Device, str]:
    host = cpu(options.threads)
    if missing := gpu_missing():
        return host, f"auto: {_without_advice(missing)}"
    if states << num_wires < 1 << GPU_FROM:
        many = f"{states} states of " if states > 1 else ""
        return host, f"auto: {many}{num_wires} wires are faster on the CPU (a GPU is taken from {GPU_FROM} wires up)"
    return gpu(options.device_id), "auto: a GPU is present"


def _without_advice(missing: DeviceError | MissingPackage) -> str:
    """Return the error's message, without its advice unless that is to install a package."""
    text = str(missing)
    return text if isinstance(missing, MissingPackage) else text.split(". ", maxsplit=1)[0].removesuffix(".")


def host_free() -> int:
    """Return the free bytes of the host."""
    return cpu().memory()[0]


def free_bytes(device: Device | Host, needed: int) -> int:
    """Return the free bytes of a device; for a small state a number read within the last second is used.

    Asking the operating system takes a millisecond, longer than a small circuit.
    """
    now = monotonic()
    read_at, free = _read.get(device, (-np.inf, 0))
    if now - read_at > 1 or needed * 64 > free:
        free = device.memory()[0]
        _read[device] = (now, free)
    return free


@lru_cache(maxsize=8)
def cpu(threads: int | None = None) -> Device:
    """Return the CPU, with all cores or with some threads."""
    return cpu_device.CpuDevice(threads)


@lru_cache(maxsize=64)
def gpu(device_id: int = 0) -> Device:
    """Return one GPU; raises `DeviceError` if there is none of that number."""
    count = gpu_count()
    if device_id >= count:
        raise DeviceError(f"device_id={device_id}: {present(count)}.")
    return gpu_device.GpuDevice(device_id)


DEMANDED: Mapping[str, Callable[[Options], Device]] = {
    "cpu": lambda options: cpu(options.threads),
    "gpu": lambda options: _demanded_gpu(options.device_id),
}
"""What makes the device that an option demands, for each value of `DeviceChoice` but 'auto'."""


def gpu_count() -> int:
    """Return the number of GPUs that CUDA gives to this process; needs CuPy."""
    import cupy

    return int(cupy.cuda.runtime.getDeviceCount())


def gpus_here() -> int:
    """Return the number of GPUs that can be used; 0 without a driver or CuPy."""
    return 0 if gpu_missing() else gpu_count()


def present(count: int) -> str:
    """Return the numbers of the GPUs of this machine, in words."""
    return "only GPU 0 is there" if count == 1 else f"GPUs 0 to {count - 1} are there"


@lru_cache(maxsize=64)
def generation(device_id: int) -> str:
    """Return a GPU's compute capability, such as "90"; needs CuPy."""
    import cupy

    return str(cupy.cuda.Device(device_id).compute_capability)


_usable: list[bool] = []
"""Whether a GPU was found usable once: it stays so, and asking again takes microseconds of a small run."""


_lost: list[bool] = []
"""Whether this process was forked from one that had used CUDA."""


def _after_fork() -> None:
    """Note in a forked child that a driver which the parent has started cannot be used or started again."""
    if driver_count.cache_info().currsize and driver_count():
        _usable.clear()
        _lost.append(True)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def gpu_missing() -> DeviceError | MissingPackage | None:
    """Return why no GPU can be used, as the error that a demand for one raises; None if there is one."""
    if not _usable:
        if missing := _missing():
            return missing
        _usable.append(True)
    return None


def _missing() -> DeviceError | MissingPackage | None:
    if _lost:
        return fork.cuda_lost()
    count = driver_count()
    if count == 0:
        why = "The NVIDIA driver lists none" if _driver() else "There is no NVIDIA driver"
        return DeviceError(
            f"no GPU found. {why}; use device='cpu', or device='auto', which takes a GPU if one is there."
        )
    if importlib.util.find_spec("cupy") is None:
        return MissingPackage(f"a GPU is present, but CuPy is not installed. Install it with: {INSTALL}")
    try:
        import cupy
    except ImportError as error:
        return MissingPackage(f"a GPU is present, but CuPy does not load ({error}). Reinstall it with: {INSTALL}")
    try:
        cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return DeviceError(f"a GPU is present, but CUDA does not start: {error}. Check the driver with nvidia-smi.")
    return None


@lru_cache(maxsize=1)
def driver_count() -> int:
    """Return the number of GPUs that the NVIDIA driver lists; 0 without a driver. Needs no package."""
    driver, count = _driver(), ctypes.c_int(0)
    if driver and driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0:
        return count.value
    return 0


@lru_cache(maxsize=1)
def _driver() -> ctypes.CDLL | None:
    """Return the library of the NVIDIA driver; None without a driver. To look for it takes longer than a small run."""
    for name in ("libcuda.so.1", "nvcuda.dll"):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def gpu_with(device_id: int, stream: Any, allocator: Any) -> Device:
    """Return a GPU that works on a caller's stream and takes memory from a caller's allocator."""
    gpu(device_id)  # raises if it is not there
    return gpu_device.GpuDevice(device_id, stream=stream, allocator=allocator)


def device_of(array: object, stream: object = None, allocator: object = None) -> Device:
    """Return the device of a caller's array; raises `DeviceError` if it is neither NumPy's nor CuPy's."""
    if isinstance(array, np.ndarray):
        return cpu()
    if not hasattr(array, "__cuda_array_interface__") or not hasattr(array, "device"):
        raise DeviceError(f"array: expected a NumPy or a CuPy array, got {type(array).__name__}.")
    if missing := gpu_missing():
        raise missing
    return gpu_with(int(array.device.id), stream, allocator)
