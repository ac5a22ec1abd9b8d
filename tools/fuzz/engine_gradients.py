"""The kind about gradients: values and derivatives of programs with parameters beside the oracle's values."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np

from tools.fuzz import compare, programs
from tools.fuzz.case import Case, Line
from tools.fuzz.engine import filled, pauli_sum, terms, truth_of
from tools.fuzz.kinds import Kind
from tools.fuzz.options import devices, placed

ROOMY, SHARE = 4, 0.4
"""A wire of each piece is the cotangent's, and gates mix three; how many states of so many wires are divided."""

STEP = 0.003
"""Of differences: their error is about 1e-9, also where a phase is a product of parameters; rounding adds 1e-12."""

WEIGHTS = ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))
"""How many steps, and the weight of the difference between both sides: exact for polynomials of degree 6."""


def draw_gradient(random: Random) -> Case:
    """A program whose angles are parameters, some of them shared by several gates, and one or two Pauli sums."""
    wires = random.choice([1, 2, 3, 3, 4, 5])
    draw = programs.Draw(random, wires, 0)
    draw.bound = True
    lines = parametrised(draw, 9)
    options = {"device": random.choice(devices()), "precision": random.choice(["double", "double", "single"])}
    if wires >= ROOMY and random.random() < SHARE:
        options |= placed(random, wires + 1, least=ROOMY)
    return Case("gradient", wires, 0, tuple(lines), options, drawn_ask(random, draw))


def parametrised(draw: programs.Draw, longest: int) -> list[Line]:
    """Lines without chance, at least one of which has a parameter."""
    lines = programs.unitary(draw, longest)
    if not any("v[" in text for line in lines for text in line.source()):
        lines.append(Line(f"b.gate('ry', [q[0]], v[{draw.values}])"))
        draw.values += 1
    return lines


def drawn_ask(random: Random, draw: programs.Draw) -> dict[str, Any]:
    """How many bindings and parameters there are, and the sums that are asked for."""
    return {
        "rows": random.choice([1, 1, 2, 3]),
        "values": draw.values,
        "columns": random.randint(1, draw.values),
        "seed": random.randrange(1 << 30),
        "sums": [terms(random, draw.wires) for _ in range(random.randint(1, 2))],
    }


def sweep_of(case: Case) -> tuple[Any, Any]:
    """The sweep of a program, and the numbers of its parameters, [bindings, parameters]."""
    from qsim_ex.circuit.parameters.sweep import ParameterSweepBuilder

    ask = case.ask
    numbers = np.random.default_rng(ask["seed"]).uniform(-3, 3, (ask["rows"], ask["columns"]))
    shared = [column.copy() for column in numbers.T]
    given = [shared[k % len(shared)] for k in range(ask["values"])]
    return filled(ParameterSweepBuilder(case.wires, case.bits), case, None, given).sweep(ask["rows"]), numbers


def check_gradient(case: Case) -> str | None:
    """Values are the oracle's, and derivatives with respect to every parameter are its differences."""
    from qsim_ex import Options, Simulator

    ask, (sweep, numbers) = case.ask, sweep_of(case)
    sums = [pauli_sum(one) for one in ask["sums"]]
    found = Simulator(Options(**case.options)).gradient(sweep, sums)
    tolerance = 1e-7 if case.options["precision"] == "double" else 1e-3
    row = ask["seed"] % ask["rows"]
    wrong = compare.arrays(f"values of binding {row}", found.values[row], _values(case, numbers[row]), tolerance)
    columns = [] if sweep.columns is None else sweep.columns[row]  # in the builder's order; all numbers differ
    for place, value in enumerate(columns):
        column = int(np.flatnonzero(numbers[row] == value)[0])
        expected = _difference(case, numbers[row], column)
        told = f"derivatives with respect to column {column} of binding {row}"
        wrong = wrong or compare.arrays(told, found.jacobian[row, :, place], expected, tolerance)
    return wrong


def _values(case: Case, columns: Any) -> Any:
    """The values of all sums by the oracle, given the numbers of one binding."""
    truth = truth_of(case, [columns[k % len(columns)] for k in range(case.ask["values"])])
    return np.array([truth.expectation(one).real for one in case.ask["sums"]])


def _difference(case: Case, columns: Any, column: int) -> Any:
    """The derivatives of all values with respect to one number, from the values at six others."""
    total, unit = np.zeros(len(case.ask["sums"])), np.arange(len(columns)) == column
    for steps, weight in WEIGHTS:
        far = steps * STEP * unit
        total += weight / STEP * (_values(case, columns + far) - _values(case, columns - far))
    return total


KINDS = [Kind("gradient", draw_gradient, check_gradient, 0.7)]
