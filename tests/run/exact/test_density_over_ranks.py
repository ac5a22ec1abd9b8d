"""Density matrices on several ranks: those that share a state have one result, all others say that each has its own."""

from __future__ import annotations

import numpy as np
import pytest
from support.together import together

from qsim_ex import BatchResult, Circuit, CircuitBuilder, Simulator
from qsim_ex.circuit.noise import channels as noise
from qsim_ex.comm import connection
from qsim_ex.comm.connection import connected
from qsim_ex.comm.protocol import Communicator

FEWEST = 7
"""The wires of a state from which on two ranks divide it, in these tests."""


@pytest.fixture(autouse=True)
def _small_states_are_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "LARGE", FEWEST - 1)
    monkeypatch.setattr(connection, "_warned", {"copies"})


def noisy(*sizes: int) -> Circuit:
    """Parts of so many wires that nothing joins, with noise, all of them measured."""
    total = sum(sizes)
    builder, first = CircuitBuilder(total, total), 0
    for size in sizes:
        for wire in range(first, first + size):
            builder.gate("ry", [wire], 1.0 + wire).channel(noise.amplitude_damping(0.3), [wire])
        for wire in range(first, first + size - 1):
            builder.gate("cx", [wire, wire + 1])
        first += size
    return builder.measure(range(total), range(total)).build()


def looped(wires: int) -> Circuit:
    """A loop that chance ends, on the first of some wires."""
    builder = CircuitBuilder(wires, wires)
    with builder.loop(builder.bits([0]).invert()):
        for wire in range(wires):
            builder.gate("ry", [wire], 0.9).gate("cx", [0, (wire + 1) % wires or 1])
        builder.measure([0], [0])
    return builder.measure(range(1, wires), range(1, wires)).build()


def on_two_ranks(circuit: Circuit, seed: int | None = None) -> list[BatchResult]:
    """Return what each of two ranks, which are threads, finds for a circuit."""

    def rank(ranks: Communicator) -> BatchResult:
        with connected(ranks, this_thread=True):
            simulator = Simulator(device="cpu", method="density_matrix", precision="double")
            return simulator.run_batch(circuit, None, shots=200, seeds=seed)

    found = together(2, rank)
    for one in found:
        assert isinstance(one, BatchResult), one
    return found


@pytest.mark.parametrize("sizes", [(4,), (4, 4), (4, 2)])
def test_a_divided_density_matrix_has_one_result(sizes: tuple[int, ...]) -> None:
    """Nobody gave a seed: shots, bits and seeds of all ranks are equal, also of circuits in several parts."""
    first, second = on_two_ranks(noisy(*sizes))
    assert first.seeds == second.seeds
    assert first.packed is not None
    assert np.array_equal(first.packed, second.packed)
    assert all(one.provenance.facts["processes_used"] == 2 for one in (first, second))


@pytest.mark.parametrize("circuit", [noisy(3), noisy(2, 3), looped(3), looped(4)])
def test_ranks_that_do_not_share_say_so(circuit: Circuit) -> None:
    """Each rank draws seeds of its own, and its result tells that the state was not divided, and why."""
    first, second = on_two_ranks(circuit)
    assert first.seeds != second.seeds
    assert all("not divided over" in str(one.provenance.deployment.reason) for one in (first, second))
    assert all(one.provenance.facts.get("processes_used", 1) == 1 for one in (first, second))


@pytest.mark.parametrize("circuit", [noisy(3), noisy(2, 3), noisy(4, 4), looped(3), looped(4)])
def test_a_seed_means_the_same_shots_on_ranks(circuit: Circuit) -> None:
    """With a seed every rank has the shots of one process alone."""
    alone = Simulator(device="cpu", method="density_matrix", precision="double", processes="never")
    expected = alone.run_batch(circuit, None, shots=200, seeds=5).packed
    assert expected is not None
    for found in on_two_ranks(circuit, 5):
        assert found.packed is not None
        assert np.array_equal(found.packed, expected)
