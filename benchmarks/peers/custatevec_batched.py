"""cuStateVec's batched gates: one call applies a gate to many states, each with a matrix of its own if they differ.

States lie behind one another in one array of the GPU. A run is set to zero, one call for each gate, synchronise. The
matrices of all gates and states are on the GPU before the clock starts, which is in cuStateVec's favour; how long it
takes to send them is kept as `upload`. Gates are neither fused nor reordered: for batches the library has no such call.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks.gates import Gate, parts
from benchmarks.peers import custatevec_library as cu
from benchmarks.peers.base import COMPLEX, Precision


class Memory(Protocol):
    """Arrays where the library expects its states and matrices."""

    def put(self, array: NDArray[Any]) -> Any:
        """A copy of an array."""

    def zeros(self, size: int, dtype: Any) -> Any:
        """An array of zeros."""

    def get(self, array: Any) -> NDArray[Any]:
        """A copy on the host."""

    def address(self, array: Any) -> int:
        """Where an array begins."""

    def synchronize(self) -> None:
        """Wait for all work."""


class GpuMemory:
    """Arrays of CuPy, on its default stream, which is also the library's."""

    def __init__(self) -> None:
        import cupy

        self._cupy = cupy

    def put(self, array: NDArray[Any]) -> Any:
        """A copy of an array."""
        return self._cupy.asarray(array)

    def zeros(self, size: int, dtype: Any) -> Any:
        """An array of zeros."""
        return self._cupy.zeros(size, dtype)

    def get(self, array: Any) -> NDArray[Any]:
        """A copy on the host."""
        return np.asarray(array.get())

    def address(self, array: Any) -> int:
        """Where an array begins."""
        return int(array.data.ptr)

    def synchronize(self) -> None:
        """Wait for all work."""
        self._cupy.cuda.Device().synchronize()


@dataclass(frozen=True)
class _Item:
    """One gate of all states: its matrices, [states, 2^k, 2^k] or a single one, lie on the device."""

    matrices: Any
    count: int
    targets: tuple[int, ...]
    controls: tuple[int, ...]


class BatchedSession:
    """Many states on GPU 0, and the gates that are applied to all of them."""

    def __init__(self, library: cu.Library, n: int, states: int, precision: Precision, memory: Memory) -> None:
        self._library, self._memory = library, memory
        self._n, self._states, self._precision = n, states, precision
        self._type, self._compute = cu.DATA_TYPE[precision], cu.COMPUTE_TYPE[precision]
        self._handle = ctypes.c_void_p()
        library.plain("Create", ctypes.byref(self._handle))
        self._batch = memory.zeros(states << n, COMPLEX[precision])
        self._indices = memory.put(np.arange(states, dtype=np.int32))
        self._items: list[_Item] = []
        self._workspace: Any = None
        self._workspace_bytes = 0

    def load(self, circuits: Sequence[Sequence[Gate]]) -> float:
        """Send the matrices of one circuit for each state, all of one structure; returns the seconds of sending."""
        made = []
        for gates in zip(*circuits, strict=True):
            taken = [parts(gate) for gate in gates]
            matrices = np.array([each.matrix for each in taken], dtype=COMPLEX[self._precision])
            if (matrices == matrices[0]).all():
                matrices = matrices[:1]
            made.append((matrices, taken[0].targets, taken[0].controls))
        begin = perf_counter()
        self._items = [_Item(self._memory.put(matrices), len(matrices), *wires) for matrices, *wires in made]
        self._memory.synchronize()
        seconds = perf_counter() - begin
        wanted = max(map(self._wanted_workspace, self._items), default=0)
        if wanted > self._workspace_bytes:
            self._workspace, self._workspace_bytes = self._memory.zeros(wanted, np.uint8), wanted
        return seconds

    def _which(self, item: _Item) -> tuple[int, int | None]:
        """Whether states have matrices of their own, and where it says which."""
        return (cu.MAP_INDEXED, self._memory.address(self._indices)) if item.count > 1 else (cu.MAP_BROADCAST, None)

    def _wanted_workspace(self, item: _Item) -> int:
        size = ctypes.c_size_t()
        self._library.plain(
            "ApplyMatrixBatchedGetWorkspaceSize",
            *(self._handle, self._type, self._n, self._states, 1 << self._n, *self._which(item)),
            *(self._memory.address(item.matrices), self._type, cu.LAYOUT_ROW, 0, item.count),
            *(len(item.targets), len(item.controls), self._compute, ctypes.byref(size)),
        )
        return size.value

    def run(self) -> float:
        """Seconds from the request for |0…0> to all synchronised states."""
        self._memory.synchronize()
        begin = perf_counter()
        self._batch[:] = 0
        self._batch[:: 1 << self._n] = 1
        workspace = None if self._workspace is None else self._memory.address(self._workspace)
        for item in self._items:
            self._library.plain(
                "ApplyMatrixBatched",
                *(self._handle, self._memory.address(self._batch), self._type, self._n, self._states, 1 << self._n),
                *(*self._which(item), self._memory.address(item.matrices), self._type, cu.LAYOUT_ROW, 0, item.count),
                *(cu.int32s(item.targets), len(item.targets)),
                *(cu.int32s(item.controls), None, len(item.controls)),  # every control must be 1
                *(self._compute, workspace, self._workspace_bytes),
            )
        self._memory.synchronize()
        return perf_counter() - begin

    def row(self, state: int) -> NDArray[Any]:
        """All amplitudes of one state."""
        return self._memory.get(self._batch[state << self._n : state + 1 << self._n])

    def close(self) -> None:
        """Give everything back."""
        self._library.plain("Destroy", self._handle)
        self._batch = self._items = self._workspace = None
