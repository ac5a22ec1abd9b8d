"""The first moments of wide circuits, whose two halves of qubits have states of their own until a gate joins them."""

from __future__ import annotations

from typing import Any

import cirq
import numpy as np
import pytest
from support.held import Hold

from qsim_ex_cirq import QsimExSimulator, halves

QUBITS = cirq.LineQubit.range(5)
APART = [
    cirq.Moment(cirq.ry(0.3 * k + 0.2)(qubit) for k, qubit in enumerate(QUBITS)),
    cirq.Moment(cirq.CX(*QUBITS[:2]), cirq.ISWAP(*QUBITS[3:])),
    cirq.Moment(cirq.CZ(*QUBITS[1:3]), cirq.T(QUBITS[4])),
]
JOINED = cirq.Moment(cirq.CX(QUBITS[1], QUBITS[3]))


@pytest.fixture(autouse=True)
def wide(hold: Hold) -> None:
    """States of four qubits and more begin as halves."""
    hold(halved_qubits=4)


@pytest.fixture(params=[np.complex64, np.complex128])
def simulator(request: pytest.FixtureRequest) -> QsimExSimulator:
    """A simulator in each precision."""
    return QsimExSimulator(dtype=request.param, seed=1, device="cpu")


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """An entry for each product that was written."""
    found: list[int] = []
    write = halves.Halves.write

    def counted(self: halves.Halves, state: Any) -> None:
        found.append(state.num_wires)
        write(self, state)

    monkeypatch.setattr(halves.Halves, "write", counted)
    return found


def compare(simulator: QsimExSimulator, circuit: cirq.Circuit, often: int = 1, **given: Any) -> None:
    """Compare states that are read with those of Cirq."""
    theirs = cirq.Simulator(dtype=np.complex128).simulate_moment_steps(circuit, **given)
    steps = enumerate(zip(simulator.simulate_moment_steps(circuit, **given), theirs, strict=True))
    for number, (ours, wanted) in steps:
        expected = wanted.state_vector(copy=True)
        if number % often == 0 or number == len(circuit) - 1:
            np.testing.assert_allclose(ours.state_vector(), expected, atol=1e-5)
            np.testing.assert_array_equal(ours.state_vector(copy=True), ours.state_vector())


@pytest.mark.parametrize("order", [QUBITS, QUBITS[::-1], [QUBITS[k] for k in (2, 0, 4, 1, 3)]])
@pytest.mark.parametrize("initial", [0, 0b10110])
@pytest.mark.parametrize("often", [1, 2])
def test_states_are_those_of_cirq(simulator: QsimExSimulator, order: list[cirq.Qid], initial: int, often: int) -> None:
    """After every moment, before a gate joins the halves and after it, whichever states are read."""
    circuit = cirq.Circuit(*APART, JOINED, *APART)
    compare(simulator, circuit, often, qubit_order=order, initial_state=initial)


def test_halves_end_with_the_gate_that_joins_them(simulator: QsimExSimulator, written: list[int]) -> None:
    """Each moment before it writes one product, and none after it does."""
    compare(simulator, cirq.Circuit(*APART, JOINED, *APART))
    assert written == [5] * len(APART)


def test_narrow_states_have_no_halves(simulator: QsimExSimulator, written: list[int], hold: Hold) -> None:
    """A state of fewer qubits than `halved_qubits` is one state from the beginning."""
    hold(halved_qubits=6)
    compare(simulator, cirq.Circuit(*APART))
    assert not written


def test_measurements_end_halves(simulator: QsimExSimulator, written: list[int]) -> None:
    """What follows a measurement follows the collapsed state."""
    circuit = cirq.Circuit(APART[0], cirq.Moment(cirq.measure(QUBITS[0], key="m")), APART[1], APART[2])
    for step in simulator.simulate_moment_steps(circuit):
        vector = step.state_vector(copy=True).reshape(2, -1)
    measured = int(step.measurements["m"][0])
    assert written == [5]
    moved = cirq.Circuit(cirq.X(QUBITS[0]) ** measured, cirq.ry(0.5)(QUBITS[1]), cirq.CX(*QUBITS[:2]))
    qubits = moved.final_state_vector(qubit_order=QUBITS[:2], ignore_terminal_measurements=False)
    found = np.linalg.norm(vector.reshape(4, -1), axis=1)
    np.testing.assert_allclose(found, np.abs(qubits), atol=1e-5)


def test_what_is_written_into_the_state_ends_halves(simulator: QsimExSimulator) -> None:
    """The next moment goes on from amplitudes that somebody set."""
    circuit, last = cirq.Circuit(*APART[:2]), np.zeros(32)
    last[5] = 1
    for number, step in enumerate(simulator.simulate_moment_steps(circuit)):
        step.state_vector()
        if number == 0:
            step._merged_sim_state.target_tensor[...] = last.reshape((2,) * 5)
    expected = cirq.Circuit(APART[1]).final_state_vector(initial_state=5, qubit_order=QUBITS)
    np.testing.assert_allclose(step.state_vector(), expected, atol=1e-6)


def test_samples_and_copies_leave_halves_as_they_are(simulator: QsimExSimulator, written: list[int]) -> None:
    """A step that is sampled, and a copy that is measured, change nothing."""
    circuit, expected = cirq.Circuit(*APART), cirq.Simulator(dtype=np.complex128)
    steps = zip(simulator.simulate_moment_steps(circuit), expected.simulate_moment_steps(circuit), strict=True)
    for ours, theirs in steps:
        np.testing.assert_allclose(ours.state_vector(), theirs.state_vector(), atol=1e-5)
        ours.sample(QUBITS, repetitions=3)
        cirq.act_on(cirq.measure(*QUBITS, key="m"), ours._merged_sim_state.copy())
    assert written == [5] * len(APART)
