"""Sweeps without work that bring each wire to an index bit of its own."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cuda.definition import run_sweep
from support.cuda.emulated_runtime import EmulatedRuntime
from support.linear_maps import random_map
from support.strategies import index_maps, linear_maps

from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.devices.gpu.device import GpuDevice, shape_of
from qsim_ex.planning.linear.ends import Rest
from qsim_ex.planning.linear.settle import passes, settling, split
from qsim_ex.planning.numbers.program import NumberProgram
from qsim_ex.planning.verify import verify
from qsim_ex.steps import IndexMap, Layout, Levels, Plan, Shape, Stage
from qsim_ex.steps.algebra import units
from qsim_ex.steps.index_map import images

SHAPES = (
    Shape(tile=3, near=2, low=1, edge=0, phases=None, dense=2, start=4),
    Shape(tile=4, near=4, low=2, edge=0, phases=3, dense=2, start=1),
    Shape(tile=5, near=5, low=0, edge=0, phases=3, dense=3, start=2, item_work=2.0),
    Shape(tile=6, near=3, low=3, edge=3, phases=None, dense=3),
)


@settings(deadline=None)
@given(st.data(), st.integers(1, 9), st.sampled_from(SHAPES))
def test_every_amplitude_arrives(data: st.DataObject, num_bits: int, shape: Shape) -> None:
    """After the sweeps, by their definition, each amplitude is at its image; each sweep is one that a plan may have."""
    undone = data.draw(linear_maps(num_bits))
    psi = np.arange(1 << num_bits) + 1j
    fitted, sweeps = shape.fit(num_bits), settling(undone, shape)
    for sweep in sweeps:
        psi = run_sweep(psi, num_bits, sweep, np.zeros(0))
    wanted = np.empty_like(psi)
    wanted[images(undone, np.arange(1 << num_bits))] = np.arange(1 << num_bits) + 1j
    assert np.array_equal(psi, wanted)
    size = len(Rest(undone).directions)
    room = fitted.tile - fitted.low
    assert bool(sweeps) == bool(size)
    assert len(sweeps) <= (-(-size // room) if room else 1)
    assert passes(undone, shape) == len(sweeps)
    if sweeps:
        layout, numbers = Layout.identity(num_bits), NumberProgram(2).finish([np.zeros(0, np.int64) for _ in sweeps])
        verify(Plan(num_bits, (Stage(sweeps),), layout, layout, numbers, fitted, 0, (), Levels(num_bits)))


@given(st.data(), st.integers(0, 9))
def test_split(data: st.DataObject, num_wires: int) -> None:
    """A layout and what is left to do are the map that they were made from, and of a plain map nothing is left."""
    found = data.draw(index_maps(num_wires))
    layout, undone = split(found)
    assert IndexMap.of(layout, undone) == found
    assert bool(undone) != found.is_plain


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_on_devices(dtype: type) -> None:
    """CPUs and GPUs move each amplitude as it is to where it belongs, also in states of many tiles."""
    psi = (np.arange(1 << 16) + 1j).astype(dtype)
    for seed in range(3):
        undone = random_map(16, seed)
        wanted = np.empty_like(psi)
        wanted[images(undone, np.arange(1 << 16))] = psi
        for device in (CpuDevice(2), GpuDevice.on(EmulatedRuntime())):
            buffer = device.allocate(len(psi), dtype)
            device.write(buffer, 0, psi)
            steps = settling(undone, device.shape(dtype))
            prepared = device.prepare(steps, 16, dtype)
            for step in steps:
                device.run(buffer, 16, step, np.zeros(0, dtype=np.complex128), prepared)
            assert np.array_equal(device.read(buffer, 0, len(psi)), wanted)


def test_counts() -> None:
    """Random maps of 28 wires take 2 to 4 sweeps on a GPU, and each of them is one pass."""
    found = [len(settling(random_map(28, seed), shape_of(8))) for seed in range(8)]
    assert 2 <= min(found) <= max(found) <= 4
    assert [passes(random_map(28, seed), shape_of(8)) for seed in range(8)] == found
    assert settling(units(range(28)), shape_of(8)) == ()
    assert all(one.load or one.store for pair in pairwise(settling(random_map(28, 0), shape_of(8))) for one in pair)
