"""Rows of a tile in which CX moves nothing are found where they are."""

from __future__ import annotations

import numpy as np
import pytest

from qsim_ex import CircuitBuilder, StateVector
from qsim_ex.precision import Precision
from qsim_ex.reference import simulate


def cx_rich(wires: int, gates: int, seed: int) -> CircuitBuilder:
    """Return a circuit of CX, with controls at 0 too, and of gates that notice where rows are."""
    rng = np.random.default_rng(seed)
    builder = CircuitBuilder(wires)
    for wire in range(wires):
        builder.gate("ry", [wire], rng.uniform(0, 3))
    for _ in range(gates):
        a, b, c = rng.permutation(wires)[:3].tolist()
        match rng.integers(8):
            case 0:
                builder.gate("u", [a], *rng.uniform(0, 3, 3))
            case 1:
                builder.gate("cp", [a, b], rng.uniform(0, 3))
            case 2:
                builder.gate("ccx", [a, b, c])
            case 3:
                builder.gate("crx", [a, b], rng.uniform(0, 3))
            case 4:
                builder.gate("rxx", [a, b], rng.uniform(0, 3))
            case _:
                builder.gate("cx", [a, b])
    return builder


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("wires", [5, 7, 9, 13])
def test_circuits_rich_in_cx(wires: int, precision: Precision) -> None:
    """Amplitudes are those of the definition, in states smaller than vectors, than tiles, and after a full state."""
    for seed in range(4):
        circuit = cx_rich(wires, 120, seed).build()
        with StateVector(wires, device="cpu", precision=precision, threads=1) as state:
            state.apply(circuit)
            state.apply(circuit)
            found = np.asarray(state.to_numpy())
        expected = simulate(circuit, simulate(circuit))
        np.testing.assert_allclose(found, expected, atol=1e-5 if precision == "single" else 1e-12)
