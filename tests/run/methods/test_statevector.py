"""Runs without the gates that no measurement sees: the same shots and values, in every placement and framework."""

from __future__ import annotations

import cirq
import numpy as np
import pytest
from qiskit import QuantumCircuit
from support.deployments import ON_CPU
from support.held import Hold

from qsim_ex import Circuit, CircuitBuilder, PauliString, PauliSum, Simulator
from qsim_ex_cirq import QsimExSimulator
from qsim_ex_provider import QsimExBackend
from tools.fuzz.thresholds import WRITTEN

N = 8
HEAVY = {"method_work": 0, "stabilizer_work": 1 << 40}
LIGHT = {"method_work": 1 << 40}
"""Circuits that are not worth a look run as they are."""


def ising(low: int = 0) -> Circuit:
    """Return two steps whose phases come last; wires from `low` on are measured, and the others are turned more."""
    builder = CircuitBuilder(N, N)
    for step in range(2):
        for wire in range(N):
            builder.gate("ry", [wire], 0.3 + wire / 10 + step)
        for wire in range(N - 1):
            builder.gate("cx", [wire, wire + 1]).gate("rz", [wire + 1], 0.4 + wire).gate("cx", [wire, wire + 1])
    for wire in range(low):
        builder.gate("h", [wire]).gate("ry", [wire], 0.7, controls=[N - 1])
    return builder.save("p", "probabilities", wires=[5, 2]).measure(range(low, N), range(low, N)).build()


@pytest.mark.parametrize("written", [{}, WRITTEN], ids=["as it came", "written"])
@pytest.mark.parametrize("where", ON_CPU)
def test_a_seed_means_the_same_shots(where: str, written: dict[str, int], hold: Hold) -> None:
    """Shots and saved probabilities are those of all gates, wherever amplitudes are and whatever runs."""
    simulator = Simulator(device="cpu", precision="double", **ON_CPU[where].options)
    hold(**(written | HEAVY))
    found = [simulator.run(ising(low), 200, seed=4) for low in (0, 3)]
    hold(**LIGHT)
    whole = [simulator.run(ising(low), 200, seed=4) for low in (0, 3)]
    for some, every in zip(found, whole, strict=True):
        assert np.array_equal(some.packed, every.packed)
        np.testing.assert_allclose(some.saved["p"], every.saved["p"], atol=1e-12)


def test_wires_of_other_parts_are_drawn_in_their_order(hold: Hold) -> None:
    """A wire below all that its part measures is drawn before lower ones of other parts, so its gates are run."""
    simulator = Simulator(device="cpu", precision="double")
    builder = CircuitBuilder(6, 6)
    for wire in range(6):
        builder.gate("ry", [wire], 0.4 + wire / 5)
    for wire in range(4):
        builder.gate("cx", [wire, wire + 2]).gate("ry", [wire], 1.1)
    circuit = builder.measure([0, 2, 3, 4, 5], [0, 2, 3, 4, 5]).build()
    hold(**(WRITTEN | HEAVY | {"narrow": 0, "table_wires": 0, "parts_work": 0}))
    found = simulator.run(circuit, 200, seed=6)
    assert len(found.provenance.facts["parts"]) == 2
    hold(**LIGHT)
    assert np.array_equal(found.packed, simulator.run(circuit, 200, seed=6).packed)


def test_what_is_not_run_is_told(hold: Hold) -> None:
    """`explain` says how many gates nothing sees; `plans` and `summary` are of the others."""
    simulator, circuit = Simulator(device="cpu"), ising()
    hold(**LIGHT)
    assert "are not run" not in simulator.explain(circuit)
    (whole,) = simulator.plans(circuit)[:1]
    hold(**(HEAVY | {"written_percent": 0}))
    less = whole.num_gates - simulator.plans(circuit)[0].num_gates
    assert less >= N - 1  # the phase of each pair of the last step
    assert f"{less} of its gates are not run" in simulator.explain(circuit)


def test_values_at_the_end_see_every_gate(hold: Hold) -> None:
    """Expectation values of a circuit that is measured, too, are those of its state behind all gates."""
    hold(**HEAVY)
    circuit = CircuitBuilder(2, 2).gate("h", [0]).gate("s", [0]).measure([0, 1], [0, 1]).build()
    found = Simulator(device="cpu").run_batch(circuit, shots=10, observables=[PauliSum((PauliString.parse("Y", [0]),))])
    np.testing.assert_allclose(found.values, [[1]], atol=1e-6)


def test_counts_of_qiskit_and_cirq_are_the_same(hold: Hold) -> None:
    """A seed means the same counts with all gates and without those at the end, through either adapter."""
    made, qubits = QuantumCircuit(N), cirq.LineQubit.range(N)
    moments: list[cirq.Operation] = []
    for wire in range(N):
        made.ry(0.3 + wire / 5, wire)
        moments.append(cirq.ry(0.3 + wire / 5)(qubits[wire]))
    for wire in range(N - 1):
        made.cx(wire, wire + 1)
        made.cp(0.9, wire, wire + 1)
        moments += [cirq.CX(qubits[wire], qubits[wire + 1]), cirq.CZ(qubits[wire], qubits[wire + 1]) ** 0.3]
    made.measure_all()
    moments.append(cirq.measure(*qubits, key="m"))
    found = []
    for held in (HEAVY, LIGHT):
        hold(**held)
        counts = QsimExBackend(device="cpu", precision="double").run(made, shots=300, seed_simulator=5).result()
        simulator = QsimExSimulator(device="cpu", dtype=np.complex128, seed=5)
        found.append((counts.get_counts(), simulator.run(cirq.Circuit(moments), repetitions=300)))
    assert found[0] == found[1]
