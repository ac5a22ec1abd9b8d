"""Plans of words, short circuits that reach every matrix of the rules of rewriting, do what their circuits say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from planning.test_drawn_plans import does_what_it_says

from qsim_ex import reference, thresholds
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.planning.planner import make_plan
from qsim_ex.planning.rules import rules
from qsim_ex.steps import Layout, Plan, Shape
from tools.drawn_words import word

SHAPE = Shape(tile=6, registers=4, low=2, edge=2, most_blocks=None, dense=4, start=0)
"""A machine with as few costs as a GPU, whose smallest states count as large ones."""

BATCHES, WORDS = 4, 500


def drawn(number: int) -> tuple[Plan, Circuit]:
    """Draw a word, the numbers at which rules begin, a layout, and the rules; return the plan, and the circuit."""
    random = Random(number)
    wires = random.choice([1, 2, 2, 2, 2, 3, 3, 4])
    limits = {"quarter_wires": random.choice([0, 0, 16]), "run_work": random.choice([0, 8, 8, 22])}
    if random.random() < 0.2:
        limits |= {
            "window": random.choice([1, 3]),
            "looked_at": random.choice([1, 4]),
            "parities": random.choice([1, 2]),
        }
    shape = replace(SHAPE, item_work=random.choice([0.0, 0.0, 0.0, 0.0, 2.0]), relabels=random.random() < 0.9)
    if random.random() < 0.2:
        shape = replace(shape, left_out=tuple(random.sample(rules(), 1)))
    order, every = random.sample(range(wires), wires), (1 << wires) - 1
    fresh = random.choice([0, 0, 0, every, random.randrange(1 << wires)])
    start = Layout(tuple(order), random.randrange(1 << wires) & ~fresh)
    with thresholds.instead(**limits):
        builder = CircuitBuilder(wires)
        for gate in word(random, wires):
            builder.gate(gate.name, gate.wires, *gate.angles, controls=gate.controls)
        circuit = builder.build()
        return make_plan(circuit.instructions, wires, start, shape, fresh), circuit


def wrong(numbers: range) -> Iterator[int]:
    """Yield the numbers of the words whose plans do something else."""
    return (number for number in numbers if not does_what_it_says(*drawn(number), number))


@pytest.mark.parametrize("batch", range(BATCHES))
def test_words_keep_their_meaning(batch: int) -> None:
    """The plan of each word ends in the state of the definitions, from any state that it may begin with."""
    assert next(wrong(range(batch * WORDS, (batch + 1) * WORDS)), None) is None


def products(matrix: np.ndarray, apart: int) -> str:
    """Return which products of entries agree in both matrices on a bit that are all of a matrix on two; "" for others.

    apart: by what the values differ that each of the two mixes.
    """
    values = [(low, low ^ apart) for low in range(4) if low < low ^ apart]
    blocks = [matrix[np.ix_(pair, pair)] for pair in values]
    inside = np.zeros((4, 4), dtype=bool)
    for pair in values:
        inside[np.ix_(pair, pair)] = True
    if np.abs(matrix[~inside]).max() > 1e-9 or np.abs(matrix[inside]).min() < 1e-3:
        return ""
    entries = np.array([block.reshape(-1) for block in blocks]).T
    a, b, c, d = entries
    found = {"columns": (a * c, b * d), "rows": (a * b, c * d), "signs": (a, d), "other signs": (a, -d)}
    return " ".join(name for name, (one, other) in found.items() if np.abs(one - other).max() < 1e-9)


def test_words_reach_all_kinds_of_pairs() -> None:
    """Of few words some are two matrices that need phases on one side, on none, and on none but for a sign."""
    seen = set()
    for number in range(WORDS):
        _, circuit = drawn(number)
        if circuit.num_qubits == 2:
            columns = [reference.simulate(circuit, column) for column in np.eye(4, dtype=np.complex128)]
            seen |= {(apart, products(np.array(columns).T, apart)) for apart in (1, 2, 3)}
    for kind in ("columns", "rows", "columns rows signs", "columns rows other signs"):
        assert (3, kind) in seen, kind
    assert {apart for apart, kind in seen if kind} == {1, 2, 3}
