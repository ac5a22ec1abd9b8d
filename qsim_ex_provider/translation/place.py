"""Where an operation of a circuit acts."""

from __future__ import annotations

from dataclasses import dataclass

Wires = tuple[int, ...]


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
