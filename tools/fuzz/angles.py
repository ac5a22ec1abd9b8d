"""Draws angles as text: any, multiples of π/4, numbers beside them, and huge ones; and the numbers of bindings."""

from __future__ import annotations

from random import Random

import numpy as np
from numpy.typing import NDArray

MOST_TURNS = 40
"""Eighth turns of the largest angle that is special: ±10π."""

NEARLY = ("1e-16", "-4e-16", "1e-15", "3e-15", "-8e-15", "1e-14", "3e-12", "-1e-9", "1e-6")
"""What some special angles are off by, the first ones by rounding; none by a tolerance, where rounding decides."""

EXPONENTS = ("0.0", "1.0", "-1.0", "0.5", "-0.5", "2.0", "0.25", "1.5", "3.0", "2.25", "-3.75")
SHIFTS = ("0.0", "0.0", "-0.5", "1.0")
HALF_TURNS = frozenset({"exponent", "shift", "phase_exponent"})


def special(random: Random) -> str:
    """A multiple of π/4, most often a small one, sometimes off by a little."""
    turns = random.randint(-16, 16) if random.random() < 0.8 else random.randint(-MOST_TURNS, MOST_TURNS)
    text = random.choice([f"{turns}*pi/4", f"{turns}*(pi/4)"]) if turns else "0.0"
    return f"({text} + {random.choice(NEARLY)})" if random.random() < 0.2 else text


def huge(random: Random) -> str:
    """An angle of 1e9 to 1e17, where doubles are up to 16 apart."""
    return f"{random.choice(['', '-'])}{round(random.uniform(1, 9.9), 12)}e{random.randint(9, 16)}"


def angle(random: Random, name: str = "") -> str:
    """An angle, or an exponent in half turns by the name of its parameter; special ones are nearly as likely."""
    half_turns = name in HALF_TURNS
    if random.random() < 0.4:
        if not half_turns:
            return special(random)
        if name == "shift":
            return random.choice(SHIFTS)
        text = random.choice(EXPONENTS)
        return f"({text} + {random.choice(NEARLY)})" if random.random() < 0.2 else text
    return str(round(random.uniform(-2, 2) if half_turns else random.uniform(-7, 7), 3))


def bindings(seed: int, rows: int, values: int, *, is_special: bool) -> NDArray[np.float64]:
    """The numbers of all bindings, [rows, values]; some numbers of one binding are multiples of 1/4 or of π/4."""
    random = np.random.default_rng(seed)
    found: NDArray[np.float64] = random.uniform(-3, 3, (rows, values)).round(3)
    if is_special and rows:
        quarters = random.integers(-8, 9, values) * random.choice([0.25, np.pi / 4], values)
        row = random.integers(rows)
        found[row] = np.where(random.random(values) < 0.7, quarters, found[row])
    return found
