"""A row of the table of precisions, made of parts with one job each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from qsim_ex.precision.gpu import FittedCosts, LaunchGeometry, TensorCores
from qsim_ex.precision.storage import Storage

PrecisionName = Literal["single", "double"]
"""The name of a row: a value of the option `precision`."""


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Tolerances:
    """How far results may be from exact ones.

    rounding, rounding_per_gate: the relative error of a state vector that rounding explains: a constant, and an amount
        for each gate.
    same_shots: whether every device draws the same shots. With coarse rounding a random number may fall on the other
        side of a boundary between outcomes.
    """

    rounding: float
    rounding_per_gate: float
    same_shots: bool


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Precision:
    """One row: the storage of amplitudes, what results may be off by, and how GPUs work with it.

    name: the value of the option `precision`.
    """

    name: PrecisionName
    storage: Storage
    tolerances: Tolerances
    geometry: LaunchGeometry
    tensor: TensorCores
    costs: FittedCosts
