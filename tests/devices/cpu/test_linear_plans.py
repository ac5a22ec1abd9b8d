"""The CPU's kernels do what plans in a CNOT frame say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from planning.linear.test_new_state import new_plan
from planning.linear.test_schedule import CPU, drawn, is_linear, plan_of
from support.literal_executor import in_order
from support.states import random_state

from qsim_ex import reference
from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.planning.coefficients.binding import bind
from qsim_ex.steps import Shape


@pytest.mark.usefixtures("every_linear_plan")
def test_the_cpu_runs_linear_plans() -> None:
    """The CPU's kernels do what such a plan says, with whole vectors as lanes, and with lanes anywhere in memory."""
    for low, bound, dtype in ((5, 1e-5, np.complex64), (1, 1e-12, np.complex128)):
        shape = replace(CPU, tile=10, registers=10, low=low, dense=4)
        circuit, psi = drawn(low, 13, 120), random_state(13)
        plan = plan_of(circuit, shape)
        device, buffer = CpuDevice(1), psi.astype(dtype)
        assert sum(bool(sweep.load) for sweep in plan.sweeps) > 1
        for step, numbers in zip(plan.steps, bind(plan, circuit.operands), strict=True):
            device.run(buffer, 13, step, numbers)
        assert np.linalg.norm(in_order(buffer, plan.end) - reference.simulate(circuit, psi)) <= bound


@pytest.mark.usefixtures("every_linear_plan")
def test_the_cpu_runs_plans_of_new_states() -> None:
    """The CPU's kernels do what such a plan says; memory that nothing has written may hold anything."""
    for low, bound, dtype in ((4, 1e-5, np.complex64), (1, 1e-12, np.complex128)):
        shape = Shape(tile=9, registers=9, low=low, edge=0, most_blocks=3, dense=5, start=2, item_work=2.0, linear=True)
        for seed in range(6):
            circuit = drawn(seed, 13, 40 + 20 * seed)
            plan, device = new_plan(circuit, shape), CpuDevice(1)
            buffer = np.full(1 << 13, np.nan, dtype=dtype)
            buffer[0] = 1
            assert is_linear(plan)
            for step, numbers in zip(plan.steps, bind(plan, circuit.operands), strict=True):
                device.run(buffer, 13, step, numbers)
            assert np.linalg.norm(in_order(buffer, plan.end) - reference.simulate(circuit)) <= bound
