"""Tests of observables behind Clifford gates: before these, others have the same values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.forms import transpiled
from qsim_ex import reference
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.observables import PauliString, PauliSum
from qsim_ex.circuit.ops import ALWAYS, Op
from qsim_ex.planning.behind import before
from qsim_ex.planning.written.out import written_out
from tools.golden_counts import FAMILIES

N = 3
MASKS = st.integers(0, (1 << N) - 1)


def matrix(one: PauliSum) -> np.ndarray:
    """Return the matrix of an observable, from the definition of each string."""
    paulis = np.array([np.eye(2), [[0, 1], [1, 0]], [[1, 0], [0, -1]], [[0, -1j], [1j, 0]]])  # I, X, Z, Y
    total = np.zeros((1 << N, 1 << N), dtype=complex)
    for term in one.terms:
        made = np.eye(1)
        for wire in reversed(range(N)):
            made = np.kron(made, paulis[(term.x >> wire & 1) + 2 * (term.z >> wire & 1)])
        total += term.coefficient * made
    return total


PHASES = {"s": 1j, "sdg": -1j, "z": -1 + 0j}
GATES = st.sampled_from(["h", *PHASES, "x", "cx", "cz", "swap"])


def gate_of(name: str, wires: list[int], parity: int) -> tuple[Op, np.ndarray]:
    """Return a gate with its matrix; S, S† and Z of a parity if there is one, by definition."""
    builder = CircuitBuilder(N)
    builder.gate(name, wires[: 2 if name in ("cx", "cz", "swap") else 1])
    circuit = builder.build()
    (op,) = circuit.instructions
    assert isinstance(op, Op)
    if name in PHASES and parity.bit_count() > 1:
        odd = np.bitwise_count(np.arange(1 << N) & parity) & 1
        return op._replace(reads=(parity,), when=ALWAYS), np.diag(PHASES[name] ** odd)
    return op, np.stack([reference.simulate(circuit, column) for column in np.eye(1 << N, dtype=complex)], axis=1)


@given(
    st.lists(st.tuples(GATES, st.permutations(range(N)), MASKS), max_size=9),
    st.lists(st.builds(PauliString, MASKS, MASKS, st.sampled_from([1.0, -2.5])), min_size=1, max_size=4),
)
def test_an_observable_before_gates_is_theirs_behind_them(
    drawn: list[tuple[str, list[int], int]], terms: list[PauliString]
) -> None:
    """C†PC, as matrices, for drawn gates of all kinds on drawn wires, and phases of drawn parities, signs included."""
    gates, of = [], np.eye(1 << N, dtype=complex)
    for one in drawn:
        gate, own = gate_of(*one)
        gates.append(gate)
        of = own @ of
    asked = PauliSum(tuple(terms))
    (found,) = before(tuple(gates), (asked,))
    np.testing.assert_allclose(matrix(found), of.conj().T @ matrix(asked) @ of, atol=1e-12)


@pytest.mark.parametrize("name", ["uccsd", "hubbard", "qft", "surface_code"])
def test_what_is_written_ends_in_one_operator(name: str) -> None:
    """A written circuit is its part without the last operator, and then the gates of this one."""
    circuit = transpiled(FAMILIES[name](8), 8, ("rz", "sx", "x", "cz"), 1)
    written = written_out(circuit)
    assert written
    whole, part = written.structure.instructions, written.without_last().instructions
    assert (*part[:-1], *written.last_gates(), part[-1]) == whole
