"""The interpreter's programs that native code writes are those of Python, which are its oracle."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from support.strategies import random_unitary

from benchmarks.counts import circuit_of as named
from benchmarks.cx_rich import FAMILIES as RICH
from benchmarks.engine import circuit_of
from benchmarks.held_out import FAMILIES
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.devices.gpu.device import shape_of
from qsim_ex.kernels.cuda.interpret.compiled_programs import program_of
from qsim_ex.kernels.cuda.interpret.program import OpCode, encode
from qsim_ex.planning import compiled as planning
from qsim_ex.planning.compiled import compiled_plan
from qsim_ex.steps import Layout, Plan, Shape
from qsim_ex.steps.compiled import PlannedSweep, key_of
from tools.drawn_plans import REAL_SHAPES, case

BATCHES, CASES = 8, 40


def drawn_plan(number: int, floats: bool = False) -> Plan:
    """A plan of a drawn circuit for a GPU, or for one with small tiles."""
    circuit, given = case(number)
    shapes = [*REAL_SHAPES[2:], Shape(tile=7, near=4, low=2, edge=2, phases=None, dense=4, start=5)]
    shape = replace(shapes[number % len(shapes)], floats=floats, relabels=True)
    return compiled_plan(circuit.instructions, **{**given, "shape": shape})


@pytest.mark.parametrize("batch", range(BATCHES))
def test_programs_are_those_of_python(batch: int) -> None:
    """Words, takes and sizes of drawn circuits' sweeps are equal, one and all."""
    used = set()
    for number in range(batch * CASES, (batch + 1) * CASES):
        itemsize = (8, 16)[number // 5 % 2]
        for sweep in drawn_plan(number, number % 2 == 1).sweeps:
            assert isinstance(sweep, PlannedSweep)
            tensor = number % 3 > 0
            ours, python = program_of(sweep, itemsize, tensor), encode(sweep, itemsize, tensor)
            for name in ("words", "shared", "tables", "threads", "skipped_bits"):
                one, other = getattr(ours, name), getattr(python, name)
                assert np.array_equal(one, other), f"case {number}: {name} of a sweep"
            used |= {int(word) & 0xFF for word in python.words[65 + int(python.words[0]) :]}
    assert used >= {OpCode.END, OpCode.EXCHANGE, OpCode.FLIP, OpCode.MIX_1, OpCode.BLOCK, OpCode.ANY_1, OpCode.TABLE}


@pytest.mark.parametrize("itemsize", [8, 16])
@pytest.mark.parametrize("tile", [9, 11])
def test_matrices_for_tensor_cores_are_those_of_python(tile: int, itemsize: int) -> None:
    """Layers of matrices on two wires become matrices for the tensor cores, several at an exchange."""
    rng, wires, most = np.random.default_rng(tile), 14, 0
    builder = CircuitBuilder(wires)
    for layer in range(24):
        order = np.roll(range(wires), layer % 2) if layer < 12 else rng.permutation(wires)
        for k, pair in enumerate(order.reshape(-1, 2).tolist()):
            builder.unitary(random_unitary(4, 100 * layer + k), pair)
    shape = replace(shape_of(itemsize, True), start=5, block_made=0, tile=tile)
    plan = compiled_plan(builder.build().instructions, wires, Layout.identity(wires), shape, (1 << wires) - 1, True)
    for sweep in plan.sweeps:
        ours, python = program_of(sweep, itemsize, True), encode(sweep, itemsize, True)
        for name in ("words", "shared", "tables", "threads", "skipped_bits"):
            assert np.array_equal(getattr(ours, name), getattr(python, name)), name
        most = max(
            most, *(word >> 8 for word in python.words.tolist() if word & 0xFF == OpCode.EXCHANGE and word < 4096)
        )
    assert most > 1


@pytest.mark.parametrize("itemsize", [8, 16])
@pytest.mark.parametrize("family", ["cx_only", "surface_code", "adder", "su2_8", "clifford_t"])
def test_programs_over_subspaces_are_those_of_python(
    family: str, itemsize: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both maps of a sweep over a subspace, and what they add to bits outside its tile, are in its program."""
    monkeypatch.setattr(planning, "PROMISE", planning.ANY_PROMISE)
    wires, added = 17, 0
    circuit = named(RICH[family](wires), wires) if family in RICH else circuit_of(FAMILIES[family](wires), wires)
    every, identity = (1 << wires) - 1, Layout.identity(wires)
    for shape in (shape_of(itemsize, True), replace(shape_of(itemsize, True), tile=9, low=3, edge=3, dense=4, fewer=0)):
        plan = compiled_plan(circuit.instructions, wires, identity, replace(shape, start=5, block_made=0), every, True)
        assert plan.made_from[-1] == "linear"
        for sweep in plan.sweeps:
            for tensor in (False, True):
                ours, python = program_of(sweep, itemsize, tensor), encode(sweep, itemsize, tensor)
                for name in ("words", "shared", "tables", "threads", "skipped_bits"):
                    assert np.array_equal(getattr(ours, name), getattr(python, name)), name
                added += int(python.words[0]) >> 8
    assert added or family in ("adder", "cx_only", "surface_code")


def test_a_sweep_changed_in_python_is_encoded_in_python() -> None:
    """A changed copy of a sweep has none of its plan's arrays, and a program of its own."""
    sweep = drawn_plan(3).sweeps[0]
    changed = replace(sweep, phases=())
    assert isinstance(changed, PlannedSweep)
    assert np.array_equal(program_of(changed, 8, False).words, encode(changed, 8).words)
    assert key_of(changed) is changed


def test_keys_are_equal_exactly_for_equal_sweeps() -> None:
    """Sweeps of one structure, from whatever circuit, have one key, and others have other keys."""
    plans = [drawn_plan(number) for number in (3, 3, 8, 13, 18, 23, 28)]
    sweeps = [sweep for plan in plans for sweep in plan.sweeps]
    assert len({key_of(sweep) for sweep in sweeps}) < len(sweeps)
    for one, other in combinations(sweeps, 2):
        assert (key_of(one) == key_of(other)) == (one == other)
