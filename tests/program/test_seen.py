"""Circuits without the gates that no measurement sees: what is asked of them has the values of the whole circuit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import strategies
from support.held import Hold

from qsim_ex import Circuit, CircuitBuilder, reference
from qsim_ex.circuit.ops import Measure, Save
from qsim_ex.circuit.structure import structure_of
from qsim_ex.program.seen import parted, seen

N = 4


def gates_of(circuit: Circuit) -> Circuit:
    """Return a circuit without its measurements and saves."""
    gates = tuple([one for one in circuit.instructions if not isinstance(one, Measure | Save)])
    return Circuit.of_structure(structure_of(circuit.num_qubits, 0, gates), circuit.operands)


def populations(circuit: Circuit, lowest: int) -> np.ndarray:
    """Return the probabilities of all values of the wires from one on, by definition."""
    weights = np.abs(reference.simulate(gates_of(circuit))) ** 2
    return weights.reshape(-1, 1 << lowest).sum(axis=1)


@given(circuit=strategies.circuits(min_qubits=1, max_qubits=5), data=st.data())
def test_measured_wires_have_the_same_distribution(circuit: Circuit, data: st.DataObject) -> None:
    """That of the wires from the lowest measured one on, of which shots are drawn, is that of all of the gates."""
    lowest = data.draw(st.integers(0, circuit.num_qubits - 1))
    behind = CircuitBuilder(circuit.num_qubits, 1).measure([lowest], [0]).build().instructions
    whole = structure_of(circuit.num_qubits, 1, (*circuit.instructions, *behind))
    measured = Circuit.of_structure(whole, circuit.operands)
    some = Circuit.of_structure(seen(whole, whole=True), circuit.operands)
    np.testing.assert_allclose(populations(some, lowest), populations(measured, lowest), atol=1e-12)


def left_of(make: Callable[[CircuitBuilder], object]) -> list[str]:
    """Return the names of the gates that are left of a circuit with H on all wires before."""
    builder = CircuitBuilder(N, N)
    for wire in range(N):
        builder.gate("h", [wire])
    make(builder)
    found = seen(builder.build().structure, whole=True).instructions
    names = [one.name if hasattr(one, "name") else type(one).__name__ for one in found]
    return [name for name in names if name not in ("h", "Measure")]


def measured(builder: CircuitBuilder, *wires: int) -> CircuitBuilder:
    """Measure some wires, or all."""
    wires = wires or tuple(range(N))
    return builder.measure(wires, wires)


@pytest.mark.parametrize(
    ("make", "left"),
    [
        (lambda b: measured(b.gate("t", [0]).gate("cz", [1, 2]).gate("rzz", [0, 3], 0.3).global_phase(1)), []),
        (lambda b: measured(b.gate("t", [0]).gate("cx", [0, 1]).gate("rz", [1], 0.4).gate("x", [1])), ["cx", "x"]),
        (lambda b: measured(b.gate("cz", [0, 1]).gate("t", [2]).gate("sx", [1])), ["cz", "sx"]),
        (lambda b: measured(b.gate("t", [0]).gate("t", [1]).gate("cx", [0, 1]).gate("sx", [1])), ["t", "cx", "sx"]),
        (lambda b: measured(b.gate("t", [1]).gate("cx", [0, 1]).gate("sx", [0])), ["t", "cx", "sx"]),
        (lambda b: measured(measured(b.gate("t", [3]), 0).gate("x", [0]).gate("cz", [2, 3])), ["t", "x"]),
        (lambda b: measured(b.gate("sx", [3]).gate("sx", [0]).gate("cx", [3, 0]).gate("cz", [0, 1]), 1, 2), ["sx"]),
        (lambda b: measured(b.gate("sx", [0]).gate("cx", [0, 2]), 1, 3), ["sx", "cx"]),
        (lambda b: measured(b.gate("t", [0]).save("p", "probabilities", wires=[0, 1])), ["Save"]),
        (lambda b: measured(b.gate("t", [0]).save("psi")), ["t", "Save"]),
        (lambda b: measured(b.gate("t", [0]).reset([1]).gate("t", [0])), ["t", "Reset", "t"]),
        (lambda b: b.gate("t", [0]).gate("cz", [1, 2]), ["t", "cz"]),
    ],
)
def test_gates_are_left_out_as_long_as_nothing_sees_them(
    make: Callable[[CircuitBuilder], object], left: list[str]
) -> None:
    """Diagonal ones behind the last turn of their wires, and any below the lowest wire that is measured; no others."""
    assert left_of(make) == left


def test_circuits_whose_shots_take_several_numbers_stay_whole(hold: Hold) -> None:
    """How many numbers a shot takes depends on the parts of its wires, so a seed would mean other shots."""
    structure = measured(CircuitBuilder(N, N).gate("sx", [0]).gate("t", [0])).build().structure
    assert seen(structure, whole=True) is not structure
    hold(chosen_wires=N - 1)
    assert seen(structure, whole=True) is structure


@pytest.mark.parametrize(("last", "falls"), [("cz", True), ("swap", False)])
def test_circuits_that_fall_into_parts_are_others(last: str, falls: bool) -> None:
    """Where gates that nothing sees alone join wires, the circuit is left without them; else it is the same one."""
    builder = CircuitBuilder(2, 2).gate("h", [0]).gate("h", [1]).gate(last, [0, 1]).gate("t", [0])
    structure = builder.measure([0, 1], [0, 1]).build().structure
    assert (parted(structure) is not structure) == falls
