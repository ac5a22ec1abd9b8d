"""Small circuits run as one state although nothing joins their wires, and are not looked at for other methods."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.held import Hold

from qsim_ex import Circuit, CircuitBuilder, Options, Simulator, thresholds
from qsim_ex.run.methods.stabilizer import suits
from qsim_ex.run.pipeline import BatchCall


def pairs(count: int, seed: int = 0, layers: int = 3) -> Circuit:
    """Pairs of wires that nothing joins, among wires that are idle, or only turned by phases."""
    builder, rng = CircuitBuilder(2 * count + 2, 2 * count + 2), np.random.default_rng(seed)
    for _ in range(layers):
        for wire in range(0, 2 * count, 2):
            builder.gate("ry", [wire], float(rng.uniform(0, 6))).gate("u", [wire + 1], *rng.uniform(0, 6, 3).tolist())
            builder.gate("cx", [wire, wire + 1]).gate("rz", [2 * count], 0.3)
    measured = sorted(rng.choice(2 * count + 2, 2 * count, replace=False).tolist())
    return builder.measure(measured, measured).build()


def is_divided(circuit: Circuit, **options: object) -> bool:
    """Return whether a circuit's shots are drawn from separate parts."""
    return "parts" in Simulator(device="cpu", **options).run(circuit, 5).provenance.facts


@given(st.integers(0, 1 << 30), st.integers(1, 3))
@settings(max_examples=40, deadline=None)
def test_a_seed_means_the_same_shots_as_of_parts(seed: int, count: int) -> None:
    """Shots of a small circuit are those of its separate parts."""
    simulator, circuit = Simulator(device="cpu", precision="double"), pairs(count, seed)
    one = simulator.run(circuit, 100, seed=seed)
    with thresholds.instead(parts_work=0):
        apart = simulator.run(circuit, 100, seed=seed)
    assert np.array_equal(one.packed, apart.packed)


def test_what_is_light_runs_as_one_state(hold: Hold) -> None:
    """Work counts instructions times amplitudes; a limit of memory, which parts may keep, is no reason to join them."""
    circuit = pairs(3)
    assert not is_divided(circuit)
    assert is_divided(circuit, max_memory=1 << 20)
    hold(parts_work=len(circuit.structure.instructions) << circuit.num_qubits)
    assert is_divided(circuit)


def test_the_work_of_all_bindings_counts(hold: Hold) -> None:
    """Many bindings of a small circuit run in its parts, whose states take less."""
    circuit, simulator = pairs(3), Simulator(device="cpu")
    hold(parts_work=2 * len(circuit.structure.instructions) << circuit.num_qubits)
    for count in (1, 2):
        found = simulator.run_batch(circuit, np.repeat(circuit.operands, count, axis=0), shots=5)
        assert ("parts" in found.provenance.facts) == (count == 2)


def test_a_circuit_without_gates() -> None:
    """Measurements alone, which no state needs, are 0."""
    circuit = CircuitBuilder(3, 3).measure(range(3), range(3)).build()
    assert Simulator(device="cpu").run(circuit, 7).counts() == {0: 7}


@pytest.mark.parametrize("midway", [False, True])
def test_what_is_not_looked_at_would_not_suit(midway: bool, hold: Hold) -> None:
    """Clifford gates are looked for where a stabilizer state may be chosen, so of few gates only if shots differ."""
    pytest.importorskip("stim")
    builder = CircuitBuilder(5, 5)
    for wire in range(5):
        builder.gate("h", [wire])
        if midway:
            builder.measure([wire], [wire])
        builder.gate("cx", [wire, (wire + 1) % 5])
    call = BatchCall.of_shots(builder.measure(range(5), range(5)).build(), Options(device="cpu"))
    hold(method_work=1)
    assert call.may_be_heavy
    assert call.may_be_stabilizer == midway == (suits(call) is not None)
    hold(stabilizer_work=1)
    assert call.may_be_stabilizer
    assert suits(call) is not None
