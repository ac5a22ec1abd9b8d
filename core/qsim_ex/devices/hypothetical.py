"""A GPU as planning sees it, for plans that are made and read on a machine without one."""

from __future__ import annotations

from typing import Literal, Protocol

import numpy as np
from numpy.typing import DTypeLike

from qsim_ex.devices.gpu.device import shape_of
from qsim_ex.steps.layout import Shape


class HypotheticalDevice(Protocol):
    """As much of a `Device` as a plan needs."""

    @property
    def kind(self) -> Literal["cpu", "gpu"]:
        """What it is."""

    @property
    def grows(self) -> bool:
        """Whether its sweeps know of fresh bits."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def description(self) -> str:
        """What it is, for people."""

    def shape(self, dtype: DTypeLike) -> Shape:
        """What `planning` should plan for."""


class HypotheticalGpu:
    """A GPU that is not here; it is planned for and never used."""

    kind: Literal["cpu", "gpu"] = "gpu"
    grows = True
    description = "a GPU that is not on this machine"

    def __init__(self, number: int) -> None:
        self.name = f"gpu:{number}"

    def shape(self, dtype: DTypeLike) -> Shape:
        """The shape of a GPU of whose tensor cores nothing is known."""
        return shape_of(np.dtype(dtype).itemsize)
