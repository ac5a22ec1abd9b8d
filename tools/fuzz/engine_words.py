"""The kind about words: short circuits that reach every matrix of the rules of rewriting, on machines like GPUs.

A machine whose items cost nothing beside their arithmetic has rotations between phases in place of complex matrices,
and one whose smallest states count as large joins runs of gates. GPUs do both from 19 wires on.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from unittest.mock import patch

from tools.drawn_words import Gate, word
from tools.fuzz.case import Case, Line
from tools.fuzz.engine_states import QUESTIONS, check_state
from tools.fuzz.kinds import Kind
from tools.fuzz.options import machine_of, options

SHAPES = (
    "Shape(tile=6, registers=4, low=2, edge=2, most_blocks=None, dense=4, start=0)",
    "Shape(tile=6, registers=4, low=2, edge=2, most_blocks=None, dense=4, start=0, block=20.0)",
    "Shape(tile=5, registers=5, low=2, edge=0, most_blocks=3, dense=3, start=1, balance=4.0)",
    "Shape(tile=5, registers=5, low=2, edge=0, most_blocks=3, dense=3, start=1, item_work=2.0, floats=True)",
)

_LIMITS = {"quarter_wires": (0, 0, 16), "run_work": (0, 8, 8, 22)}
"""The thresholds that decide about most words, and what is drawn for them."""


def draw_words(random: Random) -> Case:
    """Turns of all wires, or none, a word on some of them, and a question about the state."""
    wires = random.choice([2, 2, 3, 4, 5])
    lines: list[Line] = []
    if random.random() < 0.8:  # else all wires are 0 at first
        lines += [Line(f"b.gate('ry', [q[{wire}]], {random.uniform(0.3, 2.8)!r})") for wire in range(wires)]
        lines += [Line(f"b.diagonal(phases({wires}, {random.randrange(50)}), [{_list(range(wires))}])")]
    for _ in range(random.choice([1, 1, 2])):
        on = random.sample(range(wires), random.randint(2, min(wires, 3)))
        lines += [Line(_text(gate, on)) for gate in word(random, len(on))]
    ask = {
        "entry": random.choice(["state", "run", "run_batch", "apply", "initial"]),
        "question": random.choice(QUESTIONS),
        "seed": random.randrange(1 << 20),
        "shape": random.randrange(len(SHAPES)),
        "thresholds": {name: random.choice(values) for name, values in _LIMITS.items()},
    }
    return Case("words", wires, 0, tuple(lines), options(random, wires), ask)


def _list(wires: range | list[int]) -> str:
    return ", ".join(f"q[{wire}]" for wire in wires)


def _text(gate: Gate, on: list[int]) -> str:
    """A gate of a word as a line of a program. on: the wires that the word's stand for."""
    angles = "".join(f", {angle!r}" for angle in gate.angles)
    controls = f", controls=[{_list([on[wire] for wire in gate.controls])}]" if gate.controls else ""
    return f"b.gate({gate.name!r}, [{_list([on[wire] for wire in gate.wires])}]{angles}{controls})"


def check_words(case: Case) -> str | None:
    """What the kind `state` says of the program, on a machine like a GPU."""
    from qsim_ex.devices.cpu.device import CpuDevice

    shape = machine_of(SHAPES[case.ask["shape"]], case.ask.get("without", ()))
    with patch.object(CpuDevice, "shape", lambda _self, _dtype: shape):
        return check_state(replace(case, kind="state"))


KINDS = [Kind("words", draw_words, check_words, 1.5)]
