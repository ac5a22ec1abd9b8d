"""Tests of forms that are written out as circuits."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.changing_frame import in_changing_frame
from benchmarks.engine import circuit_of
from benchmarks.written_out import written_out
from qsim_ex import reference
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.planning.form import form_of
from tools.golden_counts import FAMILIES

WIRES = 6


def overlap(one: Circuit, other: Circuit) -> float:
    """Return how far two circuits are from doing the same to a random state, but for a phase: 0 or more."""
    rng = np.random.default_rng(0)
    psi = rng.normal(size=1 << WIRES) + 1j * rng.normal(size=1 << WIRES)
    psi /= np.linalg.norm(psi)
    return abs(abs(np.vdot(reference.simulate(one, psi), reference.simulate(other, psi))) - 1)


@pytest.mark.parametrize("name", ["qft", "su2", "clifford_t", "uccsd", "adder", "kernel", "hubbard", "clifford"])
def test_what_is_written_out_does_what_the_circuit_does(name: str) -> None:
    """The form of a family, written out in one frame or in one that changes, does the same; without C it does not."""
    circuit = circuit_of(FAMILIES[name](WIRES), WIRES)
    form = form_of(circuit)
    for written in (written_out, in_changing_frame):
        assert overlap(circuit, written(form)) < 1e-12
    if form.clifford.z_images[0].z != 1 or form.clifford.x_images[0].x != 1:
        assert overlap(circuit, written_out(form, clifford=False)) > 1e-3
