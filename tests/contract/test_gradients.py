"""Gradients in every deployment are those by definition."""

from __future__ import annotations

from typing import Any

import pytest
from support.deployments import ON_CPU, ON_GPUS, DeploymentRow
from support.gpus import gpu_missing
from support.gradients import compare, layers, observables

from qsim_ex import Simulator
from qsim_ex.devices import discover

WIRES = 8


def check(row: DeploymentRow, **options: Any) -> None:
    """Check the gradient in a deployment."""
    num_wires = max(WIRES, row.wires)
    sweep, sums = layers(num_wires, 4, bindings=1), observables(num_wires, 2, 4)
    simulator = Simulator(**options, **row.options)
    assert simulator.placement(num_wires + 1).deployment.kind == row.kind
    compare(sweep, simulator.gradient(sweep, sums), sums, most=3)


@pytest.mark.parametrize("deployment", ON_CPU)
def test_on_the_cpu(deployment: str) -> None:
    """Every deployment on the CPU differentiates."""
    check(ON_CPU[deployment], device="cpu")


@pytest.mark.gpu
@pytest.mark.parametrize("deployment", ["single", *ON_GPUS])
def test_on_gpus(deployment: str) -> None:
    """Every deployment on GPUs differentiates."""
    if missing := gpu_missing():
        pytest.skip(missing)
    row = ON_GPUS.get(deployment, ON_CPU["single"])
    if row.gpus > discover.gpu_count():
        pytest.skip(f"needs {row.gpus} GPUs")
    check(row, device="gpu")
