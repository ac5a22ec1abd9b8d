"""Many gates and matrices at once are what they are one by one, and so are their errors."""

from __future__ import annotations

import numpy as np
import pytest
from support.phases import alike

from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.gates import GATES
from qsim_ex.circuit.matrices import unitary_matrices
from qsim_ex.circuit.noise.channels import depolarizing
from qsim_ex.circuit.noise.model import NoiseModel, NoisyBuilder
from qsim_ex.errors import MatrixError, ParameterError, QsimExError, UnknownInstruction, WireError

WIRES = 6


def drawn(seed: int) -> tuple[list[str], list[tuple[int, ...]], list[list[float]]]:
    """Return every gate of the table twice, on random wires, with random parameters."""
    rng = np.random.default_rng(seed)
    names = [str(name) for name in rng.permutation([*GATES, *GATES])]
    wires = [tuple(rng.permutation(WIRES)[: GATES[name].qubits].tolist()) for name in names]
    return names, wires, [rng.uniform(-3, 3, len(GATES[name].parameters)).tolist() for name in names]


def same(one: Circuit, other: Circuit) -> bool:
    """Return whether two circuits have the same instructions and numbers."""
    return one.structure is other.structure and bool((one.operands == other.operands).all())


@pytest.mark.parametrize("seed", range(5))
def test_at_once_and_one_by_one(seed: int) -> None:
    """Gates that are appended at once are those that are appended one by one, but for where their phases stand."""
    names, wires, parameters = drawn(seed)
    at_once = CircuitBuilder(WIRES).gate("h", [0]).gates(names, wires, parameters).gate("rz", [1], 0.3).build()
    alone = CircuitBuilder(WIRES).gate("h", [0])
    for name, on, given in zip(names, wires, parameters, strict=True):
        alone.gate(name, on, *given)
    assert alike(at_once, alone.gate("rz", [1], 0.3).build())


def test_noise() -> None:
    """A builder with noise adds it to gates that are appended at once."""
    noise = NoiseModel().with_error(["x", "rx"], depolarizing(0.01))
    at_once = NoisyBuilder(2, 0, noise).gates(["x", "rx", "h"], [(0,), (1,), (0,)], [[], [0.3], []]).build()
    alone = NoisyBuilder(2, 0, noise).gate("x", (0,)).gate("rx", (1,), 0.3).gate("h", (0,)).build()
    assert same(at_once, alone)
    assert len(at_once.instructions) == 5


@pytest.mark.parametrize(
    ("name", "wires", "parameters", "error"),
    [
        ("nonsense", (0,), [], UnknownInstruction),
        ("cx", (0,), [], WireError),
        ("cx", (0, 0), [], WireError),
        ("x", (7,), [], WireError),
        ("rx", (0,), [], ParameterError),
        ("h", (0,), [0.3], ParameterError),
        ("rx", (0,), [float("nan")], ParameterError),
        ("rx", (0,), ["angle"], ParameterError),
    ],
)
def test_errors(name: str, wires: tuple[int, ...], parameters: list[float], error: type[QsimExError]) -> None:
    """A wrong gate among others raises what it raises by itself."""
    with pytest.raises(error) as alone:
        CircuitBuilder(2).gate(name, wires, *parameters)
    with pytest.raises(error) as among:
        CircuitBuilder(2).gates(["x", name, "y"], [(1,), wires, (0,)], [[], parameters, []])
    assert str(among.value) == str(alone.value)


def unitary(size: int, seed: int) -> np.ndarray:
    """Return a random unitary matrix."""
    rng = np.random.default_rng(seed)
    return np.linalg.qr(rng.normal(size=(size, size)) + 1j * rng.normal(size=(size, size)))[0]


MATRICES = [
    unitary(4, 0),
    np.diag([1, 1j, -1, 1]),
    np.kron(np.eye(2), unitary(2, 1)),
    unitary(2, 2),
    np.array([[0, 1], [1j, 0]]),
    unitary(8, 3),
]


def test_matrices() -> None:
    """Matrices that were checked together are appended as they are one by one, with and without controls."""
    together, alone = CircuitBuilder(WIRES), CircuitBuilder(WIRES)
    for controls in ((), (5, 4)):
        for matrix, checked in zip(MATRICES, unitary_matrices(MATRICES), strict=True):
            assert checked is not None
            wires = range(len(matrix).bit_length() - 1)
            together.unitary(checked, wires, controls=controls, control_values=2)
            alone.unitary(matrix, wires, controls=controls, control_values=2)
    assert same(together.build(), alone.build())


def test_matrices_that_are_not_checked() -> None:
    """What is no unitary matrix of complex128 is left to the builder, and has no influence on others."""
    wrong = [
        np.ones((2, 2), dtype=complex),
        np.full((2, 2), np.nan, dtype=complex),
        np.eye(3, dtype=complex),
        np.eye(2),
        [[1, 0], [0, 1]],
        np.diag([1, 1 + 1e-6]).astype(complex),
    ]
    found = unitary_matrices([MATRICES[3], *wrong, MATRICES[4]])
    assert found[1:-1] == [None] * len(wrong)
    assert found[0] is not None
    assert (found[0].array() == MATRICES[3]).all()
    with pytest.raises(MatrixError, match="expected a matrix of 1 rows"):
        CircuitBuilder(2).unitary(found[0], [])
