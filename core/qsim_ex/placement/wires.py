"""A state with other wires: a new placement of the same kind takes over the amplitudes, and parts stay where they are.

A wire can be removed if it is at one value in every amplitude that is not zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from qsim_ex import thresholds
from qsim_ex.circuit.check import NORM_TOLERANCE
from qsim_ex.errors import StateError
from qsim_ex.placement import index_bits as at
from qsim_ex.placement.base import Placement

_Kind = TypeVar("_Kind", bound=Placement)


def extended(placement: _Kind, count: int) -> _Kind:
    """Return a state with `count` more wires in |0>, numbered from n on; the placement is released."""
    new = placement.another(placement.num_wires + count)
    placement.copy_to(new, at.opened(placement.layout, placement.home_bits, count))
    placement.release()
    return new


def shrunk(placement: _Kind, wires: Sequence[int]) -> _Kind:
    """Return a state without some wires, each of which is at 0 or at 1; the placement is released.

    The others keep their order and are renumbered from 0. Raises `StateError`, with the weight, if some of the wires
    are found at more than one value.
    """
    value, home = held_values(placement, wires), placement.home_bits
    new = placement.another(placement.num_wires - len(wires))
    placement.arrange(at.with_last(placement.layout, wires, value, home))
    placement.copy_to(new, at.closed(placement.layout, wires, home - len(wires)))
    placement.release()
    return new


def cloned(placement: _Kind) -> _Kind:
    """Return another placement of the same kind, on the same devices, that holds the same state."""
    new = placement.another(placement.num_wires)
    placement.copy_to(new, placement.layout)
    return new


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
