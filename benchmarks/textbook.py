"""Families of papers and textbooks that `families.py`, `cx_rich.py` and `held_out.py` lack, as neutral gates.

What is drawn has a fixed seed, since planning reads structure alone: graphs, strings of Pauli matrices, wires.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, pairwise
from math import pi

import numpy as np

from benchmarks.cx_rich import pauli_rotation
from benchmarks.families import cubic_graph, grid_patterns, qft, square_roots
from benchmarks.first_gpu import neutral
from benchmarks.gates import MANY_CONTROLS, Gate, Matrix, haar

_ANGLE = 0.3


def qaoa_dense(n: int) -> list[Gate]:
    """Three layers of QAOA whose cost has a term for each pair of wires, as that of Sherrington and Kirkpatrick."""
    gates = [Gate("h", (w,)) for w in range(n)]
    for _ in range(3):
        gates += [Gate("rzz", pair, (_ANGLE,)) for pair in combinations(range(n), 2)]
        gates += [Gate("rx", (w,), (_ANGLE,)) for w in range(n)]
    return gates


def qaoa_routed(n: int) -> list[Gate]:
    """Two layers of QAOA on a 3-regular graph for a chip on which neighbours on a line meet, in rz, sx and cx.

    The wires of an edge are brought together by SWAPs, half of them from either side, each of them three CX.
    """
    place = list(range(n))  # of each node, on the line
    gates = (
        [_rz(pi / 2, w) for w in range(n)] + [Gate("sx", (w,)) for w in range(n)] + [_rz(pi / 2, w) for w in range(n)]
    )
    for _ in range(2):
        for one, other in cubic_graph(n):
            while abs(place[one] - place[other]) > 1:
                moved = one if abs(place[one] - place[other]) % 2 else other
                towards = place[moved] + (1 if place[moved] < place[one + other - moved] else -1)
                gates += [Gate("cx", pair) for pair in _thrice(place[moved], towards)]
                place[place.index(towards)], place[moved] = place[moved], towards
            pair = place[one], place[other]
            gates += [Gate("cx", pair), _rz(_ANGLE, pair[1]), Gate("cx", pair)]
        for w in range(n):  # RX
            gates += [_rz(pi / 2, w), Gate("sx", (w,)), _rz(pi + _ANGLE, w), Gate("sx", (w,)), _rz(5 * pi / 2, w)]
    return gates


def _rz(angle: float, wire: int) -> Gate:
    return Gate("rz", (wire,), (angle,))


def _thrice(one: int, other: int) -> list[tuple[int, int]]:
    return [(one, other), (other, one), (one, other)]


def hubbard(n: int) -> list[Gate]:
    """Four Trotter steps of the Fermi–Hubbard model on a ladder, from half filling, in the Jordan–Wigner order.

    The first half of the wires is spin up, the second one spin down, and rung k of either has wires 2k and 2k + 1. So
    hops along a rung are between neighbours, and those along a leg pass one other wire.
    """
    sites = n // 2
    gates = [Gate("x", (w,)) for w in range(0, 2 * sites, 2)]
    hops = [[(s, s + 1)] for s in range(0, sites - 1, 2)] + [[(s, s + 2)] for s in range(sites - 2)]
    for _ in range(4):
        for (one, other), spin in [(hop, spin) for [hop] in hops for spin in (0, sites)]:
            for letter in "XY":
                between = [(w + spin, "Z") for w in range(one + 1, other)]
                gates += neutral(pauli_rotation([(one + spin, letter), *between, (other + spin, letter)]))
        gates += [Gate("cp", (s, s + sites), (_ANGLE,)) for s in range(sites)]
    return gates


def sycamore(n: int) -> list[Gate]:
    """Twelve cycles on a grid: a square root of X, Y or W on each wire, and fSim(π/2, π/6) on a pattern of pairs.

    As in Arute et al., Nature 574, 505 (2019), on another grid.
    """
    rng, roots, patterns = np.random.default_rng(8), square_roots(), grid_patterns(n)
    gates, last = [], [-1] * n
    for cycle in range(12):
        for w in range(n):
            last[w] = int(rng.choice([k for k in range(3) if k != last[w]]))
            gates.append(Gate("unitary", (w,), matrix=roots[last[w]]))
        gates += [Gate("unitary", pair, matrix=_fsim(pi / 2, pi / 6)) for pair in patterns[cycle % 8]]
    return gates


def _fsim(theta: float, phi: float) -> Matrix:
    matrix = np.diag([1, np.cos(theta), np.cos(theta), np.exp(-1j * phi)])
    matrix[[1, 2], [2, 1]] = -1j * np.sin(theta)
    return matrix


def pauli_strings(n: int) -> list[Gate]:
    """80 rotations by drawn strings of I, X, Y and Z on all wires, each written with a ladder of CX."""
    rng, gates = np.random.default_rng(9), []
    for _ in range(80):
        letters = ["IXYZ"[k] for k in rng.integers(0, 4, n)]
        gates += neutral(
            pauli_rotation([(w, letter) for w, letter in enumerate(letters) if letter != "I"] or [(0, "Z")])
        )
    return gates


def ions(n: int) -> list[Gate]:
    """14 layers for trapped ions: rotations about axes in the plane, and RXX on drawn pairs, as all ions interact."""
    rng, gates = np.random.default_rng(10), []
    for _ in range(14):
        gates += [
            Gate("u", (w,), (float(t), float(p) - pi / 2, pi / 2 - float(p)))
            for w, (t, p) in enumerate(rng.uniform(0, pi, (n, 2)))
        ]
        order = rng.permutation(n).tolist()
        gates += [Gate("rxx", pair, (_ANGLE,)) for pair in zip(order[::2], order[1::2], strict=False)]
    return gates


def givens(n: int) -> list[Gate]:
    """A Slater determinant of half filling: phases, and Givens rotations of neighbours, in a diamond."""
    half = n // 2
    gates = [Gate("x", (w,)) for w in range(half)]
    for layer in range(2 * half - 1):
        reach = min(layer, 2 * half - 2 - layer)
        for first in range(half - 1 - reach, half + reach, 2):
            gates += [Gate(name, (first, first + 1), (_ANGLE,)) for name in ("rxx", "ryy")]
            gates += [_rz(_ANGLE, first), _rz(-_ANGLE, first + 1)]
    return gates


def walk(n: int) -> list[Gate]:
    """Three steps of a quantum walk on a hypercube: Grover's coin, whose value says which coordinate changes."""
    coin, positions = walkers(n)
    gates = [Gate("h", (w,)) for w in coin]
    for _ in range(3):
        around = [Gate(name, (w,)) for name in ("h", "x") for w in coin]
        gates += [*around, Gate(MANY_CONTROLS, coin), *reversed(around), *shift(coin, positions)]
    return gates


