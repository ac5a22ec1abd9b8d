"""Families that `families.py` lacks, as neutral gates: full of CX, deep, or used in papers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import pi

import numpy as np

from benchmarks import cx_rich, families
from benchmarks.first_gpu import deep_brick, neutral, on_any_pairs
from benchmarks.gates import Gate

ITERATIONS = 8
"""Rounds of Grover's search; the best number grows with the square root of the amplitudes, and each costs the same."""


def iqp(n: int) -> list[Gate]:
    """H on all wires, before and after phases: one on each wire, and on four pairs a wire, drawn."""
    rng = np.random.default_rng(7)
    hadamards = [Gate("h", (w,)) for w in range(n)]
    phases = [Gate("rz", (w,), (float(rng.uniform(-pi, pi)),)) for w in range(n)]
    for _ in range(4 * n):
        pair = tuple(rng.choice(n, 2, replace=False).tolist())
        phases.append(Gate("cp", pair, (float(rng.uniform(-pi, pi)),)))
    return [*hadamards, *phases, *hadamards]


def adder(n: int) -> list[Gate]:
    """Cuccaro's ripple-carry adder of two registers in superposition, with Toffoli gates."""
    bits = (n - 2) // 2
    a, b = [1 + 2 * k for k in range(bits)], [2 + 2 * k for k in range(bits)]
    carries = [0, *a]
    gates = [Gate("ry", (w,), (0.3 + 0.1 * w,)) for w in (*a, *b)]
    for k in range(bits):
        gates += [Gate("cx", (a[k], b[k])), Gate("cx", (a[k], carries[k])), Gate("ccx", (carries[k], b[k], a[k]))]
    gates.append(Gate("cx", (a[-1], n - 1)))
    for k in reversed(range(bits)):
        gates += [Gate("ccx", (carries[k], b[k], a[k])), Gate("cx", (a[k], carries[k])), Gate("cx", (carries[k], b[k]))]
    return gates


def grover(n: int, rounds: int = ITERATIONS) -> list[Gate]:
    """Some rounds of Grover's search for one of 2^n values."""
    wires = tuple(range(n))
    layer = [Gate("h", (w,)) for w in wires]
    flips = [Gate("x", (w,)) for w in wires]
    marked = [Gate("x", (w,)) for w in wires[::3]]
    gates = list(layer)
    for _ in range(rounds):
        gates += [*marked, Gate("mcz", wires), *marked, *layer, *flips, Gate("mcz", wires), *flips, *layer]
    return gates


def _rich(family: Callable[[int], Sequence[cx_rich.Named]], n: int) -> list[Gate]:
    return neutral(family(n))


def _seven(family: families.Family, n: int) -> list[Gate]:
    return list(family.build(n, 0))


FAMILIES: dict[str, Callable[[int], list[Gate]]] = {
    **{name: partial(_seven, family) for name, family in families.FAMILIES.items()},
    **{name: partial(_rich, cx_rich.FAMILIES[name]) for name in ("heisenberg", "clifford_t", "ucc", "uccsd")},
    **{name: partial(_rich, cx_rich.FAMILIES[name]) for name in ("surface_code", "su2_8", "qv_cx")},
    "iqp": iqp,
    "adder": adder,
    "grover": grover,
    "brick_56": deep_brick,
    "qv_square": lambda n: on_any_pairs(n, n),
    "su4_any_14": partial(on_any_pairs, layers=14),
}
"""All families by name: the seven, and those held out when kernels and planner were made."""
