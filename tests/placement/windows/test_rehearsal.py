"""The bytes that are predicted for a run over host memory are those that the run copies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.held import Hold

from benchmarks.engine import circuit_of
from benchmarks.families import FAMILIES
from qsim_ex import Simulator
from qsim_ex.options import Progress
from qsim_ex.placement.windows.rehearsal import rehearse
from qsim_ex.steps import Layout, Levels, Plan


@pytest.mark.parametrize("scenario", ["whole", "spread"])
@pytest.mark.parametrize(("device_wires", "slots"), [(9, 1), (8, 3), (7, 2)])
@pytest.mark.parametrize("family", ["qft", "grid", "qv"])
def test_bytes_are_those_of_the_run(family: str, device_wires: int, slots: int, scenario: Any) -> None:
    """A run copies the bytes that the summary predicts."""
    circuit = circuit_of(FAMILIES[family].build(11, 0), 11)
    seen: list[Progress] = []
    simulator = Simulator(
        device="cpu", device_wires=device_wires, in_flight_buffers=slots, host_memory=scenario, watch=seen.append
    )
    told = simulator.summary(circuit)
    simulator.state(circuit).close()
    assert told.passes > 0
    assert told.bytes_host == seen[-1].bytes_moved > 0
    assert f"{slots} sub state vectors on the device" in simulator.explain(circuit)


def test_what_is_not_rehearsed() -> None:
    """A state that is not new, or has very many slices or windows, is not rehearsed."""
    simulator = Simulator(device="cpu", device_wires=8)
    (plan,) = simulator.plans(circuit_of(FAMILIES["qft"].build(11, 0), 11))
    assert rehearse(plan, np.complex64, 2, "whole") is not None
    old = Plan(11, (), Layout.identity(11), Layout.identity(11), plan.coefficients, plan.shape, 0, (), plan.levels, 0)
    assert rehearse(old, np.complex64, 2, "whole") is None
    wide = Plan(
        40, (), Layout.identity(40), Layout.identity(40), plan.coefficients, plan.shape, 0, (),
        Levels(30, slice=2), (1 << 40) - 1,
    )  # fmt: skip
    assert rehearse(wide, np.complex64, 2, "whole") is None
    for local, few in ((3, True), (2, False)):
        (plan,) = Simulator(device="cpu", device_wires=local).plans(circuit_of(FAMILIES["qft"].build(11, 0), 11))
        assert (rehearse(plan, np.complex64, 2, "whole") is not None) is few


def test_very_many_windows_are_told_of(hold: Hold) -> None:
    """A state in so many windows that they take far longer than the work on them gives a warning with the way out."""
    hold(told_windows=64)
    circuit = circuit_of(FAMILIES["qft"].build(7, 0), 7)
    with pytest.warns(RuntimeWarning, match="7 wires has 64 windows of 1 wire,.*pass a larger device_wires"):
        Simulator(device="cpu", device_wires=1).state(circuit).close()
    Simulator(device="cpu", device_wires=2).state(circuit).close()
