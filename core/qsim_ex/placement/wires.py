"""A state with other wires: a new placement of the same kind takes over the amplitudes, and parts stay where they are.

A wire can be removed if it is at one value in every amplitude that is not zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from qsim_ex import thresholds
from qsim_ex.circuit.check import NORM_TOLERANCE
from qsim_ex.errors import NotSupported, StateError
from qsim_ex.placement import index_bits as at
from qsim_ex.placement.base import Placement
from qsim_ex.steps.layout import Layout, Levels

_Kind = TypeVar("_Kind", bound=Placement)


def extended(placement: _Kind, count: int) -> _Kind:
    """Return a state with `count` more wires in |0>, numbered from n on; the placement is released."""
    new = placement.another(placement.num_wires + count)
    placement.copy_to(new, opened(placement.layout, placement.home_bits, count))
    placement.release()
    return new


def shrunk(placement: _Kind, wires: Sequence[int]) -> _Kind:
    """Return a state without some wires, each of which is at 0 or at 1; the placement is released.

    The others keep their order and are renumbered from 0. Raises `StateError`, with the weight, if some of the wires
    are found at more than one value.
    """
    value, home = held_values(placement, wires), placement.home_bits
    new = placement.another(placement.num_wires - len(wires))
    placement.arrange(with_last(placement.layout, wires, value, home))
    placement.copy_to(new, closed(placement.layout, wires, home - len(wires)))
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


def narrowed(levels: Levels, num_wires: int, local: int, count: int, holders: str) -> Levels:
    """Return levels with `local` local bits for a state of `num_wires` wires; raise `NotSupported` if that is none.

    count, holders: how many devices or processes share the state, for the message.
    """
    if local < 1:
        raise NotSupported(f"{num_wires} wires on {count} {holders} leave no local wire. Use fewer {holders}.")
    return replace(levels, local=local, slice=min(levels.slice, local - 1))


# --- layouts ---------------------------------------------------------------------------------------------------------


def opened(layout: Layout, begin: int, count: int) -> Layout:
    """Return the layout with `count` more wires, the last ones, on index bits from `begin` on; those there move up."""
    address = (bit if bit < begin else bit + count for bit in layout.address)
    low = (1 << begin) - 1
    return Layout((*address, *range(begin, begin + count)), layout.flip & low | (layout.flip & ~low) << count)


def with_last(layout: Layout, wires: Sequence[int], value: int, end: int) -> Layout:
    """Return the layout with some wires on the last index bits below `end`, at 0 there if their value is `value`.

    Wires that have to leave those bits go where these come from; bit k of the value is ``wires[k]``.
    """
    standing, kept = layout.wires(), end - len(wires)
    below = [wire for wire in standing[:end] if wire not in wires]
    leaving = iter(below[kept:])
    above = [next(leaving) if wire in wires else wire for wire in standing[end:]]
    found = at.ordered(layout, [*below[:kept], *wires, *above])
    gone = (1 << end) - (1 << kept)
    return Layout(found.address, found.flip & ~gone | value << kept)


def closed(layout: Layout, wires: Sequence[int], begin: int) -> Layout:
    """Return the layout without some wires, on the index bits from `begin` on; the others keep their order."""
    count, low = len(wires), (1 << begin) - 1
    address = (bit if bit < begin else bit - count for wire, bit in enumerate(layout.address) if wire not in wires)
    return Layout(tuple(address), layout.flip & low | layout.flip >> begin + count << begin)
