"""Plans that leave every wire where it was: SWAPs and Xs are work, and no pass over memory puts wires in order."""

from __future__ import annotations

import numpy as np

from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.execution.prepare import ordered_plan_of
from qsim_ex.program.one_state import unitary_program
from qsim_ex.steps import Shape

CPU = Shape(tile=6, registers=6, low=2, edge=0, most_blocks=3, dense=3, start=2, item_work=2.0, floats=True)
WIRES = 9


def test_a_layer_on_20_wires_takes_two_sweeps() -> None:
    """Shorter pieces of memory save a sweep there, and are left alone where they save none."""
    shape = CpuDevice().shape(np.complex64)
    sweeps = {}
    for wires in (19, 20, 21):
        builder = CircuitBuilder(wires)
        for wire in range(wires):
            builder.gate("ry", [wire], 0.1 + wire)
        program = unitary_program(builder.build().structure, (1 << wires) - 1)
        plan = ordered_plan_of(program.whole.work, wires, shape, 0)
        sweeps[wires] = len(plan.steps), plan.shape.low
    assert sweeps == {19: (2, shape.low), 20: (2, shape.low - 1), 21: (3, shape.low)}
