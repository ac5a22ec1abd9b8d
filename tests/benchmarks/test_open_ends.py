"""The benchmark of plans that end where wires are sums of index bits."""

from __future__ import annotations

import pytest

pytest.importorskip("qiskit")

from benchmarks import counts, open_ends
from qsim_ex.devices.cpu.device import CpuDevice


def test_plans_and_times() -> None:
    """No plan of circuits full of CX has more sweeps for its open end, and each has its times, longer with shots."""
    device, circuit = CpuDevice(1), counts.circuits(14)["cx_only"]
    plans = open_ends.plans_of(circuit, device)
    assert len(plans[2].steps) <= len(plans[1].steps) <= len(plans[0].steps)
    times = open_ends.least(circuit, plans, device, 2, 10)
    assert all(0 < sweeps < shots for sweeps, shots in times)
