"""Plans that leave every wire where it was: SWAPs and Xs are work, and no pass over memory puts wires in order."""

from __future__ import annotations

import numpy as np
import pytest
from support import literal_executor as literal
from support.states import random_state

from qsim_ex import reference
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.execution.prepare import ordered_plan_of
from qsim_ex.planning.planner import make_plan
from qsim_ex.program.one_state import unitary_program
from qsim_ex.steps import Layout, Shape

CPU = Shape(tile=6, near=6, low=2, edge=0, phases=3, dense=3, start=2, item_work=2.0, floats=True)
WIRES = 9


def relabelling(seed: int) -> Circuit:
    """A circuit of which many gates only relabel wires, with phases or without, beside others."""
    rng, builder = np.random.default_rng(seed), CircuitBuilder(WIRES)
    for _ in range(25):
        wires = rng.permutation(WIRES).tolist()
        match rng.integers(8):
            case 0:
                builder.gate("swap", wires[:2])
            case 1:
                builder.gate("x", wires[:1])
            case 2:
                builder.gate("y", wires[:1])
            case 3:
                builder.gate("iswap", wires[:2])
            case 4:
                builder.permutation([x ^ x >> 1 ^ 1 for x in range(8)], wires[:3])
            case 5:
                builder.permutation(rng.permutation(8).tolist(), wires[:3])
            case 6:
                builder.gate("cx", wires[:2])
            case _:
                builder.gate("u", wires[:1], *rng.uniform(-3, 3, 3).tolist())
    return builder.build()


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("low", [1, 2])
def test_wires_stay(seed: int, low: int) -> None:
    """The plan ends in the layout in which it begins, and does what the circuit says."""
    circuit, shape = relabelling(seed), CPU.ordered(low)
    start = Layout(tuple(np.random.default_rng(seed).permutation(WIRES).tolist()), seed % 8)
    plan = make_plan(circuit.instructions, WIRES, start, shape)
    assert plan.start == plan.end == start
    assert plan.key != make_plan(circuit.instructions, WIRES, start, CPU.staying()).key
    psi = random_state(WIRES, seed)
    assert np.linalg.norm(literal.after(plan, circuit, psi) - reference.simulate(circuit, psi)) < 1e-12


def test_a_layer_on_20_wires_takes_two_sweeps() -> None:
    """Shorter pieces of memory save a sweep there, and are left alone where they save none."""
    shape = CpuDevice().shape(np.complex64)
    sweeps = {}
    for wires in (19, 20, 21):
        builder = CircuitBuilder(wires)
        for wire in range(wires):
            builder.gate("ry", [wire], 0.1 + wire)
        program = unitary_program(builder.build().structure, (1 << wires) - 1)
        plan = ordered_plan_of(program.whole, wires, shape, 0)
        sweeps[wires] = len(plan.steps), plan.shape.low
    assert sweeps == {19: (2, shape.low), 20: (2, shape.low - 1), 21: (3, shape.low)}
