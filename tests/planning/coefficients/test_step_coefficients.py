"""The numbers that a CPU takes step by step are those of the whole coefficient buffer."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from support.held import Hold

from benchmarks.engine import circuit_of
from benchmarks.families import FAMILIES
from qsim_ex.errors import Cancelled
from qsim_ex.native.library import cancelled_by
from qsim_ex.planning.coefficients.binding import fill
from qsim_ex.planning.planner import compiled_plan
from qsim_ex.steps import Euler, Fold, Layout, Product
from tools.drawn_plans import REAL_SHAPES, case

CPU = REAL_SHAPES[0]


@pytest.mark.parametrize("at_once", [1, 50, 1 << 16])
def test_numbers_of_drawn_plans(hold: Hold, at_once: int) -> None:
    """Each step gets the entries of the buffer, bit for bit, whatever is made at once; all instructions come up."""
    hold(coefficients_at_once=at_once)
    hold(packed_at_once=at_once)
    hold(packed_by_numpy=at_once)
    kinds = set()
    for number in range(150):
        circuit, given = case(number)
        numbers = compiled_plan(circuit.instructions, **given).coefficients
        kinds |= {type(row) for row in numbers.program}
        bound = fill(numbers, circuit.operands[0])
        found = list(bound)
        wanted = [bound.buffer.take(places) for places in numbers.packed]
        assert len(found) == len(wanted) == len(bound)
        assert all(np.array_equal(one, other) for one, other in zip(found, wanted, strict=True))
        assert all(np.array_equal(one, other) for one, other in zip(bound, wanted, strict=True))  # from the buffer now
    assert kinds == {Product, Euler, Fold}


def test_products_stand_in_the_places_of_their_factors() -> None:
    """A matrix that many gates are merged into has one place, where the buffer has one for each of its products."""
    circuit = circuit_of(FAMILIES["brick"].build(12, 0), 12)
    numbers = compiled_plan(circuit.instructions, 12, Layout.identity(12), CPU, 0, place=False).coefficients
    made = numbers.arrays.size - numbers.num_operands
    assert 4 * made < numbers.size() - numbers.num_operands


def test_making_numbers_can_be_cancelled(hold: Hold) -> None:
    """An event that is set ends the making of numbers; afterwards they can be made."""
    circuit, event = circuit_of(FAMILIES["brick"].build(12, 0), 12), threading.Event()
    plan = compiled_plan(circuit.instructions, 12, Layout.identity(12), CPU, 0, place=False)
    hold(coefficients_at_once=10)
    bound = fill(plan.coefficients, circuit.operands[0])
    event.set()
    with cancelled_by(event), pytest.raises(Cancelled, match="planned"):
        iter(bound)
    assert len(list(bound)) == len(plan.steps)
