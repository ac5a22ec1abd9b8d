"""What every object that owns the memory of states has in common: what it is, its life, and its face to libraries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from qsim_ex.deployment.assign import Assignment
from qsim_ex.devices.base import Device
from qsim_ex.devices.discover import host_free
from qsim_ex.devices.memory import require_on_host
from qsim_ex.errors import StateError
from qsim_ex.options import Options
from qsim_ex.state.guard import Guard
from qsim_ex.steps.layout import Layout


class MemoryOwner(ABC):
    """States of `num_wires` wires on devices; one thread at a time asks, and nobody after the end."""

    def __init__(self, num_wires: int, where: Assignment, options: Options) -> None:
        self.num_wires = num_wires
        self.options = options
        self.where = where
        self._guard = Guard()
        self._draws = 0

    def __reduce_ex__(self, _protocol: Any) -> Any:
        raise TypeError(
            f"a {type(self).__name__} owns memory and is neither copied nor pickled; make another one from its "
            "amplitudes (to_numpy)."
        )

    @property
    @abstractmethod
    def layout(self) -> Layout:
        """Which index bit each wire sits on, and which wires are stored inverted."""

    @property
    def wire_ordering(self) -> tuple[int, ...]:
        """The wire on each index bit, least significant first."""
        return self.layout.wires()

    @property
    def device(self) -> Device:
        """Who works."""
        return self.where.device

    @property
    def dtype(self) -> np.dtype[Any]:
        """The amplitudes' dtype: complex64 or complex128."""
        return self.options.dtype

    @property
    def closed(self) -> bool:
        """Whether its memory was given back."""
        return self._guard.closed

    def _range(self, start: int, stop: int) -> int:
        if not 0 <= start <= stop <= 1 << self.num_wires:
            raise StateError(f"amplitudes {start} to {stop}: the state has amplitudes 0 to {1 << self.num_wires}.")
        return stop

    def _fits_host(self, what: str, needed: int) -> None:
        if needed > 1 << 26:  # the question costs more than a smaller array
            require_on_host(what, needed, host_free())


class MemoryLender(MemoryOwner):
    """Who gives the memory back at the end, and lets other libraries look at it."""

    @property
    @abstractmethod
    def array(self) -> Any:
        """The amplitudes as they lie in memory, without a copy: NumPy or CuPy."""

    @abstractmethod
    def canonical(self) -> Self:
        """Move amplitudes into the order of the wires: the amplitude of basis value i is then at index i."""

    @abstractmethod
    def _release(self) -> None:
        """Let go of the memory."""

    # --- amplitudes as arrays --------------------------------------------------------------------------------------

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """The amplitudes in the order of the wires, for NumPy; from a GPU nothing is copied unasked."""
        if self.device.kind == "gpu":
            raise TypeError("the state is on a GPU; copy it with to_numpy(), or use CuPy.")
        return np.array(self._shared(), dtype=dtype, copy=copy)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The amplitudes in the order of the wires, for CUDA libraries, without a copy."""
        if self.device.kind != "gpu":
            raise AttributeError("the state is on the CPU; it has no CUDA array interface.")
        found: dict[str, Any] = self._shared().__cuda_array_interface__
        return found

    def __dlpack__(self, **keywords: Any) -> Any:
        """The amplitudes in the order of the wires, for any library that reads DLPack, without a copy."""
        return self._shared().__dlpack__(**keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Where the amplitudes lie, as DLPack says it."""
        device: tuple[int, int] = self.array.__dlpack_device__()
        return device

    def _shared(self) -> Any:
        """The array that another library may read: in order, and with no work under way on a stream unknown to it."""
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
        """Give the memory back; every later use raises `StateVectorClosed`. May be called again."""
        if self._guard.close():
            self._release()

    def __enter__(self) -> Self:
        with self._guard:
            return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
