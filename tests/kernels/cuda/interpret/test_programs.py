"""Programs of whole plans do what their sweeps say, and are those of the same sweeps alone."""

from __future__ import annotations

import pickle
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from support.cuda.interpreted import check_program
from support.cuda.program_words import WORD, exchanged, operations
from support.cuda.random_sweeps import random_state
from support.strategies import random_unitary

from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.devices.gpu.shape import shape_of
from qsim_ex.kernels.cuda.interpret.programs import program_of
from qsim_ex.planning import rules
from qsim_ex.planning.coefficients.binding import bind
from qsim_ex.planning.planner import compiled_plan
from qsim_ex.precision import BY_DTYPE, DOUBLE, SINGLE
from qsim_ex.steps import Layout, Plan, Shape
from qsim_ex.steps.compiled import PlannedSweep, key_of
from tools.drawn_plans import REAL_SHAPES, case

CASES = range(0, 200, 2)


def is_small(number: int) -> bool:
    """Whether a case has few wires, and nothing that could leave of a state what rounding makes of it."""
    circuit, given = case(number)
    return given["num_wires"] <= 10 and all(getattr(each, "unitary", True) for each in circuit.instructions)


def drawn_plan(number: int, floats: bool = False) -> Plan:
    """A plan of a drawn circuit for a GPU, or for one with small tiles."""
    circuit, given = case(number)
    shapes = [*REAL_SHAPES[2:], Shape(tile=7, registers=4, low=2, edge=2, most_blocks=None, dense=4, start=5)]
    shape = replace(shapes[number % len(shapes)], floats=floats, relabels=True, linear=True)
    return compiled_plan(circuit.instructions, **{**given, "shape": shape})


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_programs_of_drawn_plans(dtype: type[np.complexfloating], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each sweep of a drawn plan does what it says, over bits and over subspaces, in plans of several sweeps."""
    monkeypatch.setattr(rules, "PROMISE", rules.ANY_PROMISE)
    several, linear, used = 0, 0, set()
    for number in filter(is_small, range(160)):
        circuit, given = case(number)
        plan = drawn_plan(number, number % 3 == 1)
        psi = random_state(number, given["num_wires"], dtype)
        for step, numbers in zip(plan.steps, bind(plan, circuit.operands), strict=True):
            if isinstance(step, PlannedSweep):
                program = program_of(step, BY_DTYPE[psi.dtype], number % 3 > 0)
                check_program(program, step, np.array(numbers), psi, given["num_wires"])
                used |= operations(program.words)
        several += len(plan.sweeps) > 1
        linear += any(sweep.load or sweep.store for sweep in plan.sweeps)
    assert several > 5
    assert linear > 2
    assert used >= {WORD[name] for name in ("END", "EXCHANGE", "LAYER", "CXS", "PARITY", "TABLE")}


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("tile", [9, 11])
def test_several_matrices_for_tensor_cores_at_an_exchange(tile: int, dtype: type[np.complexfloating]) -> None:
    """Layers of matrices on two wires become matrices for the tensor cores, several at an exchange."""
    rng, wires, most = np.random.default_rng(tile), 12, 0
    builder = CircuitBuilder(wires)
    for layer in range(24):
        order = np.roll(range(wires), layer % 2) if layer < 12 else rng.permutation(wires)
        for k, pair in enumerate(order.reshape(-1, 2).tolist()):
            builder.unitary(random_unitary(4, 100 * layer + k), pair)
    circuit, psi = builder.build(), random_state(tile, wires, dtype)
    shape = replace(shape_of(BY_DTYPE[psi.dtype], True), start=5, block_made=0, tile=tile)
    plan = compiled_plan(circuit.instructions, wires, Layout.identity(wires), shape, (1 << wires) - 1, True)
    for sweep, numbers in zip(plan.sweeps, bind(plan, circuit.operands), strict=True):
        program = program_of(sweep, BY_DTYPE[psi.dtype], True)
        check_program(program, sweep, np.array(numbers), psi, wires)
        most = max(most, *exchanged(program.words), 0)
    assert most > 1


def test_sweeps_that_were_pickled_have_the_programs_of_their_plan() -> None:
    """A sweep alone, made of Python's objects, has the words and takes that it has among the sweeps of its plan."""
    for number in CASES:
        precision, tensor = (SINGLE, DOUBLE)[number // 5 % 2], number % 3 > 0
        for sweep in drawn_plan(number, number % 3 == 1).sweeps:
            one, other = (program_of(each, precision, tensor) for each in (sweep, pickle.loads(pickle.dumps(sweep))))
            for name in ("words", "shared", "tables", "threads", "skipped_bits"):
                assert np.array_equal(getattr(one, name), getattr(other, name)), f"case {number}: {name} of a sweep"


def test_a_changed_sweep_has_a_program_of_its_own() -> None:
    """A changed copy of a sweep has none of its plan's arrays, and a program and a key of its own."""
    sweep = drawn_plan(3).sweeps[0]
    changed = replace(sweep, register_blocks=())
    assert isinstance(changed, PlannedSweep)
    assert operations(program_of(changed, SINGLE, False).words) <= {WORD["END"], WORD["EXCHANGE"]}
    assert len(program_of(sweep, SINGLE, False).words) > len(program_of(changed, SINGLE, False).words)
    assert key_of(changed) is changed


def test_keys_are_equal_exactly_for_equal_sweeps() -> None:
    """Sweeps of one structure, from whatever circuit, have one key, and others have other keys."""
    plans = [drawn_plan(number) for number in (3, 3, 8, 13, 18, 23, 28)]
    sweeps = [sweep for plan in plans for sweep in plan.sweeps]
    assert len({key_of(sweep) for sweep in sweeps}) < len(sweeps)
    for one, other in combinations(sweeps, 2):
        assert (key_of(one) == key_of(other)) == (one == other)
