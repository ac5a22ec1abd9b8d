"""Pairs of CX around phases disappear from plans, and from no other place."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.plain_device import PlainDevice

from benchmarks.counts import MACHINES, circuit_of
from benchmarks.cx_rich import Named, pauli_rotation, ucc, uccsd
from qsim_ex import reference
from qsim_ex.circuit import thresholds
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.ops import ALWAYS, Entry, When
from qsim_ex.planning.planner import bind, make_plan, python_plan
from qsim_ex.planning.rewrite.absorb import absorb
from qsim_ex.planning.rewrite.cancel import cancel, through
from qsim_ex.planning.work import Work
from qsim_ex.steps import Layout, Levels, Plan, Rename, Shape
from tools.same_plans import _ladder

LIMITS = thresholds.now.rewriting

WIDE = Shape(tile=6, near=4, low=2, edge=2, phases=None, dense=4)


def renamings(plan: Plan) -> int:
    """Return how many renamings a plan has."""
    return sum(isinstance(item, Rename) for sweep in plan.sweeps for phase in sweep.phases for item in phase.items)


def planned(gates: list[Named], wires: int) -> Plan:
    """Return the plan of some gates for a state that fills its memory."""
    return make_plan(circuit_of(gates, wires).instructions, wires, Layout.identity(wires), WIDE)


@pytest.mark.parametrize("seed", range(60))
def test_ladders_keep_their_meaning(seed: int) -> None:
    """Ladders of CX with phases and other gates between them, from any layout, give the state of the definitions."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    builder = CircuitBuilder(n)
    for wire in range(n):
        builder.gate("ry", [wire], float(rng.normal()))
    for _ in range(int(rng.integers(1, 8))):
        _ladder(rng, builder, rng.permutation(n).tolist())
    circuit = builder.build()
    start = Layout(tuple(rng.permutation(n).tolist()), int(rng.integers(1 << n)))
    assert np.linalg.norm(executed(circuit, start) - reference.simulate(circuit)) <= 1e-12


def executed(circuit: Circuit, start: Layout) -> np.ndarray:
    """Return the state, in wire order, after the plan of a circuit from |0…0⟩."""
    n = circuit.num_qubits
    plan = make_plan(circuit.instructions, n, start, WIDE)
    buffer = np.zeros(1 << n, dtype=np.complex128)
    buffer[start.index(0)] = 1
    for step, numbers in zip(plan.steps, bind(plan, circuit.operands), strict=True):
        PlainDevice(WIDE).run(buffer, n, step, numbers)
    return buffer[[plan.end.index(value) for value in range(1 << n)]]


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_a_phase_between_two_cx_reads_other_parities(data: st.DataObject) -> None:
    """`through` is conjugation: the phase at index i is the one that the CX moves i to, for any reads and condition."""
    bits = 4
    masks = st.integers(1, (1 << bits) - 1)
    reads = tuple(data.draw(st.lists(masks, max_size=3)))
    mask = data.draw(st.integers(0, (1 << bits) - 1))
    when = When(mask, data.draw(st.integers(0, (1 << bits) - 1)) & mask) if mask else ALWAYS
    source = np.arange(2, 2 + (1 << len(reads)))
    phase = Work("diagonal", (), reads, when, bytes([Entry.COMPLEX]) * len(source), source, "phase")
    control, target = data.draw(st.permutations(range(bits)))[:2]
    value = data.draw(st.integers(0, 1))
    changed = through(phase, control, target, value)
    for index in range(1 << bits):
        moved = index ^ (1 << target if index >> control & 1 == value else 0)
        assert place_at(changed, index) == place_at(phase, moved)


def place_at(phase: Work, index: int) -> int:
    """Return the place of a phase's number at an index, 1 (the place of the number 1) where it does not apply."""
    if index & phase.when.mask != phase.when.value:
        return 1
    return int(phase.source[sum(((index & mask).bit_count() & 1) << k for k, mask in enumerate(phase.reads))])


