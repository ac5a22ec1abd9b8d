"""Outcomes in binary and how often each was found, as Qiskit has them, and what it has to know of a circuit for that.

Many are written at a time, as one text that is cut, since a call for each costs more than all the rest.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from qiskit.circuit import QuantumCircuit
from qiskit.result import Counts

from qsim_ex import BatchResult
from qsim_ex import Result as EngineResult
from qsim_ex.frameworks import ordered_counts, words
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
        if width <= 8:
            if not isinstance(values, np.ndarray):
                values = np.fromiter(values, dtype=np.uint64, count=len(values))
            return values.astype(">u8").view(np.uint8).reshape(len(values), 8)[:, 8 - width :]
        joined = b"".join([int(value).to_bytes(width, "big") for value in values])
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


SORTED = 1 << 12
"""The most shots of one circuit whose outcomes are sorted at once; of more the engine looks for distinct ones first."""


class Tally(NamedTuple):
    """The outcomes that were found, in increasing order, and how often each."""

    values: Sequence[int] | NDArray[np.uint64]
    counts: list[int]

    def integers(self) -> dict[int, int]:
        """Return how often each value was found."""
        values = self.values.tolist() if isinstance(self.values, np.ndarray) else self.values
        return dict(zip(values, self.counts, strict=True))


def tally_of(result: EngineResult) -> Tally:
    """Return the outcomes of one binding, which has shots."""
    packed = result.packed
    if packed is not None and 0 < packed.shape[1] <= 8 and 0 < len(packed) <= SORTED:
        values, counts = ordered_counts(words(packed))
        return Tally(values, counts.tolist())
    found = result.counts()
    return Tally(list(found), list(found.values()))


def tallies_of(result: BatchResult, begin: int, end: int) -> list[Tally]:
    """Return the outcomes of some bindings of a task at once, since NumPy takes as long for one as for many."""
    members = range(len(result.seeds))[begin:end]
    if result.packed is None:
        return [Tally([], [])] * len(members)
    packed = result.packed[begin:end]
    rows, shots, width = packed.shape
    if rows == 1 or not 0 < width <= 8:
        return [tally_of(result[member]) for member in members]
    padded = np.zeros((rows, shots, 8), dtype=np.uint8)
    padded[..., :width] = packed
    ordered = np.sort(padded.view("<u8")[..., 0], axis=1)
    first = np.ones((rows, shots), dtype=bool)  # of equal values in a row
    first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    places = np.flatnonzero(first)
    values, counts = ordered.reshape(-1)[places].tolist(), np.diff(places, append=first.size).tolist()
    ends = np.cumsum(first.sum(axis=1)).tolist()
    return [Tally(values[a:b], counts[a:b]) for a, b in pairwise([0, *ends])]


class LazyCounts(Counts):
    """Qiskit's counts of a tally, whose integers are made when they are read; copies and pickles are plain `Counts`."""

    int_raw: dict[int, int]

    def __init__(self, strings: Sequence[str], tally: Tally, sizes: Sequence[Sequence[Any]], slots: int) -> None:
        super().__init__({}, creg_sizes=sizes, memory_slots=slots)
        dict.update(self, zip(strings, tally.counts, strict=True))
        self._tally = tally
        del self.int_raw  # it is made by `__getattr__`

    def __getattr__(self, name: str) -> dict[int, int]:
        if name != "int_raw" or "_tally" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        tally: Tally = self.__dict__.pop("_tally")
        self.int_raw = tally.integers()
        return self.int_raw

    def __reduce_ex__(self, _protocol: object) -> tuple[object, ...]:
        _ = self.int_raw
        return Counts, ({},), self.__dict__, None, iter(dict.items(self))
