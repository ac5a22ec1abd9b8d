"""Number programs on the device: the numbers of every row are those that the host makes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.cuda.emulated_runtime import EmulatedRuntime

from benchmarks.engine import circuit_of
from benchmarks.families import FAMILIES
from qsim_ex.devices.gpu.device import GpuDevice
from qsim_ex.devices.gpu.shape import shape_of
from qsim_ex.errors import DeviceError, MissingPackage
from qsim_ex.kernels.cuda.launch.device_coefficients import DeviceCoefficientProgram
from qsim_ex.planning.coefficients.binding import fill_batch
from qsim_ex.planning.planner import make_plan
from qsim_ex.precision import SINGLE
from qsim_ex.steps import Coefficients, Euler, Layout, Product

RUNTIMES = ["emulated", pytest.param("real", marks=pytest.mark.gpu)]


@pytest.fixture(scope="module", params=RUNTIMES)
def runtime(request):
    """An emulated GPU, and the real one."""
    if request.param == "emulated":
        return EmulatedRuntime()
    try:
        return GpuDevice()._runtime
    except (DeviceError, MissingPackage) as error:
        pytest.skip(str(error))


def made(runtime, numbers, operands):
    """All numbers but tables, as the device has them."""
    found = DeviceCoefficientProgram(numbers)(runtime, operands)
    given = runtime.download(found.given).view(np.complex128).reshape(len(operands), -1)
    if found.made is None:
        return given[:, : numbers.num_operands]
    others = runtime.download(found.made).view(np.complex128).reshape(len(operands), -1)
    return np.concatenate([given[:, : numbers.num_operands], others], axis=1)


@pytest.mark.parametrize("tensor", [False, True])
@pytest.mark.parametrize("family", ["grid", "brick", "su2"])
def test_plans_of_families(runtime, family, tensor):
    """Products of all shapes and Euler angles, as plans have them, come out as on the host, row by row."""
    circuits = [circuit_of(FAMILIES[family].build(10, seed), 10) for seed in range(3)]
    shape = replace(shape_of(SINGLE, tensor), block_made=0)
    plan = make_plan(circuits[0].instructions, 10, Layout.identity(10), shape, 1023)
    operands = np.concatenate([circuit.operands for circuit in circuits])
    kinds = {type(instruction) for instruction in plan.coefficients.program}
    assert family != "grid" or {Product, Euler} <= kinds
    want = fill_batch(plan.coefficients, operands).given[:, : plan.coefficients.tables_at()]
    assert np.abs(made(runtime, plan.coefficients, operands) - want).max() < 1e-14


@pytest.mark.parametrize("imaginary", [False, True], ids=["real", "imaginary"])
def test_angles_where_an_entry_is_small_or_nothing(runtime, imaginary):
    """Zeros, numbers near them and the smallest ones give phases as on the host, in every entry's place."""
    rng, matrices = np.random.default_rng(2), []
    for size in (0.0, 1e-320, 1e-18, 1e-9, 0.3, 0.9, 1 - 1e-12, 1.0):
        angles = np.exp(1j * rng.uniform(-3, 3, 3))
        other = np.sqrt(1 - size**2)
        matrices.append([other * angles[0], -size * angles[1], size * angles[2], 0])
        matrices[-1][3] = other * angles[1] * angles[2] / angles[0]
    operands = np.concatenate([[0, 1], np.array(matrices).ravel()])[None]
    numbers = Coefficients(operands.size, (Euler(2 + np.arange(operands.size - 2).reshape(-1, 4), imaginary),), ())
    operands = np.repeat(np.append(operands, [[5, 6]], axis=1), 3, axis=0)  # a circuit may have more than the plan
    want = fill_batch(numbers, operands).given
    assert np.abs(made(runtime, numbers, operands) - want).max() < 1e-14
