"""The first moments of a wide circuit, in which no gate has joined the two halves of its qubits yet."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import cirq

from qsim_ex import Simulator, StateVector
from qsim_ex_cirq.moment_circuits import circuit_of
from qsim_ex_cirq.translation.noise import MomentOperation


class Halves:
    """Two states of half the qubits each, as long as no gate has joined them; the whole state is their product.

    Writing the product is one pass, which reads nothing; a layer of gates takes two passes, which read and write.
    """

    def __init__(self, engine: Simulator, qubits: tuple[cirq.Qid, ...], initial: int) -> None:
        """Prepare a basis value, whose lowest bit is the last qubit."""
        self._engine = engine
        self._initial = initial
        self._low_wires = len(qubits) // 2
        split = len(qubits) - self._low_wires
        self._qubits = qubits[split:], qubits[:split]
        self._low = frozenset(self._qubits[0])

    def apply(self, operations: Sequence[MomentOperation], moment: cirq.Moment) -> bool:
        """Apply the operations of a moment, which are gates with rules, and return True, or False if one joins halves.

        They are not applied then.
        """
        parts: tuple[list[MomentOperation], list[MomentOperation]] = [], []
        for numbered in operations:
            qubits = numbered[1].qubits
            high = qubits[0] not in self._low
            if len(qubits) > 1 and any((qubit not in self._low) != high for qubit in qubits):
                return False
            parts[high].append(numbered)
        for state, mine, qubits in zip(self._states, parts, self._qubits, strict=True):
            if mine:
                state.apply(circuit_of(mine, qubits, moment), in_order=True)
        return True

    def write(self, state: StateVector) -> None:
        """Overwrite a state with the product."""
        low, high = self._states
        state.set_product(low, high)

    @cached_property
    def _states(self) -> tuple[StateVector, StateVector]:
        low, high = self._initial & (1 << self._low_wires) - 1, self._initial >> self._low_wires
        widths = [len(qubits) for qubits in self._qubits]
        return (
            self._engine.state(num_wires=widths[0], initial=low),
            self._engine.state(num_wires=widths[1], initial=high),
        )
