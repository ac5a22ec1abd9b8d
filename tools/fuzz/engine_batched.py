"""The kind about `BatchedStateVector`: many states at a time, each with numbers of its own."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np

from tools.fuzz import compare, programs
from tools.fuzz.amplitudes import density_of, expectation_of, holding, marginal_of
from tools.fuzz.case import Case
from tools.fuzz.engine import circuit_of, pauli_sum, terms, truth_of, values_of
from tools.fuzz.kinds import Kind
from tools.fuzz.numbers import Matrix, vector
from tools.fuzz.options import options, tolerance
from tools.fuzz.oracle import Oracle


def draw_batched(random: Random) -> Case:
    """A program whose angles are numbers of a binding, for some states at a time."""
    wires = random.choice([1, 2, 2, 3, 3, 4, 5])
    draw = programs.Draw(random, wires, 0)
    draw.bound = True
    lines = programs.unitary(draw, 10)
    chosen = {name: value for name, value in options(random, wires).items() if name in _BATCHED}
    ask = {
        "rows": random.randint(1, 5),
        "values": draw.values,
        "initial": random.choice(["none", "basis", "values", "vector", "vectors"]),
        "question": random.choice(["probabilities", "expectation", "sample", "measure", "density", "take"]),
        "seed": random.randrange(1 << 20),
    }
    return Case("batched", wires, 0, tuple(lines), chosen, ask)


_BATCHED = ("device", "precision", "threads", "compile")


def _starts(case: Case) -> tuple[Any, Iterator[Matrix]]:
    """What a batch begins with, and the amplitudes of each state."""
    rows, n, random = case.ask["rows"], case.wires, Random(case.ask["seed"])
    eye = np.eye(1 << n, dtype=np.complex128)
    match case.ask["initial"]:
        case "basis":
            start = random.randrange(1 << n)
            return start, iter([eye[start]] * rows)
        case "values":
            many = np.array([random.randrange(1 << n) for _ in range(rows)])
            return many, iter(eye[many])
        case "vector":
            one = vector(n, random.randrange(50))
            return one, iter([one] * rows)
        case "vectors":
            each = np.array([vector(n, random.randrange(50)) for _ in range(rows)])
            return each, iter(each)
        case _:
            return None, iter([eye[0]] * rows)


def check_batched(case: Case) -> str | None:
    """Every state of a batch is the oracle's, and so is the answer to a question."""
    from qsim_ex import BatchedStateVector, Options

    within, rows, n = tolerance(case.options), case.ask["rows"], case.wires
    numbers, (start, each) = values_of(case), _starts(case)
    expected = []
    for values, first in zip(numbers, each, strict=True):
        oracle = Oracle(n)
        oracle.branches[0] = first[:, None].copy()
        expected.append(truth_of(case, values, oracle=oracle).vector())
    circuits = [circuit_of(case, None, values) for values in numbers]
    operands = np.concatenate([circuit.operands for circuit in circuits])
    with BatchedStateVector(rows, n, options=Options(**case.options), initial=start) as states:
        states.apply(circuits[0], operands)
        psi = np.array(expected)
        return compare.arrays("states", states.to_numpy(), psi, within) or _asked_of_many(case, states, psi, within)


def _asked_of_many(case: Case, states: Any, psi: Matrix, within: float) -> str | None:
    """Compare one question's answers, one for each state."""
    random, n, rows = Random(case.ask["seed"] + 1), case.wires, len(psi)
    wires = random.sample(range(n), random.randint(1, n))
    match case.ask["question"]:
        case "probabilities":
            expected = [marginal_of(np.abs(one) ** 2, wires) for one in psi]
            return compare.arrays(f"probabilities({wires})", states.probabilities(wires), expected, within)
        case "expectation":
            found = terms(random, n)
            expected = [expectation_of(one, found) for one in psi]
            return compare.arrays(f"expectation({found})", states.expectation(pauli_sum(found)), expected, 10 * within)
        case "density":
            expected = [density_of(one, wires[:3]) for one in psi]
            return compare.arrays(f"density({wires[:3]})", states.density(wires[:3]), expected, within)
        case "sample":
            seeds = [random.randrange(1 << 30) for _ in range(rows)]
            found = states.sample(50, wires, seeds)
            for row, seed in enumerate(seeds):
                with states.row(row) as one:
                    off = compare.equal(f"shots of state {row} of {wires}", found[row], one.sample(50, wires, seed))
                if off:
                    return off
            return None
        case "measure":
            numbers = np.array([random.random() for _ in range(rows)])
            values = states.measure(wires, random=numbers)
            kept = [
                np.where(holding(n, {wire: int(value) >> k & 1 for k, wire in enumerate(wires)}), one, 0)
                for one, value in zip(psi, values, strict=True)
            ]
            norms = np.linalg.norm(kept, axis=1)
            if norms.min() < 1e-3:
                return f"measured {wires} as {values}, norms {norms}" if norms.min() < 1e-7 else None
            expected = kept / norms[:, None]
            return compare.arrays(f"states after measure({wires})", states.to_numpy(), expected, within / norms.min())
        case _:
            chosen = [random.randrange(rows) for _ in range(random.randint(1, 4))]
            with states.take(chosen) as taken:
                return compare.arrays(f"take({chosen})", taken.to_numpy(), psi[chosen], within)


KINDS = [Kind("batched", draw_batched, check_batched, 1.5)]
