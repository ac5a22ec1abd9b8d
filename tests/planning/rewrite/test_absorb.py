"""Conditions on wires whose value is known, since nothing has mixed them yet."""

from __future__ import annotations

import numpy as np
import pytest
from planning.test_drawn_plans import does_what_it_says

from qsim_ex import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.ops import Op, When, pattern
from qsim_ex.planning.cost.summary import summary
from qsim_ex.planning.planner import make_plan
from qsim_ex.precision import SINGLE
from qsim_ex.steps import Layout, Shape

SHAPE = Shape(tile=12, registers=4, low=4, edge=4, most_blocks=None, dense=4, start=20)


def classical(wires: int, gates: int, seed: int) -> Circuit:
    """Return a circuit of X, CX and SWAP."""
    rng = np.random.default_rng(seed)
    builder = CircuitBuilder(wires)
    for _ in range(gates):
        a, b = rng.permutation(wires)[:2].tolist()
        name = ("x", "cx", "cx", "cx", "swap")[rng.integers(5)]
        builder.gate(name, [a] if name == "x" else [a, b])
    return builder.build()


@pytest.mark.parametrize("gates", [300, 10_000])
def test_cx_alone_sweep_over_nothing(gates: int) -> None:
    """From |0…0⟩ a circuit of X, CX and SWAP on 30 wires has no sweep; only its zeros are written."""
    circuit, every = classical(30, gates, 1), (1 << 30) - 1
    plan = make_plan(circuit.instructions, 30, Layout.identity(30), SHAPE, every, None, place=True)
    assert summary(plan, SINGLE).sweeps == 0
    value = simulate_bits(circuit)
    assert plan.end.index(value) == 0


def simulate_bits(circuit: Circuit) -> int:
    """Return the value of all wires after a circuit of X, CX and SWAP: the definition."""
    value = 0
    for op in circuit.instructions:
        if op.when.mask and value & op.when.mask != op.when.value:
            continue
        old = [value >> wire & 1 for wire in op.mixes]
        new = old[::-1] if len(old) == 2 else [1 - old[0]]
        for wire, bit in zip(op.mixes, new, strict=True):
            value = value & ~(1 << wire) | bit << wire
    return value


@pytest.mark.parametrize("when", [When(0, 0), When(2, 2)], ids=["always", "under a condition"])
@pytest.mark.parametrize("of", ["1000", "0001", "1100", "1010", "1111", "1001", "0110", "0100"])
def test_zeros_and_ones_are_a_permutation_only_if_no_value_is_lost(of: str, when: When) -> None:
    """An operation of zeros and ones that is not unitary, as a projection, does what its matrix says."""
    op = Op((0,), (), when, pattern(of), 2, "projection", unitary=False)
    circuit = Circuit(2, 0, (op,), np.array([[0, 1, *map(int, of)]], dtype=np.complex128))
    assert does_what_it_says(make_plan(circuit.instructions, 2, Layout.identity(2), SHAPE), circuit, 0)