def test_a_pauli_rotation_mixes_the_wires_of_x_and_y_alone() -> None:
    """Of a Pauli rotation's CX ladder no renaming is left, in a plan for one device and for several."""
    gates = pauli_rotation([(0, "X"), *[(wire, "Z") for wire in range(1, 7)], (7, "Y")])
    assert renamings(planned(gates, 8)) == 0
    levels = Levels(7, 1, 2)
    identity = Layout.identity(8)
    assert renamings(python_plan(circuit_of(gates, 8).instructions, 8, identity, WIDE, 0, levels, False)) == 0


@pytest.mark.parametrize(
    ("between", "left"),
    [
        (("rz", (1,), (0.3,)), 0),
        (("t", (1,), ()), 0),
        (("cz", (0, 1), ()), 0),
        (("cz", (1, 2), ()), 0),
        (("ry", (0,), (0.3,)), 2),
        (("ry", (1,), (0.3,)), 2),
        (("ry", (2,), (0.3,)), 0),
        (("cx", (2, 1), ()), 1),
        (("cx", (0, 2), ()), 1),
        (("cx", (1, 2), ()), 3),
        (("cx", (2, 0), ()), 3),
        (("cry", (1, 2), (0.3,)), 2),
        (("cry", (0, 2), (0.3,)), 0),
    ],
    ids=str,
)
def test_what_may_stand_between(between: Named, left: int) -> None:
    """Two equal CX disappear unless what stands between mixes the control, or needs the target as it is."""
    gates: list[Named] = [("cx", (0, 1), ()), between, ("cx", (0, 1), ())]
    work, _ = absorb(circuit_of(gates, 3).instructions, Layout.identity(3), WIDE)
    assert sum(piece.kind == "rename" for piece in cancel(work, 3)[0]) == left


@pytest.mark.parametrize(("others", "wires", "left"), [
    (LIMITS.window - 1, 2, 0), (LIMITS.window, 2, 2), (LIMITS.looked_at - 1, 1, 0), (LIMITS.looked_at, 1, 2),
])  # fmt: skip
def test_a_cx_looks_back_so_far(others: int, wires: int, left: int) -> None:
    """A CX looks `window` pieces back, and passes fewer than `looked_at` that touch its bits."""
    turned: list[Named] = [("t", (0 if wires == 1 else 2,), ())] * others
    gates: list[Named] = [("cx", (0, 1), ()), *turned, ("cx", (0, 1), ())]
    work, _ = absorb(circuit_of(gates, 3).instructions, Layout.identity(3), WIDE)
    assert sum(piece.kind == "rename" for piece in cancel(work, 3)[0]) == left


def test_a_swap_of_three_cx_moves_nothing() -> None:
    """SWAPs written as three CX, with phases between, change the layout alone, as SWAPs do."""
    swap: list[Named] = [("cx", (0, 1), ()), ("rz", (1,), (0.3,)), ("cx", (1, 0), ()), ("cx", (0, 1), ())]
    plan = planned([*swap, ("swap", (1, 2), ())], 3)
    assert renamings(plan) == 0
    assert plan.end == planned([("swap", (0, 1), ()), ("swap", (1, 2), ())], 3).end


def test_opposite_cx_become_one() -> None:
    """Two CX in opposite directions are one CX and an exchange; another CX into the target may stand between."""
    for between in ([], [("cx", (2, 0), ())], [("t", (0,), ())]):
        gates: list[Named] = [("cx", (0, 1), ()), *between, ("cx", (1, 0), ())]
        assert renamings(planned(gates, 3)) == 1 + (between[:1] == [("cx", (2, 0), ())])


@pytest.mark.parametrize(("family", "most"), [(ucc, 11), (uccsd, 15)])
def test_chemistry_takes_few_sweeps(family: object, most: int) -> None:
    """60 Pauli rotations, and excitations of 28 wires, take as few sweeps as decision 0023 says."""
    assert callable(family)
    shape, _ = MACHINES["gpu single"]
    plan = make_plan(circuit_of(family(28), 28).instructions, 28, Layout.identity(28), shape)
    assert len(plan.steps) <= most
