"""Memory of a GPU that other processes map: allocated by the driver's virtual memory management, not from CuPy's pool.

A process gives its memory a handle, a file descriptor or a fabric handle, and another one maps the memory by it. The
driver counts who has mapped memory, so it outlives its owner. Needs no package besides CuPy: these ten functions of the
driver's stable interface are called by `ctypes`, as everywhere in this engine.

Source: CUDA Driver API, Virtual Memory Management.
"""

from __future__ import annotations

import ctypes
import os
import weakref
from contextlib import ExitStack
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from qsim_ex.devices.sharing import Handle, SharedBuffer
from qsim_ex.errors import DeviceError, OutOfMemory
from qsim_ex.kernels.cuda.cupy_runtime import CupyRuntime
from qsim_ex.kernels.cuda.runtime import Array, Runtime
from qsim_ex.precision import STORAGE

_PINNED, _ON_DEVICE, _READ_WRITE = 1, 1, 3
"""CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE."""

_DESCRIPTOR, _FABRIC = 1, 8
"""CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, CU_MEM_HANDLE_TYPE_FABRIC."""

_NAMES = {_DESCRIPTOR: "file descriptors", _FABRIC: "fabric handles"}

_FABRIC_BYTES = 64

_HAS_DESCRIPTORS, _HAS_FABRIC = 103, 128
"""CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED and …_FABRIC_SUPPORTED."""

_OUT_OF_MEMORY = 2

_Size, _Pointer, _Flags = ctypes.c_size_t, ctypes.c_ulonglong, ctypes.c_ulonglong


class _Location(ctypes.Structure):
    """CUmemLocation."""

    _fields_ = (("type", ctypes.c_int), ("id", ctypes.c_int))


class _Properties(ctypes.Structure):
    """CUmemAllocationProp; its flags stay 0."""

    _fields_ = (
        ("type", ctypes.c_int),
        ("handles", ctypes.c_int),
        ("location", _Location),
        ("windows", ctypes.c_void_p),
        ("flags", ctypes.c_ulonglong),
    )


class _Access(ctypes.Structure):
    """CUmemAccessDesc."""

    _fields_ = (("location", _Location), ("flags", ctypes.c_int))


@cache
def _driver() -> Any:
    return ctypes.CDLL("libcuda.so.1")


def _call(name: str, *arguments: object) -> None:
    """Call a function of the driver; raise `OutOfMemory`, or `DeviceError` with the driver's word for the error."""
    status = getattr(_driver(), name)(*arguments)
    if status == 0:
        return
    words = ctypes.c_char_p()
    _driver().cuGetErrorName(status, ctypes.byref(words))
    told = f"{name}: {(words.value or b'error').decode()} ({status})"
    raise OutOfMemory(told) if status == _OUT_OF_MEMORY else DeviceError(told)


class AddressRange:
    """Memory of a GPU in the address space of this process, for as long as this object lives.

    device: CuPy's device that reads and writes it, the current one. handle: the driver's; the mapping keeps the memory
    when it is released. nbytes: a multiple of the granularity.
    """

    def __init__(self, device: Any, handle: ctypes.c_ulonglong, nbytes: int) -> None:
        self.nbytes = nbytes
        self._device = device
        address, size = _Pointer(), _Size(nbytes)
        with ExitStack() as failed:
            _call("cuMemAddressReserve", ctypes.byref(address), size, _Size(0), _Pointer(0), _Flags(0))
            failed.callback(_call, "cuMemAddressFree", address, size)
            _call("cuMemMap", address, size, _Size(0), handle, _Flags(0))
            failed.callback(_call, "cuMemUnmap", address, size)
            access = _Access(_Location(_ON_DEVICE, device.id), _READ_WRITE)
            _call("cuMemSetAccess", address, size, ctypes.byref(access), _Size(1))
            failed.pop_all()
        self.address = int(address.value)
        weakref.finalize(self, _unmap, os.getpid(), device, self.address, nbytes)

    def array(self, cupy: Any, num_amplitudes: int, dtype: DTypeLike) -> Array:
        """Return amplitudes from the beginning on; the array keeps the mapping."""
        whole = cupy.cuda.UnownedMemory(self.address, self.nbytes, self, self._device.id)
        return cupy.ndarray((num_amplitudes,), dtype=np.dtype(dtype), memptr=cupy.cuda.MemoryPointer(whole, 0))


def _unmap(process: int, device: Any, address: int, nbytes: int) -> None:
    """End a mapping, after all work that is queued on the device; a forked child has none."""
    if os.getpid() != process:
        return
    with device:
        device.synchronize()
        _driver().cuMemUnmap(_Pointer(address), _Size(nbytes))
    _driver().cuMemAddressFree(_Pointer(address), _Size(nbytes))


