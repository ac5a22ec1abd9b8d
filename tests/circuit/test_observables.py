"""Sums of Pauli strings that are made of matrices."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest

from qsim_ex import ParameterSweepBuilder, PauliString, PauliSum, Simulator, reference
from qsim_ex.errors import CircuitError, MatrixError, NotSupported

PAULIS = {
    (0, 0): np.eye(2),
    (1, 0): np.array([[0, 1], [1, 0]]),
    (0, 1): np.diag([1, -1]),
    (1, 1): np.array([[0, -1j], [1j, 0]]),
}


def drawn(size: int) -> np.ndarray:
    """A random matrix."""
    rng = np.random.default_rng(size)
    return rng.normal(size=(size, size)) + 1j * rng.normal(size=(size, size))


def summed(of: PauliSum, num_wires: int) -> np.ndarray:
    """The matrix of a sum, as a Kronecker product for each string; wire 0 is least significant."""
    matrices = [[PAULIS[t.x >> wire & 1, t.z >> wire & 1] for wire in reversed(range(num_wires))] for t in of.terms]
    return sum(t.coefficient * reduce(np.kron, some) for t, some in zip(of.terms, matrices, strict=True))  # type: ignore[return-value]


def test_from_matrix() -> None:
    """The strings of a matrix add up to it, and a Hermitian one has real coefficients."""
    assert summed(PauliSum.from_matrix(drawn(8), [0, 1, 2]), 3) == pytest.approx(drawn(8), abs=1e-14)
    hermitian = drawn(8) + drawn(8).conj().T
    found = PauliSum.from_matrix(hermitian, [0, 1, 2])
    assert summed(found, 3) == pytest.approx(hermitian, abs=1e-14)
    assert all(isinstance(term.coefficient, float) for term in found.terms)


def test_wires_of_a_matrix() -> None:
    """On other wires a matrix has the values that its definition has there, and a gradient takes it."""
    hermitian = drawn(4) + drawn(4).conj().T
    builder = ParameterSweepBuilder(3, 0)
    for wire in range(3):
        builder.gate("ry", [wire], np.array([0.3 + wire])).gate("rx", [wire], np.array([1.1 + wire]))  # type: ignore[arg-type]
    sweep = builder.gate("cx", [0, 2]).sweep(1)
    psi = reference.simulate(sweep.circuit(0))
    expected = np.vdot(psi, reference.embedded(3, (2, 0), hermitian) @ psi).real
    found = Simulator(device="cpu").gradient(sweep, PauliSum.from_matrix(hermitian, [2, 0]))
    assert found.values[0, 0] == pytest.approx(expected, abs=1e-13)


def test_refused() -> None:
    """A matrix of another size, and one on many wires, are errors."""
    with pytest.raises(MatrixError):
        PauliSum.from_matrix(drawn(4), [0, 1, 2])
    with pytest.raises(NotSupported, match="6 wires"):
        PauliSum.from_matrix(np.eye(128), range(7))


@pytest.mark.parametrize("terms", [[PauliString(1, 0)], ("ZZ",), None], ids=["list", "labels", "None"])
def test_terms_are_a_tuple_of_strings(terms: object) -> None:
    """A sum of anything but a tuple of Pauli strings is refused, and the error says how to make one of labels."""
    with pytest.raises(CircuitError, match=r"expected a tuple of PauliStrings, got .*from_labels"):
        PauliSum(terms)  # type: ignore[arg-type]
