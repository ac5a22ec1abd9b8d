"""Tapes of PennyLane become sweeps of the engine: pure functions, gate by gate.

Tapes have wires 0, 1, … here (`QuantumScript.map_to_standard_wires`). Wire k of n becomes wire n − 1 − k, so that the
engine's little-endian state is PennyLane's big-endian one without any amplitude being moved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray
from pennylane import math
from pennylane.measurements import ExpectationMP
from pennylane.operation import Operator, StatePrepBase
from pennylane.ops import Controlled
from pennylane.tape import QuantumScript
from pennylane.typing import TensorLike

from qsim_ex import ParameterSweepBuilder, PauliString, PauliSum
from qsim_ex.frameworks import ParameterSweep

Values = NDArray[np.float64]


class _Controls(TypedDict):
    controls: Sequence[int]
    control_values: int | None


MATRIX_WIRES = 5
"""The most wires of an operation without a row that becomes a matrix; wider ones are decomposed."""

ROWS = {
    "Identity": None,
    "Barrier": None,
    "WireCut": None,
    "Snapshot": None,
    "PauliX": "x",
    "PauliY": "y",
    "PauliZ": "z",
    "Hadamard": "h",
    "S": "s",
    "T": "t",
    "SX": "sx",
    "SWAP": "swap",
    "ISWAP": "iswap",
    "CNOT": "cx",
    "CY": "cy",
    "CZ": "cz",
    "CH": "ch",
    "CSWAP": "cswap",
    "Toffoli": "ccx",
    "CCZ": "ccz",
    "RX": "rx",
    "RY": "ry",
    "RZ": "rz",
    "PhaseShift": "p",
    "U1": "u1",
    "U2": "u2",
    "U3": "u3",
    "CRX": "crx",
    "CRY": "cry",
    "CRZ": "crz",
    "ControlledPhaseShift": "cp",
    "IsingXX": "rxx",
    "IsingYY": "ryy",
    "IsingZZ": "rzz",
}
"""Rows of the gate table by PennyLane's names, with the same arguments and parameters; None for what does nothing."""

PRODUCTS = ("Rot", "CRot", "MultiRZ", "PauliRot", "GlobalPhase")
"""Gates with parameters that become others."""


def is_native(op: Operator) -> bool:
    """Return whether the translator knows an operation with parameters that may be differentiated."""
    if isinstance(op, Controlled):
        return is_native(op.base) and op.base.name not in ("Rot", "CRot")
    return op.name in ROWS or op.name in PRODUCTS


def is_supported(op: Operator) -> bool:
    """Return whether the translator knows an operation: one of the table, or a matrix on a few wires.

    It knows preparations of states too, at the beginning of a tape, where transforms leave them as they are.
    """
    return is_native(op) or (bool(op.has_matrix) and len(op.wires) <= MATRIX_WIRES)


def is_differentiable(op: Operator) -> bool:
    """Return whether an operation is supported and has derivatives, if one of its parameters needs one."""
    if is_native(op):
        return True
    return is_supported(op) and not any(math.requires_grad(parameter) for parameter in op.data)


