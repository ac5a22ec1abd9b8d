"""Sweeps backwards, against the definition of a sweep."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.cuda.definition import run_sweep
from support.cuda.emulated_runtime import EmulatedRuntime
from support.cuda.random_sweeps import random_sweep
from support.unitary_circuits import circuit

from qsim_ex.devices.gpu.device import GpuDevice
from qsim_ex.planning.coefficients.binding import bind
from qsim_ex.planning.planner import make_plan
from qsim_ex.steps.layout import Layout
from qsim_ex.steps.reversed import reversed_sweep
from qsim_ex.steps.step import Permute, Sweep


def check(sweep: Sweep, numbers: np.ndarray, num_bits: int) -> None:
    """A sweep and then its inverse leave amplitudes as they were where all fresh bits are 0."""
    rng, back = np.random.default_rng(num_bits), reversed_sweep(sweep)
    psi = np.array([1, 1j]) @ rng.normal(size=(2, 1 << num_bits))
    there = run_sweep(psi, num_bits, sweep, numbers)
    again = run_sweep(there, num_bits, back.sweep, numbers[back.sources].conj())
    known = np.arange(1 << num_bits) & sweep.fresh == 0
    assert again[known] == pytest.approx(psi[known], abs=1e-11)
    assert back.dropped == sweep.fresh & sum(1 << bit for bit in sweep.tile)


@pytest.mark.parametrize("seed", range(6))
def test_the_sweeps_of_states_that_grow(seed: int) -> None:
    """Matrices with and without reads, tables, permutations, and amplitudes that are written elsewhere."""
    made, num_bits = circuit(11, seed), 11
    shape = replace(GpuDevice.on(EmulatedRuntime()).batch_shape(np.complex128), tile=8)
    plan = make_plan(made.instructions, num_bits, Layout.identity(num_bits), shape, (1 << num_bits) - 1)
    for step, numbers in zip(plan.steps, bind(plan, made.operands), strict=True):
        if isinstance(step, Sweep):
            check(step, numbers, num_bits)


@pytest.mark.parametrize("seed", range(6))
def test_the_maps_of_subspaces(seed: int) -> None:
    """A sweep over a subspace is read backwards where it writes, and writes where it reads."""
    sweep, numbers = random_sweep(seed, 8, 6, 3, 4, 0, ("cx", "permute"), linear=True)
    blocks = [  # without the tables, which are drawn and not unitary
        replace(block, items=tuple(item for item in block.items if isinstance(item, Permute)))
        for block in sweep.register_blocks
    ]
    check(replace(sweep, register_blocks=tuple(blocks)), numbers, 8)
