"""Tests of circuits that are written once for all bindings: numbers that follow from those of the circuit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from qsim_ex import reference, thresholds
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.gates import GATES
from qsim_ex.circuit.parameters.bindings import Bindings
from qsim_ex.planning.written.bindings import WrittenBindings
from qsim_ex.planning.written.numbers import WrittenNumbers
from qsim_ex.planning.written.out import WrittenCircuit, written_out
from qsim_ex.planning.written.writer import WrittenParts

WIRES = 4

TURNED = {"cu", "cu3", "fsim", "phasedfsim", "phasediswappow", "r", "xx_minus_yy", "xx_plus_yy"}
"""Rows of the gate table whose eigenvectors depend on their parameters."""

PHASES = sorted(row.name for row in GATES.values() if row.parameters and row.name not in TURNED and row.qubits < WIRES)


def angles(rng: np.random.Generator, count: int) -> list[float]:
    """Return angles, of which some are special."""
    drawn = np.where(rng.random(count) < 0.3, rng.integers(-4, 5, count) * np.pi / 2, rng.uniform(-4, 4, count))
    return drawn.tolist()


def drawn(seed: int, bindings: int, names: list[str], gates: int = 25) -> Circuit:
    """Return a circuit of drawn gates with several bindings; the parameters of some gates are the same for all."""
    rows = []
    for binding in range(bindings):
        rng, own, builder = np.random.default_rng(seed), np.random.default_rng([seed, binding]), CircuitBuilder(WIRES)
        for _ in range(gates):
            row = GATES[
                names[rng.integers(len(names))] if rng.random() < 0.6 else ("h", "cx", "s", "t")[rng.integers(4)]
            ]
            wires, some = rng.permutation(WIRES)[: row.qubits].tolist(), angles(rng, len(row.parameters))
            free = rng.random() < 0.7
            builder.gate(row.name, wires, *(angles(own, len(some)) if free else some))
        rows.append(builder.build())
    (structure,) = {one.structure for one in rows}
    return Circuit.of_structure(structure, np.concatenate([one.operands for one in rows]))


def error(circuit: Circuit, written: WrittenCircuit) -> float:
    """Return how far what is written is from the circuit, on a random state, for the worst of its bindings."""
    rng = np.random.default_rng(1)
    psi = rng.normal(size=1 << circuit.num_qubits) + 1j * rng.normal(size=1 << circuit.num_qubits)
    psi /= np.linalg.norm(psi)
    worst = 0.0
    for binding, other in zip(circuit.operands, written.numbers(circuit.operands), strict=True):
        expected = reference.simulate(Circuit.of_structure(circuit.structure, binding[None]), psi)
        found = reference.simulate(Circuit.of_structure(written.structure, other[None]), psi)
        worst = max(worst, float(np.abs(found - expected).max()))
    return worst


@pytest.mark.parametrize("seed", range(30))
def test_drawn_circuits_are_written_for_all_bindings(seed: int) -> None:
    """What is written for all bindings of a circuit, special angles among them, does what the circuit does for each."""
    circuit = drawn(seed, 6, PHASES)
    found = WrittenBindings(circuit.structure, written_out).of(Bindings.of(circuit.operands))
    assert found
    assert error(circuit, found) < 1e-11


@pytest.mark.parametrize("seed", range(20))
def test_bindings_may_come_one_after_another(seed: int) -> None:
    """Whatever gates vary, what is written for a binding does what the circuit does, and fits those before."""
    circuit = drawn(seed, 8, [*PHASES, *TURNED], gates=12)
    known = WrittenBindings(circuit.structure, written_out)
    for binding in range(len(circuit.operands)):
        so_far = Circuit.of_structure(circuit.structure, circuit.operands[: binding + 1])
        found = known.of(Bindings.of(so_far.operands[-1:]))
        if found is None:
            assert known.of(Bindings.of(circuit.operands)) is None
            return
        assert not found.numbers.unfit(so_far.operands).any()
        assert error(so_far, found) < 1e-11


@pytest.mark.parametrize("name", PHASES)
def test_each_gate_with_fixed_eigenvectors_is_written_once(name: str) -> None:
    """Two generic bindings of a gate say all about it, with a control or without: all other bindings fit."""
    row = GATES[name]
    for controls in ((), (WIRES - 1,)):
        if controls and name in ("u", "u2", "u3"):  # which are one matrix under controls
            continue
        rng, given = np.random.default_rng(3), []
        for binding in range(6):
            some = rng.uniform(-3, 3, len(row.parameters)).tolist() if binding < 2 else angles(rng, len(row.parameters))
            if name == "phasedxpow":
                some[0] = 0.3  # its axis
            circuit = CircuitBuilder(WIRES).gate(name, range(row.qubits), *some, controls=controls).build()
            given.append(circuit.operands)
        whole = Circuit.of_structure(circuit.structure, np.concatenate(given))
        written = written_out(Circuit.of_structure(whole.structure, whole.operands[:2]))
        assert written
        assert not written.numbers.unfit(whole.operands).any()
        assert error(whole, written) < 1e-12


def two_rotations(*angles: float) -> Circuit:
    """Return RX, a phase with a constant angle and RZZ, some of which merge."""
    builder = CircuitBuilder(WIRES).gate("h", [0]).gate("rx", [1], angles[0]).gate("rz", [2], 0.4)
    return builder.gate("rz", [2], angles[1]).gate("rzz", [0, 1], angles[1]).gate("rx", [1], angles[2]).build()


def test_what_other_bindings_change_is_found() -> None:
    """A number that was the same for all, and a matrix about another axis, do not fit, and the others of them do."""
    bindings = [two_rotations(*some) for some in ((0.1, 0.2, 0.3), (1.1, 0.7, -0.3))]
    operands = np.concatenate([one.operands for one in bindings])
    written = written_out(Circuit.of_structure(bindings[0].structure, operands))
    assert written
    constant = next(one.operand for one in bindings[0].instructions if one.name == "rz")
    turned = next(one.operand for one in bindings[0].instructions if one.name == "rx")
    for places, numbers in (([constant], [1j]), (range(turned, turned + 4), np.array([1, -1, 1, 1]) / np.sqrt(2))):
        other = operands[:1].copy()
        other[0, places] = numbers
        wrong = written.numbers.unfit(np.concatenate([operands, other]))
        assert not wrong[:2].any()
        assert set(np.flatnonzero(wrong[2])) == set(np.flatnonzero(other[0] != operands[0]))


def test_small_differences_of_other_bindings_add_up() -> None:
    """Numbers that are each off by less than the tolerance do not fit where that is too much for all of them."""
    rows = []
    for angle in (0.3, 0.3 + 2e-15, 0.3 + 9e-13):
        builder = CircuitBuilder(WIRES)
        for turn in np.random.default_rng(1).uniform(0.2, 1.2, 300).tolist():
            builder.gate("rzz", [0, 1], turn).gate("rx", [0], angle).gate("rzz", [0, 1], -turn)
        rows.append(builder.build())
    operands = np.concatenate([one.operands for one in rows])
    written = written_out(Circuit.of_structure(rows[0].structure, operands[:2]))
    assert written
    assert not written.numbers.unfit(operands[:2]).any()
    assert 0 < np.count_nonzero(written.numbers.unfit(operands[2:])) < 1200


def test_one_number_of_several_gates_counts_for_each() -> None:
    """Gates that share a number have it each, whether their rotations merge or not."""
    rows = []
    for angle in (0.3, 1.2, -2.0):
        builder = CircuitBuilder(WIRES).gate("h", [0]).gate("rx", [0], angle).gate("cp", [0, 1], angle)
        rows.append(builder.again(builder.since(1)).again(builder.since(2)).build())
    circuit = Circuit.of_structure(rows[0].structure, np.concatenate([one.operands for one in rows]))
    written = written_out(Circuit.of_structure(circuit.structure, circuit.operands[:2]))
    assert written
    assert not written.numbers.unfit(circuit.operands).any()
    assert error(circuit, written) < 1e-12


def other_sign(numbers: WrittenNumbers) -> WrittenNumbers:
    """One phase counts with the other sign."""
    by = numbers.angles.by.copy()
    by[np.flatnonzero(numbers.angles.places >= 0)[0]] *= -1
    return replace(numbers, angles=replace(numbers.angles, by=by))


def lost_constant(numbers: WrittenNumbers) -> WrittenNumbers:
    """The numbers that are added to phases are lost."""
    by = np.where(numbers.angles.places < 0, 0, numbers.angles.by)
    return replace(numbers, angles=replace(numbers.angles, by=by))


def counted_once(numbers: WrittenNumbers) -> WrittenNumbers:
    """A phase counts once in all angles."""
    _, first = np.unique(numbers.angles.places, return_index=True)
    kept = np.isin(np.arange(len(numbers.angles.by)), first) | (numbers.angles.places < 0)
    return replace(numbers, angles=replace(numbers.angles, by=np.where(kept, numbers.angles.by, 0)))


def first_entry(numbers: WrittenNumbers) -> WrittenNumbers:
    """A phase is the argument of the first of its entries."""
    kept = np.isin(np.arange(len(numbers.phases.by)), numbers.phases.starts)
    return replace(numbers, phases=replace(numbers.phases, by=np.where(kept, numbers.phases.by, 0)))


@pytest.mark.parametrize("fault", [other_sign, lost_constant, counted_once, first_entry])
def test_a_planted_fault_is_found(fault: Callable[[WrittenNumbers], WrittenNumbers]) -> None:
    """A number program that is wrong in one place is wrong by definition, for most drawn circuits."""
    found = 0
    for seed in range(8):
        circuit = drawn(seed, 3, PHASES)
        written = WrittenBindings(circuit.structure, written_out).of(Bindings.of(circuit.operands))
        assert written
        parts = written.parts._replace(numbers=partial(fault, written.numbers))
        found += error(circuit, replace(written, made=partial(WrittenParts, *parts))) > 1e-6
    assert found >= 6


def test_a_matrix_that_changes_later_is_written_again_a_few_times() -> None:
    """Numbers that differ for the first time are taken in, and after too many of one matrix nothing is written."""
    writes = []

    def write(circuit: Circuit) -> WrittenCircuit | None:
        writes.append(len(circuit.operands))
        return written_out(circuit)

    given = [
        two_rotations(*some).operands for some in ((0.1, 0.2, 0.3), (0.1, 0.2, 0.4), (0.1, 0.5, 0.4), (9.0, 1.0, 2.0))
    ]
    known = WrittenBindings(two_rotations(0, 0, 0).structure, write)
    for one in given:
        assert known.of(Bindings.of(one))
    assert known.of(Bindings.of(np.concatenate(given)))
    assert writes == [1, 2, 2, 2]
    turned = [CircuitBuilder(1).gate("r", [0], 1.0, axis).build() for axis in (0.1, 0.2, 0.3)]
    known = WrittenBindings(turned[0].structure, write)
    assert [known.of(Bindings.of(one.operands)) is None for one in turned] == [False, True, True]
    assert known.of(Bindings.of(turned[0].operands)) is None
    with thresholds.instead(written_bindings=1):
        known = WrittenBindings(two_rotations(0, 0, 0).structure, write)
        assert [known.of(Bindings.of(one)) is None for one in given[:3]] == [False, True, True]


def test_a_batch_of_shifted_parameters_is_written_once() -> None:
    """Bindings each of which differs from the first in one angle are all looked at before anything is written."""
    writes = []

    def write(circuit: Circuit) -> WrittenCircuit | None:
        writes.append(len(circuit.operands))
        return written_out(circuit)

    base = np.array([0.1, 0.2, 0.3])
    rows = [
        two_rotations(*(base + shift)).operands for shift in np.concatenate([np.zeros((1, 3)), np.eye(3), -np.eye(3)])
    ]
    circuit = Circuit.of_structure(two_rotations(0, 0, 0).structure, np.concatenate(rows))
    for at_once in (1, 3, 100):
        with thresholds.instead(bindings_at_once=at_once):
            found = WrittenBindings(circuit.structure, write).of(Bindings.of(circuit.operands))
        assert found
        assert error(circuit, found) < 1e-12
    assert writes == [2, 2, 2]


def test_operands_that_no_gate_reads_do_not_count() -> None:
    """Circuits of one structure are written once, however many operands stand behind all that gates read."""
    rows = [CircuitBuilder(2).gate("rx", [0], angle).gate("cx", [0, 1]).build() for angle in (0.3, 0.4, 0.5)]
    known = WrittenBindings(rows[0].structure, written_out)
    for number, row in enumerate(rows):
        found = known.of(Bindings.of(np.pad(row.operands, ((0, 0), (0, 3 * number)), constant_values=number)))
        assert found
        assert error(row, found) < 1e-12
