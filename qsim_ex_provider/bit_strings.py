"""How often each outcome was found, as Qiskit has it, and what it has to know of a circuit for that.

Native code sorts outcomes, writes them in binary and puts them into a dictionary: core/native/readers/outcomes.cpp.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from qiskit.circuit import QuantumCircuit
from qiskit.result import Counts

from qsim_ex.frameworks import count_outcomes, counts_of
from qsim_ex_provider.saves.kinds import SavedForm


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


class LazyCounts(Counts):
    """Qiskit's counts of packed outcomes, whose integers are made when they are read.

    packed: uint8 [shots, bytes], at least one shot. sizes: names and sizes of registers that have all bits, or none.
    slots: how many bits there are, at least one. Copies and pickles are plain `Counts`.
    """

    int_raw: dict[int, int]

    def __init__(self, packed: NDArray[np.uint8], sizes: Sequence[Sequence[Any]], slots: int) -> None:
        super().__init__({}, creg_sizes=sizes, memory_slots=slots)
        count_outcomes(packed, slots, ends_of(sizes) if len(sizes) > 1 else (slots,), self)
        self._packed = packed
        del self.int_raw  # it is made by `__getattr__`

    def __getattr__(self, name: str) -> dict[int, int]:
        if name != "int_raw" or "_packed" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self.int_raw = counts_of(self.__dict__.pop("_packed"))
        return self.int_raw

    def __reduce_ex__(self, _protocol: object) -> tuple[object, ...]:
        _ = self.int_raw
        return Counts, ({},), self.__dict__, None, iter(dict.items(self))


def ends_of(sizes: Sequence[Sequence[Any]]) -> list[int]:
    """Return where registers end in a text, whose first register is the last of them."""
    return [*accumulate([size for _, size in reversed(sizes)])]
