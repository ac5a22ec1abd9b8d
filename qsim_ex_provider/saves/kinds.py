"""The table of save instructions: Aer's name of each, the engine's kind of value, and the form in Qiskit's results.

Our own instructions are appended as Aer's are, which have the same attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from qiskit.quantum_info import Clifford, DensityMatrix, Operator, StabilizerState, Statevector
from qiskit.result import ProbDistribution

import qsim_ex
from qsim_ex.errors import CircuitError, NotSupported
from qsim_ex.frameworks import SAVE_KINDS, SaveKind
from qsim_ex_provider.translation.place import Place, swaps
from qsim_ex_provider.translation.translator import Translator

NEGLIGIBLE = 1e-10
"""Amplitudes and probabilities that a dictionary leaves out, as Aer's do."""


@dataclass(frozen=True, slots=True)
class SaveForm:
    """A row: one save instruction. All else follows from what the engine says of this kind of value (`SAVE_KINDS`).

    what: the engine's kind of value. form: makes Qiskit's object of a value. summary: what the function saves, as its
    docstring says. function: its name, if that is not the instruction's. label: the default label, if not `what`.
    """

    what: str
    form: Callable[[NDArray[Any]], Any]
    summary: str
    function: str = ""
    label: str = ""

    @property
    def default_label(self) -> str:
        """The label of saves that are given none."""
        return self.label or self.what

    @property
    def kind(self) -> SaveKind:
        """The engine's row."""
        return SAVE_KINDS[self.what]

    @property
    def averages(self) -> bool:
        """Whether a value is a mean by default."""
        return "average" in self.kind.hows

    @property
    def conditional(self) -> bool:
        """Whether there may be a value for each value of the classical bits."""
        return any(how.startswith("c_") for how in self.kind.hows)


def _distribution(values: NDArray[Any]) -> ProbDistribution:
    return ProbDistribution({int(k): float(values[k]) for k in np.flatnonzero(values > NEGLIGIBLE)})


def _kets(values: NDArray[np.generic]) -> dict[str, complex]:
    return {hex(k): complex(values[k]) for k in np.flatnonzero(np.abs(values) > NEGLIGIBLE).tolist()}


def _clifford(tableau: NDArray[np.generic]) -> Clifford:
    return Clifford(tableau.astype(bool))


def _stabilizer_state(tableau: NDArray[np.generic]) -> StabilizerState:
    return StabilizerState(_clifford(tableau))


SAVES: Mapping[str, SaveForm] = {
    "save_statevector": SaveForm("statevector", Statevector, "the state vector, after random outcomes that of a shot"),
    "save_statevector_dict": SaveForm(
        "statevector", _kets, "the state vector as a dictionary, basis value in hexadecimal -> amplitude"
    ),
    "save_state": SaveForm("statevector", Statevector, "the simulator's state, which is the state vector here"),
    "save_probabilities": SaveForm(
        "probabilities", np.asarray, "the probabilities of all values of some qubits, ``qubits[0]`` least significant"
    ),
    "save_probabilities_dict": SaveForm(
        "probabilities", _distribution, "the probabilities of some qubits as a dictionary of those that are not zero"
    ),
    "save_expval": SaveForm(
        "expectation_value",
        float,
        "the expectation value of a Hermitian operator on some qubits",
        "save_expectation_value",
    ),
    "save_expval_var": SaveForm(
        "expectation_value_variance",
        np.asarray,
        "the expectation value and the variance of a Hermitian operator on some qubits; means are of each alone",
        "save_expectation_value_variance",
    ),
    "save_amplitudes": SaveForm("amplitudes", np.asarray, "the amplitudes of some basis values"),
    "save_amplitudes_sq": SaveForm(
        "amplitudes_squared", np.asarray, "the probabilities of some basis values", "save_amplitudes_squared"
    ),
    "save_density_matrix": SaveForm(
        "density_matrix", DensityMatrix, "the density matrix of some qubits, reduced from the state"
    ),
    "save_unitary": SaveForm(
        "unitary", Operator, "the unitary of all gates so far; there may be nothing but gates before it"
    ),
    "save_stabilizer": SaveForm("stabilizer", _stabilizer_state, "the stabilizer state, with method='stabilizer'"),
    "save_clifford": SaveForm(
        "stabilizer", _clifford, "the tableau of the state, with method='stabilizer'", label="clifford"
    ),
}
"""All save instructions, by Aer's names."""

