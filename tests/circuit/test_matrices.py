"""Matrices that are checked many at a time."""

from __future__ import annotations

import numpy as np
import pytest

from qsim_ex.circuit.matrices import unitary_matrices


def test_column_ordered_matrices_are_read_as_what_they_are() -> None:
    """Matrices whose columns stand one behind the other in memory have the same entries as any."""
    rng = np.random.default_rng(2)
    matrices = [np.linalg.qr(rng.normal(size=(4, 4)) + 1j * rng.normal(size=(4, 4)))[0] for _ in range(3)]
    ordered = [np.asfortranarray(matrix) for matrix in matrices]
    for given in (ordered, ordered[:1], [matrix.T for matrix in matrices]):
        for found, wanted in zip(unitary_matrices(given), given, strict=True):
            assert found is not None
            assert np.array_equal(found.array(), wanted)


@pytest.mark.parametrize("shape", [(2, 3), (4, 2), (3, 3), (4,), (1, 2, 2)])
def test_other_shapes_are_left_to_the_builder(shape: tuple[int, ...]) -> None:
    """Arrays that are no square matrices of 2^k rows are not taken for matrices of gates, alone and beside these."""
    other, gate = np.ones(shape, dtype=np.complex128), np.eye(2, dtype=np.complex128)
    assert unitary_matrices([other]) == [None]
    assert [one is None for one in unitary_matrices([gate, other, gate])] == [False, True, False]
