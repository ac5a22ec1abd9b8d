"""The value of some wires of a state that is measured: one number in [0, 1) decides it, as for a shot of all wires."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from qsim_ex.circuit.ops import ALWAYS
from qsim_ex.errors import StateError
from qsim_ex.observe.sampling import Floats, Values, choose_in_rows, choose_on, norm_of
from qsim_ex.placement.base import Placement, States
from qsim_ex.placement.index_bits import held


def draw_wires(placement: Placement, wires: Sequence[int], number: float) -> int:
    """Return the value of some wires (bit k is ``wires[k]``) that one number in [0, 1) falls on.

    The wires are drawn from the last to the first, a group at a time. For all wires in their order this is the
    shot that `draw` gives for the same number.
    """
    most = placement.marginal_wires
    weights = placement.marginal(wires[max(0, len(wires) - most) :])
    value, when, rest = 0, ALWAYS, np.array([number * norm_of(weights)])
    for end in range(len(wires), 0, -most):
        group = wires[max(0, end - most) : end]
        if when.mask:
            weights = placement.marginal(group, when)
        found, rest = choose_on(weights, rest)
        value = value << len(group) | int(found[0])
        when = held(when, group, int(found[0]))
    return value


def draw_wires_rows(states: States, wires: Sequence[int], numbers: Floats) -> tuple[Values, Floats, Floats]:
    """Return for each row the value of some wires that its number in [0, 1) falls on, as `draw_wires` does.

    Also return the weight |amplitude|² of that value in the row, and the row's squared norm. Raises `StateError`.
    """
    weights = states.marginals(wires)
    norms = weights.sum(axis=1)
    every = np.arange(states.rows)
    if not (norms.min() > 0 and norms.max() < np.inf):
        raise StateError(
            "a state whose squared norm is 0 or not finite cannot be measured; set normalised amplitudes first."
        )
    values, _ = choose_in_rows(weights, every, numbers * norms)
    return values, weights[every, values], norms
