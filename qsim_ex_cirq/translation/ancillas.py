"""Wires beyond those of a circuit's qubits, for decompositions and channels that need some for a while."""

from __future__ import annotations

from collections.abc import Iterable

from qsim_ex import CircuitBuilder


class AncillaWires:
    """Wires that a translation adds to its circuit: each is |0⟩ when it is taken and must be |0⟩ when it is returned.

    They come after the wires of all qubits, so that they are 0 in the first amplitudes of a state.
    """

    def __init__(self, builder: CircuitBuilder) -> None:
        self._builder = builder
        self._free: list[int] = []

    def take(self, count: int) -> list[int]:
        """Return wires in |0⟩, and add to the circuit those that are missing."""
        taken = [self._free.pop() for _ in range(min(count, len(self._free)))]
        first = self._builder.num_qubits
        self._builder.num_qubits += count - len(taken)
        return [*taken, *range(first, self._builder.num_qubits)]

    def give_back(self, wires: Iterable[int]) -> None:
        """Take back wires that are |0⟩ again."""
        self._free.extend(wires)
