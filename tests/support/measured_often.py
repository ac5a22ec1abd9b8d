"""Circuits that measure, reset and reuse their wires all the time, for tests of what that parts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from support.noisy_circuits import KINDS

from qsim_ex import CircuitBuilder, thresholds
from qsim_ex.circuit.circuit import Circuit


@contextmanager
def parting_everything() -> Iterator[None]:
    """Let parts of few wires be parted too, and those that become smaller by one wire."""
    with thresholds.instead(narrow=0, gain=1):
        yield


def measured_often(rng: np.random.Generator, *, noise: bool = False) -> Circuit:
    """Up to nine wires in groups that change; every second operation is a measurement, a reset or a condition."""
    wires = int(rng.integers(2, 10))
    bits = int(rng.integers(2, wires + 3))
    builder = CircuitBuilder(wires, bits)
    group = rng.integers(0, 3, wires)
    for _ in range(int(rng.integers(10, 80))):
        wire = int(rng.integers(wires))
        near = [int(one) for one in np.flatnonzero(group == group[wire]) if one != wire]
        other = int(rng.choice(near)) if near else None
        match rng.integers(10):
            case 0 | 1:
                builder.gate("u", [wire], *rng.uniform(0, 6, 3))
            case 2 if other is not None:
                builder.gate("cx", [other, wire])
            case 3 if other is not None:
                builder.gate("rzz", [wire, other], rng.uniform(0, 6))
            case 4 | 5:
                builder.measure([wire], [int(rng.integers(bits))])
            case 6:
                builder.reset([wire])
            case 7 | 8:
                with builder.condition(rng.permutation(bits)[:2].tolist(), rng.permutation(4)[:2].tolist()):
                    builder.gate("ry", [wire], 1.1)
            case 9 if noise:
                count, make = KINDS[list(KINDS)[int(rng.integers(len(KINDS)))]]
                if count == 1 or other is not None:
                    builder.channel(make(rng), [wire] if count == 1 else [wire, other or 0])
        if rng.random() < 0.05:
            group[wire] = rng.integers(0, 3)
    measured = rng.permutation(wires)[: int(rng.integers(1, min(wires, bits) + 1))].tolist()
    return builder.measure(measured, rng.permutation(bits)[: len(measured)].tolist()).build()


def teleportations(wires: int, *, pairs_first: bool = False) -> CircuitBuilder:
    """A state cos(0.55)|0⟩ + sin(0.55)|1⟩ that is teleported from wire 0 to the last one, two wires at a time.

    pairs_first: all Bell pairs are prepared before the first measurement.
    """
    builder = CircuitBuilder(wires, wires).gate("ry", [0], 1.1)
    steps = [(k, k + 1, k + 2) for k in range(0, wires - 1, 2)]
    for _, near, far in steps if pairs_first else ():
        builder.gate("h", [near]).gate("cx", [near, far])
    for source, near, far in steps:
        if not pairs_first:
            builder.gate("h", [near]).gate("cx", [near, far])
        builder.gate("cx", [source, near]).gate("h", [source]).measure([source, near], [source, near])
        with builder.condition([near], [1]):
            builder.gate("x", [far])
        with builder.condition([source], [1]):
            builder.gate("z", [far])
    return builder
