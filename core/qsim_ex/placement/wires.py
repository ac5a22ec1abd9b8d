"""Removal of wires from a state: a wire can be removed if it is at one value in every amplitude that is not zero."""

from __future__ import annotations

from collections.abc import Sequence

from qsim_ex import thresholds
from qsim_ex.circuit.check import NORM_TOLERANCE
from qsim_ex.errors import StateError
from qsim_ex.placement.base import Placement


def held_values(placement: Placement, wires: Sequence[int]) -> int:
    """Return the value of some wires, bit k being ``wires[k]``.

    Raises `StateError`, with the weight, if they are found at other values too (by more than rounding).
    """
    value = 0
    for first, end in thresholds.pieces(len(wires), thresholds.now.marginal_group):
        group = wires[first:end]
        weights = placement.marginal(group)
        norm, found = float(weights.sum()), int(weights.argmax())
        weights[found] = 0
        other = float(weights.sum())
        if not other <= NORM_TOLERANCE * norm or norm == 0:
            raise StateError(
                f"wires {list(group)} cannot be removed: they are at {found:0{len(group)}b} but for a weight of "
                f"{other:.3g} in {norm:.3g}. Uncompute, measure or collapse them first."
            )
        value |= found << first
    return value
