"""A GPU for planning, for plans that are made and read on a machine without one."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import DTypeLike

from qsim_ex.devices.gpu.shape import shape_of
from qsim_ex.planning.cost.rates import H200, Rates
from qsim_ex.precision import BY_DTYPE
from qsim_ex.steps.layout import Shape


class HypotheticalDevice(Protocol):
    """The part of a `Device` that a plan needs."""

    @property
    def kind(self) -> str:
        """The kind of device."""

    @property
    def in_host_memory(self) -> bool:
        """Whether its buffers are in the host's memory."""

    @property
    def interprets(self) -> bool:
        """Whether it interprets a sweep until a kernel of it has been compiled."""

    @property
    def grows(self) -> bool:
        """Whether its sweeps use fresh bits."""

    @property
    def name(self) -> str:
        """The device's name."""

    @property
    def description(self) -> str:
        """The device in words."""

    def shape(self, dtype: DTypeLike) -> Shape:
        """Return the limits of sweeps that `planning` plans for."""

    def rates(self, dtype: DTypeLike, threads: int | None) -> Rates:
        """Return how fast it is with so many threads, as nearly as two ways to run one circuit are compared by it."""


class HypotheticalGpu:
    """A GPU that is not on this machine, for plans alone.

    tensor: whether its tensor cores multiply dense blocks faster than its other units; False where that is not known.
    """

    kind: str = "gpu"
    in_host_memory = False
    interprets = True
    grows = True
    description = "a GPU that is not on this machine"

    def __init__(self, number: int, tensor: bool = False) -> None:
        self.name = f"gpu:{number}"
        self._tensor = tensor

    def shape(self, dtype: DTypeLike) -> Shape:
        """Return the limits of a GPU."""
        return shape_of(BY_DTYPE[np.dtype(dtype)], self._tensor)

    def rates(self, dtype: DTypeLike, threads: int | None) -> Rates:  # noqa: ARG002  (the protocol's)
        """Return the rates of a GPU."""
        return H200
