"""Results: Cirq's own types, with an attribute `qsim_ex` that says where and how they were found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import cirq
import numpy as np
from numpy.typing import NDArray

from qsim_ex import Result
from qsim_ex.frameworks import later, tallied
from qsim_ex_cirq.translation.measurements import Measurement
from qsim_ex_cirq.translation.translation import Translation

if TYPE_CHECKING:
    from qsim_ex_cirq.qudits import digits
else:
    digits = later("qsim_ex_cirq.qudits.digits")

Bits = NDArray[np.uint8]
Records = NDArray[np.signedinteger[Any] | np.unsignedinteger[Any]]
Vector = NDArray[np.complexfloating]
Metadata = Mapping[str, Any]


def records_of(measurements: Sequence[Measurement], bits: Bits) -> dict[str, Records]:
    """Return {key: int8 [repetitions, instances, qubits]} from the classical bits.

    They are signed as those that ``cirq.Simulator`` draws from a state, so that 1 − 2·bits is what it should be. For a
    channel with a key it is uint8 [repetitions, 1, instances], the numbers of the chosen matrices, as in Cirq.

    bits: uint8 [repetitions, classical bits], as they were read: confusion acts before a result is inverted, as the
    documentation of `cirq.MeasurementGate` says. Records of qids of more than 128 levels are int16, or wider.
    """
    instances: dict[str, list[Records]] = {}
    choices: set[str] = set()
    for measurement in measurements:
        read = bits[:, list(measurement.clbits)]
        if measurement.shape is not None:
            found = digits.records(read, measurement.shape, measurement.invert)
            instances.setdefault(measurement.key, []).append(found)
            continue
        read ^= np.array(measurement.invert, dtype=np.uint8)
        if measurement.is_choice:
            choices.add(measurement.key)
            read = read @ (1 << np.arange(read.shape[1])[::-1]).astype(np.uint8)
            instances.setdefault(measurement.key, []).append(read[:, None])
        else:
            instances.setdefault(measurement.key, []).append(read.view(np.int8))
    return {key: np.stack(reads, axis=2 if key in choices else 1) for key, reads in instances.items()}


def looped_records(translation: Translation, result: Result) -> dict[str, Records]:
    """Return the records of keys that are measured in loops: uint8 [repetitions, instances, qubits], as in Cirq.

    A repetition of fewer rounds than another has 0 at its end. For a channel with a key it is uint8 [repetitions, 1,
    instances]. result: the engine's, whose records begin with the least significant bit.
    """
    found: dict[str, Records] = {}
    shapes = {one.key: one.shape for one in translation.measurements}
    for key, is_choice in translation.looped.items():
        bits = result.records[key].padded()
        shape = shapes[key]
        if shape is not None:
            found[key] = digits.looped(bits[..., ::-1], shape)
            continue
        found[key] = (
            (bits @ (1 << np.arange(bits.shape[2])).astype(np.uint8))[:, None] if is_choice else bits[..., ::-1]
        )
    return found


def last_of(translation: Translation, bits: Bits) -> dict[str, Records]:
    """Return the record of each key, uint8 [qubits], in one repetition; of several instances Cirq keeps the last."""
    records = records_of(translation.measurements, bits)
    chosen = {one.key for one in translation.measurements if one.is_choice}
    last = {key: found[0, 0, -1:] if key in chosen else found[0, -1] for key, found in records.items()}
    return {key: found.view(np.uint8) if found.dtype == np.int8 else found for key, found in last.items()}


def is_zero(repetitions: object) -> bool:
    """Return whether a number of repetitions is 0; False is no number."""
    return not isinstance(repetitions, bool) and repetitions == 0


def empty_result(resolver: cirq.ParamResolver, translation: Translation) -> ResultDict:
    """Return the result of no repetitions: for each key int8 [0, instances, qubits]."""
    bits = np.zeros((0, translation.circuit.num_clbits), dtype=np.uint8)
    return ResultDict(params=resolver, records=records_of(translation.measurements, bits))


class ResultDict(cirq.ResultDict):
    """Cirq's result of a run, with the engine's own result.

    engine_result: the engine's own result, None if this was read from a file or added up from others. It carries
    its parent's name, so that what Cirq writes to JSON it can read again.
    """

    def __init__(self, *, engine_result: Result | None = None, **given: Any) -> None:
        super().__init__(**given)
        self.engine_result = engine_result

    @property
    def qsim_ex(self) -> Metadata:
        """Where and how it ran: seed, device, precision, plan, times; empty without an engine's result."""
        return {} if self.engine_result is None else self.engine_result.metadata()

    def histogram(self, *, key: Any, **how: Any) -> Counter[Any]:
        """Return how often each value of a key was found, its first qubit most significant; as in `cirq.Result`.

        Cirq folds the bits of one repetition after the other in Python; here that is one matrix product, unless
        another way of folding is asked for. Digits of qudits need ``fold_base=3``, or a base for each: without one Cirq
        takes them for bits.
        """
        bits = self.measurements.get(str(key)) if not how else None
        if bits is None or not 0 < bits.shape[1] < 64 or bits.max(initial=0) > 1:
            if {*how} == {"fold_base"}:  # in Python's numbers, since those of NumPy overflow
                base = how["fold_base"]
                how = {"fold_func": lambda digits: cirq.big_endian_digits_to_int([*map(int, digits)], base=base)}
            counter: Counter[Any] = super().histogram(key=key, **how)
            return counter
        values = bits.astype(np.int64) @ (1 << np.arange(bits.shape[1], dtype=np.int64)[::-1])
        return Counter(tallied(values))

    @classmethod
    def _json_namespace_(cls) -> str:
        """Return the namespace of Cirq's own types."""
        return ""


