"""Divisions in which parities are far: right, of fewer passes and exchanges, and taken where they are faster."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import literal_executor as literal
from support.any_division import far_parities_always

from qsim_ex import CircuitBuilder, reference
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.planning import rules
from qsim_ex.planning.cost.stage_cost import seconds, stage_costs
from qsim_ex.planning.cost.summary import PlanSummary, summary
from qsim_ex.planning.planner import make_plan
from qsim_ex.precision import SINGLE
from qsim_ex.steps import Layout, Levels, Plan, Shape

TINY = Shape(tile=3, registers=2, low=1, edge=1, most_blocks=None, dense=2, table=4, start=2)
GPU = Shape(tile=12, registers=4, low=4, edge=4, most_blocks=None, dense=4, start=20, linear=True)
WIRES = 24
PLACES = {"host": Levels(WIRES - 3, 0, 12), "devices": Levels(WIRES - 1, 1, 12), "both": Levels(WIRES - 3, 1, 12)}


@st.composite
def full_of_cx(draw: st.DrawFn, wires: int = 7) -> Circuit:
    """A circuit of which most is CX."""
    builder = CircuitBuilder(wires)
    names = st.sampled_from(["cx"] * 8 + ["swap", "x", "h", "t", "ry", "ccx", "rzz", "cswap", "rxx", "y"])
    for name in draw(st.lists(names, max_size=40)):
        count = {"cx": 2, "swap": 2, "ccx": 3, "rzz": 2, "cswap": 3, "rxx": 2}.get(name, 1)
        on = draw(st.lists(st.integers(0, wires - 1), min_size=count, max_size=count, unique=True))
        builder.gate(name, on, *([0.7] if name in ("ry", "rzz", "rxx") else []))
    return builder.build()


def only_cx(wires: int) -> Circuit:
    """10 CX a wire on pairs that follow from numbers alone, between two layers of turns."""
    builder, rng = CircuitBuilder(wires), np.random.default_rng(6)
    for wire in range(wires):
        builder.gate("ry", [wire], 0.3)
    for _ in range(10 * wires):
        builder.gate("cx", rng.permutation(wires)[:2].tolist())
    return builder.build()


def parity_checks(wires: int) -> Circuit:
    """Rounds of parity checks, and a turn of each bit of data before each round."""
    builder = CircuitBuilder(wires)
    for _ in range(4):
        for wire in range(0, wires, 2):
            builder.gate("rx", [wire], 0.3)
        for check in range(1, wires, 2):
            for around in (check - 1, check + 1, check + 5, check + 9):
                builder.gate("cx", [around % wires, check] if check % 4 == 1 else [check, around % wires])
    return builder.build()


def planned(circuit: Circuit, levels: Levels, shape: Shape = GPU, *, new: bool, linear: bool = True) -> Plan:
    """The plan of a state in order; linear: whether parities may be far."""
    wires = circuit.num_qubits
    fresh = (1 << wires) - 1 if new else 0
    made: Plan
    with pytest.MonkeyPatch.context() as patch:
        if not linear:
            patch.setattr(rules, "PARITIES", 0)
        given = circuit.instructions, wires, Layout.identity(wires), shape, fresh, levels, new
        made = make_plan(*given)
    return made


def counts(plan: Plan) -> PlanSummary:
    """What a plan does, in single precision."""
    return summary(plan, SINGLE)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    circuit=full_of_cx(),
    levels=st.sampled_from([Levels(5, 0, 2), Levels(5, 0, 1), Levels(6, 1, 3), Levels(5, 2, 2), Levels(4, 1, 1)]),
    shape=st.sampled_from(
        [TINY, Shape(tile=4, registers=3, low=0, edge=0, most_blocks=3, dense=2, start=4, linear=True)]
    ),
    new=st.booleans(),
)
def test_every_plan_equals_the_definition(circuit: Circuit, levels: Levels, shape: Shape, new: bool) -> None:
    """Any circuit full of CX, from |0…0⟩ and from a full state, run to the letter, ends as defined."""
    n = circuit.num_qubits
    psi = reference.zero_state(n)
    if not new:
        psi = np.arange(1, 1 + (1 << n)).astype(np.complex128)
        psi /= np.linalg.norm(psi)
    with far_parities_always():
        plan = planned(circuit, levels, shape, new=new)
    assert np.linalg.norm(literal.after(plan, circuit, psi) - reference.simulate(circuit, psi)) <= 1e-12


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("new", [True, False])
def test_circuits_full_of_cx_take_half(place: str, new: bool) -> None:
    """Drawn CX have at most half of the passes and exchanges of a plan in which bits are far."""
    circuit = only_cx(WIRES)
    bits, parities = (counts(planned(circuit, PLACES[place], new=new, linear=linear)) for linear in (False, True))
    if place != "devices":
        assert 2 <= parities.passes <= (bits.passes + 1) // 2
    if place != "both":
        assert parities.exchanges <= bits.exchanges / 2
    assert parities.sweeps <= bits.sweeps


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("new", [True, False])
@pytest.mark.parametrize("circuit", [parity_checks(WIRES), only_cx(WIRES)], ids=["checks", "cx"])
def test_a_plan_is_never_slower(place: str, new: bool, circuit: Circuit) -> None:
    """The plan that is taken is predicted to take at most as long as the one in which bits are far."""
    levels = PLACES[place]
    bits, taken = (planned(circuit, levels, new=new, linear=linear) for linear in (False, True))
    times = [
        seconds(plan.stages, stage_costs(plan.stages, WIRES, levels, SINGLE, shape=plan.shape))
        for plan in (bits, taken)
    ]
    assert times[1] <= times[0]


def test_a_state_that_stays_in_host_memory_has_one_plan() -> None:
    """A circuit that is applied again to a state in host memory finds the layout in which it began, but for SWAPs."""
    bits, plan = (
        planned(only_cx(WIRES), PLACES["host"], GPU.staying(), new=False, linear=linear) for linear in (False, True)
    )
    assert plan.made_from[-1] == "far parities"
    assert plan.end.address == bits.end.address


def test_small_states_and_full_bits_have_plans_on_bits() -> None:
    """No parities are far where a state is small, where bits of ranks are far, or where layouts must stay."""
    circuit = only_cx(12)
    for levels, shape in (
        (Levels(9, 0, 3), GPU),
        (Levels(9, 0, 3, ranks=1), TINY),
        (Levels(9, 0, 3), TINY.ordered(1)),
    ):
        plan = make_plan(circuit.instructions, 12, Layout.identity(12), shape, 0, levels, False)
        assert plan.made_from[-1] != "far parities"
