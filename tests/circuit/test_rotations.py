"""e^{iφ} by a table and a series is exact to rounding."""

from __future__ import annotations

import numpy as np
import pytest

from qsim_ex.circuit.rotations import TURN, phases


@pytest.mark.parametrize("largest", [1e-9, 1.0, 7.0, 1e3, 9.9e4, 1e7, 1e15])
@pytest.mark.parametrize("shape", [(), (5,), (700,), (3, 4001)])
def test_phases_are_those_of_the_definition(largest, shape):
    """Angles of any size, few or many, have their phases to rounding."""
    angles = np.random.default_rng(len(shape)).uniform(-largest, largest, shape)
    found = phases(angles)
    assert found.shape == shape
    exact = np.cos(angles.astype(np.longdouble)) + 1j * np.sin(angles.astype(np.longdouble))
    assert np.abs(found - exact).max() < 4e-16


def test_angles_at_the_ends_of_the_table():
    """Whole turns, halves between two roots, and their neighbours are as exact as all others."""
    parts = np.concatenate([np.arange(-3 * TURN, 3 * TURN) / 2, [0.0, -0.0]])
    angles = np.concatenate([np.nextafter(parts, np.inf), parts, np.nextafter(parts, -np.inf)]) * (2 * np.pi / TURN)
    exact = np.cos(angles.astype(np.longdouble)) + 1j * np.sin(angles.astype(np.longdouble))
    assert np.abs(phases(angles) - exact).max() < 4e-16


@pytest.mark.parametrize("many", [1, 1000])
def test_quarter_turns_are_exact(many):
    """Few or many, the phases of quarter turns up to two whole ones are 1, i, −1 and −i, and a tiny angle stays."""
    quarters = np.arange(-4, 5)
    found = phases(np.tile(quarters * (np.pi / 2), (many, 1)))
    assert (found == np.array([1, 1j, -1, -1j])[quarters % 4]).all()
    assert (phases(np.full(many, 1e-20)).imag == 1e-20).all()


def test_an_angle_that_is_no_number_stays_alone():
    """NaN among many angles leaves the phases of the others as they are."""
    angles = np.linspace(-3, 3, 1000)
    angles[17] = np.nan
    with np.errstate(invalid="ignore"):
        found = phases(angles)
    assert np.isnan(found[17])
    assert np.abs(np.delete(found, 17) - np.exp(1j * np.delete(angles, 17))).max() < 4e-16
