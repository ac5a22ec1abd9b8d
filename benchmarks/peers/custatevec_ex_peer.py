"""cuStateVec Ex (NVIDIA, closed source): SVUpdater with default settings.

The state vector lies on one GPU, on one GPU and in host memory (up to three migration wires), or on
several GPUs of this process that a switch joins. It has no state on several GPUs and in host memory.

SVUpdater takes a queue of gates, fuses them, and applies them to a state vector; the queue stays,
and its numbers cannot be changed in place. A run is set to zero, apply, synchronise, on a state
vector and an updater that exist already: creating them, clearing the queue and enqueueing the fresh
numbers are left out of the seconds that count, in Ex's favour; the time to enqueue (through ctypes)
is kept as ``enqueue``.

Diagonal gates are passed as diagonals, X as an anti-diagonal, matrices in the state's precision. A
controlled gate can be said in two ways, and both are measured: ``controls`` passes the control wire
as a control, ``targets`` passes CX as a dense 4x4 matrix and CZ, CP as a diagonal of four entries.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.gates import Gate, Parts, Shape, parts
from benchmarks.memory import free_bytes
from benchmarks.peers import custatevec_library as cu
from benchmarks.peers.base import COMPLEX, Amplitudes, CannotDivide, Precision, Setup, Timing

_MATRIX_TYPE = {
    Shape.DENSE: cu.MATRIX_DENSE,
    Shape.DIAGONAL: cu.MATRIX_DIAGONAL,
    Shape.ANTI_DIAGONAL: cu.MATRIX_ANTI_DIAGONAL,
}


@dataclass(frozen=True)
class _Item:
    """One gate as EnqueueMatrix wants it: host arrays, kept alive as long as the queue."""

    matrix: NDArray[np.complexfloating]
    matrix_type: int
    targets: ctypes.Array[ctypes.c_int32] | None
    num_targets: int
    controls: ctypes.Array[ctypes.c_int32] | None
    num_controls: int


def _elements(p: Parts) -> NDArray[np.complex128]:
    """Return the elements that the library reads for this shape of matrix, row by row."""
    match p.shape:
        case Shape.DIAGONAL:
            return p.diagonal()
        case Shape.ANTI_DIAGONAL:
            return p.anti_diagonal()
        case Shape.DENSE:
            return p.matrix


def _without_controls(p: Parts) -> Parts:
    """Say a controlled gate as a matrix on all of its wires, the controls most significant."""
    if not p.controls:
        return p
    size = len(p.matrix)
    matrix = np.eye(size << len(p.controls), dtype=np.complex128)
    matrix[-size:, -size:] = p.matrix
    shape = Shape.DIAGONAL if p.shape is Shape.DIAGONAL else Shape.DENSE
    return Parts((), p.targets + p.controls, matrix, shape)


def _item(gate: Gate, precision: Precision, variant: str) -> _Item:
    p = parts(gate) if variant == "controls" else _without_controls(parts(gate))
    return _Item(
        np.ascontiguousarray(_elements(p), dtype=COMPLEX[precision]),
        _MATRIX_TYPE[p.shape],
        cu.int32s(p.targets),
        len(p.targets),
        cu.int32s(p.controls),
        len(p.controls),
    )


class ExSession:
    """A state vector from GPU 0 on, and an updater with its queue."""

    def __init__(self, library: cu.Library, setup: Setup, variant: str) -> None:
        self._library = library
        self._setup = setup
        self._variant = variant
        self._data_type = cu.DATA_TYPE[setup.precision]
        self._items: list[_Item] = []
        self._enqueue_seconds = 0.0
        before = free_bytes(setup.gpus) if setup.divided else []
        self._state = self._create_state()
        after = free_bytes(setup.gpus) if setup.divided else []
        self._held = [had - has for had, has in zip(before, after, strict=True)]
        self._updater = self._create_updater()

    def _create_state(self) -> ctypes.c_void_p:
        """Allocate the state vector: so many wires on each device, the default streams."""
        call, create = self._library.call, self._library.create
        setup = self._setup
        shape = (self._data_type, setup.n, setup.local)
        if setup.gpus == 1:
            config = create("ConfigureStateVectorSingleDevice", *shape, 0, cu.CAPABILITY_NONE)
        else:
            devices = cu.int32s(tuple(range(setup.gpus)))
            network = (cu.NETWORK_SWITCH, cu.CAPABILITY_NONE)
            config = create("ConfigureStateVectorMultiDevice", *shape, devices, setup.gpus, *network)
        try:
            return create("StateVectorCreateSingleProcess", config, None, 0, None)
        finally:
            call("DictionaryDestroy", config)

    def _create_updater(self) -> ctypes.c_void_p:
        """Create the updater without a single setting, as NVIDIA recommends."""
        call, create = self._library.call, self._library.create
        config = create("ConfigureSVUpdater", self._data_type, None, 0)
        try:
            return create("SVUpdaterCreate", config, None)
        finally:
            call("DictionaryDestroy", config)

    def load(self, gates: Sequence[Gate]) -> None:
        """Clear the queue and enqueue the gates with their numbers."""
        self._library.call("SVUpdaterClear", self._updater)
        # The header does not say that a matrix is copied when it is enqueued, so keep them all.
        self._items = [_item(gate, self._setup.precision, self._variant) for gate in gates]
        start = perf_counter()
        for item in self._items:
            self._enqueue(item)
        self._enqueue_seconds = perf_counter() - start

    def _enqueue(self, item: _Item) -> None:
        self._library.call(
            "SVUpdaterEnqueueMatrix",
            self._updater,
            item.matrix.ctypes.data,
            self._data_type,
            item.matrix_type,
            cu.LAYOUT_ROW,
            0,  # not the adjoint
            item.targets,
            item.num_targets,
            item.controls,
            None,  # every control must be 1
            item.num_controls,
        )

    def run(self) -> Timing:
        """Set to |0...0>, apply the queue, wait for the GPU."""
        call = self._library.call
        call("StateVectorSynchronize", self._state)
        start = perf_counter()
        call("StateVectorSetZeroState", self._state)
        call("SVUpdaterApply", self._updater, self._state, None, 0)
        call("StateVectorSynchronize", self._state)
        return Timing(perf_counter() - start, {"enqueue": self._enqueue_seconds})

    def amplitudes(self) -> Amplitudes:
        """Copy single amplitudes to the host, through the wire ordering that the state has now.

        GetState takes indices of the whole state wherever its parts lie. With host memory, operations
        may be pending and the layout may change with them, so both are settled before the ordering is asked.
        """
        self._library.call("StateVectorSynchronize", self._state)
        if self._setup.divided:
            self._library.call("StateVectorExposeResources", self._state, cu.EXPOSE_ACCESSIBLE)
        ordering = self._wire_ordering()
        watch = self._setup.watch
        result = np.zeros(len(watch), dtype=COMPLEX[self._setup.precision])
        for k, index in enumerate(watch):
            place = sum(((index >> wire) & 1) << bit for bit, wire in enumerate(ordering))
            address = result.ctypes.data + k * result.itemsize
            self._library.call(
                *("StateVectorGetState", self._state, address, self._data_type),
                *(place, place + 1, 1),
            )
        self._library.call("StateVectorSynchronize", self._state)
        return result.astype(np.complex128)

    def _wire_ordering(self) -> list[int]:
        """Ask which wire sits on each index bit."""
        ordering = (ctypes.c_int32 * self._setup.n)()
        size = ctypes.sizeof(ordering)
        self._library.call("StateVectorGetProperty", self._state, cu.PROPERTY_WIRE_ORDERING, ordering, size)
        return list(ordering)

    def _number(self, name: int) -> int:
        """Ask for a property that is one int32."""
        value = ctypes.c_int32()
        size = ctypes.sizeof(value)
        self._library.call("StateVectorGetProperty", self._state, name, ctypes.byref(value), size)
        return value.value

    def facts(self) -> Mapping[str, Any]:
        """Return how the library says that the state is divided, and the device memory it took when it was made."""
        if not self._setup.divided:
            return {}
        return {
            "device_wires": self._number(cu.PROPERTY_NUM_LOCAL_WIRES),
            "peer_wires": self._number(cu.PROPERTY_NUM_INPROC_DEVICE_WIRES),
            "migration_wires": self._number(cu.PROPERTY_NUM_MIGRATION_WIRES),
            "sub_states_on_devices": self._number(cu.PROPERTY_NUM_DEVICE_SUBSVS),
            "bytes_held": self._held,
        }

    def close(self) -> None:
        """Destroy the updater and the state vector."""
        self._library.call("SVUpdaterDestroy", self._updater)
        self._library.call("StateVectorDestroy", self._state)
        self._items.clear()


class ExPeer:
    """cuStateVec Ex on one GPU, with host memory or without it, or on several GPUs."""

    name = "custatevec_ex"
    precisions: tuple[Precision, ...] = ("single", "double")
    note = "set to zero + apply + synchronise; allocation and enqueueing are left out in its favour"

    def __init__(self) -> None:
        self._library = cu.Library()
        self.version = self._library.version

    def variants(self, setup: Setup) -> tuple[str, ...]:
        """Return the two ways to say a controlled gate; raise `CannotDivide` for states that the library refuses."""
        if setup.gpus > 1 and setup.migration:
            raise CannotDivide(f"{self.name}: it has no state on several GPUs and in host memory in one process")
        if setup.migration > cu.MOST_MIGRATION_WIRES:
            raise CannotDivide(
                f"{self.name}: {setup.migration} migration wires; it takes at most {cu.MOST_MIGRATION_WIRES}"
            )
        return ("controls", "targets")

    def open(self, setup: Setup, variant: str) -> ExSession:
        """Allocate the state vector and make the updater; its host threads keep their default."""
        return ExSession(self._library, setup, variant)


def peer(device: str) -> ExPeer:
    """Return the peer; it runs on the GPU."""
    del device
    return ExPeer()
