"""The benchmark of plans that end where wires are sums of index bits."""

from __future__ import annotations

import pytest

pytest.importorskip("qiskit")

from benchmarks import counts, open_ends
from qsim_ex.devices.cpu.device import CpuDevice


def test_plans_and_times() -> None:
    """The open end saves sweeps of circuits full of CX, and each plan has its times, which are longer with shots."""
    device = CpuDevice(1)
    for name in ("cx_only", "ghz (seven)"):
        plans = open_ends.plans_of(counts.circuits(14)[name], device)
        assert [bool(plan.undone) for plan in plans] == [False, False, True]
        assert len(plans[2].steps) < len(plans[1].steps) <= len(plans[0].steps)
        times = open_ends.least(counts.circuits(14)[name], plans, device, 2, 10)
        assert all(0 < sweeps < shots for sweeps, shots in times)
