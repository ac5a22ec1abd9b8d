"""Gradients in every deployment: those by definition where a state is in one piece, and elsewhere an error in words."""

from __future__ import annotations

from typing import Any

import pytest
from support.deployments import ON_CPU, ON_GPUS, DeploymentRow
from support.gpus import gpu_missing
from support.gradients import compare, layers, observables

from qsim_ex import Simulator
from qsim_ex.devices import discover
from qsim_ex.errors import NotSupported

WIRES = 8


def check(row: DeploymentRow, **options: Any) -> None:
    """Check a deployment: a state in one piece has the right gradient, and others are refused."""
    num_wires = max(WIRES, row.wires)
    sweep, sums = layers(num_wires, 4, bindings=1), observables(num_wires, 2, 4)
    simulator = Simulator(**options, **row.options)
    if row.kind == "single":
        compare(sweep, simulator.gradient(sweep, sums), sums, most=3)
        return
    with pytest.raises(NotSupported, match="expected states in one piece on one device, got"):
        simulator.gradient(sweep, sums)


@pytest.mark.parametrize("deployment", ON_CPU)
def test_on_the_cpu(deployment: str) -> None:
    """Every deployment on the CPU differentiates or says that it does not."""
    check(ON_CPU[deployment], device="cpu")


@pytest.mark.gpu
@pytest.mark.parametrize("deployment", ["single", *ON_GPUS])
def test_on_gpus(deployment: str) -> None:
    """Every deployment on GPUs differentiates or says that it does not."""
    if missing := gpu_missing():
        pytest.skip(missing)
    row = ON_GPUS.get(deployment, ON_CPU["single"])
    if row.gpus > discover.gpu_count():
        pytest.skip(f"needs {row.gpus} GPUs")
    check(row, device="gpu")
