"""What the command line asks of Cirq: to run gates that belong to no framework."""

from __future__ import annotations

import numpy as np
import pytest

from qsim_ex import CircuitBuilder, Options, Simulator, errors, reference
from qsim_ex.circuit.gates import GATES as TABLE
from qsim_ex_cirq.frontend import GATES, frontend

QUENCH = [("rzz", (w, w + 1), (0.8,)) for w in range(3)] + [("rx", (w,), (0.6,)) for w in range(4)]
CPU = Options(device="cpu")


@pytest.mark.parametrize("name", GATES)
def test_gates_are_those_of_the_table(make, name):  # noqa: ARG001  (puts the test's device in the place of the CPU)
    """Each gate, by its name in the engine's table, acts as the table says, on wires that count from the end."""
    row = TABLE[name]
    parameters = [0.3 + k for k in range(len(row.parameters))]
    gates = [("ry", (w,), (0.4 + w,)) for w in range(4)] + [(name, (2, 0, 3)[: row.qubits], parameters)]
    builder = CircuitBuilder(4)
    for gate, wires, angles in gates:
        builder.gate(gate, wires, *angles)
    amplitudes, _, _ = frontend.run_neutral(gates, 4, 1, 0, CPU)
    np.testing.assert_allclose(amplitudes, reference.simulate(builder.build()), atol=1e-12)


def test_counts_are_the_engines_own(make):  # noqa: ARG001
    """The seed is the engine's: the shots are those that the engine draws for the same gates without Cirq."""
    builder = CircuitBuilder(4, 4)
    for gate, wires, angles in QUENCH:
        builder.gate(gate, wires, *angles)
    wanted = Simulator(CPU).run(builder.measure(range(4), range(4)).build(), shots=500, seed=7).counts()
    _, counts, metadata = frontend.run_neutral(QUENCH, 4, 500, 7, CPU)
    assert counts == wanted
    assert metadata["seed"] == 7
    assert metadata["shots"] == 500
    assert metadata["precision"] == "double"


def test_wires_that_nothing_acts_on(make):  # noqa: ARG001
    """Wires without gates are there, and are 0."""
    amplitudes, counts, _ = frontend.run_neutral([("x", (1,), ())], 3, 5, 0, CPU)
    assert counts == {0b010: 5}
    np.testing.assert_allclose(amplitudes, np.eye(8)[0b010], atol=1e-12)


def test_unknown_gate():
    """A gate that Cirq has not is refused by name."""
    with pytest.raises(errors.UnknownInstruction, match=r"'rzzz'.*'rzz'"):
        frontend.run_neutral([("rzzz", (0, 1), (0.3,))], 2, 1, 0, CPU)
