"""The benchmark circuits are the ones that they say they are."""

import numpy as np
import pytest

from benchmarks import families
from benchmarks.dense import relative_error, simulate
from benchmarks.families import EXTRA, FAMILIES, structure_of
from benchmarks.gates import Gate, haar, parts

ALL = FAMILIES | EXTRA
COUNTS = {"ghz": 28, "qft": 448, "qaoa": 238, "su2": 305, "grid": 699, "brick": 581, "qv": 140}


def test_gate_counts_at_28_qubits() -> None:
    """The counts are those of the circuits whose times the design quotes."""
    assert {name: len(family.build(28, 0)) for name, family in FAMILIES.items()} == COUNTS


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("n", [11, 12, 20, 22, 23])
def test_a_seed_changes_numbers_only(name: str, n: int) -> None:
    """Two seeds give the same names and wires, and one seed gives the same circuit twice."""
    first, again, other = (ALL[name].build(n, seed) for seed in (1, 1, 2))
    assert structure_of(first) == structure_of(other)
    assert np.allclose(np.stack(numbers(first)), np.stack(numbers(again)))
    if name != "ghz":
        assert not np.allclose(np.stack(numbers(first)), np.stack(numbers(other)))


def numbers(gates: list[Gate]) -> list[np.ndarray]:
    """The matrices of the gates, padded to 4x4."""
    return [np.pad(m, (0, 4 - len(m))) for m in (parts(gate).matrix for gate in gates)]


@pytest.mark.parametrize("name", ALL)
def test_every_gate_is_unitary_on_distinct_wires_in_range(name: str) -> None:
    """No gate has a wire twice or beyond n, and every matrix times its adjoint is the identity."""
    n = 13
    for gate in ALL[name].build(n, 3):
        assert len(set(gate.wires)) == len(gate.wires)
        assert all(0 <= w < n for w in gate.wires)
        matrix = parts(gate).matrix
        assert np.allclose(matrix @ matrix.conj().T, np.eye(len(matrix)), atol=1e-13)


def test_ghz_is_the_ghz_state() -> None:
    """The chain of CX makes equal amplitudes of the first and the last basis state."""
    expected = np.zeros(2**7, dtype=np.complex128)
    expected[[0, -1]] = 1 / np.sqrt(2)
    assert relative_error(simulate(families.ghz(7, 0), 7), expected) < 1e-14


@pytest.mark.parametrize("n", [2, 5, 8])
def test_qft_is_the_fourier_transform(n: int) -> None:
    """After the layer of RY the gates are the discrete Fourier transform of the amplitudes."""
    gates = families.qft(n, 4)
    before = simulate(gates[:n], n)
    assert relative_error(simulate(gates, n), np.fft.ifft(before, norm="ortho")) < 1e-13


@pytest.mark.parametrize("n", [4, 5, 10, 23, 28])
def test_qaoa_graph_is_cubic(n: int) -> None:
    """Every node has three edges, but for one with two where n is odd."""
    edges = {gate.wires for gate in families.qaoa(n, 0) if gate.name == "rzz"}
    degrees = sorted(sum(node in edge for edge in edges) for node in range(n))
    assert degrees == [2] * (n % 2) + [3] * (n - n % 2)


@pytest.mark.parametrize("n", [4, 22, 23, 28, 30])
def test_grid_patterns_cover_each_edge_once_and_never_touch(n: int) -> None:
    """Eight cycles hold every edge once; within a cycle no wire has two CZ."""
    gates = families.grid(n, 0)
    cycles: list[list[tuple[int, ...]]] = []
    seen: list[tuple[int, ...]] = []
    for gate in gates[n:]:
        if gate.name == "unitary" and gate.wires == (0,):
            cycles.append([])
        elif gate.name == "cz":
            cycles[-1].append(gate.wires)
    for cycle in cycles:
        wires = [w for pair in cycle for w in pair]
        assert len(wires) == len(set(wires))
    for cycle in cycles[:8]:
        seen += cycle
    assert len(seen) == len(set(seen))
    assert set(range(n)) == {w for pair in seen for w in pair}


def test_grid_never_repeats_a_root_on_a_wire() -> None:
    """Two square roots in a row on one wire are different."""
    last: dict[tuple[int, ...], np.ndarray] = {}
    for gate in families.grid(9, 5):
        if gate.matrix is not None:
            assert gate.wires not in last or not np.allclose(last[gate.wires], gate.matrix)
            last[gate.wires] = gate.matrix


def test_haar_phases_are_uniform() -> None:
    """The eigenphases have no preferred direction, as they would without fixing the phases of R."""
    rng = np.random.default_rng(0)
    eigenvalues = np.concatenate([np.linalg.eigvals(haar(rng, 2)) for _ in range(2000)])
    assert abs(eigenvalues.mean()) < 0.03


def test_oracle_puts_the_first_wire_lowest() -> None:
    """A CX controlled by wire 0 turns index 1 into index 3, and index 2 stays."""
    flip = Gate("x", (0,))
    assert np.argmax(np.abs(simulate([flip, Gate("cx", (0, 1))], 2))) == 3
    assert np.argmax(np.abs(simulate([Gate("x", (1,)), Gate("cx", (0, 1))], 2))) == 2


def test_unknown_gates_and_families_are_named() -> None:
    """A misspelt name is an error that lists what is known."""
    with pytest.raises(ValueError, match=r"known: .*cx"):
        Gate("cnot", (0, 1))
    with pytest.raises(ValueError, match="known: ghz"):
        families.by_name("ghy")
