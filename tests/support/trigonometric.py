"""The derivative of a trigonometric polynomial, from its values at as many points as it has coefficients."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def derivative(function: Callable[[float], np.ndarray], at: float, period: float, degree: int) -> np.ndarray:
    """The derivative at a point of Σ c_m·exp(2πi·m·x/period), |m| ≤ degree: the general rule of parameter shifts."""
    points = 2 * degree + 1
    values = np.array([function(at + period * k / points) for k in range(points)])
    coefficients = np.fft.fft(values, axis=0) / points
    frequencies = 2j * np.pi / period * np.fft.fftfreq(points, 1 / points)
    return np.tensordot(frequencies, coefficients, axes=1)