def allocate(runtime: Runtime, num_amplitudes: int, dtype: DTypeLike) -> SharedBuffer:
    """Return memory that other processes can map, or memory that they cannot, and why; raises `OutOfMemory`."""
    if not isinstance(runtime, CupyRuntime):
        return SharedBuffer(runtime.empty(num_amplitudes, dtype), None, "", "this GPU is emulated")
    cupy = runtime.cupy
    with runtime.device as device:
        kind, why = _kind(device.id)
        if kind is None:
            return SharedBuffer(runtime.empty(num_amplitudes, dtype), None, "", why)
        nbytes = _rounded(device.id, STORAGE[np.dtype(dtype)].nbytes(num_amplitudes), kind)
        try:
            handle = _created(device.id, nbytes, kind)
        except OutOfMemory:  # CuPy's pool keeps memory that nobody uses
            cupy.get_default_memory_pool().free_all_blocks()
            handle = _created(device.id, nbytes, kind)
        try:
            memory = AddressRange(device, handle, nbytes)
            return SharedBuffer(memory.array(cupy, num_amplitudes, dtype), _exported(handle, kind), _NAMES[kind], why)
        finally:
            _call("cuMemRelease", handle)


def mapped(runtime: Runtime, handle: Handle, num_amplitudes: int, dtype: DTypeLike) -> Array:
    """Return memory of another process by its handle; raise `DeviceError` if this GPU cannot reach it."""
    if not isinstance(runtime, CupyRuntime):
        raise DeviceError("an emulated GPU maps no memory of other processes.")
    kind = _FABRIC if isinstance(handle, bytes) else _DESCRIPTOR
    given = ctypes.create_string_buffer(handle, len(handle)) if isinstance(handle, bytes) else ctypes.c_void_p(handle)
    found = ctypes.c_ulonglong()
    with runtime.device as device:
        _call("cuMemImportFromShareableHandle", ctypes.byref(found), given, ctypes.c_int(kind))
        try:
            nbytes = _rounded(device.id, STORAGE[np.dtype(dtype)].nbytes(num_amplitudes), kind)
            return AddressRange(device, found, nbytes).array(runtime.cupy, num_amplitudes, dtype)
        finally:
            _call("cuMemRelease", found)


@cache
def _kind(device_id: int) -> tuple[int | None, str]:
    """Return the kind of handles that a GPU's memory gets, fabric handles where they work, and why it is no better."""
    fabric = "this GPU has no fabric handles"
    if _attribute(device_id, _HAS_FABRIC):
        try:
            handle = _created(device_id, _rounded(device_id, 1, _FABRIC), _FABRIC)
            try:
                _exported(handle, _FABRIC)
            finally:
                _call("cuMemRelease", handle)
        except (DeviceError, OutOfMemory) as error:
            fabric = f"no fabric handles ({error})"
        else:
            return _FABRIC, ""
    if _attribute(device_id, _HAS_DESCRIPTORS):
        return _DESCRIPTOR, fabric
    return None, f"this GPU has no memory with file descriptors, and {fabric}"


def _attribute(device_id: int, number: int) -> bool:
    value = ctypes.c_int()
    status = _driver().cuDeviceGetAttribute(ctypes.byref(value), ctypes.c_int(number), ctypes.c_int(device_id))
    return status == 0 and bool(value.value)


def _properties(device_id: int, kind: int) -> _Properties:
    return _Properties(_PINNED, kind, _Location(_ON_DEVICE, device_id), None, 0)


def _rounded(device_id: int, nbytes: int, kind: int) -> int:
    """Return a size rounded up to what the driver maps at least."""
    step = _Size()
    wanted = _properties(device_id, kind)
    _call("cuMemGetAllocationGranularity", ctypes.byref(step), ctypes.byref(wanted), ctypes.c_int(0))
    return -(-max(nbytes, 1) // step.value) * int(step.value)


def _created(device_id: int, nbytes: int, kind: int) -> ctypes.c_ulonglong:
    handle = ctypes.c_ulonglong()
    wanted = _properties(device_id, kind)
    _call("cuMemCreate", ctypes.byref(handle), _Size(nbytes), ctypes.byref(wanted), _Flags(0))
    return handle


def _exported(handle: ctypes.c_ulonglong, kind: int) -> Handle:
    """Return what another process maps memory by."""
    if kind == _FABRIC:
        blob = ctypes.create_string_buffer(_FABRIC_BYTES)
        _call("cuMemExportToShareableHandle", blob, handle, ctypes.c_int(kind), _Flags(0))
        return blob.raw
    descriptor = ctypes.c_int()
    _call("cuMemExportToShareableHandle", ctypes.byref(descriptor), handle, ctypes.c_int(kind), _Flags(0))
    return int(descriptor.value)
