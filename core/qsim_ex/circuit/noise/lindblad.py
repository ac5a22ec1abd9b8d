"""Pauli-Lindblad channels: the noise of layers of gates, which noise learning finds and error mitigation cancels.

The channel is exp(L) with L(ρ) = Σ λ_P·(P ρ P − ρ) over products of Pauli matrices P, the generators, with rates λ_P.
Its terms commute: it is "P with probability (1 − e^(−2 λ_P))/2" for one P after the other (van den Berg, Minev, Kandala
and Temme, Nature Physics 19, 1116 (2023), equation 3). A layer on many wires has generators on one or two wires each,
so it is a product of narrow channels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit import check
from qsim_ex.circuit.noise.channels import pauli_channel
from qsim_ex.errors import NoiseError

Kraus = NDArray[np.complex128]
Wires = tuple[int, ...]
Generator = tuple[str, Sequence[int]]
"""Letters X, Y and Z, and the wire of each."""

_LETTERS = "IXZY"  # the place of a letter is its bits: 1 for X, 2 for Z, both for Y


def pauli_lindblad(rates: Mapping[str, float]) -> Kraus:
    """Return the channel exp(L), L(ρ) = Σ λ_P·(P ρ P − ρ), which noise learning finds for layers of gates.

    rates: λ_P by strings of I, X, Y and Z, all of one length; letter k acts on ``wires[k]``. Raises `NoiseError` where
    rates below 0 make a probability negative.
    """
    width = max(map(len, rates), default=0)
    if width > check.CHANNEL_WIRES:
        raise NoiseError(
            f"pauli_lindblad: expected strings of at most {check.CHANNEL_WIRES} letters, got {list(rates)}; use "
            "channels on fewer wires."
        )
    pauli_channel(dict.fromkeys(rates, 0.0))  # which checks the strings
    numbers = np.arange(4**width)
    probabilities = np.eye(1, 4**width)[0]
    for letters, rate in rates.items():
        if not math.isfinite(rate):
            raise NoiseError(f"pauli_lindblad: expected a finite rate of {letters}, got {rate!r}; pass a number.")
        flipped = -math.expm1(-2 * rate) / 2
        bits = sum(_LETTERS.index(letter) << 2 * k for k, letter in enumerate(letters))
        probabilities = (1 - flipped) * probabilities + flipped * probabilities[numbers ^ bits]
    if probabilities.min() < -check.ROUNDING:
        raise NoiseError(
            f"pauli_lindblad: expected rates of a channel, got {dict(rates)}, for which a probability is "
            f"{probabilities.min():.3g}; pass rates >= 0, since the inverse of noise happens to no state."
        )
    strings = ("".join(_LETTERS[number >> 2 * k & 3] for k in range(width)) for number in numbers.tolist())
    return pauli_channel({string: max(p, 0.0) for string, p in zip(strings, probabilities.tolist(), strict=True)})


def lindblad_parts(generators: Iterable[tuple[Generator, float]]) -> list[tuple[Wires, Kraus]]:
    """Return a Pauli-Lindblad channel on any number of wires as channels on few, which may come in any order.

    generators: letters with their wires, and a rate each. Generators within the wires of a wider one share its channel.
    Raises `NoiseError` for a generator on more wires than a channel may have.
    """
    parts: dict[Wires, dict[str, float]] = {}
    by_wire: dict[int, list[Wires]] = {}
    reduced = [(_acting(letters, wires), rate) for (letters, wires), rate in generators]
    others = [one for one in reduced if one[0]]  # the identity does nothing
    for acting, rate in sorted(others, key=lambda one: -len(one[0])):
        if len(acting) > check.CHANNEL_WIRES:
            raise NoiseError(
                f"expected generators on at most {check.CHANNEL_WIRES} wires, got one on wires {sorted(acting)}; a "
                "layer's noise has generators on single wires and on pairs."
            )
        home = next((wires for wires in by_wire.get(min(acting), ()) if acting.keys() <= set(wires)), None)
        if home is None:
            home = tuple(sorted(acting))
            parts[home] = {}
            for wire in home:
                by_wire.setdefault(wire, []).append(home)
        letters = "".join(acting.get(wire, "I") for wire in home)
        parts[home][letters] = parts[home].get(letters, 0.0) + rate
    return [(wires, pauli_lindblad(rates)) for wires, rates in parts.items()]


def _acting(letters: str, wires: Sequence[int]) -> dict[int, str]:
    return {wire: letter for letter, wire in zip(letters, wires, strict=True) if letter != "I"}