def walkers(n: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the wires of a walk's coin, just enough for a value for each coordinate, and those of the coordinates."""
    size = next(c for c in range(1, n) if 1 << c >= n - c)
    return tuple(range(size)), tuple(range(size, n))


def shift(coin: tuple[int, ...], positions: tuple[int, ...]) -> list[Gate]:
    """Change the coordinate whose number is the coin's value."""
    gates = []
    for value, position in enumerate(positions):
        zeros = [Gate("x", (w,)) for w in coin if not value >> w & 1]
        turn = Gate("h", (position,))
        gates += [*zeros, turn, Gate(MANY_CONTROLS, (*coin, position)), turn, *zeros]
    return gates


def draper(n: int) -> list[Gate]:
    """Draper's adder of two registers in superposition: b becomes a + b in Fourier space, by phases alone."""
    half = n // 2
    gates = [Gate("ry", (w,), (_ANGLE + 0.1 * w,)) for w in range(2 * half)]
    turned = [gate for gate in qft(half, 0) if gate.name in ("h", "cp")]
    there = [Gate(g.name, tuple(w + half for w in g.wires), g.params) for g in turned]
    phases = [Gate("cp", (a, half + b), (pi / 2 ** (b - a),)) for b in range(half) for a in range(b + 1)]
    return [*gates, *there, *phases, *inverse(there)]


def staircase(n: int) -> list[Gate]:
    """Three staircases of dense matrices on neighbours, from the first wire to the last, as matrix product states."""
    rng = np.random.default_rng(11)
    return [Gate("unitary", pair, matrix=haar(rng, 2)) for _ in range(3) for pair in pairwise(range(n))]


def three_wires(n: int) -> list[Gate]:
    """Eight layers of dense matrices on three drawn wires each."""
    rng, gates = np.random.default_rng(12), []
    for _ in range(8):
        order = rng.permutation(n).tolist()
        gates += [Gate("unitary", tuple(order[k : k + 3]), matrix=haar(rng, 3)) for k in range(0, n - 2, 3)]
    return gates


def kernel(n: int) -> list[Gate]:
    """An entry of a quantum kernel: a feature map of a point, and the inverse of that of another point."""
    one, other = np.random.default_rng(13).uniform(0, pi, (2, n)).tolist()
    return [*feature_map(one), *inverse(feature_map(other))]


def feature_map(point: list[float]) -> list[Gate]:
    """H and phases by a point's coordinates and by products of neighbours, twice."""
    gates = []
    for _ in range(2):
        gates += [Gate("h", (w,)) for w in range(len(point))]
        gates += [_rz(2 * x, w) for w, x in enumerate(point)]
        for a, b in pairwise(range(len(point))):
            gates += [Gate("cx", (a, b)), _rz(2 * (pi - point[a]) * (pi - point[b]), b), Gate("cx", (a, b))]
    return gates


def inverse(gates: Sequence[Gate]) -> list[Gate]:
    """Undo gates that are their own inverses, or have angles."""
    return [Gate(gate.name, gate.wires, tuple(-angle for angle in gate.params)) for gate in reversed(gates)]


def circular(n: int) -> list[Gate]:
    """The ansatz of a quantum neural network: four layers of RY, each with CX in a circle behind it."""
    gates = []
    for _ in range(4):
        gates += [Gate("ry", (w,), (_ANGLE,)) for w in range(n)]
        gates += [Gate("cx", (w, (w + 1) % n)) for w in range(n)]
    return gates


def clifford(n: int) -> list[Gate]:
    """600 gates of H, S and CX on drawn wires, after a layer of RY."""
    rng = np.random.default_rng(14)
    gates = [Gate("ry", (w,), (_ANGLE,)) for w in range(n)]
    for _ in range(600):
        a, b = rng.choice(n, 2, replace=False).tolist()
        gates.append((Gate("h", (a,)), _rz(pi / 2, a), Gate("cx", (a, b)))[rng.integers(3)])
    return gates


FAMILIES: dict[str, Callable[[int], list[Gate]]] = {
    "qaoa_dense": qaoa_dense,
    "qaoa_routed": qaoa_routed,
    "hubbard": hubbard,
    "sycamore": sycamore,
    "pauli_strings": pauli_strings,
    "ions": ions,
    "givens": givens,
    "walk": walk,
    "draper": draper,
    "staircase": staircase,
    "three_wires": three_wires,
    "kernel": kernel,
    "circular": circular,
    "clifford": clifford,
}
"""All families of this file by name."""
