"""The kinds about layouts that are linear maps: programs of other kinds, with many CX between their lines.

They are planned for CPUs so small that a few wires take many sweeps, with `Shape.linear`, and each plan in a CNOT frame
is taken that there is. States are asked for at random moments, so that the order of wires has to be as it is told. In
the second kind states are in host memory, on several devices, or both, and each plan with far parities is taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from random import Random
from typing import Any
from unittest.mock import patch

from tools.fuzz import engine_bindings, engine_runs, engine_states
from tools.fuzz.case import Case, Line
from tools.fuzz.kinds import Kind
from tools.fuzz.options import machine_of, placed

KINDS_OF = {
    "state": (engine_states.draw_state, engine_states.check_state),
    "shots": (engine_runs.draw_shots, engine_runs.check_shots),
    "chance": (engine_runs.draw_chance, engine_runs.check_shots),
    "bindings": (engine_bindings.draw_bindings, engine_bindings.check_bindings),
}
"""The kinds whose programs are drawn, and what is compared."""

SHAPES = (
    "Shape(tile=4, registers=4, low=1, edge=0, most_blocks=3, dense=2, start=1, item_work=2.0)",
    "Shape(tile=5, registers=5, low=2, edge=0, most_blocks=3, dense=3, start=2, item_work=2.0, floats=True, counted=8)",
    "Shape(tile=3, registers=2, low=1, edge=0, most_blocks=None, dense=2, start=4)",
    "Shape(tile=5, registers=5, low=2, edge=0, most_blocks=3, dense=3, start=3, balance=4.0)",
)

_COMPARING = 1
"""Which of these compares plans, of states of any size."""

_KEPT = ("precision", "threads")
"""Options that leave a state in one piece."""

_MOST_PASSES = 12
"""The most passes of a plan with far parities."""

_LEAST = 4
"""Wires of a state that is larger than some tile."""


def draw_linear(random: Random, *, far: bool = False) -> Case:
    """A program of another kind with CX, SWAP and X put between its lines, also under conditions.

    far: on a state on several levels.
    """
    while True:
        kind = random.choice([*KINDS_OF, "state"])
        case = KINDS_OF[kind][0](random)
        if case.wires >= _LEAST:
            break
    lines = list(case.program)
    prepared = [k for k, line in enumerate(lines) if line.text.startswith("b.initialize")]
    first = prepared[-1] + 1 if prepared else 0  # only wires that nothing has touched may be prepared
    last = len(lines) - (case.kind != "state")  # behind a last measurement nothing but questions
    for _ in range(random.randint(4, 40)):
        wires = ", ".join(f"q[{wire}]" for wire in random.sample(range(case.wires), 2))
        text = random.choices([f"b.gate('cx', [{wires}])", f"b.gate('swap', [{wires}])", f"b.gate('x', [{wires[:4]}])"],
                              [10, 1, 1])[0]  # fmt: skip
        line = Line(text)
        if kind == "chance" and random.random() < 0.2:
            line = Line(f"with b.condition([c[{random.randrange(case.bits)}]], [{random.randrange(2)}]):", (line,))
        lines.insert(random.randint(first, max(first, last)), line)
        last += 1
    if kind == "shots" and random.random() < 0.5:
        lines.insert(random.randint(first, len(lines) - 1), Line("b.save('now')"))
    options = {name: value for name, value in case.options.items() if name in _KEPT} | {"device": "cpu"}
    if far:
        options |= _place(random, case.wires)
    plain = {"elsewhere": None, "readout": ()}  # the same shots elsewhere and misread bits are for other kinds
    ask = {
        **case.ask,
        **{name: value for name, value in plain.items() if name in case.ask},
        "of": kind,
        "shape": (shape := random.randrange(len(SHAPES))),
    }
    if shape == _COMPARING:
        ask["thresholds"] = {"compared_bits": 0}
    return Case("far" if far else "linear", case.wires, case.bits, tuple(lines), options, ask)


def draw_far(random: Random) -> Case:
    """The same on a state in host memory, on several devices, or both."""
    return draw_linear(random, far=True)


def _place(random: Random, wires: int) -> dict[str, Any]:
    """A placement that is not in one piece."""
    while not (found := placed(random, wires)):
        pass
    return found


def check_linear(case: Case) -> str | None:
    """What another kind says of the program, on a CPU that takes every plan in a CNOT frame."""
    with _linear(case.ask["shape"], case.ask.get("without", ())):
        return KINDS_OF[case.ask["of"]][1](case)


def check_far(case: Case) -> str | None:
    """What another kind says of the program, with every plan with far parities."""
    from qsim_ex.execution.prepare import plan_of, plans_of
    from qsim_ex.planning import rules

    def forget() -> None:
        for kept in (plan_of, plans_of):
            kept.cache_clear()

    forget()
    with patch.object(rules, "PARITIES", _MOST_PASSES):
        found = check_linear(case)
    forget()
    return found


@contextmanager
def _linear(number: int, without: Sequence[str]) -> Iterator[None]:
    """Plan over subspaces meanwhile, wherever that can be done, and without some rules of planning."""
    from qsim_ex import thresholds
    from qsim_ex.devices.cpu.device import CpuDevice
    from qsim_ex.planning import rules

    shape = replace(machine_of(SHAPES[number], without), linear=True)

    # plans are kept by their shapes, and a shape of this kind is used nowhere else
    with (
        patch.object(CpuDevice, "shape", lambda _self, _dtype: shape),
        patch.object(rules, "PROMISE", rules.ANY_PROMISE),
        thresholds.instead(trajectory_wires=0, damped_trajectory_wires=0),  # trajectories need no plans else
    ):
        yield


KINDS = [Kind("linear", draw_linear, check_linear, 1.5), Kind("far", draw_far, check_far)]
