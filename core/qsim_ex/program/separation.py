"""A circuit as separate parts and idle wires: what `separate` makes of a structure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.ops import Structure

Groups = tuple[tuple[int, ...], ...]
How = Literal["apart", "together", "whole"]


@dataclass(frozen=True, eq=False, slots=True)
class SeparatePart:
    """Some wires of a circuit that no other wires are entangled with, as a circuit of their own.

    structure: the instructions on these wires, with wires and classical bits numbered anew.
    wires: the circuit's wire of each wire of the part, ascending.
    clbits: the circuit's classical bit of each classical bit of the part, ascending.
    final: the classical bits of the part whose last value in the circuit is the part's.
    columns: the place in the circuit's operands of each operand of the part; None if they are the same.
    streams: the circuit's stream of random numbers of each stream of the part (see `Choice.stream`).
    groups: the groups of misread classical bits in the part's own numbers (see `divide.program_of`).
    """

    structure: Structure
    wires: tuple[int, ...]
    clbits: tuple[int, ...]
    final: tuple[int, ...]
    columns: NDArray[np.int64] | None
    streams: tuple[int, ...]
    groups: Groups


@dataclass(frozen=True, eq=False, slots=True)
class Separation:
    """A circuit as separate parts and constants.

    parts: in the order of their lowest wires. place: for each wire the part and the part's wire that hold its last
    state; wires that are |0⟩ at the end because nothing mixed them are missing. measures: whether the circuit measures
    anything.
    phases: the places of operands whose product is the global phase that no part has.
    """

    num_qubits: int
    num_clbits: int
    parts: tuple[SeparatePart, ...]
    place: dict[int, tuple[int, int]]
    measures: bool
    phases: tuple[int, ...]

    @property
    def idle(self) -> int:
        """The number of wires that take no memory."""
        return self.num_qubits - len({wire for part in self.parts for wire in part.wires})

    def describe(self) -> str:
        """Return a sentence on the parts and the idle wires."""
        sizes = sorted((len(part.wires) for part in self.parts), reverse=True)
        listed = ", ".join(map(str, sizes[:_LISTED])) + (", …" if len(sizes) > _LISTED else "")
        idle = f"{self.idle} of {self.num_qubits} wires are idle and take no memory"
        if len(sizes) < 2:
            return f"{idle}; {sum(sizes)} are simulated"
        return f"{len(sizes)} separate parts of {listed} wires are simulated one after another; {idle}"

    def facts(self) -> dict[str, Any]:
        """Return what a result reports of the separation."""
        return {
            "separation": self.describe(),
            "parts": [list(part.wires) for part in self.parts],
            "idle_wires": self.idle,
        }


_LISTED = 8
"""Parts whose sizes `Separation.describe` lists."""
