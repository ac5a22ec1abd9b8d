"""Runs of work on two bits become one matrix where that saves work, and nothing else changes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.plan_items import mixes as mixes_of

from benchmarks.counts import circuit_of
from benchmarks.cx_rich import Named
from qsim_ex.circuit.ops import letters
from qsim_ex.planning.planner import make_plan
from qsim_ex.steps import Layout, Plan, Shape

SHAPE = Shape(tile=6, registers=4, low=2, edge=2, most_blocks=None, dense=4, start=0)
U = (0.3, 0.4, 0.5)


def dense_gate(a: int, b: int) -> list[Named]:
    """Return a dense gate on two wires as transpilers write it: three CX, with one-qubit gates around and between."""
    gates: list[Named] = [("u", (a,), U), ("u", (b,), U)]
    for _ in range(3):
        gates += [("cx", (a, b), ()), ("u", (a,), U), ("u", (b,), U)]
    return gates


def planned(gates: list[Named], wires: int, shape: Shape = SHAPE) -> Plan:
    """Return the plan of some gates for a state that fills its memory."""
    return make_plan(circuit_of(gates, wires).instructions, wires, Layout.identity(wires), shape)


def mixes(plan: Plan) -> list[tuple[int, ...]]:
    """Return the bits of each matrix of a plan."""
    return [item.bits for item in mixes_of(plan)]


def test_a_dense_gate_of_three_cx_is_one_matrix() -> None:
    """Three CX with one-qubit gates around them become one matrix, whatever happens on other wires meanwhile."""
    gates = dense_gate(0, 1)
    other: list[Named] = [("u", (2,), U), ("cx", (2, 3), ())]
    assert mixes(planned(gates, 4)) == [(0, 1)]
    assert mixes(planned([g for gate in gates for g in (gate, *other)], 4)).count((0, 1)) == 1


def test_a_run_ends_where_its_wires_are_touched() -> None:
    """Work that joins a wire of a run with a third wire ends the run; two dense gates around it stay two."""
    gates = [*dense_gate(0, 1), ("cx", (1, 2), ()), *dense_gate(0, 1)]
    assert mixes(planned(gates, 3)) == [(0, 1), (0, 1)]


def rotations(a: int, b: int) -> list[Named]:
    """Return RXX·RYY·RZZ as transpilers write it: CX, RZ, CX between quarter turns, at the end those of a next one."""
    gates: list[Named] = []
    for name in ("h", "sx", "sxdg"):
        around: list[Named] = [(name, (wire,), ()) for wire in (a, b)]
        gates += [*(around if name != "sxdg" else ()), ("cx", (a, b), ()), ("rz", (b,), (0.3,)), ("cx", (a, b), ())]
        gates += around if name != "sx" else [("sxdg", (wire,), ()) for wire in (a, b)]
    return gates[:-2]


def test_bonds_that_share_wires_keep_their_zeros() -> None:
    """Of rotations on overlapping pairs each is one matrix of two rotations: an H between two is in the later one."""
    gates: list[Named] = []
    for first in (0, 1, 0, 1):
        gates += rotations(first, first + 1)
    plan = planned(gates, 3)
    assert [letters(item.pattern) for item in mixes_of(plan) if len(item.bits) == 2] == ["r00i0ri00ir0i00r"] * 4


@pytest.mark.parametrize("gates", [
    [("h", (0,), ()), ("h", (1,), ()), ("cx", (0, 1), ()), ("h", (0,), ()), ("u", (1,), U)],
    [("cx", (0, 1), ()), ("u", (1,), U)] * 6,
], ids=["cheaper apart", "one wire is only read"])  # fmt: skip
def test_some_runs_stay_apart(gates: list[Named]) -> None:
    """A run that costs little, or that mixes one of its wires alone, is not joined."""
    assert (0, 1) not in mixes(planned(gates, 2))


def test_a_machine_without_wide_matrices_joins_nothing() -> None:
    """Where matrices in sweeps mix one bit only, runs stay as they are."""
    narrow = Shape(tile=4, registers=1, low=3, edge=3, most_blocks=None, dense=1, start=0)
    assert all(len(bits) == 1 for bits in mixes(planned(dense_gate(0, 1) * 3, 5, narrow)))


def test_small_states_join_nothing() -> None:
    """Below `Shape.start` wires runs stay as they are: the host would take longer for a product than it saves."""
    assert (0, 1) not in mixes(planned(dense_gate(0, 1), 4, replace(SHAPE, start=5)))
