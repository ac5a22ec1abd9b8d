"""C functions of cuStateVec and cuStateVec Ex, declared once for ctypes; nothing is known here of circuits.

The wheel ``custatevec-cu13`` holds the closed library and its headers, but no Python. It is looked
for in the folder named by QSIM_EX_CUSTATEVEC (where the wheel was installed or unpacked), then on
the Python path. Declarations follow custatevecEx.h and custatevec.h of version 1.15.
"""

from __future__ import annotations

import ctypes
import os
import sys
from ctypes import POINTER, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint32, c_void_p
from pathlib import Path

from benchmarks.peers.base import PeerMissing, Precision

FOLDER_VARIABLE = "QSIM_EX_CUSTATEVEC"
_LIBRARY = Path("cuquantum", "lib", "libcustatevec.so.1")

# cudaDataType_t in library_types.h
DATA_TYPE: dict[Precision, int] = {"single": 4, "double": 5}
# custatevecExMatrixType_t, custatevecMatrixLayout_t, custatevecExStateVectorProperty_t
MATRIX_DENSE, MATRIX_DIAGONAL, MATRIX_ANTI_DIAGONAL = 1, 2, 4
LAYOUT_ROW = 1
PROPERTY_WIRE_ORDERING, PROPERTY_NUM_LOCAL_WIRES = 3, 4
PROPERTY_NUM_DEVICE_SUBSVS, PROPERTY_NUM_INPROC_DEVICE_WIRES, PROPERTY_NUM_MIGRATION_WIRES = 5, 8, 9
# custatevecDeviceNetworkType_t, custatevecExStateVectorCapability_t, custatevecExExposeResources_t
NETWORK_SWITCH = 1
# custatevecMatrixMapType_t, custatevecComputeType_t
MAP_BROADCAST, MAP_INDEXED = 0, 1
COMPUTE_TYPE: dict[Precision, int] = {"single": 1 << 2, "double": 1 << 4}
CAPABILITY_NONE = 0
EXPOSE_ACCESSIBLE = 0
MOST_MIGRATION_WIRES = 3
"""More are refused by custatevecExConfigureStateVectorSingleDevice."""

_Int32s = POINTER(c_int32)
_Handle = c_void_p  # every descriptor is a pointer to a struct that the header does not define
_Out = POINTER(c_void_p)

_SIGNATURES: dict[str, tuple[object, ...]] = {
    # (svConfig out, svDataType, numWires, numDeviceWires, deviceId, capability)
    "custatevecExConfigureStateVectorSingleDevice": (*(_Out, c_int32, c_int32, c_int32, c_int32, c_uint32),),
    # (svConfig out, svDataType, numWires, numDeviceWires, deviceIds, numDevices, networkType, capability)
    "custatevecExConfigureStateVectorMultiDevice": (
        *(_Out, c_int32, c_int32, c_int32),
        *(_Int32s, c_int32, c_int32, c_uint32),
    ),
    # (stateVector out, svConfig, streams, numStreams, resourceManager)
    "custatevecExStateVectorCreateSingleProcess": (_Out, _Handle, c_void_p, c_int32, c_void_p),
    "custatevecExStateVectorDestroy": (_Handle,),
    "custatevecExStateVectorSetZeroState": (_Handle,),
    "custatevecExStateVectorSynchronize": (_Handle,),
    # (stateVector, property, value on the host, sizeInBytes)
    "custatevecExStateVectorGetProperty": (_Handle, c_int32, c_void_p, c_size_t),
    # (stateVector, exposeResources)
    "custatevecExStateVectorExposeResources": (_Handle, c_int32),
    # (stateVector, state on the host, dataType, begin, end, maxNumConcurrentCopies)
    "custatevecExStateVectorGetState": (_Handle, c_void_p, c_int32, c_int64, c_int64, c_int32),
    "custatevecExDictionaryDestroy": (_Handle,),
    # (svUpdaterConfig out, dataType, configItems, numConfigItems)
    "custatevecExConfigureSVUpdater": (_Out, c_int32, c_void_p, c_int32),
    # (svUpdater out, svUpdaterConfig, resourceManager)
    "custatevecExSVUpdaterCreate": (_Out, _Handle, c_void_p),
    "custatevecExSVUpdaterDestroy": (_Handle,),
    "custatevecExSVUpdaterClear": (_Handle,),
    # (svUpdater, matrix on the host, matrixDataType, exMatrixType, layout, adjoint,
    #  targets, numTargets, controls, controlBitValues, numControls)
    "custatevecExSVUpdaterEnqueueMatrix": (
        *(_Handle, c_void_p, c_int32, c_int32, c_int32, c_int32),
        *(_Int32s, c_int32, _Int32s, _Int32s, c_int32),
    ),
    # (svUpdater, stateVector, randnums, numRandnums)
    "custatevecExSVUpdaterApply": (_Handle, _Handle, POINTER(c_double), c_int32),
    "custatevecCreate": (_Out,),
    "custatevecDestroy": (_Handle,),
    # (handle, svDataType, nIndexBits, nSVs, svStride, mapType, matrixIndices, matrices, matrixDataType, layout,
    #  adjoint, nMatrices, nTargets, nControls, computeType, extraWorkspaceSizeInBytes out)
    "custatevecApplyMatrixBatchedGetWorkspaceSize": (
        *(_Handle, c_int32, c_uint32, c_uint32, c_int64, c_int32, c_void_p, c_void_p, c_int32, c_int32),
        *(c_int32, c_uint32, c_uint32, c_uint32, c_int32, POINTER(c_size_t)),
    ),
    # (handle, batchedSv, svDataType, nIndexBits, nSVs, svStride, mapType, matrixIndices, matrices, matrixDataType,
    #  layout, adjoint, nMatrices, targets, nTargets, controls, controlBitValues, nControls, computeType,
    #  extraWorkspace, extraWorkspaceSizeInBytes); indices and matrices on the device or on the host
    "custatevecApplyMatrixBatched": (
        *(_Handle, c_void_p, c_int32, c_uint32, c_uint32, c_int64, c_int32, c_void_p, c_void_p, c_int32),
        *(c_int32, c_int32, c_uint32, _Int32s, c_uint32, _Int32s, _Int32s, c_uint32, c_int32),
        *(c_void_p, c_size_t),
    ),
}


