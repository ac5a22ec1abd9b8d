"""Expectation values are the quadratic forms that define them."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.states import TOLERANCE, random_state, state_in
from support.strategies import layouts

from qsim_ex.circuit.observables import PauliString, PauliSum
from qsim_ex.errors import MatrixError, NotSupported, WireError
from qsim_ex.options import Options
from qsim_ex.state.vector import StateVector
from qsim_ex.steps import Layout

MATRICES = {
    "I": np.eye(2),
    "X": np.array([[0, 1], [1, 0]]),
    "Y": np.array([[0, -1j], [1j, 0]]),
    "Z": np.diag([1, -1]),
}

same_device = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def dense(labels: dict[str, complex]) -> np.ndarray:
    """The matrix of a Pauli sum; the last letter of a label acts on wire 0."""
    return sum(c * reduce(np.kron, [MATRICES[p] for p in label], np.eye(1)) for label, c in labels.items())


@st.composite
def pauli_labels(draw: st.DrawFn, num_wires: int) -> dict[str, complex]:
    """A few strings with real or complex coefficients."""
    label = st.lists(st.sampled_from("IXYZ"), min_size=num_wires, max_size=num_wires).map("".join)
    return draw(st.dictionaries(label, st.sampled_from([1.0, -0.5, 2.5, 1j, 0.3 - 2j]), max_size=6))


@same_device
@given(data=st.data())
def test_pauli_sums_are_quadratic_forms(options: Options, data: st.DataObject) -> None:
    """A Pauli sum's value, in any layout, is <ψ|H|ψ>."""
    n = data.draw(st.integers(0, 5))
    psi = random_state(n)
    sums = data.draw(st.lists(pauli_labels(n), max_size=3))
    wanted = [psi.conj() @ dense(labels) @ psi if labels else 0 for labels in sums]
    with state_in(options, psi, data.draw(layouts(n))) as state:
        found = state.expectation([PauliSum.from_labels(labels) for labels in sums])
        assert found == pytest.approx(np.array(wanted), abs=20 * TOLERANCE[options.precision])


def test_real_coefficients_give_real_values(options: Options) -> None:
    """A Hermitian sum has a real value, and a complex coefficient gives a complex one."""
    with StateVector(2, options=options) as state:
        assert state.expectation(PauliSum.from_labels({"ZI": 2, "XX": 1})) == 2.0
        assert isinstance(state.expectation(PauliSum.from_labels({"ZI": 2})), float)
        assert state.expectation(PauliSum.from_labels({"ZI": 2j})) == 2j
        assert state.expectation([PauliSum.from_labels({"ZI": 2})]).dtype == np.float64
        assert state.expectation(PauliSum(())) == 0.0


def test_strings_with_one_x_part_share_a_pass(options: Options, monkeypatch: pytest.MonkeyPatch) -> None:
    """Strings with the same X-part share one pass over memory."""
    labels = {"XXI": 1, "YYZ": 2, "YXI": 3, "ZZZ": 4, "IIZ": 5, "IXI": 6}
    with state_in(options, random_state(3)) as state:
        passes = []
        real = state._placement.paulis
        monkeypatch.setattr(
            state._placement, "paulis", lambda parts: passes.extend((x, len(zs)) for x, zs in parts) or real(parts)
        )
        state.expectation([PauliSum.from_labels(labels), PauliSum.from_labels({"YYI": 1, "XXI": 1})])
    assert sorted(passes) == [(0b000, 2), (0b010, 1), (0b110, 4)]


@same_device
@given(data=st.data())
def test_matrices_are_quadratic_forms(options: Options, data: st.DataObject) -> None:
    """The value of a dense observable is <ψ|M|ψ> on its wires in their order."""
    n = data.draw(st.integers(0, 5))
    psi = random_state(n)
    wires = data.draw(st.permutations(range(n)))[: data.draw(st.integers(0, min(n, 3)))]
    size = 1 << len(wires)
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    matrix = rng.normal(size=(size, size)) + 1j * rng.normal(size=(size, size))
    wanted = 0j
    for i in range(1 << n):
        rest = i & ~sum(1 << w for w in wires)
        for c in range(size):
            j = rest | sum((c >> k & 1) << w for k, w in enumerate(wires))
            row = sum((i >> w & 1) << k for k, w in enumerate(wires))
            wanted += psi[i].conj() * matrix[row, c] * psi[j]
    with state_in(options, psi, data.draw(layouts(n))) as state:
        assert state.expectation_matrix(matrix, wires) == pytest.approx(wanted, abs=20 * TOLERANCE[options.precision])


def test_observables_that_cannot_be_meant(options: Options) -> None:
    """An observable on wires that do not exist, or of the wrong shape, is refused."""
    with StateVector(2, options=options) as state:
        with pytest.raises(WireError, match="wire 2"):
            state.expectation(PauliSum((PauliString(0b100, 0),)))
        with pytest.raises(MatrixError, match="rows"):
            state.expectation_matrix(np.eye(2), [0, 1])
        with pytest.raises(WireError, match="twice"):
            state.expectation_matrix(np.eye(4), [0, 0])
    with state_in(options, random_state(13), Layout.identity(13)) as state, pytest.raises(NotSupported, match="12"):
        state.expectation_matrix(np.eye(2), range(13))
