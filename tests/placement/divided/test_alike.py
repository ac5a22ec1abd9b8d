"""Devices that make the beginning of a new state alike get the state of one device, and send nothing for it."""

from __future__ import annotations

import numpy as np
import pytest

from qsim_ex import CircuitBuilder, Simulator, reference
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.steps.plan import Exchange, begins_alike


def fourier(wires: int) -> Circuit:
    """The QFT of a product state, without its swaps."""
    builder = CircuitBuilder(wires)
    for wire in range(wires):
        builder.gate("ry", [wire], 0.3 + wire)
    for wire in reversed(range(wires)):
        builder.gate("h", [wire])
        for other in range(wire):
            builder.gate("cp", [other, wire], 0.1 * (wire - other))
    return builder.build()


@pytest.mark.parametrize("count", [2, 4, 8])
def test_nothing_is_sent(count: int) -> None:
    """A new state on several devices whose plan has one exchange is right, and no byte has gone from one to another."""
    circuit = fourier(16)
    simulator = Simulator(device="cpu", virtual_peers=count, precision="double")
    (plan,) = simulator.plans(circuit)
    assert begins_alike(plan.stages, 16, plan.levels)
    assert sum(isinstance(stage.motion, Exchange) for stage in plan.stages) == 1
    with simulator.state(circuit) as state:
        with state.placed() as placed:
            assert placed.bytes_moved == 0
        assert np.linalg.norm(state.to_numpy() - reference.simulate(circuit)) <= 1e-12


def test_a_state_that_is_there_is_exchanged() -> None:
    """What is applied to a state that is not new moves amplitudes, since each device has others."""
    circuit = fourier(16)
    with Simulator(device="cpu", virtual_peers=2, precision="double").state(circuit) as state:
        state.apply(circuit)
        with state.placed() as placed:
            assert placed.bytes_moved > 0
        twice = reference.simulate(circuit, reference.simulate(circuit))
        assert np.linalg.norm(state.to_numpy() - twice) <= 1e-12
