"""Outcomes in binary, as Qiskit writes them, and what it has to know of a circuit to read them.

Many are written at a time, as one text that is cut, since a call for each costs more than all the rest.
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

FEW = 64
"""Values that are written one by one, and kept."""

_ZERO, _SPACE, _END = b"0 \n"


class BitStrings:
    """Writes values in binary, the last register first, a space between two.

    slots: how many bits there are, at least one. sizes: names and sizes of registers that have all bits, or none.
    """

    def __init__(self, slots: int, sizes: Sequence[Sequence[Any]]) -> None:
        self._slots = slots
        self._ends = [0, *accumulate(size for _, size in reversed(sizes))] if len(sizes) > 1 else [0, slots]
        self._known: dict[int, str] = {}

    def of(self, values: Collection[int] | NDArray[np.uint64]) -> list[str]:
        """Return the strings of values; few ones of few bits are kept, as bindings of a circuit have the same ones."""
        if self._slots > MOST_SHARED or len(values) > FEW:
            return self._written(values)
        values, known = values.tolist() if isinstance(values, np.ndarray) else values, self._known
        if new := [value for value in values if value not in known]:
            known.update(zip(new, map(self._one, new), strict=True))
        return [known[value] for value in values]

    def _one(self, value: int) -> str:
        whole = f"{value:0{self._slots}b}"
        return whole if len(self._ends) == 2 else " ".join([whole[begin:end] for begin, end in pairwise(self._ends)])

    def _written(self, values: Collection[int] | NDArray[np.uint64]) -> list[str]:
        if not len(values):
            return []
        gaps = len(self._ends) - 2
        letters = np.full((len(values), self._slots + gaps + 1), _SPACE, dtype=np.uint8)
        bits = np.unpackbits(self._bytes(values), axis=1)[:, -self._slots :]
        for gap, (begin, end) in enumerate(pairwise(self._ends)):
            np.bitwise_or(bits[:, begin:end], _ZERO, out=letters[:, begin + gap : end + gap])
        letters[:, -1] = _END
        return letters.tobytes()[:-1].decode("ascii").split("\n")

    def _bytes(self, values: Collection[int] | NDArray[np.uint64]) -> NDArray[np.uint8]:
        """Return the bytes of values, the most significant first."""
        width = -(-self._slots // 8)
        if isinstance(values, np.ndarray) or width <= 8:
            known = isinstance(values, np.ndarray)
            words = values.astype(">u8") if known else np.fromiter(values, dtype=">u8", count=len(values))
            return words.view(np.uint8).reshape(len(values), 8)[:, 8 - width :]
        joined = b"".join([value.to_bytes(width, "big") for value in values])
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