FUNCTIONS: Mapping[str, str] = {row.function or name: name for name, row in SAVES.items()}
"""The function of `qsim_ex_provider` that appends each instruction, and the instruction's name."""

NOT_SUPPORTED: Mapping[str, str] = {
    "save_superop": "save_unitary, or save_density_matrix after the channel",
    "save_matrix_product_state": "save_statevector",
    "set_density_matrix": "set_statevector, and channels for what is mixed",
    "set_stabilizer": "set_statevector",
    "set_matrix_product_state": "set_statevector",
    "set_superop": "a channel of the circuit (Kraus, SuperOp)",
    "set_unitary": "circuit.unitary",
}
"""Other instructions of Aer's that save or set something, and what to use instead."""


@dataclass(frozen=True, slots=True)
class SavedForm:
    """How the value under a label is presented: the instruction that saved it, its subtype, and the classical bits.

    has_memory: whether the circuit has classical bits.
    """

    name: str
    subtype: str
    has_memory: bool

    def of(self, value: Any) -> Any:
        """Return an engine's value as Aer's results have it: a dictionary by classical bits, a list by shots."""
        if not self.subtype.startswith("c_"):
            return self._shots(value)
        return {hex(key) if self.has_memory else "": self._shots(one) for key, one in value.items()}

    def _shots(self, value: NDArray[np.generic]) -> Any:
        form = SAVES[self.name].form
        if not self.subtype.endswith("list"):
            return form(value)
        return value if value.ndim == 1 else [form(one) for one in value]


def is_known(name: str) -> bool:
    """Return whether an instruction's name is that of one that saves or sets something."""
    return name in SAVES or name in NOT_SUPPORTED or name == "set_statevector"


def emit_known(instruction: Any, place: Place, to: Translator) -> None:
    """Append an instruction whose name is known; raises `NotSupported` for one that no state vector can do."""
    if instruction.name in NOT_SUPPORTED:
        raise NotSupported(
            f"expected an instruction for state vectors, got Aer's {instruction.name!r}; use "
            f"{NOT_SUPPORTED[instruction.name]} instead."
        )
    if instruction.name == "set_statevector":
        amplitudes = np.asarray(instruction.params[0], dtype=np.complex128)
        to.builder.set_statevector(amplitudes, place.wires)
        to.used.update(place.wires)
    else:
        _save(instruction, SAVES[instruction.name], place, to)


def _save(instruction: Any, row: SaveForm, place: Place, to: Translator) -> None:
    """Save a value with qubit k of the instruction as its bit k.

    The order of the qubits counts: the transpiler drops swaps and reorders the instruction's qubits instead.
    """
    name, label = instruction.name, instruction.label
    if label == "_method_":  # of Aer's save_state without a label
        label = row.default_label
    if label in ("counts", "memory"):
        raise CircuitError(
            f"expected a label that results do not use themselves, got {label!r}; save the state under another label."
        )
    given: dict[str, Any] = {"how": instruction._subtype}
    if row.kind.asks == "observable":
        terms = {letters: float(np.real(of[0])) for letters, of in instruction.params}
        given["observable"] = qsim_ex.PauliSum.from_labels({letters: of for letters, of in terms.items() if of})
    elif row.kind.asks == "values":
        given["values"] = [int(value) for value in instruction.params]
    to.saved[label] = SavedForm(name, instruction._subtype, to.builder.num_clbits > 0)
    if row.kind.some_wires:
        to.builder.save(label, row.what, wires=place.wires, **given)
        return
    if len(place.wires) != to.builder.num_qubits:
        raise CircuitError(
            f"expected all qubits of the circuit ({to.builder.num_qubits}) in {name}, got {len(place.wires)}; save all "
            "qubits, or the density_matrix or the probabilities of some of them."
        )
    pairs = () if place.wires == tuple(range(len(place.wires))) else swaps(place.wires)
    for pair in pairs:
        to.builder.gate("swap", pair)
    to.builder.save(label, row.what, **given)
    for pair in reversed(pairs):
        to.builder.gate("swap", pair)
