"""Sweeps are circuits that were built once with arrays for parameters; binding k is the circuit of parameters k."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qsim_ex import Circuit, CircuitBuilder, errors
from qsim_ex.circuit.gates import GATES
from qsim_ex.circuit.parameters.bindings import Bindings
from qsim_ex.circuit.parameters.sweep import ParameterSweep, ParameterSweepBuilder, real_values

PARAMETRISED = sorted(name for name, row in GATES.items() if row.parameters)


def built(builder: CircuitBuilder, names: list[str], rng: np.random.Generator, binding: int | None) -> CircuitBuilder:
    """Gates on wires, some under controls, with arrays of parameters or with those of one binding."""
    for k, name in enumerate(names):
        row = GATES[name]
        table = rng.uniform(-3, 3, (len(row.parameters), 5))
        # Every other row has one number among the arrays, which stays the same in all bindings.
        values = [column if k % 2 or i or len(table) == 1 else column[0] for i, column in enumerate(table)]
        chosen = [v if binding is None or not isinstance(v, np.ndarray) else float(v[binding]) for v in values]
        wires = rng.permutation(5)[: row.qubits + k % 2].tolist()
        controls = wires[row.qubits :]
        builder.gate("h", [k % 5])
        builder.gate(name, wires[: row.qubits], *chosen, controls=controls, control_values=0)
    angles = rng.uniform(-3, 3, (2, 5))
    one, two = angles if binding is None else angles[:, binding]
    builder.pauli_rotation(one, "XYZ", [0, 3, 2], controls=[1])
    builder.pauli_rotation(two, "II", [0, 3])
    return builder


@settings(max_examples=20, deadline=None)
@given(names=st.lists(st.sampled_from(PARAMETRISED), max_size=6), seed=st.integers(0, 99))
def test_each_binding_is_the_circuit_of_its_numbers(names: list[str], seed: int) -> None:
    """Binding k has the structure and the numbers that a plain builder makes of parameters k."""
    builder = ParameterSweepBuilder(5, 0)
    built(builder, names, np.random.default_rng(seed), None)
    sweep = builder.sweep(5)
    bindings = sweep.bindings()
    assert bindings.count == 5
    for k in range(5):
        plain = built(CircuitBuilder(5), names, np.random.default_rng(seed), k).build()
        one = sweep.circuit(k)
        assert one.structure is plain.structure
        np.testing.assert_allclose(one.operands, plain.operands, atol=1e-14)
        np.testing.assert_array_equal(bindings.operands(k, k + 1), one.operands)
    np.testing.assert_array_equal(sweep.operands(np.array([3, 1])), bindings.operands(0, 5)[[3, 1]])


def test_every_row_with_parameters_can_be_swept() -> None:
    """No row of the gate table breaks where its parameters are arrays."""
    builder = ParameterSweepBuilder(5, 0)
    built(builder, PARAMETRISED, np.random.default_rng(1), None)
    plain = built(CircuitBuilder(5), PARAMETRISED, np.random.default_rng(1), 4).build()
    np.testing.assert_allclose(builder.sweep(5).circuit(4).operands, plain.operands, atol=1e-14)


def test_a_circuit_is_a_sweep_of_one() -> None:
    """A circuit of numbers has one binding, itself."""
    circuit: Circuit = CircuitBuilder(1).gate("rx", [0], 0.3).build()
    sweep = ParameterSweep(circuit)
    assert sweep.circuit(0) is circuit
    np.testing.assert_array_equal(sweep.bindings().operands(0, 1), circuit.operands)


def test_sweeps_travel() -> None:
    """A sweep can be pickled, and has the same structure and numbers where it arrives."""
    builder = ParameterSweepBuilder(2, 0)
    builder.gate("cx", [0, 1]).gate("ry", [1], np.linspace(0, 1, 3))
    sweep = builder.sweep(3)
    again = pickle.loads(pickle.dumps(sweep))
    assert again.template.structure is sweep.template.structure
    np.testing.assert_array_equal(again.bindings().operands(0, 3), sweep.bindings().operands(0, 3))


def test_what_is_not_finite_is_refused() -> None:
    """A number that is not finite is refused with its gate and its binding."""
    builder = ParameterSweepBuilder(1, 0)
    with pytest.raises(errors.ParameterError, match=r"'rx'.*binding 1"):
        builder.gate("rx", [0], np.array([0.0, np.inf]))
    with pytest.raises(errors.ParameterError, match=r"'pauli_rotation'.*binding 0"):
        builder.pauli_rotation(np.array([np.nan, 0]), "X", [0])
    with pytest.raises(errors.ParameterError):
        builder.gate("rx", [0], np.nan)


def test_real_values() -> None:
    """Numbers and arrays that are real become float64 for every binding; an imaginary part is refused."""
    np.testing.assert_array_equal(real_values(2 + 0j, 3, "x"), [2.0, 2.0, 2.0])
    assert real_values(np.arange(3), 3, "x").dtype == np.float64
    with pytest.raises(errors.ParameterError, match="x \\+ 1, which is not real"):
        real_values(np.array([1, 1j]), 2, "x + 1")


@pytest.mark.parametrize("count", [3, 3000])
def test_sweeps_are_told_apart(count: int) -> None:
    """Sweeps differ by a value, by where it goes and by a number that all bindings share; equal ones do not."""

    def told(values: np.ndarray, *, swapped: bool = False, shared: float = 0.1) -> list[bytes]:
        builder, rows = ParameterSweepBuilder(2, 0), list(values)
        for k in range(40):
            one, two = rows[::-1] if swapped and k == 7 else rows
            builder.gate("rx", [0], one)
            builder.gate("u", [1], two, shared, 0.2)
        return list(builder.sweep(count).bindings().told_apart())

    values = np.random.default_rng(1).uniform(-3, 3, (2, count))
    other = values.copy()
    other[1, count // 2] += 1e-9
    assert told(values) == told(values.copy())
    assert b"".join(told(values)) != b"".join(told(other))
    assert b"".join(told(values)) != b"".join(told(values, swapped=True))
    assert b"".join(told(values)) != b"".join(told(values, shared=0.2))
    assert sum(map(len, told(values))) < 8 * 2 * count + (1 << 16)  # far less than their operands


def test_other_bindings_are_told_apart_by_their_operands() -> None:
    """Bindings that were given as an array are told apart by all of it, a part at a time."""
    operands = np.random.default_rng(1).normal(size=(150, 4)) + 0j
    found = list(Bindings.of(operands).told_apart())
    assert len(found) > 1
    assert b"".join(found) == operands.tobytes()
