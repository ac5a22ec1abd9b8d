"""Draws the numbers at which the engine takes another way, so that a few wires and gates go every way."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

DRAWN: Mapping[str, tuple[int, ...]] = {
    "quarter_wires": (16, 0, 3, 5),
    "gates_at_once": (17, 0, 2, 5),
    "native_instructions": (17, 0, 4, 1 << 30),
    "native_wires": (62, 0, 3),
    "tabled_angles": (256, 0, 3, 1 << 30),
    "angles_at_once": (4096, 1, 3),
    "written_parts": (64, 0, 3, 1 << 30),
    "written_bytes": (1 << 22, 1, 300),
    "checked_rows": (32, 0, 2, 4),
    "kept_bytes": (1 << 20, 0, 400),
    "entries_at_once": (1 << 12, 1, 3),
    "bindings_at_once": (64, 1, 2),
    "listed_bits": (10, 2, 3),
    "wide_listed_bits": (16, 1, 2),
    "listed_values": (1 << 12, 1, 2),
    "values_for_one": (4, 1, 2, 100),
    "jointly": (10, 1, 2, 3),
    "narrow": (8, 0, 2, 4),
    "gain": (2, 1, 3),
    "shots_at_once": (1 << 16, 4, 32),
    "window": (1024, 1, 3, 10),
    "looked_at": (64, 0, 1, 4),
    "relabeled": (6, 0, 1, 2),
    "parities": (4, 0, 1, 2),
    "run_work": (22, 0, 8, 1 << 30),
    "item_work": (1, 0, 9),
    "read_at_once": (1 << 16, 1, 3, 20),
    "instructions_at_once": (1024, 1, 3),
    "runs_at_once": (256, 1, 2),
    "pieces_at_once": (1024, 1, 3),
}
"""For each number of `qsim_ex.circuit.thresholds` its own value, and then others that are drawn, the least first."""

_OFTEN = {"quarter_wires": 0.8, "gates_at_once": 0.6, "native_instructions": 0.6}
"""How likely others are drawn for those that most circuits meet; for all others it is 0.25."""


def drawn(random: Random) -> dict[str, int]:
    """Some of the numbers, each with another value than its own."""
    return {name: random.choice(of[1:]) for name, of in DRAWN.items() if random.random() < _OFTEN.get(name, 0.25)}
