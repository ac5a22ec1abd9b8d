"""Outcomes in binary, as Qiskit writes them, and what it has to know of a circuit to read them.

Many are written at a time, since a call for each costs more than all the rest.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from qiskit.circuit import QuantumCircuit

from qsim_ex_provider.saves.kinds import SavedForm

MOST_SHARED = 16
"""Bits of values that are kept written: at most 2^16 strings, a few MiB."""

_ZERO, _SPACE = ord("0"), ord(" ")


class BitStrings:
    """Writes values in binary, the last register first, a space between two.

    slots: how many bits there are, at least one. sizes: names and sizes of registers that have all bits, or none.
    """

    def __init__(self, slots: int, sizes: Sequence[Sequence[Any]]) -> None:
        self._slots = slots
        ends = [0, *accumulate(size for _, size in reversed(sizes))] if len(sizes) > 1 else [0, slots]
        gaps = enumerate(pairwise(ends))
        self._columns = np.array([column + gap for gap, between in gaps for column in range(*between)])
        self._length = slots + len(ends) - 2
        self._known: dict[int, str] = {}

    def of(self, values: Collection[int]) -> list[str]:
        """Return the strings of values; those of few bits are kept, as bindings of a circuit have the same ones."""
        if self._slots > MOST_SHARED:
            return self._written(values)
        if new := [value for value in values if value not in self._known]:
            self._known.update(zip(new, self._written(new), strict=True))
        return [self._known[value] for value in values]

    def _written(self, values: Collection[int]) -> list[str]:
        bits = np.unpackbits(self._bytes(values), axis=1, bitorder="little", count=self._slots)
        letters = np.full((len(values), self._length), _SPACE, dtype=np.uint32)
        letters[:, self._columns] = bits[:, ::-1] | np.uint32(_ZERO)
        found: list[str] = letters.view(f"U{self._length}").ravel().tolist()
        return found

    def _bytes(self, values: Collection[int]) -> NDArray[np.uint8]:
        if self._slots <= 64:
            words = np.fromiter(values, dtype="<u8", count=len(values))
            return words.view(np.uint8).reshape(len(values), 8)
        width = -(-self._slots // 8)
        joined = b"".join([value.to_bytes(width, "little") for value in values])
        return np.frombuffer(joined, dtype=np.uint8).reshape(len(values), width)


class CircuitHeader(NamedTuple):
    """What Qiskit needs to know of a circuit to read its bits.

    phases: the global phase of each binding, float64 [bindings], or of all of them. saved: how what the circuit saves
    is presented, by label.
    """

    fields: Mapping[str, Any]
    phases: float | NDArray[np.float64]
    saved: Mapping[str, SavedForm] = {}

    def header(self, binding: int) -> dict[str, Any]:
        """Return the header of one binding."""
        phase = self.phases if isinstance(self.phases, float) else float(self.phases[binding])
        return {**self.fields, "global_phase": phase}


def header_of(
    circuit: QuantumCircuit, phases: float | NDArray[np.float64], saved: Mapping[str, SavedForm]
) -> CircuitHeader:
    """Return the header of a circuit; phases: its own global phase, which may be an expression, in each binding."""
    fields = {
        "name": circuit.name,
        "n_qubits": circuit.num_qubits,
        "memory_slots": circuit.num_clbits,
        "creg_sizes": register_sizes(circuit),
        "qreg_sizes": [[register.name, register.size] for register in circuit.qregs],
        "global_phase": 0.0,
        "metadata": dict(circuit.metadata or {}),
    }
    return CircuitHeader(fields, phases, saved)


def register_sizes(circuit: QuantumCircuit) -> list[list[Any]]:
    """Return names and sizes of the classical registers if they follow one another without gaps, else none.

    Qiskit cuts bit strings by these sizes alone, so registers that overlap or leave bits out would be cut wrongly.
    """
    bits: list[Any] = []
    for register in circuit.cregs:
        bits += register[:]  # a list at once: iterating over a register costs a call for each bit
    return [[register.name, register.size] for register in circuit.cregs] if bits == list(circuit.clbits) else []
