"""Tests of what is written as a state grows from |0…0⟩: `Manner.GROWN`."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.engine import circuit_of
from benchmarks.forms import transpiled
from benchmarks.gates import Gate
from qsim_ex import reference
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.ops import Op, mask_of
from qsim_ex.devices.gpu.shape import shape_of
from qsim_ex.planning.planner import make_plan
from qsim_ex.planning.written.out import Manner, WritingLimits, WrittenCircuit, written_out
from qsim_ex.precision import SINGLE
from qsim_ex.steps import Layout, Mix, Plan, Sweep
from qsim_ex.steps.unmixed import count_unmixed
from tools.golden_counts import FAMILIES

BASES = (("rz", "sx", "x", "cx"), ("rz", "sx", "x", "cz"), ("r", "cz"), ("rx", "ry", "rz", "rzz"))


def written(circuit: Circuit) -> WrittenCircuit:
    """Return what is written of a circuit on |0…0⟩."""
    found = written_out(circuit, manner=Manner.GROWN, zeros=True)
    assert found
    assert found.manner is Manner.GROWN
    return found


def error(circuit: Circuit, found: Circuit) -> float:
    """Return how far apart the states are that two circuits make, their phases included."""
    zeros = np.eye(1, 1 << circuit.num_qubits, dtype=np.complex128)[0]
    return float(np.abs(reference.simulate(found, zeros) - reference.simulate(circuit, zeros)).max())


def products_and_clifford(wires: int, seed: int, gates: int = 120) -> Circuit:
    """Return RY and RX on each wire, and then drawn Clifford gates."""
    rng = np.random.default_rng(seed)
    made = [Gate(("ry", "rx")[rng.integers(2)], (wire,), (rng.uniform(-3, 3),)) for wire in range(wires)]
    for _ in range(gates):
        a, b = rng.choice(wires, 2, replace=False).tolist()
        made.append((Gate("h", (a,)), Gate("rz", (a,), (np.pi / 2,)), Gate("cx", (a, b)))[rng.integers(3)])
    return circuit_of(made, wires)


@pytest.mark.parametrize("name", sorted(set(FAMILIES) - {"grover", "walk", "three_wires"}))
def test_a_family_makes_the_same_state(name: str) -> None:
    """What is written of each family, in a basis of machines, makes its state of |0…0⟩."""
    circuit = transpiled(FAMILIES[name](8), 8, BASES[len(name) % len(BASES)], 1)
    assert error(circuit, written(circuit).circuit(circuit.operands)) < 1e-10


@pytest.mark.parametrize("seed", range(8))
def test_clifford_gates_behind_a_product_mix_nothing_at_the_end(seed: int) -> None:
    """Each wire is turned once, and mixed once more while the state grows; the operator at the end has no H."""
    circuit = products_and_clifford(7, seed)
    found = written(circuit)
    assert error(circuit, found.circuit(circuit.operands)) < 1e-10
    names = [one.name for one in found.structure.instructions if isinstance(one, Op)]
    assert names.count("pauli_rotation") == 7
    assert names.count("h") <= 7
    assert "h" not in [one.name for one in found.last_gates()]


def test_a_wire_is_read_before_the_next_one_is_mixed() -> None:
    """No gate is on a wire that is still 0, but the rotation that ends that; so most work is on few wires."""
    found = written(products_and_clifford(7, 3))
    grown = 0
    for one in found.structure.instructions[: found.last]:
        assert isinstance(one, Op)
        wires = one.when.mask | sum(1 << wire for wire in one.mixes)
        if one.name == "pauli_rotation":
            grown |= wires
        assert not wires & ~grown


def test_one_circuit_is_written_for_all_bases() -> None:
    """Whatever basis a circuit is given in, the same gates are written of it."""
    gates = FAMILIES["hubbard"](8)
    first, *others = (written(transpiled(gates, 8, basis, 1)) for basis in BASES)
    for other in others:
        assert [one._replace(operand=0) for one in other.structure.instructions if isinstance(one, Op)] == [
            one._replace(operand=0) for one in first.structure.instructions if isinstance(one, Op)
        ]


def test_nothing_is_written_for_other_states() -> None:
    """A circuit that may begin in any state has no wires that are 0."""
    found = written_out(products_and_clifford(4, 1))
    assert found
    assert found.again(Manner.GROWN, WritingLimits()) is None


@pytest.mark.parametrize("name", ["ucc", "clifford"])
def test_no_sweep_reads_the_full_state(name: str) -> None:
    """All work is done while the state grows; the last sweep, which writes all of it, leaves wires in its lanes."""
    assert all(isinstance(step, Sweep) and step.fresh for step in plan_of(name).steps)


def test_the_last_work_writes_the_full_state() -> None:
    """Where all amplitudes have an even number of ones, the sweep that does the last work stores zeros beside them."""
    (*_, before, last) = plan_of("ucc").steps
    assert isinstance(before, Sweep)
    assert isinstance(last, Sweep)
    assert count_unmixed(last) == 1
    assert any(isinstance(item, Mix) for block in last.register_blocks for item in block.items)
    assert (last.fresh & ~mask_of(last.tile)) == 0 != before.fresh & ~mask_of(before.tile)


def plan_of(name: str) -> Plan:
    """Return the plan of what is written of a family on 28 wires, for a GPU."""
    circuit = circuit_of(FAMILIES[name](28), 28)
    gates = written(circuit).circuit(circuit.operands).instructions
    return make_plan(gates, 28, Layout.identity(28), shape_of(SINGLE, tensor=True), (1 << 28) - 1, place=True)  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "grows"), [("brick", False), ("qv", False), ("grid", True), ("clifford", True)])
def test_growing_late_is_left_out_where_it_is_far_more_work(name: str, grows: bool) -> None:
    """Beside other manners GROWN is up to 1.8 times the work of LOCAL, whichever of both is asked first."""
    circuit = transpiled(FAMILIES[name](8), 8, BASES[1], 1)
    for manners in ((Manner.LOCAL, Manner.GROWN), (Manner.GROWN, Manner.LOCAL)):
        first = written_out(circuit, manner=Manner.BETWEEN, zeros=True)
        assert first
        found = {manner: first.again(manner, WritingLimits()) for manner in manners}
        assert found[Manner.LOCAL]
        assert bool(found[Manner.GROWN]) == grows
        assert first.again(Manner.GROWN, WritingLimits(alone=True))
