"""Results as Qiskit's users know them, and how often each outcome was found, made of the engine's when they are read.

Native code sorts outcomes, writes them in binary and puts them into a dictionary: core/native/readers/outcomes.cpp.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from qiskit.circuit import QuantumCircuit
from qiskit.exceptions import QiskitError
from qiskit.result import Counts, Result
from qiskit.result.models import ExperimentResult

from qsim_ex import BatchResult
from qsim_ex import Result as EngineResult
from qsim_ex.frameworks import count_outcomes, counts_of
from qsim_ex_provider.lazy_experiment import LazyData, LazyExperiment
from qsim_ex_provider.saves.kinds import SavedForm

if TYPE_CHECKING:
    from qiskit.quantum_info import Operator, Statevector


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


_SAVE_IT = "Save it: {}(circuit) of qsim_ex_provider at the end of the circuit, before it runs."


class ExperimentPlace(NamedTuple):
    """Where one experiment of a job is found.

    task, member: the number of the task, and which binding of it. circuit, binding: of the job, and of the circuit.
    """

    task: int
    member: int
    circuit: int
    binding: int


class Experiments(Sequence[ExperimentResult]):
    """Qiskit's list of experiments, each made when it is first read: of a thousand bindings most never are.

    task_results: of each task. headers: of each circuit. places: of each experiment.
    """

    def __init__(
        self,
        task_results: Sequence[BatchResult],
        headers: Sequence[CircuitHeader],
        places: Sequence[ExperimentPlace],
        shots: int,
        memory: bool,
    ) -> None:
        self._task_results = task_results
        self._headers = headers
        self._places = places
        self._shots = shots
        self._memory = memory
        self._about: dict[int, dict[str, Any]] = {}  # metadata of each task, made once
        self._made: dict[int, ExperimentResult] = {}

    def __len__(self) -> int:
        """Return the number of experiments."""
        return len(self._places)

    def __getitem__(self, number: Any) -> Any:
        """Return one experiment, or a list of some."""
        if isinstance(number, slice):
            return [self[k] for k in range(len(self))[number]]
        number = range(len(self))[number]
        if number not in self._made:
            self._made[number] = self._make(number)
        return self._made[number]

    def __eq__(self, other: object) -> bool:
        """Return whether these are the same experiments as those of a list."""
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # as a list

    def __repr__(self) -> str:
        """Return what a list of the experiments shows."""
        return repr(list(self))

    @property
    def time_taken(self) -> float:
        """Seconds of all tasks."""
        return sum([result.provenance.timings["total"] for result in self._task_results])

    def base_seed(self, drawn: int) -> int:
        """Return the seed of the first experiment, which is the base of all: of several processes, that of rank 0.

        drawn: the one that the job was begun with, for a job without experiments.
        """
        if not self._places:
            return drawn
        place = self._places[0]
        return self._task_results[place.task].seeds[place.member]

    def is_untouched(self, number: int) -> bool:
        """Return whether there is an experiment of that number that nobody has read, so that nobody has changed it."""
        return -len(self) <= number < len(self) and number % len(self) not in self._made

    def registers(self, number: int) -> tuple[int, list[list[Any]]]:
        """Return the number of classical bits of an experiment, and names and sizes of its registers."""
        fields = self._headers[self._places[number].circuit].fields
        return fields["memory_slots"], fields["creg_sizes"]

    def packed(self, number: int) -> NDArray[np.uint8] | None:
        """Return the packed bits of an experiment's shots, uint8 [shots, bytes]; None without shots."""
        place = self._places[number]
        packed = self._task_results[place.task].packed
        return None if packed is None else packed[place.member]

    def _make(self, number: int) -> ExperimentResult:
        place = self._places[number]
        batch = self._task_results[place.task]
        result = batch[place.member]
        return LazyExperiment(
            partial(self._metadata, result, place.task),
            shots=self._shots,
            success=True,
            data=LazyData(result, self._memory, self._headers[place.circuit].saved),
            status="DONE",
            seed=result.seed,
            header=self._headers[place.circuit].header(place.binding),
            time_taken=result.timings["total"] / len(batch),
        )

    def _metadata(self, result: EngineResult, task: int) -> dict[str, Any]:
        """Return the metadata of one of the experiments of a task."""
        if task not in self._about:
            self._about[task] = result.metadata()
        return {**self._about[task], "seed": result.seed}


@contextmanager
def _hinting(words: str) -> Iterator[None]:
    """Add what to do to Qiskit's error about data that an experiment has not."""
    try:
        yield
    except QiskitError as error:
        missing = error.message.startswith("No ")
        raise QiskitError(f"{error.message.split('. Please')[0]}. {words}") if missing else error from None


class QsimExResult(Result):
    """Qiskit's result, whose counts come straight from the engine's integers.

    Qiskit writes each outcome in hexadecimal, reads it, writes it in binary, reads it and writes it again.
    """

    def get_counts(self, experiment: Any = None) -> Any:
        """Return how often each outcome was found, by its bits; a list for several circuits, as in `Result`."""
        keys = range(len(self.results)) if experiment is None else [experiment]
        found = [self._counts(key) for key in keys]
        return found[0] if len(found) == 1 else found

    def _counts(self, key: Any) -> Any:
        known = self.results
        if isinstance(key, int) and isinstance(known, Experiments) and known.is_untouched(key):
            number = key % len(known)
            packed, (slots, sizes) = known.packed(number), known.registers(number)
            if packed is None or not len(packed) or not slots:
                return self._counts_of_qiskit(key)
            return LazyCounts(packed, sizes, slots)
        outcome = self._get_experiment(key)
        data = outcome.data
        packed = data.engine_result.packed if isinstance(data, LazyData) else None
        if packed is None or not len(packed) or not (slots := outcome.header["memory_slots"]):
            return self._counts_of_qiskit(key)  # no shots, no bits, or a result that was read from a file
        if "counts" in vars(data):
            return self._counts_of_qiskit(key)  # they were read, and may have been replaced, as `marginal_counts` does
        return LazyCounts(packed, outcome.header["creg_sizes"], slots)

    def _counts_of_qiskit(self, key: object) -> Counts:
        with _hinting("Nothing is measured in this circuit; add measure_all() to it, or measure(qubits, bits)."):
            return super().get_counts(key)

    def get_memory(self, experiment: object = None) -> list[str]:
        """Return the outcome of every shot, as in `Result`."""
        with _hinting("Run with memory=True, and a circuit that measures."):
            found: list[str] = super().get_memory(experiment)
        return found

    def get_statevector(self, experiment: object = None, decimals: int | None = None) -> Statevector:
        """Return the state vector that a circuit saved, as in `Result`."""
        with _hinting(_SAVE_IT.format("save_statevector")):
            return super().get_statevector(experiment, decimals)

    def get_unitary(self, experiment: object = None, decimals: int | None = None) -> Operator:
        """Return the unitary that a circuit saved, as in `Result`."""
        with _hinting(_SAVE_IT.format("save_unitary")):
            return super().get_unitary(experiment, decimals)


def assemble(experiments: Experiments, base_seed: int, **about: Any) -> Result:
    """Return the result of a job; base_seed: the one that it was begun with."""
    return QsimExResult(
        success=True,
        status="COMPLETED",
        results=experiments,
        base_seed=experiments.base_seed(base_seed),
        time_taken=experiments.time_taken,
        **about,
    )
