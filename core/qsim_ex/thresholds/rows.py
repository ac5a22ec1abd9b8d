"""The table of thresholds: a row each, in a file for each part of the engine that asks for them."""

from __future__ import annotations

from dataclasses import dataclass, field

from qsim_ex.native.thresholds import Native
from qsim_ex.thresholds.devices import OfCpu, OfGpu
from qsim_ex.thresholds.placing import OfPlacing
from qsim_ex.thresholds.planning import OfPlanning
from qsim_ex.thresholds.reading import OfCirq, OfReading
from qsim_ex.thresholds.running import OfObserving, OfRunning


@dataclass(frozen=True)
class Thresholds(OfReading, OfPlanning, OfRunning, OfObserving, OfPlacing, OfCpu, OfGpu, OfCirq):
    """All of them; `native` has those that native code asks for."""

    native: Native = field(default_factory=Native)
