"""The derivatives of gates' matrices: what the column `derivative` of the gate table is made of.

An entry that depends on a parameter as a + b·cos ωθ + c·sin ωθ has the derivative ω/2·(f(θ + π/2ω) − f(θ − π/2ω)),
exactly (the rule of parameter shifts, Schuld et al., arXiv:1811.11184, for a matrix in place of an expectation value).
So the frequency of each parameter and the matrix say all: half an angle `theta` turns most gates, whole others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.rotations import Angles, Entry, phases

Matrix = Callable[..., Sequence[Entry]]
Derivative = Callable[..., Sequence[Sequence[Entry]]]
"""For each parameter the derivatives of the entries, in their order."""


def usual(matrix: Matrix, parameters: Sequence[str]) -> Derivative:
    """Return the derivatives of a matrix whose parameters have the frequencies that are usual for their names."""
    if parameters[-2:] == ["exponent", "shift"]:
        return of_power(matrix, *[np.pi] * (len(parameters) - 1))
    return by_shifts(matrix, *[0.5 if name == "theta" else 1.0 for name in parameters])


def by_shifts(matrix: Matrix, *frequencies: float) -> Derivative:
    """Return the derivatives of a matrix whose entries have one frequency in each parameter, besides constants."""

    def derivative(*parameters: Angles) -> list[list[Entry]]:
        return [_shifted(matrix, parameters, k, frequency) for k, frequency in enumerate(frequencies)]

    return derivative


def of_power(matrix: Matrix, *frequencies: float) -> Derivative:
    """Return the derivatives of e^{iπts}·M(…, t), whose last parameters are the exponent t and the shift s.

    Both are in half turns. frequencies: of M in all parameters but the shift, the exponent last.
    """

    def derivative(*parameters: Angles) -> list[list[Entry]]:
        *others, t, s = parameters
        found = [_shifted(matrix, parameters, k, frequency) for k, frequency in enumerate(frequencies[:-1])]
        whole, turned = list(matrix(*parameters)), phases(np.pi * np.asarray(t) * s)
        bare = _shifted(matrix, (*others, t, 0 * np.asarray(s)), len(others), frequencies[-1])
        found.append([1j * np.pi * s * a + turned * b for a, b in zip(whole, bare, strict=True)])
        found.append([1j * np.pi * t * a for a in whole])
        return found

    return derivative


def of_phases(matrix: Matrix, parameter: int, turns: Sequence[int], others: Derivative) -> Derivative:
    """Return derivatives of which one is another one: entry e has the factor exp(−i·turns[e]·γ) of a parameter γ."""

    def derivative(*parameters: Angles) -> list[Sequence[Entry]]:
        found = list(others(*parameters))
        found[parameter] = [-1j * turn * entry for turn, entry in zip(turns, matrix(*parameters), strict=True)]
        return found

    return derivative


def add_at(to: NDArray[np.inexact], places: NDArray[np.integer], values: NDArray[np.inexact]) -> None:
    """Add values [..., count], of which there is one at least, to ``to[..., places]``; places may come again."""
    order = np.argsort(places, kind="stable")
    ascending = places[order]
    first = np.flatnonzero(np.diff(ascending, prepend=-1))
    to[..., ascending[first]] += np.add.reduceat(values[..., order], first, axis=-1)


def _shifted(matrix: Matrix, parameters: Sequence[Angles], k: int, frequency: float) -> list[Entry]:
    """Return the derivatives of all entries with respect to parameter k."""

    def at(step: float) -> Sequence[Entry]:
        return matrix(*(p + step if place == k else p for place, p in enumerate(parameters)))

    step = np.pi / (2 * frequency)
    return [frequency / 2 * (above - below) for above, below in zip(at(step), at(-step), strict=True)]


def slopes(function: Callable[..., Iterator[Angles]], parameters: Sequence[Angles]) -> list[list[Angles]]:
    """Return the derivatives of functions that are affine in each parameter: [parameters][functions]."""

    def at(k: int, step: float) -> list[Angles]:
        return list(function(*(p + step if place == k else p for place, p in enumerate(parameters))))

    return [[a - b for a, b in zip(at(k, 0.5), at(k, -0.5), strict=True)] for k in range(len(parameters))]
