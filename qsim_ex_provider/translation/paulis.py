"""How Qiskit's products of Pauli matrices, and evolutions by sums of them, are appended; `library` registers these."""

from __future__ import annotations

from typing import Any

from qiskit.circuit.library import PauliEvolutionGate, PauliGate
from qiskit.quantum_info import SparsePauliOp
from qiskit.synthesis import LieTrotter, SuzukiTrotter
from qiskit.synthesis.evolution.product_formula import ProductFormula

from qsim_ex_provider.translation.place import Controls, Place
from qsim_ex_provider.translation.translator import Translator


def pauli(gate: PauliGate, place: Place, to: Translator) -> None:
    """Append a product of Pauli matrices."""
    for letter, wire in zip(reversed(gate.params[0]), place.wires, strict=True):
        if letter != "I":
            to.gate(letter.lower(), (wire,), place.controls)


def evolution(gate: PauliEvolutionGate, place: Place, to: Translator) -> None:
    """Append the rotations of the gate's product formula, each in one piece instead of a ladder of CX."""
    formula = gate.synthesis
    plain = isinstance(formula, ProductFormula) and formula._atomic_evolution is None
    terms = formula.expand(gate) if plain else []
    if plain and all(set(letters) <= set("IXYZ01") for letters, _, _ in terms):
        for letters, qubits, angle in terms:
            _rotate(letters, tuple(place.wires[q] for q in qubits), to.number(angle), place.controls, to)
    else:
        to.circuit(gate.definition, place.wires, (), place.controls)
    to.used.update(place.wires)


def evolution_by_value(gate: PauliEvolutionGate) -> tuple[object, ...] | None:
    """Return all that `evolution` depends on: time, strings, product formula; None for what has no value."""
    operator, formula = gate.operator, gate.synthesis
    if type(operator) is not SparsePauliOp or operator.coeffs.dtype.kind != "c":
        return None
    if type(formula) not in (LieTrotter, SuzukiTrotter) or formula._atomic_evolution is not None:
        return None
    settings = formula.order, formula.reps, getattr(formula, "preserve_order", True)
    strings = operator.paulis.z.tobytes(), operator.paulis.x.tobytes(), operator.coeffs.tobytes()
    return gate.params[0], gate.label, type(formula), *settings, operator.num_qubits, *strings


def _rotate(letters: str, wires: tuple[int, ...], angle: float, controls: Controls, to: Translator) -> None:
    """Append exp(−i·angle/2·P); a letter 0 or 1 of P is a projector, which is a control with this value."""
    projected = [(w, int(letter)) for letter, w in zip(letters, wires, strict=True) if letter in "01"]
    acting = [(w, letter) for letter, w in zip(letters, wires, strict=True) if letter not in "01"]
    values = sum(value << k for k, (_, value) in enumerate(projected))
    controls = controls.and_(tuple(w for w, _ in projected), values)
    to.builder.pauli_rotation(
        angle,
        "".join(letter for _, letter in acting),
        [w for w, _ in acting],
        controls=controls.wires,
        control_values=controls.values,
    )


def product_rotation(gate: Any, place: Place, to: Translator) -> None:
    """Append a rotation by a product of Pauli matrices."""
    letters = gate.pauli().to_label().lstrip("-+")[::-1]
    _rotate(letters, place.wires, to.number(gate.params[0]), place.controls, to)
    to.used.update(place.wires)
