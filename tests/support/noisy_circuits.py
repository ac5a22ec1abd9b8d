"""Random circuits with channels of every kind, measurements in the middle, conditions and resets."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from support.strategies import random_unitary

from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.noise import channels as noise


def random_kraus(wires: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """Any channel: an isometry cut into pieces."""
    size = 1 << wires
    return random_unitary(size * count, int(rng.integers(1 << 30)))[:, :size].reshape(count, size, size)


KINDS: dict[str, tuple[int, Callable[[np.random.Generator], np.ndarray]]] = {
    "pauli": (1, lambda _: noise.depolarizing(0.3)),
    "pauli pair": (2, lambda _: noise.depolarizing(0.4, 2)),
    "mixed": (
        2,
        lambda rng: noise.mixed_unitary([0.5, 0.5], [random_unitary(4, int(s)) for s in rng.integers(99, size=2)]),
    ),
    "damping": (1, lambda _: noise.amplitude_damping(0.3, 0.2)),
    "relaxation": (1, lambda _: noise.thermal_relaxation(1.0, 1.4, 0.3)),
    "kraus": (1, lambda rng: random_kraus(1, 3, rng)),
    "kraus pair": (2, lambda rng: random_kraus(2, 4, rng)),
}


def random_noisy(wires: int, length: int, seed: int, kinds: tuple[str, ...] = tuple(KINDS)) -> Circuit:
    """Gates, channels, measurements that something follows, and resets, in random order; everything is measured."""
    rng = np.random.default_rng(seed)
    builder = CircuitBuilder(wires, wires)
    for _ in range(length):
        one, other = rng.permutation(wires)[:2].tolist()
        match rng.integers(7):
            case 0:
                builder.gate("u", [one], *rng.uniform(0, 6, 3))
            case 1:
                builder.gate("cx", [one, other])
            case 2:
                builder.gate("rzz", [one, other], rng.uniform(0, 6)).gate("ry", [other], rng.uniform(0, 6))
            case 3 if "measure" in kinds:
                builder.measure([one], [int(rng.integers(wires))])
            case 4 if "reset" in kinds:
                builder.reset([one])
            case 5 if "condition" in kinds:
                bits = rng.permutation(wires)[:2].tolist()
                with builder.condition(bits, rng.permutation(4)[:2].tolist()):
                    name = ("x", "ry", "cz", "cx", "h", "p", "swap")[int(rng.integers(7))]
                    builder.gate(
                        name, [one, other][: 2 if name in ("cz", "cx", "swap") else 1], *[1.1] * (name in ("ry", "p"))
                    )
            case _:
                names = [name for name in kinds if name in KINDS]
                if names:
                    count, make = KINDS[names[int(rng.integers(len(names)))]]
                    builder.channel(make(rng), [one, other][:count])
    return builder.measure(list(range(wires)), list(range(wires))).build()
