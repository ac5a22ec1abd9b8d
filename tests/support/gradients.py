"""Gradients by definition: random circuits with parameters, and the rule of shifts on the reference simulator."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.trigonometric import derivative

from qsim_ex import Circuit, Gradient, Overlap, ParameterSweepBuilder, PauliString, PauliSum, reference
from qsim_ex.circuit.gates import GATES
from qsim_ex.circuit.parameters.sweep import ParameterSweep

ROWS = [name for name, row in GATES.items() if row.parameters]
HALF_TURNS = {"phase_exponent", "exponent"}
DEGREE = 4
"""The highest multiple of half a frequency that a value has of a parameter for each gate that it is in."""


def observables(num_wires: int, count: int, seed: int) -> list[PauliSum]:
    """Sums of random Pauli strings with real coefficients."""
    rng = np.random.default_rng(seed)
    masks = rng.integers(0, 1 << num_wires, (count, 7, 2)).tolist()
    numbers = rng.normal(size=(count, 7))
    return [
        PauliSum(tuple(PauliString(x, z, float(c)) for (x, z), c in zip(some, own, strict=True)))
        for some, own in zip(masks, numbers, strict=True)
    ]


def applied(observable: PauliSum, psi: np.ndarray) -> np.ndarray:
    """H|ψ⟩ string by string: X moves an amplitude, Z changes its sign, and Y is i·X·Z."""
    places, out = np.arange(len(psi)), np.zeros(len(psi), dtype=complex)
    for term in observable.terms:
        signs = 1 - 2 * (np.bitwise_count(places & term.z) % 2).astype(float)
        out[places ^ term.x] += term.coefficient * 1j**term.num_y * signs * psi
    return out


def values(sweep: ParameterSweep, binding: int, sums: list[PauliSum]) -> np.ndarray:
    """The values of one binding by definition."""
    psi = reference.simulate(sweep.circuit(binding))
    return np.array([np.vdot(psi, applied(one, psi)).real for one in sums])


def shifted(sweep: ParameterSweep, sums: list[PauliSum], binding: int, column: int) -> np.ndarray:
    """The derivatives of all values of a binding with respect to one column by definition."""
    assert sweep.columns is not None

    def at(value: float) -> np.ndarray:
        columns = sweep.columns.copy()  # type: ignore[union-attr]
        columns[binding, column] = value
        return values(replace(sweep, columns=columns), binding, sums)

    uses = sum(int((one.columns == column).sum()) for one in sweep.swept)
    return derivative(at, float(sweep.columns[binding, column]), period_of(sweep, column), DEGREE * uses).real


def layers(num_wires: int, seed: int, bindings: int = 2, gates: int = 30) -> ParameterSweep:
    """Random gates of the table with and without parameters, under controls now and then; some columns are shared."""
    rng = np.random.default_rng(seed)
    builder = ParameterSweepBuilder(num_wires, 0)
    shared = rng.normal(size=bindings)
    names = [name for name in GATES if GATES[name].qubits <= min(3, num_wires)]
    for _ in range(gates):
        row = GATES[str(rng.choice(names if rng.random() < 0.5 else ROWS[:12]))]
        angles = {"exponent", "shift", "phase_exponent"}.isdisjoint(row.parameters)
        given: list[Any] = []
        for parameter in row.parameters:
            kept = parameter == "shift" or rng.random() < 0.3
            one = float(rng.integers(-1, 2)) / 2 if parameter == "shift" else float(rng.normal())
            given.append(one if kept else shared if angles and rng.random() < 0.1 else rng.normal(size=bindings))
        wires = rng.permutation(num_wires).tolist()
        controls = wires[row.qubits : row.qubits + 1] if rng.random() < 0.3 and row.qubits < num_wires else []
        builder.gate(row.name, wires[: row.qubits], *given, controls=controls, control_values=int(rng.integers(2)))
    builder.pauli_rotation(shared, "XYZ"[: min(3, num_wires)], range(min(3, num_wires)))  # type: ignore[arg-type]
    return builder.sweep(bindings)


def compare(
    sweep: ParameterSweep, found: Gradient, sums: list[PauliSum], most: int = 6, tolerance: float = 1e-11
) -> None:
    """Check all values, and the derivatives with respect to some columns."""
    assert sweep.columns is not None
    rng, count = np.random.default_rng(0), sweep.columns.shape[1]
    for binding in range(sweep.count):
        assert found.values[binding] == pytest.approx(values(sweep, binding, sums), abs=tolerance)
        for column in rng.permutation(count)[:most].tolist():
            expected = shifted(sweep, sums, binding, column)
            assert found.jacobian[binding, :, column] == pytest.approx(expected, abs=tolerance)


def period_of(sweep: ParameterSweep, column: int) -> float:
    """The period of a column's parameter: twice a whole turn in radians, four half turns for exponents."""
    (one, *_) = (one for one in sweep.swept if column in one.columns)
    parameter = one.at[list(one.columns).index(column)] % one.numbers.shape[1]
    return 4.0 if GATES[one.row].parameters[parameter] in HALF_TURNS else 4 * np.pi


def overlap(sweep: ParameterSweep, other: Circuit, binding: int) -> complex:
    """⟨φ|ψ⟩ of one binding by definition."""
    return complex(np.vdot(reference.simulate(other), reference.simulate(sweep.circuit(binding))))


def compare_overlaps(sweep: ParameterSweep, others: list[Circuit], found: Overlap, most: int = 5) -> None:
    """Check overlaps, fidelities, and their derivatives with respect to some columns."""
    assert sweep.columns is not None
    for binding, other in enumerate(others):
        value = overlap(sweep, other, binding)
        assert found.values[binding] == pytest.approx(value, abs=1e-12)
        assert found.fidelities[binding] == pytest.approx(abs(value) ** 2, abs=1e-12)
        for column in np.random.default_rng(binding).permutation(sweep.columns.shape[1])[:most].tolist():
            at = _shifted(sweep, other, binding, column)
            uses = sum(int((one.columns == column).sum()) for one in sweep.swept)
            given = float(sweep.columns[binding, column]), period_of(sweep, column), DEGREE * uses
            assert found.derivatives[binding, column] == pytest.approx(derivative(at, *given), abs=1e-11)
            expected = derivative(lambda x, at=at: np.abs(at(x)) ** 2, given[0], given[1], 2 * given[2])
            assert found.fidelity_gradients[binding, column] == pytest.approx(expected.real, abs=1e-11)


def _shifted(sweep: ParameterSweep, other: Circuit, binding: int, column: int) -> Any:
    def at(value: float) -> Any:
        columns = sweep.columns.copy()  # type: ignore[union-attr]
        columns[binding, column] = value
        return np.array(overlap(replace(sweep, columns=columns), other, binding))

    return at
