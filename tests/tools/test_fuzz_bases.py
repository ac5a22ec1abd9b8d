"""Circuits that Qiskit transpiles into the bases of machines: a slice of the campaign, and what it rests on."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from support.planted import on_the_cpu

from tools.faults import forms, planted, rewrites
from tools.fuzz.case import Case, parse
from tools.fuzz.kinds import drawn
from tools.fuzz.run import outcome_of

pytest.importorskip("qiskit")

KIND = ("qiskit-bases",)


@pytest.fixture(autouse=True)
def _on_the_cpu() -> Iterator[None]:
    with on_the_cpu():
        yield


def test_circuits_in_all_bases_are_the_same() -> None:
    """Circuits and what they are transpiled to are what definitions say, in all bases, at all levels, however asked."""
    from tools.fuzz.bases_programs import BASES

    cases = [drawn(seed, KIND) for seed in range(7020, 7070)]
    assert {case.ask["basis"] for case in cases} == set(BASES)
    assert {case.ask["level"] for case in cases} == {0, 1, 2, 3}
    assert {case.ask["entry"] for case in cases} == {"manner", "saved", "shots", "values", "ranks"}
    assert {case.ask.get("manner") for case in cases} == {None, *range(6)}
    assert [outcome.trouble for case in cases if (outcome := outcome_of(case)).trouble] == []


def test_wires_that_a_transpiler_lets_change_places_are_moved() -> None:
    """Where Qiskit leaves SWAPs out, states and strings are moved to the wires at the end."""
    from qiskit.circuit import QuantumCircuit
    from qiskit.quantum_info import Pauli, Statevector

    from tools.fuzz import qiskit_bases as bases

    circuit = QuantumCircuit(3)
    for wire in range(3):
        circuit.ry(0.3 + wire, wire)
    circuit.swap(0, 1)
    circuit.swap(1, 2)
    made = bases._transpiler("cz", 2).run(circuit)
    place = made.layout.routing_permutation()
    assert place != [0, 1, 2]
    before, after = Statevector(circuit), Statevector(made)
    np.testing.assert_allclose(after.data, bases._moved(before.data, place), atol=1e-12)
    letters = "XYZ"  # of wires 0, 1 and 2
    value = before.expectation_value(Pauli(letters[::-1]))
    assert after.expectation_value(Pauli(bases._letters(letters, place)[::-1])) == pytest.approx(value)


@pytest.mark.parametrize(
    "fault", [*forms.FAULTS.values(), *rewrites.FAULTS.values()], ids=[*forms.FAULTS, *rewrites.FAULTS]
)
def test_a_fault_of_native_code_can_be_planted(fault: planted.Fault) -> None:
    """The line that a fault of a campaign changes stands once in its source."""
    assert fault.planted().count(fault.right) == 0


def test_nothing_is_found_without_a_fault() -> None:
    """The search that has to find planted faults finds nothing where there is none."""
    assert planted.first(5, forms.KIND) is None
    assert planted.first(5, rewrites.KIND) is None


def test_of_equal_strings_any_may_be_forgotten() -> None:
    """Where few layers are asked, a rotation may stand before an equal one that was put earlier, and both are right."""
    program = """
for w in q: qc.sx(w)
qc.append(lib.UnitaryGate(blocks(2, 10)), [q[3], q[2]])
qc.append(lib.PermutationGate([2, 0, 1]), [q[2], q[4], q[3]])
qc.h(q[2])
qc.rxx(5.36, q[2], q[0])
qc.h(q[2])
qc.append(lib.MCPhaseGate(16*pi/4, 3, ctrl_state=3), [q[4], q[0], q[3], q[2]])
qc.append(lib.MCPhaseGate(pi, 2, ctrl_state=0), [q[4], q[3], q[2]])
qc.append(lib.MCPhaseGate(pi, 3, ctrl_state=3), [q[4], q[2], q[0], q[3]])
"""
    ask = {"basis": "cx", "level": 0, "entry": "manner", "rows": 1, "values": 0, "seed": 0, "manner": 1, "machine": 0}
    case = Case("qiskit-bases", 5, 0, parse(program), {}, ask | {"thresholds": {"layers_looked_at": 2}})
    assert outcome_of(case).trouble is None
