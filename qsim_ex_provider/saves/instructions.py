"""The instructions that save a value of the state, and the one that sets it; qiskit-aer is not needed for them.

They have the names, attributes and arguments of Aer's. A circuit with Aer's own instructions runs as well. The
functions that append them are made of the rows of `kinds.SAVES`.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from qiskit.circuit import Instruction, QuantumCircuit, Qubit
from qiskit.quantum_info import Operator, Pauli, SparsePauliOp, Statevector

from qsim_ex_provider.saves.kinds import FUNCTIONS, SAVES

SaveFunction = Callable[..., QuantumCircuit]
"""Appends a save to a circuit, and returns the circuit."""


class SaveInstruction(Instruction):
    """Save a value of the state at this point, under a label.

    name: one of `kinds.SAVES`. pershot: save the value of each shot instead of one value or the mean. conditional: save
    for each value of the classical bits. unnormalized: save the sum over all shots in place of the mean.
    """

    _directive = True  # passes of the transpiler leave it where it is, as they do a barrier

    def __init__(
        self,
        name: str,
        num_qubits: int,
        label: str | None = None,
        *,
        pershot: bool = False,
        conditional: bool = False,
        unnormalized: bool = False,
        params: Sequence[object] = (),
    ) -> None:
        if label is not None and not isinstance(label, str):
            raise TypeError(f"expected a label as a string, got {label!r}.")
        row = SAVES[name]
        subtype = ("accum" if unnormalized else "average") if row.averages else "single"
        self._subtype = ("c_" if conditional else "") + ("list" if pershot else subtype)
        super().__init__(name, num_qubits, 0, list(params), label=row.default_label if label is None else label)

    def inverse(self, annotated: bool = False) -> SaveInstruction:  # noqa: ARG002 (Qiskit's signature)
        """Return another one: saving changes nothing, so undoing it is saving at the mirrored point."""
        return copy.copy(self)


class SaveStatevector(SaveInstruction):
    """Save the state vector of the whole circuit at this point, under a label.

    The result holds it under that label; `Result.get_statevector` finds the label "statevector".
    """

    def __init__(
        self, num_qubits: int, label: str = "statevector", pershot: bool = False, conditional: bool = False
    ) -> None:
        super().__init__("save_statevector", num_qubits, label, pershot=pershot, conditional=conditional)


class SetStatevector(Instruction):
    """Put all qubits into a state, whatever their state is; classical bits keep their values."""

    _directive = True

    def __init__(self, state: Any) -> None:
        state = state if isinstance(state, Statevector) else Statevector(state)
        if not state.num_qubits or not state.is_valid():
            raise ValueError("expected a state vector of 2^n amplitudes and norm 1, got another one.")
        super().__init__("set_statevector", state.num_qubits, 0, [np.asarray(state.data)])


def set_statevector(circuit: QuantumCircuit, state: object) -> QuantumCircuit:
    """Put all qubits into a state, whatever their state is; return the circuit.

    state: a `Statevector` or 2^n amplitudes. Raises `ValueError` for another size than the circuit's.
    """
    instruction = SetStatevector(state)
    if instruction.num_qubits != circuit.num_qubits:
        raise ValueError(f"expected a state of {circuit.num_qubits} qubits, got one of {instruction.num_qubits}.")
    circuit.append(instruction, circuit.qubits)
    return circuit


def _saving(function: str, name: str) -> SaveFunction:
    """Return the function of one instruction, whose arguments are those that its row asks for."""
    row, flag = SAVES[name], {"annotation": bool, "default": False}
    operator = Pauli | SparsePauliOp | Operator
    needed: list[tuple[str, dict[str, object]]] = [("circuit", {"annotation": QuantumCircuit})]
    needed += {
        "observable": [("operator", {"annotation": operator})],
        "values": [("params", {"annotation": Sequence[int] | Sequence[str]})],
        None: [],
    }[row.kind.asks]
    if row.kind.some_wires:
        needed.append(("qubits", {"annotation": Any} | ({} if row.kind.asks else {"default": None})))
    needed.append(("label", {"annotation": str | None, "default": row.default_label}))
    flags = {"unnormalized": row.averages, "pershot": True, "conditional": row.conditional}
    needed += [(one, flag) for one, taken in flags.items() if taken]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(one, kind, **of) for one, of in needed]
    signature = inspect.Signature(parameters, return_annotation=QuantumCircuit)

    def save(*args: object, **kwargs: object) -> QuantumCircuit:
        given = signature.bind(*args, **kwargs).arguments
        circuit, qubits = given.pop("circuit"), given.pop("qubits", None)
        on = circuit.qubits if qubits is None else [qubits] if isinstance(qubits, int | Qubit) else list(qubits)
        if "operator" in given:
            given["params"] = _terms(given.pop("operator"))
        elif "params" in given:
            given["params"] = _values(given["params"])
        circuit.append(SaveInstruction(name, len(on), given.pop("label", None), **given), on)
        return circuit

    save.__name__ = save.__qualname__ = function
    save.__signature__ = signature  # type: ignore[attr-defined]
    save.__annotations__ = {one.name: one.annotation for one in parameters} | {"return": QuantumCircuit}
    save.__doc__ = f"Save {row.summary}; return the circuit.\n\n{_ARGUMENTS}"
    return save


_ARGUMENTS = """qubits: by default all of them. params: basis values, as whole numbers or as strings in hexadecimal
(0x…) or binary. unnormalized: save the sum over all shots in place of the mean. pershot: save the value of each shot.
conditional: save one for each value of the classical bits.
"""


def _terms(operator: Any) -> list[tuple[str, tuple[float, float]]]:
    """Return an operator as Aer's instructions have it: Pauli strings with their coefficients.

    Raises `ValueError` for an operator that is not Hermitian.
    """
    if isinstance(operator, Pauli):
        operator = SparsePauliOp(operator)
    elif not isinstance(operator, SparsePauliOp):
        operator = SparsePauliOp.from_operator(Operator(operator))
    if not np.allclose(operator.coeffs.imag, 0):
        raise ValueError("expected a Hermitian operator, got one with complex coefficients; use real ones.")
    found: dict[str, float] = {}
    for letters, coefficient in operator.label_iter():
        found[letters] = found.get(letters, 0.0) + float(coefficient.real)
    return [(letters, (coefficient, 0.0)) for letters, coefficient in found.items()]


def _values(params: Sequence[int] | Sequence[str]) -> list[int]:
    """Return basis values as whole numbers."""
    return [int(one, 16 if one.startswith("0x") else 2) if isinstance(one, str) else int(one) for one in params]


_FUNCTIONS = {function: _saving(function, name) for function, name in FUNCTIONS.items()}


def __getattr__(name: str) -> SaveFunction:
    if name in _FUNCTIONS:
        return _FUNCTIONS[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
