"""Where an operation of a circuit acts, and the swaps that bring wires into another order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Wires = tuple[int, ...]

Row = tuple[str, bool]
"""The name of a row of the gate table, and whether it takes parameters."""

ToNumber = Callable[[Any], Any]
"""Makes a number of a parameter of a circuit, or a column of numbers where it has symbols."""


@dataclass(frozen=True, slots=True)
class Controls:
    """Wires that must hold a value: ``wires[k]`` that of bit k of `values`."""

    wires: Wires = ()
    values: int = 0

    def and_(self, wires: Wires, values: int) -> Controls:
        """Return these controls and some more."""
        return Controls(self.wires + wires, self.values | values << len(self.wires))


NO_CONTROLS = Controls()


@dataclass(frozen=True, slots=True)
class Place:
    """Where an operation acts: its wires and classical bits, and the controls that were handed down to it."""

    wires: Wires
    clbits: Wires = ()
    controls: Controls = NO_CONTROLS


def swaps(sources: Sequence[int]) -> list[tuple[int, int]]:
    """Return swaps that bring the content of ``sources[k]`` to k, for all k."""
    held = list(range(len(sources)))  # held[k]: the source whose content is at k now
    swaps = []
    for k, source in enumerate(sources):
        found = held.index(source)
        if found != k:
            swaps.append((k, found))
            held[k], held[found] = held[found], held[k]
    return swaps
