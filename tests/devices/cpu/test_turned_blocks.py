"""Runs in which dense blocks are taken apart; core/native/planner/blocks has the tests of what they become."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks import textbook
from benchmarks.engine import circuit_of
from benchmarks.families import FAMILIES
from qsim_ex import Simulator, reference, thresholds
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.execution.prepare import prepare
from qsim_ex.kernels.cpu import encoded_plan
from qsim_ex.kernels.cpu.encoded_plan import EncodedPlan
from qsim_ex.placement.single import Single
from qsim_ex.planning.cut import cut
from qsim_ex.planning.planner import make_plan
from qsim_ex.precision import Amplitudes
from qsim_ex.steps import Layout, Levels

WIRES = 12


def amplitudes(circuit: Circuit) -> Amplitudes:
    """Return the state of a circuit, in double precision."""
    with Simulator(precision="double", threads=1).state(circuit) as state:
        return np.array(state.amplitudes(np.arange(1 << circuit.num_qubits)))


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many blocks were taken apart, each time that some were."""
    found, turn = [], EncodedPlan.turn_blocks

    def counted(self: EncodedPlan, packed: encoded_plan.Packed) -> int:
        found.append(turn(self, packed))
        return found[-1]

    monkeypatch.setattr(EncodedPlan, "turn_blocks", counted)
    return found


@pytest.mark.parametrize("family", ["brick", "qv"])
def test_a_state_is_the_same_with_blocks_taken_apart(family: str, counts: list[int]) -> None:
    """Blocks are taken apart in a run above the threshold alone, and amplitudes are those of a run without."""
    circuits = [circuit_of(FAMILIES[family].build(WIRES, seed), WIRES) for seed in (0, 1, 1)]
    with thresholds.instead(turned_bits=40):
        wanted = [amplitudes(circuit) for circuit in circuits]
    assert not counts
    with thresholds.instead(turned_bits=0):
        found = [amplitudes(circuit) for circuit in circuits]
    assert min(counts) > 10
    np.testing.assert_allclose(found, wanted, atol=1e-13)


def test_matrices_on_three_wires_are_taken_apart(counts: list[int]) -> None:
    """All but those of the first layer are, those of the last one too, and amplitudes are those of a run without."""
    circuit = circuit_of(textbook.three_wires(WIRES), WIRES)
    with thresholds.instead(turned_bits=40):
        wanted = amplitudes(circuit)
    with thresholds.instead(turned_bits=0):
        np.testing.assert_allclose(amplitudes(circuit), wanted, atol=1e-13)
    assert counts == [28]


def test_equal_numbers_are_taken_apart_once(counts: list[int]) -> None:
    """A run with the numbers of the last one takes nothing apart; one with others does, and gets its own state."""
    circuits = [circuit_of(FAMILIES["brick"].build(WIRES, seed), WIRES) for seed in (2, 2, 3)]
    with thresholds.instead(turned_bits=0):
        first, again, other = (amplitudes(circuit) for circuit in circuits)
    assert len(counts) == 2
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 1e-3


def test_the_parts_of_a_plan_take_nothing_apart(counts: list[int]) -> None:
    """Only whole plans are turned: between parts, where a run may be saved, a state is what it should be."""
    circuit, device = circuit_of(FAMILIES["qv"].build(WIRES, 3), WIRES), CpuDevice(1)
    start, every, dtype = Layout.identity(WIRES), (1 << WIRES) - 1, np.dtype(np.complex128)
    shape = replace(device.shape(dtype), tile=9)
    plan = make_plan(circuit.instructions, WIRES, start, shape, every, Levels(WIRES))
    with thresholds.instead(turned_bits=0, plan_parts=3):
        for parts in (cut(plan), (plan,)):
            state = Single(device, device.allocate(1 << WIRES, dtype), start, every, begun=False)
            for part in parts:
                state.run(part, prepare(part, circuit.operands, [device], dtype, "never"), lambda: None)
            np.testing.assert_allclose(state.read(0, 1 << WIRES, range(WIRES)), reference.simulate(circuit), atol=1e-13)
            assert (len(counts), len(parts) > 1) in ((0, True), (1, False))
