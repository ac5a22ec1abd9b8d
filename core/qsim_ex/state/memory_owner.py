"""The common part of objects that own the memory of states: their shape, their lifetime, and array interfaces."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from qsim_ex.comm import connection
from qsim_ex.deployment.assignment import Assignment
from qsim_ex.devices.base import Buffer, Device
from qsim_ex.devices.discover import host_free
from qsim_ex.devices.memory import require_on_host
from qsim_ex.errors import StateError
from qsim_ex.later import later
from qsim_ex.options import Options
from qsim_ex.precision import AmplitudeDtype
from qsim_ex.state.guard import Guard, GuardOfRanks
from qsim_ex.steps.layout import Layout

if TYPE_CHECKING:
    from qsim_ex.deployment import rooms
else:
    rooms = later("qsim_ex.deployment.rooms")


class MemoryOwner(ABC):
    """States of `num_wires` wires on devices; one thread at a time may read them, and none after `close`."""

    def __init__(self, num_wires: int, where: Assignment, options: Options) -> None:
        self.num_wires = num_wires
        self.options = options
        self.where = where
        self._guard = Guard() if where.ranks is None or connection.of_this_thread() else GuardOfRanks()
        self._draws = 0

    def __reduce_ex__(self, _protocol: object) -> Any:
        raise TypeError(
            f"a {type(self).__name__} owns memory and cannot be copied or pickled; make another one from its "
            "amplitudes (to_numpy)."
        )

    @property
    @abstractmethod
    def layout(self) -> Layout:
        """The index bit of each wire, and the wires that are stored inverted."""

    @property
    def wire_ordering(self) -> tuple[int, ...]:
        """The wire on each index bit, least significant first."""
        return self.layout.wires()

    @property
    def device(self) -> Device:
        """The device that holds and computes the state; of several devices the first one."""
        return self.where.device

    @property
    def dtype(self) -> AmplitudeDtype:
        """The amplitudes' dtype: complex64 or complex128."""
        return self.options.dtype

    @property
    def closed(self) -> bool:
        """Whether its memory was freed."""
        return self._guard.closed

    def _range(self, start: int, stop: int) -> int:
        if not 0 <= start <= stop <= 1 << self.num_wires:
            raise StateError(
                f"expected amplitudes within 0 to {1 << self.num_wires}, got amplitudes {start} to {stop}."
            )
        return stop

    def _fits_host(self, what: str, needed: int) -> None:
        if needed <= 1 << 26:  # the question costs more than a smaller array
            return
        if self.where.ranks is None:
            require_on_host(what, needed, host_free())
        else:
            rooms.require_on_hosts(self.where.ranks, what, needed)


class MemoryLender(MemoryOwner):
    """An owner that frees its memory on `close`, and lets other libraries read it."""

    @property
    @abstractmethod
    def array(self) -> Buffer:
        """The amplitudes as they are stored, without a copy: NumPy or CuPy."""

    @abstractmethod
    def canonical(self) -> Self:
        """Move amplitudes into the order of the wires: the amplitude of basis value i is then at index i."""

    @abstractmethod
    def _release(self) -> None:
        """Free the memory."""

    # --- amplitudes as arrays --------------------------------------------------------------------------------------

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the amplitudes in the order of the wires, for NumPy; raises `TypeError` for a state on a GPU."""
        if not self.device.in_host_memory:
            raise TypeError("NumPy cannot read a state on a GPU in place; copy it with to_numpy(), or use CuPy.")
        return np.array(self._shared(), dtype=dtype, copy=copy)

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        """The amplitudes in the order of the wires, for CUDA libraries, without a copy."""
        if self.device.in_host_memory:
            raise AttributeError("a state on the CPU has no CUDA array interface; use NumPy.")
        found: dict[str, object] = self._shared().__cuda_array_interface__
        return found

    def __dlpack__(self, **keywords: object) -> Any:
        """Return the amplitudes in the order of the wires, for any library that reads DLPack, without a copy."""
        return self._shared().__dlpack__(**keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return the device of the amplitudes in DLPack's numbers."""
        device: tuple[int, int] = self.array.__dlpack_device__()
        return device

    def _shared(self) -> Any:
        """Return an array for another library: in the order of the wires, with no work under way on another stream."""
        with self._guard:
            self.canonical()
            self.device.synchronize()
            return self.array

    # --- its life --------------------------------------------------------------------------------------------------

    def synchronize(self) -> None:
        """Wait until all work on the device is done."""
        with self._guard:
            for device in self.where.devices:
                device.synchronize()

    def close(self) -> None:
        """Free the memory; every later use raises `StateVectorClosed`. May be called again."""
        if self._guard.close():
            self._release()

    def __enter__(self) -> Self:
        with self._guard:
            return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
