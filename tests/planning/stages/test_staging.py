"""A plan with passes and exchanges, run literally, does what its circuit says."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from support import literal_executor as literal
from support.strategies import circuits, layouts

from qsim_ex import CircuitBuilder, reference
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.ops import Initialize, Instruction, Op
from qsim_ex.errors import NotSupported
from qsim_ex.options.network import layers_of
from qsim_ex.planning.cost.stage_cost import stage_costs
from qsim_ex.planning.planner import make_plan
from qsim_ex.steps import Layout, Levels, Plan, Shape

SHAPES = [
    Shape(tile=3, near=2, low=1, edge=1, phases=None, dense=2, table=4, start=2),
    Shape(tile=3, near=2, low=1, edge=1, phases=None, dense=2, table=4, start=5),
    Shape(tile=4, near=3, low=0, edge=0, phases=3, dense=2, start=4, balance=1.0),
    Shape(tile=3, near=2, low=1, edge=1, phases=None, dense=2, table=4, start=1, floats=True),
    Shape(tile=4, near=2, low=2, edge=2, phases=None, dense=2, start=1, balance=1.0, floats=True),
    Shape(tile=4, near=4, low=1, edge=0, phases=3, dense=3, start=2, floats=True, item_work=2.0),
]
"""Machines that spread a growing state at another size each; on some the lowest bits change from sweep to sweep."""


def planned(circuit: Circuit, start: Layout, levels: Levels, shape: Shape, fresh: int, *, place: bool) -> Plan:
    """The plan of a circuit. One with an operation that fits into no sub state vector is refused, and no other."""
    try:
        return make_plan(circuit.instructions, circuit.num_qubits, start, shape, fresh, levels, place)
    except NotSupported:
        if max(map(width, circuit.instructions)) > levels.local:
            reject()
        raise


def width(instruction: Instruction) -> int:
    """How many wires an instruction mixes."""
    return len(instruction.mixes if isinstance(instruction, Op) else instruction.wires)


@st.composite
def divisions(draw: st.DrawFn, num_wires: int) -> Levels:
    """Some local, device and migration bits, and bits of ranks."""
    local = draw(st.integers(min(3, num_wires), min(6, num_wires)))
    peers = draw(st.integers(0, min(3, num_wires - local)))
    network = draw(st.sampled_from(["switch", "mesh", "layers"]))
    piece = draw(st.integers(0, min(2, local - 1)))
    if (above := num_wires - local - peers) > 1 and draw(st.booleans()):
        return Levels(local, peers, piece, ranks=draw(st.integers(1, above - 1)))
    if network == "layers":
        near = draw(st.integers(0, peers))
        parts = [(bits, link) for bits, link in ((near, "nvlink"), (peers - near, "ethernet")) if bits]
        return Levels(local, peers, piece, layers=layers_of(parts) if parts else ())
    return Levels(local, peers, piece, network)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(circuit=circuits(min_qubits=3, max_qubits=8, max_gates=30), data=st.data())
def test_plan_equals_definition(circuit: Circuit, data: st.DataObject) -> None:
    """Any circuit on any division, from any state in any layout, growing or not, ends as defined."""
    n = circuit.num_qubits
    levels = data.draw(divisions(n))
    start, fresh = data.draw(layouts(n)), data.draw(st.one_of(st.just(0), st.integers(0, (1 << n) - 1)))
    psi = np.array([start.index(value) & fresh == 0 for value in range(1 << n)], dtype=np.complex128)
    psi *= np.arange(1, psi.size + 1)
    wires = {w for i in circuit.instructions if isinstance(i, Initialize) for w in i.wires}
    psi[[any(value >> w & 1 for w in wires) for value in range(psi.size)]] = 0
    psi /= np.linalg.norm(psi) or 1
    shape = data.draw(st.sampled_from(SHAPES))
    plan = planned(circuit, start, levels, shape, fresh, place=False)
    assert plan.start == start
    assert np.linalg.norm(literal.after(plan, circuit, psi) - reference.simulate(circuit, psi)) <= 1e-12


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(circuit=circuits(min_qubits=3, max_qubits=8, max_gates=30), data=st.data())
def test_new_state_equals_definition(circuit: Circuit, data: st.DataObject) -> None:
    """A new state, whose wires the plan places, in memory that held garbage, ends as defined."""
    n = circuit.num_qubits
    levels = data.draw(divisions(n))
    shape, place = data.draw(st.sampled_from(SHAPES)), data.draw(st.booleans())
    plan = planned(circuit, Layout.identity(n), levels, shape, (1 << n) - 1, place=place)
    assert np.linalg.norm(literal.after(plan, circuit, reference.zero_state(n)) - reference.simulate(circuit)) <= 1e-12


def test_all_devices_work_on_a_state_whose_wires_are_not_all_mixed() -> None:
    """A wire that is only read is not what divides two devices while the others carry all amplitudes."""
    wires, rng = 32, np.random.default_rng(4)
    builder = CircuitBuilder(wires)
    for _ in range(120):
        one, two = rng.permutation(wires - 1)[:2].tolist()
        builder.gate("rx", [one], 0.3).gate("cx", [one, two]).gate("cp", [two, wires - 1], 0.2).gate("ry", [two], 0.1)
    circuit = builder.build()
    shape = Shape(tile=12, near=4, low=4, edge=4, phases=None, dense=4, start=18)
    plan = make_plan(
        circuit.instructions, wires, Layout.identity(wires), shape, (1 << wires) - 1, Levels(wires - 1, 1, 8), True
    )
    costs = stage_costs(plan.stages, wires, plan.levels, 8)
    assert max(costs, key=lambda cost: cost.work).devices == 2
    assert sum(cost.fma for cost in costs if cost.devices == 1) < 0.02 * sum(cost.fma for cost in costs)
