"""The lowest bits change from sweep to sweep: fewer sweeps, the same amplitudes, and names that stay."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support import literal_executor as literal
from support.states import random_state

from benchmarks.counts import MACHINES, circuit_of
from benchmarks.cx_rich import FAMILIES
from qsim_ex import Simulator, reference
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.planning.cost.step_cost import step_cost
from qsim_ex.planning.explain import explain
from qsim_ex.planning.planner import make_plan
from qsim_ex.precision import SINGLE
from qsim_ex.steps import Layout, Shape

GPU = Shape(tile=5, registers=2, low=2, edge=2, most_blocks=None, dense=2, start=2, floats=True)
CPU = Shape(tile=6, registers=6, low=2, edge=0, most_blocks=3, dense=3, start=2, item_work=2.0, floats=True)
NARROW = Shape(tile=4, registers=2, low=2, edge=1, most_blocks=3, dense=2, start=2, floats=True)
"""Small machines that let the lowest bits float."""


def drawn(seed: int, wires: int, gates: int) -> Circuit:
    """A circuit of gates on drawn wires, with phases, controls, and here and there a step of its own."""
    rng, builder = np.random.default_rng(seed), CircuitBuilder(wires)
    for number in range(gates):
        one, other, third = rng.permutation(wires)[:3].tolist()
        kind = rng.integers(6)
        if kind < 2:
            builder.gate("u3", [one], *rng.uniform(-3, 3, 3).tolist())
        elif kind == 2:
            builder.gate("cx", [one, other])
        elif kind == 3:
            builder.gate("rxx", [one, other], float(rng.normal()))
        elif kind == 4:
            builder.gate("ccz", [one, other, third])
        else:
            builder.gate("ch", [one, other])
        if number == gates // 2 and seed % 3 == 0:
            builder.permutation(rng.permutation(16).tolist(), rng.permutation(wires)[:4].tolist())
    return builder.build()


@pytest.mark.parametrize("shape", [GPU, CPU, NARROW])
@pytest.mark.parametrize("new", [False, True])
def test_plans_are_right(shape: Shape, new: bool) -> None:
    """A plan whose lowest bits float does what its circuit says, from any state and from |0…0⟩, on any machine."""
    permuted = 0
    for seed in range(12):
        wires = 7 + seed % 4
        circuit, every = drawn(seed, wires, 60), (1 << wires) - 1
        plan = make_plan(circuit.instructions, wires, Layout.identity(wires), shape, every * new, None, new)
        permuted += sum(bool(sweep.store) for sweep in plan.sweeps)
        psi = reference.zero_state(wires) if new else random_state(wires)
        assert np.linalg.norm(literal.after(plan, circuit, psi) - reference.simulate(circuit, psi)) <= 1e-12, seed
    assert permuted


@pytest.mark.parametrize(("family", "before", "most"), [("heisenberg", 17, 11), ("qv_cx", 14, 13), ("su2_8", 12, 8)])
def test_deep_circuits_take_fewer_sweeps(family: str, before: int, most: int) -> None:
    """On a full state of 28 wires deep circuits take a third of the sweeps less, and none takes more than it did."""
    circuit = circuit_of(FAMILIES[family](28), 28)
    given = circuit.instructions, 28, Layout.identity(28)
    stays, floats = [len(make_plan(*given, MACHINES[f"gpu single{name}"][0]).steps) for name in ("", ", floating")]
    assert stays == before
    assert floats <= most


def test_names_stay() -> None:
    """A plan in which bits do not float keeps its name when they may; one in which they do has another."""
    short, deep = drawn(1, 10, 3), drawn(1, 10, 60)
    keys = {}
    for name, circuit in (("short", short), ("deep", deep)):
        for floats in (False, True):
            shape = replace(GPU, floats=floats)
            keys[name, floats] = make_plan(circuit.instructions, 10, Layout.identity(10), shape).key
    assert "floats" not in repr(GPU)
    assert keys["short", True] == keys["short", False]
    assert keys["deep", True] != keys["deep", False]


def test_a_new_state_ends_in_order() -> None:
    """From |0…0⟩ the start is chosen so that in the end wires are in order, but for those that are lowest."""
    found = 0
    for seed in range(6):
        builder, rng = CircuitBuilder(10), np.random.default_rng(seed)
        for _ in range(60):
            builder.gate("rxx", rng.permutation(10)[:2].tolist(), 0.3)
        plan = make_plan(builder.build().instructions, 10, Layout.identity(10), GPU, 1023, None, place=True)
        found += any(sweep.store for sweep in plan.sweeps)
        high = plan.end.wires()[2 * GPU.low :]  # a wire that was among the lowest may come first among the others
        assert high == tuple(sorted(high))
    assert found


def test_its_price_and_its_words() -> None:
    """A tile that is stored permuted costs the time of a transposition, and `explain` says where bits go."""
    plan = make_plan(drawn(1, 10, 60).instructions, 10, Layout.identity(10), GPU)
    sweep = next(sweep for sweep in plan.sweeps if sweep.store)
    there, stored = (step_cost(one, 10, SINGLE, plan.shape).exchanged for one in (replace(sweep, store=()), sweep))
    assert stored - there == pytest.approx(plan.shape.transposed * 1024)
    moved = next(f"{bit}→{to}" for bit, to in zip(sweep.tile, sweep.stored, strict=True) if bit != to)
    assert f"written back with bits {moved}" in explain(plan, SINGLE)


def test_a_circuit_that_is_applied_again_has_one_plan() -> None:
    """A circuit that is applied to a state again and again begins in the same layout each time."""
    circuit = circuit_of(FAMILIES["heisenberg"](16), 16)
    with Simulator(device="cpu").state(circuit) as state:
        first = state.layout
        assert state.apply(circuit).layout == first
