"""Circuits, gates and matrices on a batch of states, each with numbers of its own."""

from __future__ import annotations

import numpy as np
import pytest
from contract.batches import structures
from hypothesis import given
from hypothesis import strategies as st
from support.batched_states import batch_in, in_parts, random_rows, same_device
from support.held import Hold
from support.states import TOLERANCE, far
from support.strategies import layouts, random_unitary

from qsim_ex import BatchedStateVector, Bindings, Circuit, CircuitBuilder, Options, errors, reference
from qsim_ex.circuit.gates import GATES

ROWS = st.sampled_from([1, 3, 6])


@pytest.fixture(autouse=True)
def _in_parts(hold: Hold) -> None:
    """Even a few states are worked on and asked in several parts."""
    in_parts(hold)


@same_device
@given(data=st.data(), rows=ROWS)
def test_apply_is_the_definition(options: Options, data: st.DataObject, rows: int) -> None:
    """Each state is what the circuit with its own numbers makes of it, from |0…0> and in any layout."""
    circuit, operands = data.draw(structures(rows))
    own = [Circuit(circuit.num_qubits, 0, circuit.instructions, operands[row : row + 1]) for row in range(rows)]
    n = circuit.num_qubits
    psi = random_rows(rows, n)
    lazily = Bindings(rows, lambda begin, end: operands[begin:end])
    again = not any(type(instruction).__name__ == "Initialize" for instruction in circuit.instructions)
    rounding = 2 * TOLERANCE[options.precision] + 1e-7 * circuit.num_gates * (options.precision == "single")
    with BatchedStateVector(rows, n, options=options).apply(circuit, operands) as batch:
        for row, found in enumerate(batch.to_numpy()):
            wanted = reference.simulate(own[row])
            assert np.linalg.norm(found - wanted) <= rounding * max(1, np.linalg.norm(wanted))
    with batch_in(options, psi, data.draw(layouts(n))) as batch:
        if again:
            batch.apply(circuit, lazily)
            for row, found in enumerate(batch.to_numpy()):
                wanted = reference.simulate(own[row], psi[row])
                assert np.linalg.norm(found - wanted) <= rounding * max(1, np.linalg.norm(wanted))
        else:
            with pytest.raises(errors.NotSupported, match="initialising wires that were used"):
                batch.apply(circuit, lazily)


@pytest.mark.parametrize("name", sorted(GATES))
def test_gates_with_a_parameter_for_each(name: str) -> None:
    """Every gate of the table, with or without controls, takes each state's own parameter."""
    gate, rows = GATES[name], 3
    rng = np.random.default_rng(len(name))
    columns = [rng.uniform(-3, 3, rows) for _ in gate.parameters]
    columns[1:2] = [0.7 for _ in columns[1:2]]  # one of them is alike for all
    wires, n = list(range(gate.qubits)), gate.qubits + 1
    psi = random_rows(rows, n)
    for controls in ([], [gate.qubits]):
        with batch_in(Options(device="cpu"), psi) as batch:
            found = batch.gate(name, wires, *columns, controls=controls, control_values=0).to_numpy()
        for row in range(rows):
            own = [np.broadcast_to(column, rows)[row] for column in columns]
            circuit = CircuitBuilder(n).gate(name, wires, *own, controls=controls, control_values=0).build()
            assert far(found[row], reference.simulate(circuit, psi[row])) < 1e-12


@pytest.mark.parametrize("kind", ["dense", "diagonal", "zeros", "zeros in one", "one for all"])
def test_unitaries(options: Options, kind: str) -> None:
    """Each state gets its own matrix, on the wires and under the controls that were named."""
    rows, n = 3, 4
    psi = random_rows(rows, n)
    matrices = np.array([random_unitary(4, seed) for seed in range(rows)])
    if kind == "diagonal":
        matrices = np.array([np.diag(np.exp(1j * np.arange(4) * (row + 1))) for row in range(rows)])
    elif kind == "zeros":
        matrices[:, :2, 2:] = matrices[:, 2:, :2] = 0
        matrices[:, :2, :2], matrices[:, 2:, 2:] = (
            random_unitary(2, 8),
            [random_unitary(2, seed) for seed in range(rows)],
        )
    elif kind == "zeros in one":
        matrices[1] = np.kron(np.eye(2), random_unitary(2, 8))
    elif kind == "one for all":
        matrices[:] = matrices[0]
    with batch_in(options, psi) as batch:
        batch.unitary(matrices[0] if kind == "one for all" else matrices, [3, 1], controls=[0, 2], control_values=0b10)
        for row, found in enumerate(batch.to_numpy()):
            builder = CircuitBuilder(n).unitary(matrices[row], [3, 1], controls=[0, 2], control_values=0b10)
            assert far(found, reference.simulate(builder.build(), psi[row])) <= 3 * TOLERANCE[options.precision]


def test_bad_numbers(options: Options) -> None:
    """Numbers that do not fit are refused, and the batch stays as it was."""
    circuit = CircuitBuilder(2).gate("ry", [0], 0.1).build()
    matrices = np.array([np.eye(2)] * 3)
    matrices[2] *= 1.1
    with BatchedStateVector(3, 2, options=options, initial=[1, 2, 3]) as batch:
        for error, message, use in (
            (errors.CircuitError, r"got 2 rows.*\(3, 6\)", lambda: batch.apply(circuit, np.zeros((2, 6)))),
            (errors.CircuitError, "of 5 numbers", lambda: batch.apply(circuit, np.zeros((3, 5)))),
            (errors.CircuitError, "at most 2 wires, got one of 5", lambda: batch.apply(CircuitBuilder(5).build())),
            (errors.ParameterError, r"shape \(2,\)", lambda: batch.gate("ry", [0], [0.1, 0.2])),
            (errors.ParameterError, "not finite", lambda: batch.gate("ry", [0], [0.1, 0.2, np.nan])),
            (errors.ParameterError, "expected numbers", lambda: batch.gate("ry", [0], "x")),
            (errors.UnknownInstruction, "'ri'", lambda: batch.gate("ri", [0], 0.1)),
            (errors.MatrixError, "got one for state 2", lambda: batch.unitary(matrices, [0])),
            (errors.MatrixError, r"\(3, 4, 4\)", lambda: batch.unitary(matrices, [0, 1])),
            (errors.MatrixError, "NaN .* of states 0, 1, 2", lambda: batch.unitary(matrices * np.nan, [0])),
        ):
            with pytest.raises(error, match=message):
                use()
        assert np.array_equal(batch.get(), np.eye(4)[[1, 2, 3]])
