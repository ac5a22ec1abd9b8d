"""Results as Qiskit's users know them, built from the engine's results when they are read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from qiskit.circuit import QuantumCircuit
from qiskit.quantum_info import Statevector
from qiskit.result import Counts, Result
from qiskit.result.models import ExperimentResult, ExperimentResultData

from qsim_ex import Result as EngineResult


def header(circuit: QuantumCircuit) -> dict[str, Any]:
    """What Qiskit needs to know of a circuit to read its bits."""
    return {
        "name": circuit.name,
        "n_qubits": circuit.num_qubits,
        "memory_slots": circuit.num_clbits,
        "creg_sizes": register_sizes(circuit),
        "qreg_sizes": [[register.name, register.size] for register in circuit.qregs],
        "global_phase": float(circuit.global_phase),
        "metadata": dict(circuit.metadata or {}),
    }


def register_sizes(circuit: QuantumCircuit) -> list[list[Any]]:
    """Names and sizes of the classical registers if they follow one another without gaps, else none.

    Qiskit cuts bit strings by these sizes alone, so registers that overlap or leave bits out would be cut wrongly.
    """
    bits = [bit for register in circuit.cregs for bit in register]
    return [[register.name, register.size] for register in circuit.cregs] if bits == list(circuit.clbits) else []


class LazyData(ExperimentResultData):
    """The data of one circuit: ``counts``, ``memory`` and saved states, each made when it is first read."""

    def __init__(self, result: EngineResult, keep_memory: bool) -> None:
        super().__init__()
        self.engine_result = result
        has_shots = result.shots is not None
        self._data_attributes = ["counts"] * has_shots + ["memory"] * (has_shots and keep_memory) + [*result.saved]

    @cached_property
    def counts(self) -> dict[str, int]:
        """How often each outcome was found, by its value in hexadecimal."""
        return {hex(value): count for value, count in self.engine_result.counts().items()}

    @cached_property
    def memory(self) -> list[str]:
        """The outcome of every shot in hexadecimal."""
        if "memory" not in self._data_attributes:
            raise AttributeError("the outcomes of single shots were not kept; run with memory=True.")
        return hexadecimal(np.asarray(self.engine_result.packed))

    def __getattr__(self, name: str) -> Any:
        saved = self.__dict__["engine_result"].saved if "engine_result" in self.__dict__ else {}
        if name not in saved:
            raise AttributeError(f"this result holds no {name!r}.")
        state = Statevector(saved[name])
        self.__dict__[name] = state
        return state


class QsimExResult(Result):
    """Qiskit's result, whose counts come straight from the engine's integers.

    Qiskit writes each outcome in hexadecimal, reads it, writes it in binary, reads it and writes it again.
    """

    def get_counts(self, experiment: Any = None) -> Any:
        """How often each outcome was found, by its bits; a list if there are several circuits. As in `Result`."""
        keys = range(len(self.results)) if experiment is None else [experiment]
        found = [self._counts(key) for key in keys]
        return found[0] if len(found) == 1 else found

    def _counts(self, key: Any) -> Any:
        outcome = self._get_experiment(key)
        data, slots = outcome.data, outcome.header["memory_slots"] if outcome.header else 0
        if not (isinstance(data, LazyData) and data.engine_result.shots and slots):
            return super().get_counts(key)  # no shots, no bits, or a result that was read from a file
        values, sizes = data.engine_result.counts(), outcome.header["creg_sizes"]
        counts = Counts(dict(zip(bit_strings(values, slots, sizes), values.values(), strict=True)))
        counts.int_raw, counts.creg_sizes, counts.memory_slots = values, sizes, slots
        return counts


def bit_strings(values: Iterable[int], slots: int, sizes: Sequence[Sequence[Any]]) -> list[str]:
    """Write values in binary, the last register first, a space between two."""
    form = f"0{slots}b"
    whole = [format(value, form) for value in values]
    if len(sizes) < 2:
        return whole
    ends = list(accumulate(size for _, size in reversed(sizes)))
    cuts = [slice(begin, end) for begin, end in pairwise([0, *ends])]
    return [" ".join([bits[cut] for cut in cuts]) for bits in whole]


def hexadecimal(packed: NDArray[np.uint8]) -> list[str]:
    """Write rows of packed bits, least significant byte first, as hexadecimal numbers."""
    shots, width = packed.shape
    if width > 8:
        return [hex(int.from_bytes(row.tobytes(), "little")) for row in packed]
    padded = np.zeros((shots, 8), dtype=np.uint8)
    padded[:, :width] = packed
    return [hex(value) for value in padded.view("<u8")[:, 0].tolist()]


def experiment(result: EngineResult, head: dict[str, Any], shots: int, keep_memory: bool) -> ExperimentResult:
    """One circuit's part of a result."""
    return ExperimentResult(
        shots=shots,
        success=True,
        data=LazyData(result, keep_memory),
        status="DONE",
        seed=result.seed,
        header=head,
        time_taken=result.timings["total"],
        metadata=result.metadata(),
    )


def assemble(experiments: Sequence[ExperimentResult], **about: Any) -> Result:
    """The result of a job."""
    taken = sum(e.time_taken for e in experiments)
    return QsimExResult(success=True, status="COMPLETED", results=list(experiments), time_taken=taken, **about)
