"""The table of thresholds: a row each, in a file for each part of the engine that asks for them."""

from __future__ import annotations

from qsim_ex.native.thresholds import Native
from qsim_ex.thresholds.devices import OfCpu, OfGpu
from qsim_ex.thresholds.placing import OfPlacing
from qsim_ex.thresholds.planning import OfPlanning
from qsim_ex.thresholds.reading import OfCirq, OfReading
from qsim_ex.thresholds.running import OfObserving, OfRunning


class Thresholds(OfReading, OfPlanning, OfRunning, OfObserving, OfPlacing, OfCpu, OfGpu, OfCirq, Native):
    """All of them; those of `Native` are those that native code asks for."""
