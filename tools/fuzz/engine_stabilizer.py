"""The kind about circuits of Clifford gates and Pauli noise, which run with Stim: shots, values and saves."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from tools.fuzz import engine_runs, engine_saves, programs
from tools.fuzz.case import Case, Line
from tools.fuzz.engine import ENTRIES, draw_readout, terms
from tools.fuzz.kinds import Kind, installed

_ONE = ("h", "s", "sdg", "x", "y", "z", "sx", "sxdg")
_TWO = ("cx", "cy", "cz", "swap", "iswap", "ecr")
_PAULI = ("x", "y", "z")
_NOISE = {
    1: ("bit_flip({p})", "phase_flip({p})", "depolarizing({p})", "pauli_channel(dict(X={p}, Z=0.1))"),
    2: ("depolarizing({p}, 2)", "uniform_pauli({p}, 2)"),
}

CHECKS: dict[str, Callable[[Case], str | None]] = {
    "shots": engine_runs.check_shots,
    "values": engine_runs.check_values,
    "saves": engine_saves.check_saves,
}
"""What is compared, by the question."""


class _Draw(programs.Draw):
    """Draws nothing but Clifford gates and Pauli noise, and Pauli gates under conditions."""

    def unitary_line(self) -> str:
        """A Clifford gate, or a rotation by quarter turns."""
        random = self.random
        if random.random() < 0.15:
            wires = self.some(random.randint(1, self.wires))
            letters = "".join(random.choice("IXYZ") for _ in wires)
            return f"b.pauli_rotation({random.randint(-3, 3)} * pi / 2, {letters!r}, {self.on(wires)})"
        count = random.randint(1, min(2, self.wires))
        return f"b.gate({random.choice(_ONE if count == 1 else _TWO)!r}, {self.on(self.some(count))})"

    def conditional_line(self) -> str:
        """A Pauli gate."""
        return f"b.gate({self.random.choice(_PAULI)!r}, {self.on(self.some(1))})"

    def bulk(self) -> list[Line]:
        """Some gates, one after another."""
        return [Line(self.unitary_line()) for _ in range(self.random.randint(2, 8))]

    def preparation(self) -> str | None:
        """Nothing."""
        return None

    def kraus(self, wires: int) -> str:
        """A channel of Pauli gates."""
        return "noise." + self.random.choice(_NOISE[wires]).format(p=round(self.random.uniform(0.05, 0.6), 3))


def draw_stabilizer(random: Random) -> Case:
    """A program with or without chance, by the method or, where states are never narrow enough, by itself."""
    wires = random.choice([1, 2, 3, 3, 4, 5])
    draw = _Draw(random, wires, random.randint(1, 4))
    question = random.choice(list(CHECKS))
    lines = programs.chance(draw, 14) if random.random() < 0.7 else programs.unitary(draw, 14)
    if question == "saves":
        for number in range(random.randint(1, 2)):
            lines.insert(random.randint(0, len(lines)), Line(engine_saves.save_line(draw, f"s{number}")))
    if question != "values":
        lines.append(programs.measured(draw))
    ask: dict[str, Any] = {"of": question, "seed": random.randrange(1 << 40)}
    if question == "shots":
        readout = draw_readout(random, tuple(lines)) if random.random() < 0.2 else ()
        ask |= {"entry": random.choice(ENTRIES), "readout": readout, "elsewhere": None}
    if question == "values":
        ask["observables"] = (terms(random, wires, "IZ"), terms(random, wires, "IZ"))
    options: dict[str, Any] = {"device": "cpu"}
    if random.random() < 0.7:
        options["method"] = "stabilizer"
    else:
        ask["thresholds"] = {"stabilizer_work": 0, "method_work": 0}
    return Case("stabilizer", wires, draw.bits, tuple(lines), options, ask)


def check_stabilizer(case: Case) -> str | None:
    """Shots, means and saved values of stabilizer states are those of the branching oracle."""
    return CHECKS[case.ask["of"]](case)


KINDS = [Kind("stabilizer", draw_stabilizer, check_stabilizer, 1.5)] if installed("stim") else []
