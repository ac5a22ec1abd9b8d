"""The noise of a device, made from what its target says of gates, qubits and measurements.

The definition is that of Aer's ``NoiseModel.from_backend``. After a gate comes a depolarizing channel and then thermal
relaxation of each qubit for the duration of the gate; the depolarizing probability is such that the average gate
infidelity of both together is the error that the device reports. Qubits relax in delays too. A measurement has a
readout error and nothing else. Crosstalk, leakage, coherent errors and drift are not modelled. Aer is not needed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from qiskit.circuit import ControlFlowOp, Delay, Gate, Instruction, ParameterExpression, QuantumCircuit
from qiskit.quantum_info import Kraus as KrausChannel
from qiskit.transpiler import Target
from qiskit.utils.units import apply_prefix

from qsim_ex import NoiseModel, depolarizing, thermal_relaxation
from qsim_ex.errors import NoiseError, OptionError
from qsim_ex.frameworks import NeedsNumbers, confusion, simplified

Kraus = NDArray[np.complex128]
Wires = tuple[int, ...]

MILLIKELVIN_PER_HERTZ = 47.99243e-9
"""The temperature h·f/k of a qubit of frequency f, as Aer rounds it."""


@dataclass(frozen=True, slots=True)
class QubitRelaxation:
    """How a qubit relaxes: times in seconds, and the population of 1 that it tends to."""

    t1: float
    t2: float
    excited_population: float

    def channel(self, seconds: float) -> Kraus:
        """Return the relaxation of the qubit in this time."""
        if not seconds or (math.isinf(self.t1) and math.isinf(self.t2)):
            return np.eye(2, dtype=np.complex128)[None]
        return thermal_relaxation(self.t1, self.t2, seconds, self.excited_population)


class GateErrors(Mapping[tuple[str, Wires | None], Kraus]):
    """The errors of a device's gates by name and qubits; each becomes Kraus matrices when it is first asked for.

    relaxations: of each qubit; none without relaxation. gate_error: whether gates have depolarizing errors.
    """

    def __init__(self, target: Target, relaxations: Sequence[QubitRelaxation], *, gate_error: bool) -> None:
        self._target = target
        self._relaxations = relaxations
        self._gate_error = gate_error
        self._known: dict[tuple[str, Wires | None], Kraus | None] = {}

    def __getitem__(self, key: tuple[str, Wires | None]) -> Kraus:
        if key not in self._known:
            self._known[key] = self._made(*key)
        found = self._known[key]
        if found is None:
            raise KeyError(key)
        return found

    def __iter__(self) -> Iterator[tuple[str, Wires | None]]:
        """Iterate over all gates and qubits that have an error."""
        for name, properties in self._target.items():
            for wires in properties or ():
                if wires is not None and self.get((name, wires)) is not None:
                    yield name, wires

    def __len__(self) -> int:
        """Return how many gates on given qubits have an error."""
        return sum(1 for _ in self)

    def _made(self, name: str, wires: Wires | None) -> Kraus | None:
        properties = (self._target.get(name) or {}).get(wires)
        if wires is None or properties is None or name == "measure":
            return None
        relaxes = bool(self._relaxations and properties.duration)
        each = [self._relaxations[wire].channel(properties.duration) for wire in wires] if relaxes else []
        error = properties.error if self._gate_error and self._is_gate(name) else None
        probability = depolarizing_probability(error or 0.0, each, len(wires))
        if not relaxes and not probability:
            return None
        mixing = depolarizing(probability, len(wires))
        if not relaxes:
            return mixing
        relaxing: Kraus = reduce(_beside, each)
        return simplified(np.concatenate([relaxing @ one for one in mixing]))

    def _is_gate(self, name: str) -> bool:
        return isinstance(self._target.operation_from_name(name), Gate)


def depolarizing_probability(error: float, relaxations: Sequence[Kraus], num_wires: int) -> float:
    """Return p of the depolarizing channel that makes up, with a relaxation of each wire, an average gate infidelity.

    With F the fidelity of relaxation alone and d = 2^n: p = d·(error − (1 − F)) / (d·F − 1); 0 where relaxation alone
    is worse than the error, and never more than a channel can have.
    """
    d = 1 << num_wires
    process = math.prod(float((np.abs(np.trace(one, axis1=1, axis2=2)) ** 2).sum()) / 4 for one in relaxations)
    fidelity = (d * process + 1) / (d + 1)
    if not error > 1 - fidelity:  # not so for NaN either
        return 0.0
    most = d * d / (d * d - 1)
    return min(d * (min(error, d / (d + 1)) - (1 - fidelity)) / (d * fidelity - 1), most)


@dataclass(frozen=True, eq=False, repr=False)
class DeviceNoise(NoiseModel):
    """The noise of a device: errors of its gates, readout errors, and relaxation in delays.

    As any `qsim_ex.NoiseModel` it may be changed with `with_error` and `with_misreading`.
    relaxations: of each qubit; none without relaxation. dt: seconds of a step of the device's clock.
    """

    relaxations: tuple[QubitRelaxation, ...] = ()
    dt: float | None = None

    @classmethod
    def from_backend(
        cls,
        backend: object,
        *,
        gate_error: bool = True,
        readout_error: bool = True,
        relaxation: bool = True,
        temperature: float = 0.0,
    ) -> DeviceNoise:
        """Return the noise of a backend of Qiskit's, which may be a fake or a real one.

        gate_error, readout_error, relaxation: which kinds of noise there are. temperature: of the qubits, in
        millikelvins; above 0 they relax towards a population of 1 that follows from their frequencies. Raises
        `OptionError` for what has no target.
        """
        target = target_of(backend)
        qubits = range(target.num_qubits or 0)
        properties = target.qubit_properties if relaxation else None
        relaxations = tuple(_relaxation_of(properties[qubit], temperature) for qubit in qubits) if properties else ()
        found = {qubit: _misreading(target, qubit) for qubit in qubits} if readout_error else {}
        return cls(
            GateErrors(target, relaxations, gate_error=gate_error),
            {qubit: one for qubit, one in found.items() if one is not None},
            relaxations,
            target.dt,
        )

    def __repr__(self) -> str:
        """Return for how many qubits this noise is."""
        return f"<DeviceNoise of {len(self.relaxations) or len(self.misreadings)} qubits>"

    def is_ideal(self) -> bool:
        """Return whether there is no noise at all."""
        return not self.misreadings and not self.relaxations and next(iter(self.errors), None) is None

    def around(self, circuit: QuantumCircuit) -> QuantumCircuit:
        """Return the circuit with a relaxation after each delay, in the blocks of control flow too.

        Raises `NeedsNumbers` for a delay whose duration is a parameter, `NoiseError` for one in a unit without length.
        """
        return self._relaxed(circuit, range(circuit.num_qubits)) if self.relaxations and _waits(circuit) else circuit

    def _relaxed(self, circuit: QuantumCircuit, wires: Sequence[int]) -> QuantumCircuit:
        made = circuit.copy_empty_like()
        for instruction in circuit.data:
            operation = instruction.operation
            on = [wires[circuit.find_bit(qubit).index] for qubit in instruction.qubits]
            if isinstance(operation, ControlFlowOp):
                blocks = [self._relaxed(block, on) for block in operation.blocks]
                made.append(operation.replace_blocks(blocks), instruction.qubits, instruction.clbits)
                continue
            made.append(instruction)
            if isinstance(operation, Delay) and (seconds := self._seconds(operation)):
                for wire, qubit in zip(on, instruction.qubits, strict=True):
                    if wire < len(self.relaxations):
                        made.append(_instruction(self.relaxations[wire], seconds), [qubit])
        return made

    def _seconds(self, delay: Delay) -> float:
        duration, unit = delay.duration, delay.unit
        if isinstance(duration, ParameterExpression) and duration.parameters:
            raise NeedsNumbers("the relaxation in a delay depends on the number that a parameter stands for")
        if unit == "expr":
            raise NoiseError(
                f"expected a delay of known duration, got the expression {duration}; transpile with a "
                "scheduling_method first."
            )
        if unit != "dt":
            return float(apply_prefix(float(duration), unit))
        if self.dt is None:
            raise NoiseError(
                f"expected delays in seconds, since the device does not say how long its unit dt is, got {duration} "
                "dt; pass unit='s'."
            )
        return float(duration) * self.dt


def target_of(backend: object) -> Target:
    """Return the target of a backend; raises `OptionError` for what has none."""
    target = getattr(backend, "target", None)
    if not isinstance(target, Target):
        raise OptionError(f"expected a backend of Qiskit's (BackendV2), which has a target, got {backend!r}.")
    return target


@lru_cache(maxsize=1 << 12)
def _instruction(relaxation: QubitRelaxation, seconds: float) -> Instruction:
    return KrausChannel([*relaxation.channel(seconds)]).to_instruction()


def _waits(circuit: QuantumCircuit) -> bool:
    """Return whether there is a delay in a circuit or in a block of its control flow."""
    if "delay" in circuit.count_ops():
        return True
    flows = (one.operation for one in circuit.data if one.is_control_flow())
    return any(_waits(block) for flow in flows for block in flow.blocks)


def _relaxation_of(properties: Any, temperature: float) -> QubitRelaxation:
    """Return how a qubit relaxes; a time that is not known is infinite, and T2 is 2·T1 at most."""
    t1 = math.inf if getattr(properties, "t1", None) is None else properties.t1
    t2 = math.inf if getattr(properties, "t2", None) is None else properties.t2
    frequency = getattr(properties, "frequency", None)
    excited = 0.0
    if temperature and frequency is not None:
        ratio = MILLIKELVIN_PER_HERTZ * frequency / abs(temperature)
        excited = 1 / (1 + math.exp(ratio)) if ratio < 700 else 0.0
        excited = 1 - excited if temperature < 0 else excited
    return QubitRelaxation(t1, min(t2, 2 * t1), excited)


def _misreading(target: Target, qubit: int) -> NDArray[np.float64] | None:
    """Return P(read | true) of a qubit's measurement; None where the target does not say how often it fails."""
    properties = (target.get("measure") or {}).get((qubit,))
    one_of_zero = getattr(properties, "prob_meas1_prep0", getattr(properties, "error", None))
    zero_of_one = getattr(properties, "prob_meas0_prep1", getattr(properties, "error", None))
    if not one_of_zero and not zero_of_one:
        return None
    wrong, missed = one_of_zero or 0.0, zero_of_one or 0.0
    return confusion([[1 - wrong, wrong], [missed, 1 - missed]], 1)


def _beside(low: Kraus, high: Kraus) -> Kraus:
    """Return the channel on both of two sets of wires, the first of which is less significant."""
    return np.array([np.kron(b, a) for a in low for b in high])
