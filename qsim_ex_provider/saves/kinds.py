"""The table of save instructions: Aer's name of each, the engine's kind of value, and the form in Qiskit's results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from qiskit.quantum_info import Clifford, DensityMatrix, Operator, StabilizerState, Statevector
from qiskit.result import ProbDistribution

NEGLIGIBLE = 1e-10
"""Amplitudes and probabilities that a dictionary leaves out, as Aer's do."""


@dataclass(frozen=True, slots=True)
class SaveForm:
    """A row: one save instruction.

    what: the engine's kind of value. label: the default label. form: makes Qiskit's object of a value.
    on: whether it is of some qubits, or of all of them. averages: whether a value is a mean by default.
    """

    what: str
    label: str
    form: Callable[[NDArray[Any]], Any]
    on: Literal["some", "all"] = "all"
    averages: bool = False


def _distribution(values: NDArray[Any]) -> ProbDistribution:
    return ProbDistribution({int(k): float(values[k]) for k in np.flatnonzero(values > NEGLIGIBLE)})


def _kets(values: NDArray[Any]) -> dict[str, complex]:
    return {hex(k): complex(values[k]) for k in np.flatnonzero(np.abs(values) > NEGLIGIBLE).tolist()}


def _clifford(tableau: NDArray[Any]) -> Clifford:
    return Clifford(tableau.astype(bool))


def _stabilizer_state(tableau: NDArray[Any]) -> StabilizerState:
    return StabilizerState(_clifford(tableau))


SAVES: Mapping[str, SaveForm] = {
    "save_statevector": SaveForm("statevector", "statevector", Statevector),
    "save_statevector_dict": SaveForm("statevector", "statevector", _kets),
    "save_state": SaveForm("statevector", "statevector", Statevector),
    "save_probabilities": SaveForm("probabilities", "probabilities", np.asarray, "some", averages=True),
    "save_probabilities_dict": SaveForm("probabilities", "probabilities", _distribution, "some", averages=True),
    "save_expval": SaveForm("expectation_value", "expectation_value", float, "some", averages=True),
    "save_expval_var": SaveForm(
        "expectation_value_variance", "expectation_value_variance", np.asarray, "some", averages=True
    ),
    "save_amplitudes": SaveForm("amplitudes", "amplitudes", np.asarray),
    "save_amplitudes_sq": SaveForm("amplitudes_squared", "amplitudes_squared", np.asarray, averages=True),
    "save_density_matrix": SaveForm("density_matrix", "density_matrix", DensityMatrix, "some", averages=True),
    "save_unitary": SaveForm("unitary", "unitary", Operator),
    "save_stabilizer": SaveForm("stabilizer", "stabilizer", _stabilizer_state),
    "save_clifford": SaveForm("stabilizer", "clifford", _clifford),
}
"""All save instructions, by Aer's names."""

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

    def _shots(self, value: NDArray[Any]) -> Any:
        form = SAVES[self.name].form
        if not self.subtype.endswith("list"):
            return form(value)
        return value if value.ndim == 1 else [form(one) for one in value]
