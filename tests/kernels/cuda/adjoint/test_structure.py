"""The inner products that tell all derivatives of a matrix, against matrices of a pattern that are drawn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from qsim_ex.circuit.ops import Entry, pattern
from qsim_ex.kernels.cuda.adjoint.write.structure import Component, products


def drawn(classes: Sequence[Sequence[int]], rng: np.random.Generator) -> np.ndarray:
    """A unitary matrix with entries of some classes: parts of a random one, orthogonalised block by block."""
    entries = np.array(classes)
    values = rng.normal(size=entries.shape) + 1j * rng.normal(size=entries.shape)
    values = np.where(entries == Entry.REAL, values.real, np.where(entries == Entry.IMAG, 1j * values.imag, values))
    u, _, v = np.linalg.svd(np.where(entries == Entry.ZERO, 0, values))
    nearest: np.ndarray = u @ v  # the nearest unitary, which keeps the pattern
    return nearest


@pytest.mark.parametrize(
    ("letters", "count"),
    [
        ("rrrr", 1),
        ("riir", 1),
        ("irri", 1),
        ("cccc", 4),
        ("c00c", 2),
        ("r00r", 0),
        ("0rr0", 0),
        ("r00i0ri00ir0i00r", 2),
    ],
)
def test_no_other_product_is_needed(letters: str, count: int) -> None:
    """Two near matrices of a pattern differ by V·D, and D is 0 but for the listed products."""
    classes = tuple(Entry(entry) for entry in pattern(letters))
    size = int(len(classes) ** 0.5)
    found = products(classes)
    assert len(found) == count
    listed = np.zeros((2, size, size), dtype=bool)
    for row, column, part in found:
        listed[int(part == Component.IMAG), [row, column], [column, row]] = True
    rng = np.random.default_rng(count)
    grid = [list(classes[k * size : k * size + size]) for k in range(size)]
    for _ in range(5):
        one = drawn(grid, rng)
        step = drawn(grid, rng)
        u, _, v = np.linalg.svd(one + 1e-6 * step)
        d = one.conj().T @ (u @ v - one) / 1e-6
        assert np.abs(np.where(listed[0], 0, d.real)).max() < 1e-4
        assert np.abs(np.where(listed[1], 0, d.imag)).max() < 1e-4