@dataclass(eq=False)
class Translator:
    """Appends operations to a builder.

    differentiated: the numbers of the parameters, counted over all operations, that become columns. origins: of each
    column the number of its parameter, and what it is multiplied by.
    """

    num_wires: int
    differentiated: frozenset[int]
    builder: ParameterSweepBuilder = field(init=False)
    origins: dict[int, tuple[int, float]] = field(default_factory=dict)
    kept: list[Values] = field(default_factory=list)
    at: int = 0

    def __post_init__(self) -> None:
        self.builder = ParameterSweepBuilder(self.num_wires, 0)

    def wires(self, op: Operator) -> list[int]:
        """Return the engine's wires of an operation."""
        return [self.num_wires - 1 - int(wire) for wire in op.wires]

    def numbers(self, op: Operator, factor: float = 1.0) -> list[TensorLike]:
        """Return an operation's parameters as numbers or columns, and count them."""
        found: list[TensorLike] = []
        for parameter in op.data:
            value = float(np.real(parameter)) * factor
            if self.at in self.differentiated:
                column = np.array([value])
                self.origins[id(column)] = self.at, factor
                self.kept.append(column)
                found.append(column)
            else:
                found.append(value)
            self.at += 1
        return found

    def append(self, op: Operator, controls: Sequence[int] = (), values: int = -1) -> None:
        """Append an operation under controls."""
        builder, wires = self.builder, self.wires(op)
        under: _Controls = {"controls": controls, "control_values": None if values < 0 else values}
        if isinstance(op, Controlled) and op.name not in ROWS and is_native(op):
            own = [self.num_wires - 1 - int(wire) for wire in op.control_wires]
            bits = sum(int(bool(value)) << k for k, value in enumerate(op.control_values))
            both = bits | (values if values >= 0 else (1 << len(controls)) - 1) << len(own)
            self.append(op.base, [*own, *controls], both)
        elif op.name in ROWS:
            row = ROWS[op.name]
            given = self.numbers(op)
            if row is not None:
                builder.gate(row, wires, *given, **under)
        elif op.name == "Rot":
            phi, theta, omega = self.numbers(op)
            builder.gate("rz", wires, phi, **under).gate("ry", wires, theta, **under).gate("rz", wires, omega, **under)
        elif op.name == "CRot":
            phi, theta, omega = self.numbers(op)
            builder.gate("crz", wires, phi).gate("cry", wires, theta).gate("crz", wires, omega)
        elif op.name == "GlobalPhase":
            builder.gate("global_phase", (), *self.numbers(op, -1.0), **under)
        elif op.name in ("MultiRZ", "PauliRot"):
            word = op.hyperparameters["pauli_word"] if op.name == "PauliRot" else "Z" * len(wires)
            if set(word) <= {"I"}:
                builder.gate("global_phase", (), *self.numbers(op, -0.5), **under)
            else:
                (angle,) = self.numbers(op)
                builder.pauli_rotation(angle, word, wires, **under)
        else:
            self._matrix(op, wires)

    def _matrix(self, op: Operator, wires: list[int]) -> None:
        """Append a state preparation or a matrix."""
        self.at += len(op.data)
        if isinstance(op, StatePrepBase):
            amplitudes = np.asarray(op.state_vector(wire_order=op.wires), dtype=np.complex128).reshape(-1)
            self.builder.initialize(amplitudes, wires[::-1])
        else:
            self.builder.unitary(np.asarray(op.matrix(wire_order=op.wires), dtype=np.complex128), wires[::-1])


@dataclass(frozen=True, eq=False)
class TranslatedTape:
    """A tape as a sweep of one binding.

    columns: of each column of the sweep the place of its parameter among those that are differentiated, and a factor.
    """

    tape: QuantumScript
    sweep: ParameterSweep
    columns: tuple[tuple[int, float], ...]

    def key(self) -> tuple[object, ...]:
        """Return what is equal for tapes of one structure that differ in their columns alone."""
        return self.sweep.template.operands.tobytes() if self.sweep.columns is None else self._others(), self.columns

    def _others(self) -> bytes:
        """Return the operands that are no columns'."""
        kept = replace(self.sweep, columns=np.zeros_like(np.asarray(self.sweep.columns)))
        return kept.operands(np.zeros(1, dtype=np.intp)).tobytes()


def translated(tape: QuantumScript, num_wires: int, *, differentiated: bool) -> TranslatedTape:
    """Translate a tape with standard wires; differentiated: make columns of its trainable parameters."""
    trainable = tape.trainable_params if differentiated else ()
    translator = Translator(num_wires, frozenset(trainable))
    for op in tape.operations:
        translator.append(op)
    sweep = translator.builder.sweep(1)
    places = {number: k for k, number in enumerate(trainable)}
    origins = [translator.origins[id(array)] for array in translator.builder.arrays]
    columns = tuple((places[number], factor) for number, factor in origins)
    return TranslatedTape(tape, sweep, columns)


def together(tapes: Sequence[TranslatedTape]) -> ParameterSweep:
    """Return the sweep of tapes that are alike, with a binding for each."""
    sweep = tapes[0].sweep
    if sweep.columns is None:
        return replace(sweep, count=len(tapes))
    columns = np.concatenate([np.asarray(one.sweep.columns) for one in tapes])
    return replace(sweep, count=len(tapes), columns=columns)


def pauli_sums(tape: QuantumScript, num_wires: int) -> list[PauliSum] | None:
    """Return the observables of a tape as the engine's; None unless all are expectation values of real Pauli sums."""
    found = []
    for measurement in tape.measurements:
        sentence = measurement.obs.pauli_rep if isinstance(measurement, ExpectationMP) and measurement.obs else None
        if sentence is None:
            return None
        terms = []
        for word, coefficient in sentence.items():
            if abs(np.imag(coefficient)) > 0:
                return None
            wires = [num_wires - 1 - int(wire) for wire in word]
            terms.append(PauliString.parse("".join(word.values()), wires, float(np.real(coefficient))))
        found.append(PauliSum(tuple(terms)))
    return found
