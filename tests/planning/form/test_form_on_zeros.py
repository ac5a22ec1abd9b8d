"""Tests of forms that do what a circuit does to |0…0⟩ alone, and of what is written of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import strategies

from benchmarks.forms import transpiled
from qsim_ex import reference
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.parameters.sweep import ParameterSweepBuilder
from qsim_ex.planning.form import form_of
from qsim_ex.planning.written.out import Manner, written_out
from tools.fuzz.form_oracle import apply_form
from tools.golden_counts import FAMILIES

BASES = (("rz", "sx", "x", "cx"), ("rz", "sx", "x", "cz"), ("r", "cz"), ("rx", "ry", "rz", "rzz"), ("u", "cz"))


def zeros(circuit: Circuit) -> np.ndarray:
    """Return |0…0⟩."""
    return np.eye(1, 1 << circuit.num_qubits, dtype=np.complex128)[0]


@settings(max_examples=40)
@given(strategies.circuits().filter(lambda circuit: circuit.structure.only_gates), st.sampled_from(Manner))
def test_a_form_on_zeros_makes_the_same_state(circuit: Circuit, manner: Manner) -> None:
    """Drawn gates make the same state of |0…0⟩, phase included, as their form, and as what is written of it."""
    expected = reference.simulate(circuit, zeros(circuit))
    assert np.abs(apply_form(zeros(circuit), form_of(circuit, zeros=True), circuit) - expected).max() < 1e-11
    written = written_out(circuit, manner=manner, zeros=True)
    if written:
        assert np.abs(reference.simulate(written.circuit(circuit.operands), zeros(circuit)) - expected).max() < 1e-11


@pytest.mark.parametrize("basis", BASES)
def test_toffolis_on_zeros_are_nothing(basis: tuple[str, ...]) -> None:
    """A multiplier of literal bits has no rotations, in whatever basis its Toffoli gates were written."""
    builder = CircuitBuilder(6).gate("x", [0]).gate("x", [1])
    for wires in ((0, 1, 2), (0, 3, 4), (2, 1, 5), (3, 4, 0)):
        builder.gate("ccx", wires)
    gates = builder.build()
    assert len(form_of(gates).rotations) > 0
    assert not form_of(gates, zeros=True).rotations
    made = [each for each in FAMILIES["adder"](8) if each.name in ("ccx", "cx", "x")]
    assert not form_of(transpiled(made, 8, basis, 1), zeros=True).rotations


def test_the_key_says_that_a_form_is_for_zeros_alone() -> None:
    """A circuit without anything to leave out has another key on zeros, since its list may be read otherwise."""
    circuit = CircuitBuilder(1).gate("h", [0]).gate("rz", [0], 0.3).build()
    assert len(form_of(circuit, zeros=True).rotations) == len(form_of(circuit).rotations) == 1
    assert form_of(circuit, zeros=True).key != form_of(circuit).key


def test_angles_that_vary_are_phases_on_zeros() -> None:
    """Phases of wires that are still 0 vary with the bindings, and are written as one global phase for all."""
    angles = np.array([[0.3, 0.7], [1.1, -0.4], [2.0, 0.2]])
    builder = ParameterSweepBuilder(3, 0)
    first, second = angles.T.copy()
    builder.gate("rz", [0], first).gate("cx", [0, 1]).gate("rzz", [0, 1], second).gate("ry", [2], first)
    sweep = builder.sweep(3)
    operands = sweep.operands(np.arange(3))
    written = written_out(Circuit.of_structure(sweep.template.structure, operands), zeros=True)
    assert written
    assert sum(getattr(one, "name", "") == "pauli_rotation" for one in written.structure.instructions) == 1
    for row in operands:
        given = Circuit.of_structure(sweep.template.structure, row[None])
        found = reference.simulate(written.circuit(row[None]), zeros(given))
        assert np.abs(found - reference.simulate(given, zeros(given))).max() < 1e-12
