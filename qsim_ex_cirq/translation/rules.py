"""Rules for those of Cirq's gates that are not rows of the gate table: matrices, diagonals, Pauli products and more.

A rule appends a gate at a `Place`, under the controls that stand around the gate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any

import cirq
import numpy as np

from qsim_ex.errors import MatrixError, ParameterError
from qsim_ex.frameworks import NeedsNumbers
from qsim_ex_cirq.translation.place import TOLERANCE, Place

Rule = Callable[[Any, Place], None]
"""A function that appends a gate at a place."""


def _phased_xz(gate: cirq.PhasedXZGate, place: Place) -> None:
    """Append Z^z Z^a X^x Z^−a = e^{iπx/2} · u(πx, π(z+a−½), π(½−a))."""
    x, z, a = place.number(gate.x_exponent), place.number(gate.z_exponent), place.number(gate.axis_phase_exponent)
    place.row("u", np.pi * x, np.pi * (z + a - 0.5), np.pi * (0.5 - a))
    place.phase(np.pi * x / 2)


def _diagonal(gate: Any, place: Place) -> None:
    angles = [place.number(angle) for angle in gate.diag_angles_radians]
    if any(isinstance(angle, np.ndarray) for angle in angles):
        raise NeedsNumbers(f"{type(gate).__name__} becomes a matrix")
    if not np.isfinite(angles).all():
        raise ParameterError(
            f"expected angles in radians for {type(gate).__name__}, got {angles}, which are not finite; "
            "pass finite numbers."
        )
    place.builder.diagonal(
        np.exp(1j * np.array(angles)),
        place.wires[::-1],
        controls=place.controls,
        control_values=place.values,
        name=type(gate).__name__,
    )


def _matrix(gate: cirq.MatrixGate, place: Place) -> None:
    place.matrix(cirq.unitary(gate), "MatrixGate")


def _global_phase(gate: cirq.GlobalPhaseGate, place: Place) -> None:
    place.phase(float(np.angle(_coefficient(gate))))


def _coefficient(gate: Any) -> complex:
    """Return a gate's coefficient; raises `NeedsNumbers` for a symbol."""
    if cirq.is_parameterized(gate.coefficient):
        raise NeedsNumbers(f"the coefficient {gate.coefficient} is a symbol")
    return complex(gate.coefficient)


def _paulis(gate: cirq.DensePauliString, place: Place) -> None:
    """Append a product of X, Y and Z times a coefficient; raises `MatrixError` if its modulus is not 1."""
    coefficient = _coefficient(gate)
    if abs(abs(coefficient) - 1) > TOLERANCE:
        raise MatrixError(
            f"expected a coefficient of modulus 1, got modulus {abs(coefficient):g} in {gate!r}, which is not unitary; "
            "divide the coefficient by its modulus."
        )
    if coefficient != 1 or not place.literal:
        place.phase(float(np.angle(coefficient)))
    for letter, wire in zip(_letters(gate), place.wires, strict=True):
        if letter != "I":
            place._replace(wires=(wire,)).row(letter.lower())


def _pauli_phasor(gate: cirq.PauliStringPhasorGate, place: Place) -> None:
    """Append e^{iπ·pos} for the eigenvalue +1 of the Pauli product and e^{iπ·neg} for −1.

    An identity in the product is the identity, as Cirq's documentation says; Cirq's simulators treat it as a Z
    (https://github.com/quantumlib/Cirq/issues/6612).
    """
    positive, negative = place.number(gate.exponent_pos), place.number(gate.exponent_neg)
    string = gate.dense_pauli_string
    if _coefficient(string).real < 0:
        positive, negative = negative, positive
    place.builder.pauli_rotation(
        np.pi * (negative - positive),
        _letters(string),
        place.wires,
        controls=place.controls,
        control_values=place.values,
    )
    place.phase(np.pi * (positive + negative) / 2)


def _letters(string: cirq.BaseDensePauliString) -> str:
    """Return a Pauli product as letters, one for each qubit."""
    return "".join("IXYZ"[int(k)] for k in string.pauli_mask)


def arithmetic(gate: cirq.ArithmeticGate, place: Place) -> None:
    """Append a permutation of the values of registers, such as a modular multiplication.

    Controls become the high bits of the permuted value, and only values with the right controls move.
    """
    if cirq.is_parameterized(gate):
        raise NeedsNumbers(f"{gate!r} has a register that is a symbol")
    registers = gate.registers()
    ranges = [(r,) if isinstance(r, int) else range(1 << len(r)) for r in registers]
    size = 1 << len(place.wires)
    moved = list(range(size << len(place.controls)))
    held = place.values & (1 << len(place.controls)) - 1
    for value, given in enumerate(product(*ranges)):
        moved[held * size + value] = held * size + _packed(gate.apply(*given), given, registers)
    place.builder.permutation(moved, (*place.wires[::-1], *place.controls))


def _packed(image: Any, given: Sequence[int], registers: Any) -> int:
    """Return all registers as one number, the first most significant; those missing in `image` keep their value."""
    out = tuple(image) if isinstance(image, Iterable) else (image,)
    whole = 0
    for value, register in zip((*out, *given[len(out) :]), registers, strict=True):
        if not isinstance(register, int):  # a constant takes no bits
            whole = whole << len(register) | int(value) % (1 << len(register))
    return whole


RULES: dict[type, Rule] = {
    cirq.PhasedXZGate: _phased_xz,
    cirq.DiagonalGate: _diagonal,
    cirq.TwoQubitDiagonalGate: _diagonal,
    cirq.ThreeQubitDiagonalGate: _diagonal,
    cirq.MatrixGate: _matrix,
    cirq.GlobalPhaseGate: _global_phase,
    cirq.DensePauliString: _paulis,
    cirq.MutableDensePauliString: _paulis,
    cirq.PauliStringPhasorGate: _pauli_phasor,
}
"""The rules by the exact class of a gate."""
