"""Kinds about gradients with noise: density matrices beside the oracle, means over trajectories beside their runs."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

from tools.fuzz import compare, programs
from tools.fuzz.case import Case, Line
from tools.fuzz.engine import pauli_sum
from tools.fuzz.engine_gradients import STEP, WEIGHTS, check_gradient, drawn_ask, parametrised, sweep_of
from tools.fuzz.kinds import Kind
from tools.fuzz.options import devices, placed

MIXTURES = (
    (
        "bit_flip({p})",
        "phase_flip({p})",
        "depolarizing({p})",
        "uniform_pauli({p})",
        "pauli_channel(dict(X={s}, Z={s}))",
    ),
    ("depolarizing({p}, 2)", "uniform_pauli({p}, 2)", "pauli_channel(dict(XY={s}, ZI={s}, IZ={s}))"),
)
"""Mixtures of unitary matrices on one wire and on two."""


def _among(draw: programs.Draw, others: list[Line]) -> list[Line]:
    """Lines with parameters, and others among them."""
    lines = parametrised(draw, 6)
    for line in others:
        lines.insert(draw.random.randint(0, len(lines)), line)
    return lines


# --- density matrices -------------------------------------------------------------------------------------------------


def draw_noisy(random: Random) -> Case:
    """A program with parameters, and with channels, resets, measurements and conditions among its lines."""
    wires = random.choice([1, 2, 2, 3])
    draw = programs.Draw(random, wires, random.randint(1, 2))
    draw.bound = True
    others = [Line(draw.channel()) for _ in range(random.randint(1, 3))]
    draw.bound = False  # parameters of gates under conditions are numbers
    others += [Line(draw.reset()) for _ in range(random.random() < 0.2)]
    if random.random() < 0.3:
        others += [Line(draw.measurement()), draw.conditional()]
    draw.bound = True
    lines = _among(draw, others)
    lines += [Line(f"b.gate('h', [q[{wire}]])") for wire in range(wires)]  # measurements at the end would not count
    options = {"device": "cpu", "precision": random.choice(["double", "double", "single"]), "method": "density_matrix"}
    return Case("noisy gradient", wires, draw.bits, tuple(lines), options, drawn_ask(random, draw))


# --- trajectories -----------------------------------------------------------------------------------------------------


def draw_trajectories(random: Random) -> Case:
    """A program with parameters and mixtures of unitary matrices, in one piece or in several."""
    wires = random.choice([1, 2, 3, 3, 5])
    draw = programs.Draw(random, wires, 0)
    draw.bound = True
    lines = _among(draw, [Line(_mixture(draw)) for _ in range(random.randint(1, 4))])
    options = {"device": random.choice(devices()), "precision": random.choice(["double", "double", "single"])}
    if wires > 4 and random.random() < 0.4:
        options |= placed(random, wires + 1, least=4)
    ask = drawn_ask(random, draw) | {"trajectories": random.choice([1, 2, 10])}
    return Case("trajectory gradient", wires, 0, tuple(lines), options, ask)


def _mixture(draw: programs.Draw) -> str:
    """A mixture of unitary matrices on a wire or two."""
    random, count = draw.random, 2 if draw.wires > 1 and draw.random.random() < 0.4 else 1
    text = random.choice(MIXTURES[count - 1]).format(
        p=round(random.uniform(0.1, 0.9), 3), s=round(random.uniform(0.02, 0.33), 3)
    )
    return f"b.channel(noise.{text}, {draw.on(draw.some(count))})"


def check_trajectories(case: Case) -> str | None:
    """Values are those of a run with the seed, and derivatives the differences of such runs, with the same choices."""
    from qsim_ex import Options, Simulator

    ask, (sweep, _) = case.ask, sweep_of(case)
    sums, given = [pauli_sum(one) for one in ask["sums"]], {"trajectories": ask["trajectories"], "seeds": ask["seed"]}
    found = Simulator(Options(**case.options)).gradient(sweep, sums, **given)
    exactly = Simulator(Options(device="cpu", precision="double"))

    def values(columns: Any) -> Any:
        bound = replace(sweep, columns=columns).bindings()
        return exactly.run_batch(sweep.template, bound, observables=sums, **given).values

    tolerance = 1e-7 if case.options["precision"] == "double" else 1e-3
    wrong = compare.arrays("values", found.values, values(sweep.columns), tolerance)
    for place in range(0 if sweep.columns is None else sweep.columns.shape[1]):
        expected: Any = 0.0
        for steps, weight in WEIGHTS:
            above, below = sweep.columns.copy(), sweep.columns.copy()
            above[:, place] += steps * STEP
            below[:, place] -= steps * STEP
            expected = expected + weight / STEP * (values(above) - values(below))
        wrong = wrong or compare.arrays(f"derivatives at {place}", found.jacobian[:, :, place], expected, tolerance)
    return wrong


KINDS = [
    Kind("noisy gradient", draw_noisy, check_gradient, 0.3),
    Kind("trajectory gradient", draw_trajectories, check_trajectories, 0.4),
]
