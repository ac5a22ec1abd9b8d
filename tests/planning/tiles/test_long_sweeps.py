"""Sweeps that would be long kernels are several, and plans with them do what they did."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support import literal_executor as literal
from support.promises import verify
from support.states import random_state

from qsim_ex import reference, thresholds
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.planning.planner import make_plan
from qsim_ex.steps import Layout, Levels, Plan, Shape

GPU = Shape(tile=5, registers=2, low=2, edge=2, most_blocks=None, dense=2, start=2, floats=True)
WITH_BLOCKS = Shape(tile=6, registers=4, low=2, edge=2, most_blocks=None, dense=4, start=2, block=12.0, block_made=0)
LINEAR = replace(GPU, linear=True, start=1)


def drawn(seed: int, wires: int, full_of_cx: bool) -> Circuit:
    """A circuit of turns and phases, under controls too, and mostly of CX if it is full of them."""
    rng, builder = np.random.default_rng(seed), CircuitBuilder(wires)
    for _ in range(70):
        one, other, third = rng.permutation(wires)[:3].tolist()
        kind = 0 if full_of_cx and rng.random() < 0.7 else rng.integers(5)
        match int(kind):
            case 0:
                builder.gate("cx", [one, other])
            case 1:
                builder.gate("u3", [one], *rng.uniform(-3, 3, 3).tolist())
            case 2:
                builder.gate("rzz", [one, other], float(rng.normal()))
            case 3:
                builder.gate("cry", [one, other], float(rng.normal()))
            case _:
                builder.gate("ccz", [one, other, third])
    return builder.build()


def plan_of(circuit: Circuit, shape: Shape, new: bool, kilobytes: int, levels: Levels | None = None) -> Plan:
    """The plan of a circuit where so many kilobytes of code are the most, whatever the size of the state."""
    wires = circuit.num_qubits
    with thresholds.instead(code_kilobytes=kilobytes, code_bits=0):
        fresh = ((1 << wires) - 1) * new
        return make_plan(circuit.instructions, wires, Layout.identity(wires), shape, fresh, levels, new)


@pytest.mark.parametrize("new", [False, True])
@pytest.mark.parametrize("shape", [GPU, WITH_BLOCKS, LINEAR])
def test_plans_with_parts_of_sweeps_are_right(shape: Shape, new: bool) -> None:
    """Cut after a kilobyte, and after five, a plan keeps its promises and makes the amplitudes of its circuit."""
    more = linear = 0
    for seed in range(12):
        wires = 7 + seed % 3
        circuit = drawn(seed, wires, full_of_cx=shape.linear)
        psi = reference.zero_state(wires) if new else random_state(wires)
        want = reference.simulate(circuit, psi)
        whole = plan_of(circuit, shape, new, 1 << 20)
        for kilobytes in (1, 5):
            plan = plan_of(circuit, shape, new, kilobytes)
            verify(plan)
            assert np.linalg.norm(literal.after(plan, circuit, psi) - want) <= 1e-12, (seed, kilobytes)
            more += len(plan.sweeps) - len(whole.sweeps)
            linear += any(sweep.load for sweep in plan.sweeps)
    assert more > 12
    assert bool(linear) == shape.linear


@pytest.mark.parametrize("levels", [Levels(6, 2), Levels(6, 0), Levels(6, 1, 2)])
def test_stages_have_all_parts_of_their_sweeps(levels: Levels) -> None:
    """On several devices and over host memory each stage ends behind the last part of its last sweep."""
    more = 0
    for seed in range(6):
        circuit, psi = drawn(seed, 8, full_of_cx=False), reference.zero_state(8)
        plan, whole = (plan_of(circuit, GPU, True, kilobytes, levels) for kilobytes in (2, 1 << 20))
        verify(plan)
        assert np.linalg.norm(literal.after(plan, circuit, psi) - reference.simulate(circuit, psi)) <= 1e-12, seed
        assert len(plan.stages) == len(whole.stages)
        more += len(plan.sweeps) - len(whole.sweeps)
    assert more > 6