class QsimExTrialResult(cirq.StateVectorTrialResult):
    """Cirq's result of a simulation, and `qsim_ex`: seed, device, precision and times.

    `final_state_vector` is the one-dimensional array that the engine handed over. Cirq's own result holds it three
    times; here the simulation state with its buffer is made when something asks for it.
    """

    def __init__(
        self,
        params: cirq.ParamResolver,
        measurements: dict[str, Records],
        vector: Vector,
        qubits: tuple[cirq.Qid, ...],
        about: Metadata | Result,
    ) -> None:
        state: Any = _StateWhenAsked(vector, qubits)
        super().__init__(params=params, measurements=measurements, final_simulator_state=state)
        self._about = about

    @property
    def qsim_ex(self) -> Metadata:
        """Where and how the state was found: seed, device, precision, times; put together when it is read."""
        return self._about.metadata() if isinstance(self._about, Result) else self._about

    @property
    def final_state_vector(self) -> Vector:  # the parent caches a copy
        """The amplitudes, [2^n], big endian by the qubit order; not a copy."""
        state: Any = self._final_simulator_state
        vector: Vector = state.vector
        return vector

    def __str__(self) -> str:
        """Return the measurements and, where few amplitudes matter, the state in Dirac notation."""
        vector = self.final_state_vector
        measured = cirq.SimulationTrialResult.__str__(self)
        few = np.count_nonzero(np.abs(vector) > 0.001) < 16
        state = self.dirac_notation(3) if few else str(vector)
        qubits = tuple(self.qubit_map)
        return f"measurements: {measured}\n\nqubits: {qubits}\noutput vector: {state}"


class _StateWhenAsked:
    """Stands for the simulation state in Cirq's result, and makes one when it is used as one."""

    def __init__(self, vector: Vector, qubits: tuple[cirq.Qid, ...]) -> None:
        self.vector = vector
        self.qubits = qubits

    @property
    def qubit_map(self) -> dict[cirq.Qid, int]:
        """The number of each qubit in the order."""
        return {qubit: k for k, qubit in enumerate(self.qubits)}

    def create_merged_state(self) -> cirq.StateVectorSimulationState:
        """Return Cirq's state: a copy of the amplitudes and a buffer of the same size."""
        return cirq.StateVectorSimulationState(initial_state=self.vector, qubits=self.qubits, dtype=self.vector.dtype)

    def __getitem__(self, qubit: cirq.Qid) -> cirq.StateVectorSimulationState:
        return self.create_merged_state()

    def __repr__(self) -> str:
        return repr(self.create_merged_state())
