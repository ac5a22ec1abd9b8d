"""Dense blocks: the right work of a register block becomes one matrix, and its numbers are right."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from support import literal_executor as literal
from support.plan_items import mixes
from support.strategies import circuits, random_unitary

from qsim_ex import reference
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.planning.cost.summary import summary
from qsim_ex.planning.planner import make_plan
from qsim_ex.precision import SINGLE
from qsim_ex.steps import Layout, Mix, Shape

GPU = Shape(tile=8, registers=4, low=2, edge=2, most_blocks=None, dense=4, start=0)


@settings(max_examples=100, deadline=None)
@given(circuit=circuits(min_qubits=4, max_qubits=6, max_gates=30))
def test_any_circuit_in_blocks_equals_the_definition(circuit: Circuit) -> None:
    """Where a block costs next to nothing, most work is in blocks, which are the products of what is in them."""
    n = circuit.num_qubits
    plan = make_plan(circuit.instructions, n, Layout.identity(n), replace(GPU, block=0.1))
    psi = reference.zero_state(n)
    assert np.linalg.norm(literal.after(plan, circuit, psi) - reference.simulate(circuit, psi)) < 1e-12


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
    return [item for item in mixes(plan) if len(item.bits) == 4]


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
        summary(make_plan(circuit.instructions, 10, Layout.identity(10), replace(GPU, block=block)), SINGLE).fma / 2**10
        for block in (None, 20.0)
    ]
    count = len(blocks_of(circuit, replace(GPU, block=20.0)))
    assert fma[0] == 36 * 16
    assert fma[1] < fma[0] - 12 * count


@pytest.mark.parametrize("n", [9, 12])
def test_a_plan_with_blocks_equals_the_definition(n: int) -> None:
    """Blocks of a circuit wider than a tile, from a state that grows, make the state that the definitions make."""
    circuit = brick(n, 10)
    plan = make_plan(circuit.instructions, n, Layout.identity(n), replace(GPU, block=20.0), (1 << n) - 1)
    found = literal.after(plan, circuit, reference.zero_state(n))
    assert np.linalg.norm(found - reference.simulate(circuit)) < 1e-12
