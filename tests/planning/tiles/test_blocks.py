"""Dense blocks: the right work of a phase becomes one matrix, and its numbers are right."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.plain_device import PlainDevice
from support.strategies import circuits, random_unitary

from qsim_ex import reference
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.planning.cost.summary import summary
from qsim_ex.planning.numbers.binding import fill
from qsim_ex.planning.numbers.program import NumberProgram
from qsim_ex.planning.planner import bind, make_plan
from qsim_ex.planning.rewrite.absorb import absorb
from qsim_ex.planning.rewrite.fuse import fuse
from qsim_ex.planning.rewrite.rotate import rotate
from qsim_ex.planning.tiles.blocks import divided, gathered
from qsim_ex.planning.verify import verify
from qsim_ex.planning.work import Work
from qsim_ex.steps import Layout, Mix, Shape

GPU = Shape(tile=8, near=4, low=2, edge=2, phases=None, dense=4, start=0)


def work_of(circuit: Circuit) -> tuple[list[Work], NumberProgram]:
    """A circuit's work as it comes to the phases."""
    work, _ = absorb(circuit.instructions, Layout.identity(circuit.num_qubits), GPU)
    program = NumberProgram(len(circuit.operands[0]))
    return rotate(fuse(work, program, 0.0), program), program


def in_the_way(first: Work, second: Work) -> bool:
    """Whether two pieces may not change their order: one mixes what the other touches."""
    return bool(first.mix & second.touch or second.mix & first.touch)


@settings(max_examples=200, deadline=None)
@given(circuit=circuits(max_gates=30), data=st.data())
def test_division_keeps_order(circuit: Circuit, data: st.DataObject) -> None:
    """All work is in one of the three parts, blocks touch near bits alone, and the order of dependent work is kept."""
    near = data.draw(st.integers(0, (1 << circuit.num_qubits) - 1))
    work, _ = work_of(circuit)
    parts = divided(work, near)
    order = [piece for part in parts for piece in part]
    assert sorted(map(id, order)) == sorted(map(id, work))
    assert not any(piece.touch & ~near for piece in parts[1])
    place = {id(piece): k for k, piece in enumerate(order)}
    for k, later in enumerate(work):
        for earlier in work[:k]:
            assert place[id(earlier)] < place[id(later)] or not in_the_way(earlier, later)


@settings(max_examples=200, deadline=None)
@given(circuit=circuits(min_qubits=4, max_qubits=4, max_gates=20))
def test_a_block_is_the_product_of_all_that_is_in_it(circuit: Circuit) -> None:
    """On four bits everything goes into one block, whose numbers are the circuit's matrix."""
    work, program = work_of(circuit)
    if any(piece.kind not in ("mix", "diagonal", "rename") for piece in work) or not sum(p.work for p in work):
        return
    (piece,) = gathered(work, 15, -1e3, program)  # worth it, whatever is in it
    bound = fill(program.finish([piece.source]), circuit.operands[0])
    found = next(iter(bound)).reshape(16, 16)
    _, end = absorb(circuit.instructions, Layout.identity(4), GPU)
    moved = [end.index(value) for value in range(16)]
    want = np.array([reference.simulate(circuit, column) for column in np.eye(16, dtype=np.complex128)]).T
    assert np.abs(found[moved] - want).max() < 1e-12


def brick(n: int, layers: int) -> Circuit:
    """Dense gates on neighbours, layer after layer."""
    builder = CircuitBuilder(n)
    for layer in range(layers):
        for wire in range(layer % 2, n - 1, 2):
            builder.unitary(random_unitary(4, layer * n + wire), [wire, wire + 1])
    return builder.build()


def blocks_of(circuit: Circuit, shape: Shape) -> list[Mix]:
    """The matrices on four bits of a circuit's plan."""
    n = circuit.num_qubits
    plan = make_plan(circuit.instructions, n, Layout.identity(n), shape)
    items = [item for sweep in plan.sweeps for phase in sweep.phases for item in phase.items]
    return [item for item in items if isinstance(item, Mix) and len(item.bits) == 4]


def test_blocks_are_made_where_they_pay() -> None:
    """Cheap blocks replace several gates each; small states have fewer, since matrices cost more, or none."""
    circuit = brick(10, 8)
    many = blocks_of(circuit, replace(GPU, block=20.0))
    assert 0 < len(many) < 36 / 2
    assert not blocks_of(circuit, replace(GPU, block=1000.0))
    fewer = [len(blocks_of(circuit, replace(GPU, block=40.0, block_made=10 + k))) for k in range(4)]
    assert fewer[0] > fewer[2] > fewer[3] == 0
    assert not blocks_of(circuit, GPU)


def test_predicted_work_counts_a_block_as_what_takes_as_long() -> None:
    """A plan with blocks is predicted to do less than the plan without, by what each block saves."""
    circuit = brick(10, 8)
    fma = [
        summary(make_plan(circuit.instructions, 10, Layout.identity(10), replace(GPU, block=block)), 8).fma / 2**10
        for block in (None, 20.0)
    ]
    count = len(blocks_of(circuit, replace(GPU, block=20.0)))
    assert fma[0] == 36 * 16
    assert fma[1] < fma[0] - 12 * count


@pytest.mark.parametrize("n", [9, 12])
def test_a_plan_with_blocks_equals_the_definition(n: int) -> None:
    """Blocks of a circuit wider than a tile, from a state that grows, make the state that the definitions make."""
    circuit, device = brick(n, 10), PlainDevice(replace(GPU, block=20.0))
    plan = make_plan(circuit.instructions, n, Layout.identity(n), replace(GPU, block=20.0), (1 << n) - 1)
    verify(plan)
    buffer = np.full(1 << n, np.nan, dtype=np.complex128)
    buffer[0] = 1
    for step, numbers in zip(plan.steps, bind(plan, circuit.operands), strict=True):
        device.run(buffer, n, step, numbers)
    found = buffer[[plan.end.index(value) for value in range(1 << n)]]
    assert np.linalg.norm(found - reference.simulate(circuit)) < 1e-12