class CuStateVecError(RuntimeError):
    """A call did not return CUSTATEVEC_STATUS_SUCCESS; the message names call and status."""


class Library:
    """The loaded library; `call` checks every status and names it when it is an error."""

    def __init__(self) -> None:
        _preload_cublas()
        self.path = _find()
        try:
            self._dll = ctypes.CDLL(str(self.path))
        except OSError as error:
            raise PeerMissing(f"custatevec_ex: cannot load {self.path.name}: {error}") from error
        for name, arguments in _SIGNATURES.items():
            function = getattr(self._dll, name)
            function.argtypes = list(arguments)
            function.restype = c_int32
        self._dll.custatevecGetErrorName.argtypes = [c_int32]
        self._dll.custatevecGetErrorName.restype = c_char_p
        self._dll.custatevecGetVersion.argtypes = []
        self._dll.custatevecGetVersion.restype = c_size_t

    @property
    def version(self) -> str:
        """Return the library's version, which the header packs as in 11500 for 1.15.0."""
        packed = int(self._dll.custatevecGetVersion())
        return f"{packed // 10000}.{packed // 100 % 100}.{packed % 100}"

    def call(self, name: str, *arguments: object) -> None:
        """Call ``custatevecEx<name>``; raise `CuStateVecError` unless it succeeds."""
        self.plain(f"Ex{name}", *arguments)

    def plain(self, name: str, *arguments: object) -> None:
        """Call ``custatevec<name>``; raise `CuStateVecError` unless it succeeds."""
        status = getattr(self._dll, f"custatevec{name}")(*arguments)
        if status != 0:
            error = self._dll.custatevecGetErrorName(status)
            text = error.decode() if error else "no name"
            raise CuStateVecError(f"custatevec{name} returned {status} ({text})")

    def create(self, name: str, *arguments: object) -> c_void_p:
        """Call a function whose first argument receives a new descriptor; return that."""
        handle = c_void_p()
        self.call(name, ctypes.byref(handle), *arguments)
        return handle


def int32s(values: tuple[int, ...]) -> ctypes.Array[c_int32] | None:
    """Make a host array of int32, or the null pointer for no values."""
    return (c_int32 * len(values))(*values) if values else None


def _find() -> Path:
    """Find the library file in the named folder or on the Python path."""
    folder = os.environ.get(FOLDER_VARIABLE)
    for root in [folder] if folder else sys.path:
        if (candidate := Path(root) / _LIBRARY).exists():
            return candidate
    where = folder or "the Python path"
    raise PeerMissing(
        f"custatevec_ex: no {_LIBRARY} in {where}; pip install --no-deps --target FOLDER "
        f"custatevec-cu13 and set {FOLDER_VARIABLE}=FOLDER"
    )


def _preload_cublas() -> None:
    """Load cuBLAS beforehand: the library finds it by itself only if installed beside it."""
    for soname in ("libcublasLt.so.13", "libcublas.so.13"):
        folders = [Path(root, "nvidia", "cu13", "lib") for root in sys.path]
        folders += [Path("/usr/local/cuda/lib64")]
        for candidate in [soname, *(str(f / soname) for f in folders if (f / soname).exists())]:
            try:
                ctypes.CDLL(candidate, mode=ctypes.RTLD_GLOBAL)
                break
            except OSError:
                continue  # the last word is the linker's, when libcustatevec itself is loaded
