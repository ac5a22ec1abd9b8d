"""Words: short circuits on a few wires that reach every matrix of the rules of rewriting; a seed draws one.

A word is a few parts. Most parts are turns about Pauli strings of two wires as transpilers write them, by angles and by
quarter turns, among Clifford gates that keep what the strings have in common: their product is two matrices on one bit,
on values that differ by one of the bits, by the other one, or by both. So products of entries cancel, agree, or agree
but for a sign. The others are H around eighth turns and CX, and CX, X and SWAP around phases. Gates of one kind of part
stand in those of others now and then, some under controls.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import pi
from random import Random
from typing import NamedTuple


class Gate(NamedTuple):
    """A gate of the table on some wires. controls: further wires, which all have to be 1."""

    name: str
    wires: tuple[int, ...]
    angles: tuple[float, ...] = ()
    controls: tuple[int, ...] = ()


STRINGS = (
    ("XI", "YI", "XZ", "YZ", "ZI", "IZ", "ZZ"),
    ("IX", "IY", "ZX", "ZY", "ZI", "IZ", "ZZ"),
    ("XX", "YY", "XY", "YX", "ZI", "IZ", "ZZ"),
)
"""The strings of two wires whose products are two matrices on values that differ by the first, the second, and both."""

_FRAMES = {
    "X": ("h", "s sx s", "sdg sxdg sdg", "ry"),
    "Y": ("sx", "sxdg z", "sdg h", "rx"),
    "Z": ("", "", "x", "s"),
    "I": ("",),
}
"""Turns of a wire that make Z of a Pauli matrix or its negative, or nearly so: with angles they do not."""

_INVERSE = {"s": "sdg", "sdg": "s", "sx": "sxdg", "sxdg": "sx", "t": "tdg", "tdg": "t"}

_ONE = ("h", "s", "sdg", "sx", "sxdg", "x", "y", "z", "t", "rz", "ry", "rx", "p")
_TWO = ("cx", "cx", "cz", "cy", "swap", "iswap", "rzz", "rxx", "ryy", "cp", "ch", "ecr")
_WITH_ANGLE = ("rz", "ry", "rx", "p", "rzz", "rxx", "ryy", "cp")


def word(random: Random, wires: int) -> list[Gate]:
    """Draw a word on so many wires."""
    found: list[Gate] = []
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        part = random.choices([_pairs, _flips, _ladder, _any], [6, 2, 2, 1])[0] if wires > 1 else _any
        found += part(random, random.sample(range(wires), wires))
    if random.random() < 0.15 and wires > 1:
        at = random.randrange(len(found) + 1)
        found[at:at] = _any(random, random.sample(range(wires), wires))[:2]
    return found


def _angle(random: Random) -> float:
    """An angle of any kind, or a quarter or eighth turn."""
    return random.choice(
        [random.uniform(-3, 3), random.uniform(-3, 3), random.randint(-4, 4) * pi / 2, random.randint(-8, 8) * pi / 4]
    )


def _gate(random: Random, name: str, wires: Sequence[int], controls: Sequence[int] = ()) -> Gate:
    angles = (_angle(random),) if name in _WITH_ANGLE else ()
    return Gate(name, tuple(wires), angles, tuple(controls))


def _pairs(random: Random, wires: list[int]) -> list[Gate]:
    """Turns about strings of one family, and Clifford gates that keep it; with a control here and there."""
    pair, family = wires[:2], random.choice([0, 1, 2, 2, 2])
    found: list[Gate] = []
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        found += _turn(random, random.choice(STRINGS[family]), pair, random.uniform(-3, 3))
    for _ in range(random.choice([0, 1, 1, 2, 3])):
        more = _kept(random, family, pair)
        if random.random() < 0.4:
            more = _turn(
                random, random.choice(STRINGS[family]), pair, random.choice([None, random.randint(-4, 4) * pi / 2])
            )
        at = random.choice([0, len(found)])  # a turn stays whole
        found[at:at] = more
    if len(wires) > 2 and random.random() < 0.2:
        found.insert(
            random.choice([0, len(found)]), _gate(random, random.choice(["z", "p", "x", "h"]), pair[:1], wires[2:3])
        )
    return found


def _turn(random: Random, string: str, pair: Sequence[int], angle: float | None) -> list[Gate]:
    """A turn about a Pauli string: quarter turns, CX, RZ, CX, and back. angle: None for S, its inverse or Z."""
    frames = [random.choice(_FRAMES[letter]).split() for letter in string]
    before = [
        Gate(name, (wire,), (pi / 2,) if name in _WITH_ANGLE else ())
        for wire, frame in zip(pair, frames, strict=True)
        for name in frame
    ]
    after = [Gate(_INVERSE.get(g.name, g.name), g.wires, tuple(-a for a in g.angles)) for g in reversed(before)]
    on = tuple(wire for wire, letter in zip(pair, string, strict=True) if letter != "I")
    on = on[::-1] if random.random() < 0.3 else on
    middle = Gate("rz", on[-1:], (angle,)) if angle is not None else Gate(random.choice(["s", "sdg", "z"]), on[-1:])
    ladder = [Gate("cx", on)] if len(on) == 2 else []
    return [*before, *ladder, middle, *ladder, *after]


def _kept(random: Random, family: int, pair: Sequence[int]) -> list[Gate]:
    """A Clifford gate after which there are still two matrices of a family."""
    kinds = ["z", "z", "z", "s", "sdg", "cz", "flip", "both"] + (
        ["swap", "iswap"] if family == 2 else ["flip", "cx", "h"]
    )
    name = random.choice(kinds)
    on = (pair[1], pair[0])[::-1] if family == 1 else (pair[1], pair[0])  # a control, and the bit that is mixed
    match name:
        case "flip":
            return [Gate(random.choice("xy"), on[1:])]
        case "both":
            return [Gate(random.choice("xyz"), (wire,)) for wire in pair]
        case "cx":
            return [Gate(random.choice(["cx", "cy", "ch"]), on)]
        case "h":
            return [Gate(random.choice(["h", "sx", "sxdg"]), on[1:])]
        case "cz" | "swap" | "iswap":
            return [Gate(name, tuple(pair))]
        case _:
            return [Gate(name, (random.choice(pair),))]


def _flips(random: Random, wires: list[int]) -> list[Gate]:
    """H or √X, eighth turns and CX onto the bit between them, and H or √X: an X under conditions, or nearly one."""
    on, *others = wires
    ends = random.choices(["h", "sx", "sxdg"], k=2 if random.random() < 0.4 else 1)
    between: list[Gate] = []
    if random.random() < 0.4 and others:  # as Toffolis have it
        around = [others[0], others[-1]] * 2
        for control, name in zip(around, ["tdg", "t"] * 2, strict=True):
            between += [Gate("cx", (control, on)), Gate(name, (on,))]
    for _ in range(random.randint(0, 4)):
        name = random.choice(["s", "sdg", "z", "t", "x", "cx", "cx", "cz", "rz", "cp"])
        if name in ("cx", "cz", "cp"):
            between.append(
                _eighth(random, name, (random.choice(others), on) if random.random() < 0.8 else (on, others[0]))
            )
        else:
            between.append(_eighth(random, name, (on if random.random() < 0.7 else random.choice(others),)))
    return [Gate(ends[0], (on,)), *between, Gate(ends[-1], (on,))]


def _eighth(random: Random, name: str, wires: tuple[int, ...]) -> Gate:
    return Gate(name, wires, (random.randint(-8, 8) * pi / 4,) if name in _WITH_ANGLE else ())


def _ladder(random: Random, wires: list[int]) -> list[Gate]:
    """CX around phases, of which most have their equal or opposite behind them, and X between them."""
    found: list[Gate] = []
    around = [tuple(random.sample(wires, 2)) for _ in range(random.randint(1, 2))]
    before = [Gate("cx", pair) for pair in around]
    after = [Gate("cx", pair[::-1] if random.random() < 0.3 else pair) for pair in reversed(around)]
    for _ in range(random.randint(1, 4)):
        name = random.choice(["rz", "t", "s", "x", "x", "cz", "cp", "rzz", "swap"])
        found.append(_gate(random, name, random.sample(wires, 2 if name in _TWO else 1)))
    return [*before, *found, *after]


def _any(random: Random, wires: list[int]) -> list[Gate]:
    """Gates of all kinds, some under controls."""
    found: list[Gate] = []
    for _ in range(random.randint(2, 12)):
        order = random.sample(wires, len(wires))
        name = random.choice(_TWO if len(wires) > 1 and random.random() < 0.5 else _ONE)
        size = 2 if name in _TWO else 1
        controls = order[size : size + 1] if random.random() < 0.15 else []
        found.append(_gate(random, name, order[:size], controls))
    return found
