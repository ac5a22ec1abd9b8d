"""How instructions that save or set the state are appended, our own and Aer's, which have the same attributes."""

from __future__ import annotations

from typing import Any

import numpy as np

from qsim_ex import PauliSum
from qsim_ex.errors import CircuitError, NotSupported
from qsim_ex_provider.saves.kinds import NOT_SUPPORTED, SAVES, SavedForm, SaveForm
from qsim_ex_provider.translation.place import Place, swaps
from qsim_ex_provider.translation.translator import Translator


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
        given["observable"] = PauliSum.from_labels({letters: of for letters, of in terms.items() if of})
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
    pairs = swaps(place.wires)
    for pair in pairs:
        to.builder.gate("swap", pair)
    to.builder.save(label, row.what, **given)
    for pair in reversed(pairs):
        to.builder.gate("swap", pair)
